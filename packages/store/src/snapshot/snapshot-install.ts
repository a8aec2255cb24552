import { createHash } from "node:crypto";
import type { RuleTable } from "@event-anchoring/ledger";
import { nodeCrypto } from "@event-anchoring/node-crypto";
import { DecodeError, EMPTY_STATE_ROOT, InvalidBytesError, equalBytes, frontierRoot } from "@event-anchoring/protocol";
import type { OriginFingerprint, TrustRootChain } from "@event-anchoring/protocol";
import type { ConfState, EntryId } from "raft-ts";
import { buildInsert } from "../ledger/apply.ts";
import { Connection } from "../postgres/connection.ts";
import type { Session } from "../postgres/connection.ts";
import { StoreError } from "../postgres/errors.ts";
import { INDEXED_PLANS } from "../postgres/indexed-plans.ts";
import { loadLedgerRow, updateLedgerRow } from "../tables/ledger.ts";
import type { LedgerRow } from "../tables/ledger.ts";
import { loadFrontier, loadLedger } from "../ledger/ledger-load.ts";
import { LookUpRuns } from "../tables/look-up-runs.ts";
import { LEDGER_LOCK, LOOK_UP_RUNS_LOCK, RAFT_LOG_LOCK } from "../postgres/locks.ts";
import { assertMigrated } from "../postgres/migrate.ts";
import { OriginNumbers } from "../tables/origin-numbers.ts";
import { encodeConfState } from "../log/raft-codec.ts";
import { resetRaftLog, writeHardState } from "../log/raft-log.ts";
import { loadTermAndVote } from "../log/raft-log-reads.ts";
import { assertSafeSettings } from "../postgres/settings.ts";
import { RecordDecoder } from "./snapshot-format.ts";
import type { SnapshotManifest, SnapshotRecord } from "./snapshot-format.ts";
import { deriveRecords } from "./snapshot-records.ts";
import { SnapshotRebuild } from "./snapshot-rebuild.ts";
import type { RebuiltOrigin } from "./snapshot-rebuild.ts";
import { birthConfState, verifySnapshotState } from "./snapshot-state.ts";
import type { StateSigners } from "./snapshot-state.ts";
import { SnapshotStateTree } from "./snapshot-state-tree.ts";

/** An origin of a snapshot that is not in force yet. */
export interface SnapshotOrigin extends RebuiltOrigin {
  /** Root hash of its first `treeSize` leaves, which it must have. */
  rootAt(treeSize: number): Promise<Uint8Array>;
}

/** What only the node itself can judge. Throwing refuses the snapshot; the caller gets that very error. */
export interface SnapshotChecks {
  /** Is this chain, which is consistent from its own version 1 on, ours? null: there was no genesis yet. */
  trustRoots(chain: TrustRootChain | null): void | Promise<void>;
  /** Does it contain what this node has promised? Called for each origin, once all of it is written. */
  origin(origin: SnapshotOrigin): void | Promise<void>;
}

export interface InstallSnapshotOptions {
  readonly url: string;
  readonly manifest: SnapshotManifest;
  /** In order. They may take their time: nothing is visible, and nothing is lost if they stop. */
  readonly chunks: AsyncIterable<Uint8Array> | Iterable<Uint8Array>;
  readonly checks: SnapshotChecks;
  /**
   * Who must have signed the state head: a quorum; as many that one of them is honest if at most one node lies; or one.
   * `unsigned`: a snapshot without a state head is accepted too, on the caller's word.
   */
  readonly signers: StateSigners | "unsigned";
  /** The rules that the program that goes on from here can decide by; absent: this release's. */
  readonly ruleTable?: RuleTable;
  /** The group's members, if they differ from the snapshot's. */
  readonly confState?: ConfState;
  /** Further work in the transaction, before anything of the state is touched. Throwing refuses the snapshot. */
  readonly before?: (session: Session) => Promise<void>;
  /** How long to wait for an earlier session to leave. Default 10,000. */
  readonly lockTimeoutMs?: number;
}

export interface InstalledSnapshot {
  /** The log now begins after this entry, which is also the applied one. */
  readonly point: EntryId;
  readonly confState: ConfState;
}

const STATE_TABLES = [
  "trust_roots",
  "origins",
  "trust_root_positions",
  "anchors",
  "lookup_runs",
  "claims",
  "grants",
  "revocations",
  "tree_pages",
  "tiles",
  "certificates",
  "api_keys",
  "operators",
  "group_ids",
];

/** Records that are judged in one go, a few milliseconds' work; then others get their turn. */
const RECORDS_PER_STEP = 500;

