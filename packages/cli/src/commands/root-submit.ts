import { setTimeout as delay } from "node:timers/promises";
import { nodeCrypto } from "@event-anchoring/node-crypto";
import { bytesToHex, compareWithHighestSeen, equalBytes, verifyTrustRootChain } from "@event-anchoring/protocol";
import type { TrustRoot, TrustRootChain } from "@event-anchoring/protocol";
import {
  formatProposal,
  proposeTrustRoot,
  readMembership,
  readTrustRootChain,
  writeTrustRoots,
} from "@event-anchoring/provision";
import type { Membership } from "@event-anchoring/control-contract";
import { CliError, EXIT } from "../terminal/cli-error.ts";
import type { ExitCode } from "../terminal/cli-error.ts";
import { askNodes, write } from "../files/operators.ts";
import type { Operators } from "../files/operators.ts";
import { assertFolderWritable } from "../files/read-input.ts";
import type { Printer } from "../terminal/printer.ts";
import { completeProposal } from "./root-proposal.ts";

const LOOK_EVERY_MS = 500;

export interface SubmitRootOptions {
  readonly paths: readonly string[];
  readonly chain: TrustRootChain;
  readonly operators: Operators;
  readonly timeoutMs: number;
  /** How long to wait for the group to be as the new version asks; 0: not at all. */
  readonly waitMs: number;
  /** Folder that keeps the versions; null: nowhere. */
  readonly folder: string | null;
  readonly isJson: boolean;
}

/** `anchorctl root submit`: proposes a version that is signed enough, and waits until the group is as it asks. */
export async function submitRootCommand(
  options: SubmitRootOptions,
  printer: Printer,
  aside: Printer,
): Promise<ExitCode> {
  const { chain, paths, timeoutMs, folder, isJson } = options;
  const proposal = completeProposal(chain, paths);
  if (folder !== null) assertFolderWritable(folder);
  const operators = withKeysOf(options.operators, proposal.trustRoot);
  const document = formatProposal(proposal);
  const done = await write(operators, timeoutMs, (call) => proposeTrustRoot({ ...call, document }));
  const isChanged = done.outcome === "applied";
  const finality = done.outcome === "applied" ? done.finality : null;
  const { version } = proposal.trustRoot;
  const extended = verifyTrustRootChain(
    { documents: [...chain.versions.map(({ note }) => note), document], pinnedRootThk: pinOf(chain) },
    nodeCrypto,
  );
  if (extended.result === "refused") throw new Error(`what the cluster took is refused here: ${extended.code}`);
  if (folder !== null) await writeTrustRoots(folder, extended.chain);
  const said = { version, root_thk: bytesToHex(proposal.rootThk), changed: isChanged, finality };
  if (!isJson) {
    const word = isChanged ? "is in force" : "was in force before";
    printer.verdict("pass", `Version ${version} ${word}, RootTHK ${said.root_thk}`);
    if (finality === "committed")
      printer.verdict("warn", "It is committed, and not certified yet: too few nodes have cosigned it");
  }
  const pending = options.waitMs === 0 ? null : await waitForMembership(operators, options.waitMs, version, aside);
  if (isJson) printer.json({ ...said, pending });
  else if (pending !== null)
    printer.verdict("warn", `The group is not yet as it asks, and goes on by itself: ${pending}`);
  return pending === null ? EXIT.ok : EXIT.unavailable;
}

/** A node with another auth key answers with the old one until the version is in force, and with the new one after. */
function withKeysOf({ nodes, ...operators }: Operators, { nodes: lines }: TrustRoot): Operators {
  const both = nodes.flatMap((node) => {
    const line = lines.find(({ nodeId }) => nodeId === node.nodeId);
    const hasOther = line !== undefined && !equalBytes(line.authPublicKey, node.authPublicKey);
    return hasOther ? [node, { ...node, authPublicKey: line.authPublicKey }] : [node];
  });
  return { ...operators, nodes: both };
}

const pinOf = ({ versions, newest }: TrustRootChain): Uint8Array => (versions[0] ?? newest).rootThk;

/** What is still pending at the end; null: nothing. */
async function waitForMembership(
  operators: Operators,
  waitMs: number,
  version: number,
  aside: Printer,
): Promise<string | null> {
  const giveUpAt = performance.now() + waitMs;
  let said = "";
  for (;;) {
    const pending = await pendingOf(operators, version);
    if (pending === null || performance.now() > giveUpAt) return pending;
    if (pending !== said) aside.line(`  … ${pending}`);
    said = pending;
    await delay(LOOK_EVERY_MS);
  }
}

async function pendingOf(operators: Operators, version: number): Promise<string | null> {
  try {
    const { pending, trustRootVersion } = await membershipOf(operators, LOOK_EVERY_MS * 10);
    return trustRootVersion < version ? `version ${version} is not applied on the leader yet` : pending;
  } catch (error) {
    if (error instanceof CliError && error.exitCode === EXIT.unavailable) return error.message;
    throw error;
  }
}

/** As the leader sees it. @throws CliError `unavailable` */
export async function membershipOf(operators: Operators, timeoutMs: number): Promise<Membership> {
  return askNodes(operators, timeoutMs, readMembership, ({ isLeader }) => (isLeader ? null : "does not lead"));
}

export interface FetchRootOptions {
  readonly chain: TrustRootChain;
  readonly operators: Operators;
  readonly timeoutMs: number;
  readonly folder: string;
  readonly isJson: boolean;
}

/** `anchorctl root fetch`: brings the versions that are held here up to the cluster's newest. */
export async function fetchRootCommand(options: FetchRootOptions, printer: Printer): Promise<ExitCode> {
  const { chain: held, operators, timeoutMs, folder, isJson } = options;
  assertFolderWritable(folder);
  const documents = await askNodes(operators, timeoutMs, readTrustRootChain, () => null);
  const [first = held.newest] = held.versions;
  const skipped = first.trustRoot.version - 1;
  const input = { documents: documents.slice(skipped), pinnedRootThk: first.rootThk };
  const verification = verifyTrustRootChain(input, nodeCrypto);
  if (verification.result === "refused") {
    const message = `the cluster's trust roots do not follow from those held here: ${verification.detail}`;
    throw new CliError(EXIT.invalid, verification.code, message);
  }
  const { version } = held.newest.trustRoot;
  const conflict = compareWithHighestSeen(verification.chain, { version, rootThk: held.newest.rootThk });
  if (conflict !== null) {
    throw new CliError(EXIT.invalid, conflict, `the cluster's trust roots contradict version ${version}, held here`);
  }
  await writeTrustRoots(folder, verification.chain);
  const { newest } = verification.chain;
  const said = { version: newest.trustRoot.version, root_thk: bytesToHex(newest.rootThk), folder };
  if (isJson) printer.json(said);
  else printer.verdict("pass", `${folder} holds the versions up to ${said.version}, RootTHK ${said.root_thk}`);
  return EXIT.ok;
}
