import { createHash } from "node:crypto";
import { join } from "node:path";
import type { Member, Membership } from "@event-anchoring/control-contract";
import { formatVkey, hexToBytes } from "@event-anchoring/protocol";
import type { TrustRootChain } from "@event-anchoring/protocol";
import {
  discardRotation,
  formatNodeCard,
  installFirstTrustRoot,
  parseClusterCard,
  prepareFirstNode,
  prepareNode,
  prepareRotation,
  prepareWitness,
  readSeed,
  settleNode,
} from "@event-anchoring/provision";
import type { NodeCard, NodeKeyName } from "@event-anchoring/provision";
import { CliError, EXIT } from "../terminal/cli-error.ts";
import type { ExitCode } from "../terminal/cli-error.ts";
import type { Operators } from "../files/operators.ts";
import type { Printer } from "../terminal/printer.ts";
import { readText, writeWhole } from "../files/read-input.ts";
import { alignColumns } from "../terminal/table.ts";
import { asUsage } from "./root-key.ts";
import { membershipOf } from "./root-submit.ts";

const CARD_BYTES_MAX = 4096;
const DOCUMENT_BYTES_MAX = 512 * 1024;

export interface MemberOptions {
  readonly nodeId: string;
  readonly identityDir: string;
  readonly chain: TrustRootChain;
  readonly isJson: boolean;
}

/** `anchorctl member prepare`: keys and trust roots of a node that shall join; its card is what the others need. */
export async function prepareMemberCommand(
  options: MemberOptions & { readonly logSeed: string; readonly card: string },
  printer: Printer,
): Promise<ExitCode> {
  const { nodeId, identityDir, chain, logSeed, card: out } = options;
  const card = await asUsage(async () => prepareNode({ identityDir, nodeId, chain, logSeed: await readSeed(logSeed) }));
  writeCard(card, out, options.isJson, printer);
  if (options.isJson) return EXIT.ok;
  printer.check("warn", "still missing", `${join(identityDir, "ca.crt")}, tls.crt and tls.key, from the CA`);
  printer.verdict("pass", `Next: ${printer.next("root", "propose", "--add-learner", out, "--out", "<file>")}`);
  return EXIT.ok;
}

/** `anchorctl member prepare --cluster-card`: the same before there is a trust root, with a request for the CA. */
export async function prepareFirstMemberCommand(
  options: Omit<MemberOptions, "chain"> & {
    readonly clusterCard: string;
    readonly logSeed: string;
    readonly card: string;
  },
  printer: Printer,
): Promise<ExitCode> {
  const { nodeId, identityDir, clusterCard, logSeed, card: out, isJson } = options;
  const card = await asUsage(async () => {
    const cluster = parseClusterCard(readText(clusterCard, CARD_BYTES_MAX));
    return prepareFirstNode({ identityDir, nodeId, cluster, logSeed: await readSeed(logSeed) });
  });
  writeCard(card, out, isJson, printer);
  if (isJson) return EXIT.ok;
  printer.check("pass", "request", `${join(identityDir, "tls.csr")}, for the CA`);
  printer.verdict("pass", `Next, where the version is drafted: root draft, with --node ${out}`);
  return EXIT.ok;
}

/** `anchorctl member install`: what a node of a new cluster starts with. */
export async function installMemberCommand(
  options: Omit<MemberOptions, "chain"> & {
    readonly document: string;
    readonly rootThk: string;
    readonly ca: string;
    readonly certificate: string;
  },
  printer: Printer,
): Promise<ExitCode> {
  const { nodeId, identityDir, isJson } = options;
  const rootThk = options.rootThk.replaceAll(" ", "").toLowerCase();
  if (!/^[0-9a-f]{64}$/u.test(rootThk)) {
    throw new CliError(EXIT.usage, "root_thk_invalid", "--root-thk takes 64 hex digits");
  }
  const expiresMs = await asUsage(() =>
    installFirstTrustRoot({
      identityDir,
      nodeId,
      document: readText(options.document, DOCUMENT_BYTES_MAX),
      pinnedRootThk: hexToBytes(rootThk, 32),
      authorities: readText(options.ca, DOCUMENT_BYTES_MAX),
      certificatePem: readText(options.certificate, DOCUMENT_BYTES_MAX),
    }),
  );
  const expires = new Date(expiresMs).toISOString();
  if (isJson) printer.json({ node_id: nodeId, root_thk: rootThk, certificate_expires_at: expires });
  else {
    printer.check("pass", "trust root", `version 1 with this RootTHK names the keys in ${identityDir}`);
    printer.check("pass", "certificate", `in place, expires ${expires}`);
    printer.verdict("pass", `${nodeId} can be started.`);
  }
  return EXIT.ok;
}

