import { createHash, randomBytes } from "node:crypto";
import { existsSync } from "node:fs";
import { open, rename, unlink } from "node:fs/promises";
import { dirname } from "node:path";
import { LedgerHaltError, restoreLedgerState, stateHeadOf } from "@event-anchoring/ledger";
import type { LedgerState } from "@event-anchoring/ledger";
import { nodeCrypto } from "@event-anchoring/node-crypto";
import { ByteWriter, formatStateHead } from "@event-anchoring/protocol";
import { Connection } from "../postgres/connection.ts";
import type { Reader } from "../postgres/connection.ts";
import { StoreError } from "../postgres/errors.ts";
import { INDEXED_PLANS } from "../postgres/indexed-plans.ts";
import type { LedgerRow } from "../tables/ledger.ts";
import { loadLedger } from "../ledger/ledger-load.ts";
import { assertMigrated } from "../postgres/migrate.ts";
import { decodeConfState } from "../log/raft-codec.ts";
import { encodeRecords } from "../snapshot/snapshot-format.ts";
import { birthConfState, verifiedStateHead } from "../snapshot/snapshot-state.ts";
import { snapshotRecords } from "../snapshot/snapshot-stream.ts";
import { adoptState } from "../snapshot/state-point.ts";
import type { SignedStatePoint } from "../snapshot/state-point.ts";
import { BackupError } from "./backup-error.ts";
import { BACKUP_MARK, encodeManifest } from "./backup-format.ts";
import type { BackupManifest } from "./backup-format.ts";

export interface StreamBackupOptions {
  /** Any role that may read the state tables. */
  readonly url: string;
  /** The node whose database it is; null: taken from the database, if this role may read it. */
  readonly nodeId: string | null;
  /** Unix milliseconds. */
  readonly nowMs: number;
  /** What to back up; null: the current state, unsigned. */
  readonly point: SignedStatePoint | null;
  /** The point is being read: it need not be held any more. */
  readonly onPointOpened?: () => void;
  readonly onProgress?: (leaves: number, ofLeaves: number) => void;
}

export interface WriteBackupOptions extends StreamBackupOptions {
  /** Must not be there yet. */
  readonly path: string;
}

/** Takes the next bytes of a backup; the next ones come when it has them. */
type BackupSink = (piece: Uint8Array) => Promise<void>;

export interface WrittenBackup {
  readonly manifest: BackupManifest;
  readonly bytes: number;
  /** Hash over the whole file except its last 32 bytes, which hold this hash. */
  readonly sha256: Uint8Array;
}

/** Bytes gathered before they are written. */
const WRITE_BYTES = 1024 * 1024;

/** Gathers pieces, hashes them and hands them on. */
class HashedSink {
  readonly #sink: BackupSink;
  readonly #hash = createHash("sha256");
  #pending: Uint8Array[] = [];
  #pendingBytes = 0;
  bytes = 0;

  constructor(sink: BackupSink) {
    this.#sink = sink;
  }

