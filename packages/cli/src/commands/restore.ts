import { existsSync } from "node:fs";
import { join } from "node:path";
import { createSigner, nodeCrypto } from "@event-anchoring/node-crypto";
import {
  bytesToHex,
  equalBytes,
  extendTrustRootChain,
  findOrigin,
  logKeySeed,
  raftIdOf,
} from "@event-anchoring/protocol";
import type { TrustRoot, TrustRootChain } from "@event-anchoring/protocol";
import {
  formatProposal,
  mergeProposals,
  parseProposal,
  readSeed,
  readTrustRoots,
  restorationFault,
} from "@event-anchoring/provision";
import type { TrustRootProposal } from "@event-anchoring/provision";
import { restoreBackup } from "@event-anchoring/store";
import type { BackupFile, RestoreBackupOptions } from "@event-anchoring/store";
import { CliError, EXIT } from "../terminal/cli-error.ts";
import type { ExitCode } from "../terminal/cli-error.ts";
import type { NodeSettings } from "../files/node-database.ts";
import type { Printer } from "../terminal/printer.ts";
import type { Progress } from "../terminal/progress.ts";
import { readText } from "../files/read-input.ts";
import { assertOwnCluster, withBackup } from "./backup.ts";
import { asUsage } from "./root-key.ts";
import { PROPOSAL_BYTES_MAX, asRefusal } from "./root-proposal.ts";

export interface RestoreOptions {
  readonly backup: string;
  /** Settings of the new node, which was prepared and has not run. */
  readonly settings: NodeSettings;
  /** The operator vouches for what no quorum has signed. */
  readonly mayBeUnsigned: boolean;
  readonly isJson: boolean;
}

/** `anchorctl restore node`: a new node of a living cluster begins with the state of a backup. */
export async function restoreNodeCommand(
  { backup, settings, mayBeUnsigned, isJson }: RestoreOptions,
  printer: Printer,
  progress: Progress,
): Promise<ExitCode> {
  const { nodeId } = settings;
  const held = await newIdentity(settings);
  return withBackup(backup, async (file) => {
    const judgeChain = (chain: TrustRootChain): void => assertNewTo(held, chain, settings);
    const restored = await restore(file, settings, progress, { mayBeUnsigned, judgeChain, newGroup: null });
    if (isJson) printer.json({ node_id: nodeId, scope: "node", ...restored });
    else {
      describe(restored, settings, printer);
      const propose = printer.next("root", "propose", "--add-learner", `${nodeId}.card`, "--out", "<file>");
      printer.verdict("pass", `Next: start ${nodeId}, then ${propose}`);
    }
    return EXIT.ok;
  });
}

/** `anchorctl restore cluster`: one node of a new group begins with the state of a backup and the signed versions. */
export async function restoreClusterCommand(
  { backup, settings, mayBeUnsigned, isJson, trustRoots }: RestoreOptions & { readonly trustRoots: readonly string[] },
  printer: Printer,
  progress: Progress,
): Promise<ExitCode> {
  const { nodeId } = settings;
  const held = await newIdentity(settings);
  const proposals = byVersion(trustRoots);
  const next = proposals.at(-1)?.trustRoot;
  if (next === undefined) throw new CliError(EXIT.usage, "trust_root_missing", "give --trust-root <file>");
  await assertOwnKeys(next, settings);
  const active = next.nodes.filter(({ status }) => status === "active").map((node) => node.nodeId);
  return withBackup(backup, async (file) => {
    const judgeChain = (chain: TrustRootChain): void => {
      assertNewTo(held, chain, settings);
      assertFollows(chain, proposals);
    };
    const { sha256 } = nodeCrypto;
    const voters = active.map((each) => raftIdOf(next.clusterId, each, sha256));
    const documents = proposals.map(formatProposal);
    const restored = await restore(file, settings, progress, {
      mayBeUnsigned,
      judgeChain,
      newGroup: { voters, trustRoots: documents },
    });
    const { version, epoch } = next;
    if (isJson) {
      printer.json({ node_id: nodeId, scope: "cluster", ...restored, version, epoch, voters: active });
      return EXIT.ok;
    }
    describe(restored, settings, printer);
    printer.check("pass", "group", `${active.join(", ")} vote, ${next.quorum} cosign, epoch ${epoch}`);
    const others = active.filter((each) => each !== nodeId).join(" and ");
    printer.verdict("pass", `Next: the same backup on ${others}; then start all: they apply version ${version}.`);
    return EXIT.ok;
  });
}

interface Restored {
  readonly state_signed: boolean;
  readonly raft_index: number;
  readonly raft_term: number;
  readonly leaves: number;
  readonly backup_sha256: string;
}

async function restore(
  file: BackupFile,
  { databaseUrl, nodeId, clusterId }: NodeSettings,
  progress: Progress,
  how: Pick<RestoreBackupOptions, "judgeChain" | "newGroup"> & Pick<RestoreOptions, "mayBeUnsigned">,
): Promise<Restored> {
  const { manifest, sha256 } = file;
  if (bytesToHex(manifest.clusterId) !== clusterId) {
    const message = `the backup is of cluster ${bytesToHex(manifest.clusterId)}, the settings are for ${clusterId}`;
    throw new CliError(EXIT.invalid, "other_cluster", message);
  }
  const { mayBeUnsigned, ...rest } = how;
  if (!manifest.isSigned && !mayBeUnsigned) {
    const message =
      "no quorum has signed which API keys, members and endings the backup holds. `anchorctl backup verify` lists " +
      "the keys that would be live; --unsigned takes it on your word";
    throw new CliError(EXIT.asStated, "unsigned", message);
  }
  const { point } = await restoreBackup({
    signers: mayBeUnsigned ? "unsigned" : "quorum",
    url: databaseUrl,
    file,
    nodeId,
    ...rest,
    onProgress: (bytes, ofBytes) => progress.say(`${bytes} of ${ofBytes} bytes read`),
  });
  progress.end();
  const leaves = manifest.nextSequence;
  const { isSigned: state_signed } = manifest;
  return { state_signed, raft_index: point.index, raft_term: point.term, leaves, backup_sha256: bytesToHex(sha256) };
}

