import { UNARY_CALLS, decodeSnapshotManifest, encodeSnapshotChunkRequest } from "@event-anchoring/control-contract";
import { type TrustRootChain, bytesToHex, equalBytes } from "@event-anchoring/protocol";
import {
  type InstallSnapshotOptions,
  type InstalledSnapshot,
  type SnapshotManifest,
  type SnapshotOrigin,
  StoreError,
} from "@event-anchoring/store";
import type { EntryId } from "raft-ts";
import type { Logger } from "@event-anchoring/telemetry";
import type { TimerClock, Timer } from "../ports/environment.ts";
import type { NodeIdentity } from "../ports/identity.ts";
import type { Promises } from "../promises/promise-file.ts";
import { FencedError } from "../promises/start-judgement.ts";
import type { CallAnswer, PeerNetwork } from "../transport/network-types.ts";

/** Making an export reads the whole state. */
const MANIFEST_TIMEOUT_MS = 120_000;
const CHUNK_TIMEOUT_MS = 10_000;
const CHUNK_TRIES = 5;
/** How long a node that sees a single other member with a state waits for a second one. */
const ALONE_AFTER_MS = 5000;
const ALONE_LOOK_MS = 100;
/** The connection to a peer that makes its export is checked this often. */
const LOST_LOOK_MS = 500;

export interface InstallOptions {
  readonly identity: NodeIdentity;
  readonly promises: Promises;
  readonly network: PeerNetwork;
  /** Nodes to ask. */
  readonly peers: readonly string[];
  /** False: the peer has signed that its log has never held an entry. */
  readonly hasState: (peer: string) => boolean;
  /** @throws StoreError, and what a check throws */
  readonly installSnapshot: (options: Omit<InstallSnapshotOptions, "url" | "ruleTable">) => Promise<InstalledSnapshot>;
  /** The group's log begins after this entry: an older state would not connect to it. */
  readonly atLeast: EntryId;
  /** The leader that said so, which is asked first; null: it is not known. */
  readonly announcedBy: string | null;
  /** That leader has not applied what it announced. */
  readonly onFalse: (peer: string, detail: string) => void;
  readonly clock: TimerClock;
  readonly logger: Logger;
}

interface Signers {
  readonly needed: InstallSnapshotOptions["signers"];
  /** Whose state may be taken over. */
  readonly peers: readonly string[];
}

/**
 * Who must have signed a state before it is taken over: one of two is honest if at most one node lies. Where a single
 * other member is left that has a state, that member alone, and only its own state: with one node down and one that
 * lies, the cluster promises nothing. A peer whose log has never held an entry has no state that it could sign, and
 * counts as down: two such nodes would wait for each other's signature for ever. That a peer only lags is no reason, as
 * a lying leader can announce to all others a log that begins after theirs.
 */
async function signersInReach({ peers, network, hasState, clock, logger }: InstallOptions): Promise<Signers> {
  const holders = (): readonly string[] => peers.filter((peer) => network.isConnected(peer) && hasState(peer));
  for (let waitedMs = 0; holders().length < 2; waitedMs += ALONE_LOOK_MS) {
    if (waitedMs >= ALONE_AFTER_MS) {
      logger.error("state_of_one_peer", { peers: holders() });
      return { needed: "alone", peers: holders() };
    }
    await new Promise<void>((resolve) => clock.startTimer(ALONE_LOOK_MS, resolve));
  }
  return { needed: "honest", peers: peers.filter(hasState) };
}

/**
 * Takes over the state of the first peer whose export passes every check. Nothing of this node's own state is touched
 * before that; log and ledger must be closed.
 * @throws FencedError if a newer state lacks what this node has signed; FalseStateError if the leader has less than it
 *   announced; StoreError; otherwise the last peer's error
 */
export async function installFromPeers(options: InstallOptions): Promise<InstalledSnapshot> {
  let failure: unknown = new Error("there is no peer to ask");
  const { announcedBy } = options;
  const { needed, peers } = await signersInReach(options);
  const isLeader = (peer: string): number => Number(peer === announcedBy);
  for (const peer of [...peers].sort((left, right) => isLeader(right) - isLeader(left))) {
    try {
      return await installFrom(peer, needed, options);
    } catch (error) {
      if (error instanceof FencedError) throw error;
      const reason = error instanceof Error ? error.message : String(error);
      if (error instanceof FalseStateError) {
        // Other peers may lack it as well: each would make an export for nothing.
        options.onFalse(peer, reason);
        throw error;
      }
      options.logger.warn("snapshot_not_installed", { peer, reason });
      failure = error;
    }
  }
  throw failure;
}