/** Every chunk against its hash, and the whole against its own. */
async function* verifiedChunks(options: InstallSnapshotOptions): AsyncGenerator<Uint8Array> {
  const { manifest } = options;
  const whole = createHash("sha256");
  let index = 0;
  let totalBytes = 0;
  for await (const chunk of options.chunks) {
    const expected = manifest.chunkHashes[index];
    const hash = createHash("sha256").update(chunk).digest();
    if (expected === undefined || !equalBytes(hash, expected)) {
      throw new StoreError("snapshot_refused", `chunk ${index} is not the one of the manifest`);
    }
    whole.update(chunk);
    totalBytes += chunk.length;
    index += 1;
    yield chunk;
  }
  const isWhole = index === manifest.chunkHashes.length && totalBytes === manifest.totalBytes;
  if (!isWhole || !equalBytes(whole.digest(), manifest.wholeHash)) {
    throw new StoreError("snapshot_refused", `${index} chunks are not the whole of the manifest`);
  }
}

function refusingUndecodable<T>(work: () => T): T {
  try {
    return work();
  } catch (cause) {
    if (cause instanceof DecodeError || cause instanceof InvalidBytesError) {
      throw new StoreError("snapshot_refused", `a record cannot be decoded: ${cause.message}`, { cause });
    }
    throw cause;
  }
}

/** Writes rows as they are made. They are in a transaction that only this session sees. */
class SnapshotInstaller {
  readonly #session: Session;
  readonly #options: InstallSnapshotOptions;
  readonly #rebuild: SnapshotRebuild;
  readonly #decoder = new RecordDecoder();
  readonly #numbers = new OriginNumbers();
  readonly #stateTree: SnapshotStateTree;
  #stateRoot = EMPTY_STATE_ROOT;
  #hasCheckedChain = false;

  constructor(session: Session, options: InstallSnapshotOptions) {
    this.#session = session;
    this.#options = options;
    this.#rebuild = new SnapshotRebuild(options.ruleTable);
    this.#stateTree = new SnapshotStateTree(session);
  }

