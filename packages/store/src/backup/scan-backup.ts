import type { ApiKey } from "@event-anchoring/ledger";
import { nodeCrypto } from "@event-anchoring/node-crypto";
import { bytesToHex, equalBytes, frontierRoot } from "@event-anchoring/protocol";
import type { OriginFingerprint, TrustRootChain, VerifiedStateHead } from "@event-anchoring/protocol";
import { SnapshotRebuild } from "../snapshot/snapshot-rebuild.ts";
import type { RebuiltOrigin } from "../snapshot/snapshot-rebuild.ts";
import { birthConfState, verifySnapshotState } from "../snapshot/snapshot-state.ts";
import { BackupError } from "./backup-error.ts";
import type { BackupFile } from "./backup-file.ts";
import type { BackupManifest } from "./backup-format.ts";
import { DerivedState } from "./derived-state.ts";

/** A tree of an origin whose root the caller wants. */
export interface AskedHead {
  readonly originFingerprint: OriginFingerprint;
  readonly treeSize: number;
}

export interface ScannedBackup {
  /** Verified from its own version 1 on; the caller judges whether that is the cluster's. */
  readonly chain: TrustRootChain;
  readonly origins: readonly RebuiltOrigin[];
  /** Not proved by any leaf. */
  readonly apiKeys: readonly ApiKey[];
  /** The state head in the file, signed by a quorum, over all that leaves do not prove; null: it is unsigned. */
  readonly stateHead: VerifiedStateHead | null;
  /** Root of a tree that was asked for; null: the backup does not reach that size. */
  rootOf(head: AskedHead): Uint8Array | null;
}

const keyOf = ({ originFingerprint, treeSize }: AskedHead): string => `${bytesToHex(originFingerprint)} ${treeSize}`;

/**
 * Goes through all of a backup that is intact as a file: hashes each leaf, rebuilds each tree, verifies the chain of
 * trust roots and the newest certificate of each origin, derives the state tree, compares it with the state head if
 * there is one, and compares the manifest with the result.
 * @throws StoreError `snapshot_refused`, BackupError `inconsistent`
 */
export async function scanBackup(
  file: BackupFile,
  options: {
    readonly heads?: readonly AskedHead[];
    readonly onProgress?: (leaves: number, ofLeaves: number) => void;
  } = {},
): Promise<ScannedBackup> {
  const { heads = [], onProgress } = options;
  const asked = new Set(heads.map(keyOf));
  const roots = new Map<string, Uint8Array>();
  const rebuild = new SnapshotRebuild();
  const state = new DerivedState();
  const apiKeys: ApiKey[] = [];
  let leaves = 0;
  for await (const records of file.batches()) {
    for (const record of records) {
      rebuild.add(record);
      if (record.type === "api_key") apiKeys.push(record.apiKey);
      if (record.type !== "leaf") continue;
      leaves += 1;
      const { originFingerprint, frontier } = rebuild.newestTree;
      const key = keyOf({ originFingerprint, treeSize: frontier.size });
      if (asked.has(key)) roots.set(key, frontierRoot(frontier, nodeCrypto.sha256));
    }
    state.add(rebuild.take());
    onProgress?.(leaves, file.manifest.nextSequence);
  }
  if (!rebuild.isEnded) throw new BackupError("inconsistent", "its records do not end");
  const { chain } = rebuild;
  if (chain === null) throw new BackupError("inconsistent", "there is no trust root in it");
  const origins = rebuild.origins();
  const fault = differenceOf(file.manifest, rebuild, chain, origins);
  if (fault !== null) throw new BackupError("inconsistent", `what it says of itself is not what it holds: ${fault}`);
  const stateHead = verifiedState(rebuild, state);
  return { chain, origins, apiKeys, stateHead, rootOf: (head) => roots.get(keyOf(head)) ?? null };
}

/** @throws StoreError `snapshot_refused`: its content differs from what was signed */
function verifiedState(rebuild: SnapshotRebuild, state: DerivedState): VerifiedStateHead | null {
  if (rebuild.stateHead === null) return null;
  const confState = rebuild.header.confState ?? birthConfState(rebuild.chain);
  return verifySnapshotState(rebuild, { stateRoot: state.root(), confState }, "quorum");
}

/** The first false statement in a backup's manifest; null: none. */
function differenceOf(
  told: BackupManifest,
  { header, stateHead }: SnapshotRebuild,
  { newest }: TrustRootChain,
  origins: readonly RebuiltOrigin[],
): string | null {
  const { trustRoot, rootThk } = newest;
  const isPlace =
    told.raftIndex === header.raftIndex && told.raftTerm === header.raftTerm && equalBytes(told.effect, header.effect);
  if (!isPlace) return "its log entry";
  if (told.nextSequence !== header.nextSequence || told.lastAcceptedMs !== header.lastAcceptedMs) return "its leaves";
  const isCluster = told.clusterName === trustRoot.clusterName && equalBytes(told.clusterId, trustRoot.clusterId);
  if (!isCluster) return "its cluster";
  const isRoot =
    told.trustRootVersion === trustRoot.version && told.epoch === trustRoot.epoch && equalBytes(told.rootThk, rootThk);
  if (!isRoot) return "its trust root";
  if (told.isSigned !== (stateHead !== null)) return "whether it is signed";
  const other = origins.find(({ originFingerprint, treeSize, rootHash }, at) => {
    const named = told.origins[at];
    const isSame =
      named !== undefined &&
      equalBytes(named.originFingerprint, originFingerprint) &&
      named.treeSize === treeSize &&
      equalBytes(named.rootHash, rootHash);
    return !isSame;
  });
  if (other !== undefined) return `origin ${bytesToHex(other.originFingerprint)}`;
  return told.origins.length === origins.length ? null : "how many origins there are";
}