/** `anchorctl member rotate`: other keys beside those in use. Nothing changes before a trust root names them. */
export async function rotateMemberCommand(
  options: MemberOptions & { readonly keys: readonly NodeKeyName[]; readonly card: string },
  printer: Printer,
): Promise<ExitCode> {
  const { nodeId, identityDir, chain, keys, card: out } = options;
  const card = await asUsage(() => prepareRotation({ identityDir, nodeId, chain, keys }));
  writeCard(card, out, options.isJson, printer);
  if (!options.isJson)
    printer.verdict("pass", `Next: ${printer.next("root", "propose", "--new-keys", out, "--out", "<file>")}`);
  return EXIT.ok;
}

/** `anchorctl member settle`: the node's folder follows the newest trust root; keys it no longer names go. */
export async function settleMemberCommand(options: MemberOptions, printer: Printer): Promise<ExitCode> {
  const { version, replaced, waiting } = await asUsage(() => settleNode(options));
  if (options.isJson) {
    printer.json({ version, replaced, waiting });
    return EXIT.ok;
  }
  printer.check("pass", "trust roots", `up to version ${version}`);
  for (const name of replaced) printer.check("pass", name, "the new key has taken the place of the old one");
  for (const name of waiting) printer.check("warn", name, "drawn, and not named by any trust root yet");
  return EXIT.ok;
}

/** `anchorctl member witness`: the key of a node that cosigns other logs, for their trust roots and policies. */
export async function witnessMemberCommand(
  options: {
    readonly identityDir: string;
    readonly name: string;
    readonly promiseFile: string;
    readonly isJson: boolean;
  },
  printer: Printer,
): Promise<ExitCode> {
  const vkey = formatVkey(await asUsage(() => prepareWitness(options)));
  if (options.isJson) {
    printer.json({ vkey });
    return EXIT.ok;
  }
  printer.check("pass", "key", join(options.identityDir, "witness.key"));
  printer.check("pass", "promises", `${options.promiseFile}, never restored from a copy`);
  printer.line(vkey);
  printer.verdict("pass", "Next: name the file in the node's settings, and give this line to the logs.");
  return EXIT.ok;
}

/** `anchorctl member discard`: gives up keys that were drawn and will not be named. */
export async function discardMemberCommand(identityDir: string, isJson: boolean, printer: Printer): Promise<ExitCode> {
  const discarded = await asUsage(() => discardRotation(identityDir));
  if (isJson) printer.json({ discarded });
  else
    printer.verdict("pass", discarded.length === 0 ? "There was nothing to discard." : `Gone: ${discarded.join(", ")}`);
  return EXIT.ok;
}

/** `anchorctl member list`: the group as the leader sees it. Exit 4 while it is not as the trust root asks. */
export async function listMembersCommand(
  {
    operators,
    timeoutMs,
    isJson,
  }: { readonly operators: Operators; readonly timeoutMs: number; readonly isJson: boolean },
  printer: Printer,
): Promise<ExitCode> {
  const membership = await membershipOf(operators, timeoutMs);
  const { pending } = membership;
  if (isJson) printer.json(membershipJson(membership));
  else {
    const rows = membership.members.map((member) => rowOf(member, membership));
    for (const line of alignColumns([["node", "trust root", "group", "", "behind"], ...rows])) printer.line(line);
    const { trustRootVersion: version } = membership;
    if (pending === null) printer.verdict("pass", `The group is as trust-root version ${version} asks.`);
    else printer.verdict("warn", `Version ${version} asks for more: ${pending}`);
  }
  return pending === null ? EXIT.ok : EXIT.unavailable;
}

function rowOf(member: Member, membership: Membership): readonly string[] {
  const { nodeId, status, role, isLeader, isAlive } = member;
  const behind = behindOf(member, membership);
  const state = isLeader ? "leads" : role === "none" ? "" : isAlive === true ? "follows" : "is silent";
  return [nodeId, status, role === "none" ? "–" : role, state, behind === null ? "" : `${behind} entries`];
}

function behindOf({ matchIndex }: Member, { lastIndex }: Membership): number | null {
  return matchIndex === null ? null : Math.max(0, lastIndex - matchIndex);
}

function membershipJson(membership: Membership): object {
  return {
    leader: membership.nodeId,
    trust_root_version: membership.trustRootVersion,
    pending: membership.pending,
    members: membership.members.map((member) => ({
      node_id: member.nodeId,
      status: member.status,
      role: member.role,
      leads: member.isLeader,
      alive: member.isAlive,
      behind: behindOf(member, membership),
    })),
  };
}

/** Cards are not secret, and not signed: the hash is what two people compare. */
function writeCard(card: NodeCard, path: string, isJson: boolean, printer: Printer): void {
  const text = formatNodeCard(card);
  writeWhole(path, text);
  const hash = createHash("sha256").update(text).digest("hex");
  if (isJson) printer.json({ node_id: card.nodeId, card: path, sha256: hash });
  else {
    printer.check("pass", "card", path);
    printer.check("skip", "SHA-256", `${hash}, to compare with the proposer of the version`);
  }
}