function describe(restored: Restored, { nodeId }: NodeSettings, printer: Printer): void {
  const { raft_index: index, raft_term: term, leaves } = restored;
  printer.check("pass", "state", `${leaves} leaves; the log of ${nodeId} begins after index ${index} of term ${term}`);
  if (restored.state_signed)
    printer.check("pass", "signed", "API keys, members and endings are as a quorum has signed");
  else printer.check("warn", "NOT SIGNED", "API keys, members and endings are as the file says, on your word");
}

/** The trust roots that the node was prepared with. A node that has lived has promised what no backup knows of. */
async function newIdentity({ identityDir, promiseFile, nodeId }: NodeSettings): Promise<TrustRootChain> {
  if (existsSync(promiseFile)) {
    const message = `${nodeId} has run before: ${promiseFile} is there. Its identity is spent; prepare a new node`;
    throw new CliError(EXIT.usage, "identity_spent", message);
  }
  return asUsage(() => readTrustRoots(identityDir));
}

/** A node that some version lists may have voted and cosigned already. */
function assertNewTo(held: TrustRootChain, found: TrustRootChain, { nodeId }: NodeSettings): void {
  assertOwnCluster(held, found);
  const listing = [...held.versions, ...found.versions].find(({ trustRoot }) =>
    trustRoot.nodes.some((node) => node.nodeId === nodeId),
  );
  if (listing === undefined) return;
  const message = `${nodeId} is in trust-root version ${listing.trustRoot.version}: restore into a new node`;
  throw new CliError(EXIT.usage, "identity_spent", message);
}

/** Copies of one version that were signed apart are put together. Ascending by version. */
function byVersion(paths: readonly string[]): readonly TrustRootProposal[] {
  const copies = paths.map((path) => asRefusal(() => parseProposal(readText(path, PROPOSAL_BYTES_MAX))));
  const versions = [...new Set(copies.map(({ trustRoot }) => trustRoot.version))].toSorted((a, b) => a - b);
  return versions.map((version) =>
    asRefusal(() => mergeProposals(copies.filter(({ trustRoot }) => trustRoot.version === version))),
  );
}

/** The versions follow the backup's newest, are signed, and the last of them alone raises the epoch. */
function assertFollows(found: TrustRootChain, proposals: readonly TrustRootProposal[]): void {
  let chain = found;
  for (const [at, proposal] of proposals.entries()) {
    const before = chain.newest.trustRoot;
    if (proposal.lines.length === 0) {
      throw new CliError(EXIT.invalid, "root_quorum_missing", `no signature on version ${proposal.trustRoot.version}`);
    }
    const extended = extendTrustRootChain(chain, formatProposal(proposal), nodeCrypto);
    if (extended.result === "refused") {
      const step = `version ${proposal.trustRoot.version} may not follow version ${before.version}`;
      const message = `${step}: ${extended.detail}`;
      throw new CliError(EXIT.invalid, extended.code, message);
    }
    const { trustRoot } = proposal;
    const isLast = at === proposals.length - 1;
    const fault =
      isLast === trustRoot.epoch > before.epoch
        ? restorationFault(before, trustRoot)
        : `version ${trustRoot.version} ${isLast ? "does not raise" : "raises"} the epoch: the last one given does`;
    if (fault !== null) throw new CliError(EXIT.invalid, "no_restoration", fault);
    chain = extended.chain;
  }
}

/** What the node would find out when it starts, before its database is written. */
async function assertOwnKeys(next: TrustRoot, { nodeId, identityDir }: NodeSettings): Promise<void> {
  const line = next.nodes.find((node) => node.nodeId === nodeId);
  if (line?.status !== "active") {
    const message = `version ${next.version} does not list ${nodeId} as active`;
    throw new CliError(EXIT.invalid, "not_listed", message);
  }
  const seedOf = (name: string): Promise<Uint8Array> => asUsage(() => readSeed(join(identityDir, name)));
  const logVkey = findOrigin(next, line.originFingerprint)?.logVkey;
  const logSeed = logKeySeed(await seedOf("log.seed"), line.originFingerprint, nodeCrypto.sha256);
  const keys = [
    ["cosigner.key", line.cosignerVkey.publicKey, await seedOf("cosigner.key")],
    ["auth.key", line.authPublicKey, await seedOf("auth.key")],
    ["log.seed", logVkey?.publicKey ?? new Uint8Array(0), logSeed],
  ] as const;
  for (const [name, named, seed] of keys) {
    if (equalBytes(createSigner(seed).publicKey, named)) continue;
    const message = `${join(identityDir, name)} does not give the key that version ${next.version} names for ${nodeId}`;
    throw new CliError(EXIT.invalid, "key_differs", message);
  }
}