  async add(piece: Uint8Array): Promise<void> {
    this.#pending.push(piece);
    this.#pendingBytes += piece.length;
    if (this.#pendingBytes >= WRITE_BYTES) await this.#flush();
  }

  async #flush(): Promise<void> {
    const joined = Buffer.concat(this.#pending);
    this.#pending = [];
    this.#pendingBytes = 0;
    this.#hash.update(joined);
    await this.#sink(joined);
    this.bytes += joined.length;
  }

  /** Appends the hash of everything before it, and returns it. */
  async finish(): Promise<Uint8Array> {
    await this.#flush();
    const digest = this.#hash.digest();
    await this.#sink(digest);
    this.bytes += digest.length;
    return digest;
  }
}

/**
 * Writes the state of one node, as of one log entry, to a file: read in one repeatable-read transaction, so that
 * nothing waits for it and it is consistent while the node goes on. The file gets its name only when all of it is on
 * disk.
 * @throws StoreError `unavailable`: the point is not held any more; `snapshot_refused`: no quorum has signed it;
 * `schema`, `corrupt`; BackupError `empty_ledger`; the system's error (`EEXIST`, …)
 */
export async function writeBackup(options: WriteBackupOptions): Promise<WrittenBackup> {
  const { path } = options;
  refuseTaken(path);
  const partial = `${path}.${randomBytes(4).toString("hex")}.partial`;
  // It contains API clients and their event ids in clear text.
  const file = await open(partial, "wx", 0o600);
  try {
    const written = await streamBackup(options, (piece) => file.appendFile(piece));
    await file.sync();
    refuseTaken(path);
    await rename(partial, path);
    await syncFolder(dirname(path));
    return written;
  } catch (cause) {
    await unlink(partial);
    throw cause;
  } finally {
    await file.close();
  }
}

/**
 * The same bytes, to whoever wants to keep them otherwise than in a file of their own.
 * @throws as writeBackup; whatever the sink throws
 */
export async function streamBackup(options: StreamBackupOptions, sink: BackupSink): Promise<WrittenBackup> {
  const connection = await Connection.open({
    url: options.url,
    name: "event-anchoring backup",
    settings: { ...INDEXED_PLANS, default_transaction_read_only: "on" },
  });
  try {
    await assertMigrated(connection);
    const nodeId = options.nodeId ?? (await ownNodeId(connection));
    return await connection.transaction(
      (session) => streamFrom(session, { ...options, nodeId }, new HashedSink(sink)),
      "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY",
    );
  } finally {
    await connection.close();
  }
}

function refuseTaken(path: string): void {
  if (!existsSync(path)) return;
  throw Object.assign(new Error(`${path} exists; a backup is never overwritten`), { code: "EEXIST" });
}

async function syncFolder(path: string): Promise<void> {
  const folder = await open(path, "r");
  try {
    await folder.sync();
  } finally {
    await folder.close();
  }
}

/** The role of the api process may not read it. */
async function ownNodeId(connection: Reader): Promise<string | null> {
  const [right] = await connection.read<{ may: boolean }>({
    text: "SELECT has_schema_privilege('node', 'usage') AS may",
  });
  if (right?.may !== true) return null;
  const [row] = await connection.read<{ node_id: string }>({ text: "SELECT node_id FROM node.identity" });
  return row?.node_id ?? null;
}

async function streamFrom(session: Reader, options: StreamBackupOptions, out: HashedSink): Promise<WrittenBackup> {
  const { point } = options;
  if (point !== null) await adoptState(session, point.databaseSnapshot);
  const { row, ledger } = await loadLedger(session);
  options.onPointOpened?.();
  const state = stateOf(ledger);
  const manifest = manifestOf(state, options);
  if (point !== null) assertSigned(point.stateHead, state, row);
  await out.add(BACKUP_MARK);
  let leaves = 0;
  for await (const records of snapshotRecords(session, row, point?.stateHead ?? null)) {
    leaves += records.filter(({ type }) => type === "leaf").length;
    await out.add(encodeRecords(records));
    options.onProgress?.(leaves, row.nextSequence);
  }
  const encoded = encodeManifest(manifest);
  await out.add(encoded);
  await out.add(new ByteWriter(4).u32(encoded.length).finish());
  const sha256 = await out.finish();
  return { manifest, bytes: out.bytes, sha256 };
}

/** The state that a node would load at its start; if that fails, no backup is made. */
function stateOf(ledger: Parameters<typeof restoreLedgerState>[0]): LedgerState {
  try {
    return restoreLedgerState(ledger, nodeCrypto);
  } catch (cause) {
    if (cause instanceof LedgerHaltError) throw new StoreError("corrupt", cause.message, { cause });
    throw cause;
  }
}

/** What is read must be what is signed: at restore time it would be too late to find out. */
function assertSigned(note: string, state: LedgerState, { confState, stateRoot }: LedgerRow): void {
  const chain = state.trustRootChain;
  const members = confState === null ? birthConfState(chain) : decodeConfState(confState);
  const head = stateHeadOf(state, { members, stateRoot });
  if (chain === null || head === null) throw noGenesis();
  const { head: signed } = verifiedStateHead(note, chain, "quorum");
  if (formatStateHead(signed) === formatStateHead(head)) return;
  throw new StoreError("corrupt", `the state after entry ${head.raftIndex} is not the one that was signed`);
}

function noGenesis(): BackupError {
  return new BackupError("empty_ledger", "the genesis entry is not applied yet: there is nothing to back up");
}

function manifestOf(state: LedgerState, { nodeId, nowMs, point }: StreamBackupOptions): BackupManifest {
  const newest = state.trustRootChain?.newest;
  if (newest === undefined) throw noGenesis();
  const { clusterName, clusterId, version, epoch } = newest.trustRoot;
  return {
    clusterName,
    clusterId,
    nodeId,
    takenAtMs: nowMs,
    raftIndex: state.appliedIndex,
    raftTerm: state.appliedTerm,
    effect: state.effect,
    nextSequence: state.nextSequence,
    lastAcceptedMs: state.lastAcceptedMs,
    trustRootVersion: version,
    epoch,
    rootThk: newest.rootThk,
    isSigned: point !== null,
    origins: [...state.origins.values()].map(({ originFingerprint, status, tree, certified }) => ({
      originFingerprint,
      status,
      treeSize: tree.size,
      rootHash: tree.rootAt(tree.size),
      certifiedSize: certified?.treeSize ?? 0,
    })),
  };
}