async function installFrom(
  peer: string,
  signers: InstallSnapshotOptions["signers"],
  options: InstallOptions,
): Promise<InstalledSnapshot> {
  const { atLeast, identity, promises, logger } = options;
  const answer = await askForManifest(peer, options);
  if (answer.status !== 200) throw new Error(`${peer} answered ${answer.status} for its manifest`);
  const manifest = decodeSnapshotManifest(answer.body);
  if (manifest.raftIndex < atLeast.index) {
    const detail = `${peer} has applied ${manifest.raftIndex}, the group's log begins after ${atLeast.index}`;
    throw peer === options.announcedBy ? new FalseStateError(detail) : new Error(detail);
  }
  logger.info("snapshot_fetching", { peer, raftIndex: manifest.raftIndex, totalBytes: manifest.totalBytes });
  const installed = await options.installSnapshot({
    manifest,
    chunks: fetchChunks(peer, manifest, options),
    signers,
    checks: {
      trustRoots: (chain) => assertOwnRoot(chain, identity),
      origin: (origin) => assertPromise(origin, promises, manifest),
    },
  });
  logger.info("snapshot_installed", { peer, raftIndex: installed.point.index });
  return installed;
}

/** Waits as long as an export may take, but not for a peer that the network has lost: another one may be there. */
async function askForManifest(peer: string, { network, clock }: InstallOptions): Promise<CallAnswer> {
  if (!network.isConnected(peer)) throw new Error(`${peer} is not connected`);
  const lost = new AbortController();
  let look: Timer;
  const lookAgain = (): void => {
    look = clock.startTimer(LOST_LOOK_MS, () => (network.isConnected(peer) ? lookAgain() : lost.abort()));
  };
  lookAgain();
  const options = { timeoutMs: MANIFEST_TIMEOUT_MS, signal: lost.signal };
  return network.call(peer, UNARY_CALLS.snapshot_manifest.path, null, options).finally(() => look.cancel());
}

/** A leader has not applied the entry that it says its log begins after. */
class FalseStateError extends Error {
  override readonly name = "FalseStateError";
}

/** A chunk that does not arrive is asked for again: the export stays open under its id. */
async function* fetchChunks(
  peer: string,
  manifest: SnapshotManifest,
  { network, clock }: InstallOptions,
): AsyncGenerator<Uint8Array> {
  const { snapshotId } = manifest;
  for (let chunkIndex = 0; chunkIndex < manifest.chunkHashes.length; chunkIndex++) {
    const body = encodeSnapshotChunkRequest({ snapshotId, chunkIndex });
    let failure: unknown = null;
    let chunk: Uint8Array | null = null;
    for (let attempt = 0; attempt < CHUNK_TRIES && chunk === null; attempt++) {
      try {
        const options = { timeoutMs: CHUNK_TIMEOUT_MS };
        const answer = await network.call(peer, UNARY_CALLS.snapshot_chunk.path, body, options);
        if (answer.status !== 200) throw new Error(`${peer} answered ${answer.status} for chunk ${chunkIndex}`);
        chunk = answer.body;
      } catch (error) {
        failure = error;
        await new Promise<void>((resolve) => clock.startTimer(100 * 2 ** attempt, resolve));
      }
    }
    if (chunk === null) throw failure;
    yield chunk;
  }
}

function assertOwnRoot(chain: TrustRootChain | null, identity: NodeIdentity): void {
  const { version, rootThk } = identity.configured;
  const same = chain?.versions.find(({ trustRoot }) => trustRoot.version === version);
  if (same === undefined || !equalBytes(same.rootThk, rootThk)) {
    throw new StoreError("snapshot_refused", `it does not carry version ${version} of this node's trust root`);
  }
}

/** What this node has signed must be in a state that is newer than the signature. */
async function assertPromise(origin: SnapshotOrigin, promises: Promises, manifest: SnapshotManifest): Promise<void> {
  const key = bytesToHex(origin.originFingerprint);
  const head = promises.signedHeads.get(key);
  if (head === undefined) return;
  if (head.raftIndex > manifest.raftIndex) {
    throw new StoreError(
      "snapshot_refused",
      `this node has signed at ${head.raftIndex}, it ends at ${manifest.raftIndex}`,
    );
  }
  const has = `origin ${key}: size ${head.treeSize} was signed`;
  if (origin.treeSize < head.treeSize) {
    throw new FencedError({ code: "root_missing", detail: `${has}, the group has ${origin.treeSize} leaves` });
  }
  if (!equalBytes(await origin.rootAt(head.treeSize), head.rootHash)) {
    throw new FencedError({ code: "root_differs", detail: `${has} with another root than the group has` });
  }
}