  async run(): Promise<InstalledSnapshot> {
    await this.#options.before?.(this.#session);
    const before = await loadLedgerRow(this.#session);
    const { manifest } = this.#options;
    if (manifest.raftIndex <= before.appliedIndex) {
      const what = `entry ${manifest.raftIndex} is applied here already, up to ${before.appliedIndex}`;
      throw new StoreError("snapshot_refused", what);
    }
    await this.#stateTree.open();
    for (const table of STATE_TABLES) await this.#session.write({ text: `DELETE FROM state.${table}` });
    for await (const chunk of verifiedChunks(this.#options)) {
      const records = this.#decode(chunk);
      let waiting = 0;
      for (const record of records) {
        if (waiting >= RECORDS_PER_STEP || refusingUndecodable(() => this.#rebuild.standsOnWaiting(record))) {
          await this.#writeRows();
          waiting = 0;
        }
        refusingUndecodable(() => this.#rebuild.add(record));
        waiting += 1;
      }
      await this.#writeRows();
    }
    if (!this.#rebuild.isEnded || this.#decoder.pendingBytes > 0) {
      throw new StoreError("snapshot_refused", "the snapshot does not end with its end");
    }
    await this.#writeLookUpRuns();
    this.#stateRoot = await this.#stateTree.build();
    const confState = this.#rebuild.header.confState ?? birthConfState(this.#rebuild.chain);
    this.#verifyState(confState);
    await this.#writeLedgerRow(this.#options.confState ?? confState);
    // Loads what a restart would load: what that refuses is refused before anything is in force.
    await loadLedger(this.#session);
    await this.#checkOrigins();
    const point = { index: manifest.raftIndex, term: manifest.raftTerm };
    await resetRaftLog(this.#session, point);
    await this.#raiseTerm(point);
    return { point, confState: this.#options.confState ?? confState };
  }

  /** At the end: until then no leaf is looked up by what runs are for. */
  async #writeLookUpRuns(): Promise<void> {
    const session = this.#session;
    const runs = new LookUpRuns({
      read: (statement, values) => session.read(statement, values),
      write: (statement, values) => session.write(statement, values),
      transaction: (work) => work(session),
    });
    while (runs.isDue(this.#rebuild.header.nextSequence)) await runs.write();
  }

  #verifyState(confState: ConfState): void {
    const { signers } = this.#options;
    if (signers === "unsigned" && this.#rebuild.stateHead === null) return;
    const unpacked = { stateRoot: this.#stateRoot, confState };
    verifySnapshotState(this.#rebuild, unpacked, signers === "unsigned" ? "quorum" : signers);
  }

  #decode(chunk: Uint8Array): SnapshotRecord[] {
    return refusingUndecodable(() => this.#decoder.push(chunk));
  }

  async #writeRows(): Promise<void> {
    if (this.#rebuild.hasChain) await this.#checkChain();
    const { writes, erased, recordLeaves, groupIds } = this.#rebuild.take();
    for (const { originFingerprint } of writes.originStatuses) this.#numbers.add(this.#numbers.next, originFingerprint);
    const records = await deriveRecords(this.#session, recordLeaves, this.#numbers);
    const all = { ...writes, ...records };
    await this.#stateTree.add({ ...all, erasures: erased });
    const { statement, values } = buildInsert({ writes: all, erased, groupIds }, this.#numbers);
    await this.#session.write(statement, values);
  }

  /** Called as soon as the chain is complete: another cluster need not send its leaves. */
  async #checkChain(): Promise<void> {
    if (this.#hasCheckedChain) return;
    this.#hasCheckedChain = true;
    await this.#options.checks.trustRoots(this.#rebuild.chain);
  }

  async #checkOrigins(): Promise<void> {
    for (const origin of this.#rebuild.origins()) {
      await this.#options.checks.origin({
        ...origin,
        rootAt: (treeSize) => this.#rootAt(origin.originFingerprint, treeSize),
      });
    }
  }

  async #rootAt(originFingerprint: OriginFingerprint, treeSize: number): Promise<Uint8Array> {
    return frontierRoot(await loadFrontier(this.#session, originFingerprint, treeSize), nodeCrypto.sha256);
  }

  async #writeLedgerRow(confState: ConfState): Promise<void> {
    const { header, runningHashes } = this.#rebuild;
    const { manifest } = this.#options;
    const isSame =
      header.raftIndex === manifest.raftIndex &&
      header.raftTerm === manifest.raftTerm &&
      equalBytes(header.effect, manifest.effect);
    if (!isSame) throw new StoreError("snapshot_refused", "header and manifest speak of different entries");
    const row: LedgerRow = {
      appliedIndex: header.raftIndex,
      appliedTerm: header.raftTerm,
      effect: header.effect,
      nextSequence: header.nextSequence,
      lastAcceptedMs: header.lastAcceptedMs,
      groupIdsFrom: header.groupIdsFrom,
      // The log begins after this state.
      forgetLogTo: 0,
      confState: encodeConfState(confState),
      rules: header.rules,
      stampMs: header.stampMs,
      stateRoot: this.#stateRoot,
      ...runningHashes,
    };
    await updateLedgerRow(this.#session, row);
  }

  /** A log never begins in a later term than the stored one. In a term that is new to us we have not voted. */
  async #raiseTerm(point: EntryId): Promise<void> {
    const state = await loadTermAndVote(this.#session);
    if (state !== null && state.term >= point.term) return;
    await writeHardState(this.#session, { term: point.term, vote: 0n, commit: point.index });
  }
}

/**
 * Puts the state of a peer in the place of this node's, and its log after it, in one transaction: until that commits,
 * the old state is in force and is read, and any failure leaves it as it was. Every leaf is hashed again, trees and
 * look-ups are rebuilt, the newest certificate of each origin is verified. Log and ledger of this node must be closed,
 * and are opened anew afterwards. A term that is new to this node is stored with it, without a vote.
 *
 * What leaves do not prove (members, API keys, endings, group ids, which API client an event is of, what was erased) is
 * compared with the state head that nodes have signed.
 * @throws StoreError `snapshot_refused`, `locked`, `unavailable`, `full`, `unknown_outcome`; whatever a check throws
 */
export async function installSnapshot(options: InstallSnapshotOptions): Promise<InstalledSnapshot> {
  const connection = await Connection.open({
    url: options.url,
    name: "event-anchoring snapshot install",
    settings: INDEXED_PLANS,
  });
  try {
    await assertMigrated(connection);
    await assertSafeSettings(connection, true);
    await connection.write({ text: "SET synchronous_commit = on" });
    await connection.lock(RAFT_LOG_LOCK, options.lockTimeoutMs);
    await connection.lock(LEDGER_LOCK, options.lockTimeoutMs);
    await connection.lock(LOOK_UP_RUNS_LOCK, options.lockTimeoutMs);
    return await connection.transaction((session) => new SnapshotInstaller(session, options).run());
  } finally {
    await connection.close();
  }
}
