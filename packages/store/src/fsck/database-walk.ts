/**
 * A node's tables, a batch at a time. Each batch is judged within one snapshot; what is carried over between batches
 * never changes.
 */
import { RELEASE_RULES, erasureEntry, nextClientEventsHash } from "@event-anchoring/ledger";
import type { LeafWalk, RuleTable, WalkedLeaf, WalkedOrigin } from "@event-anchoring/ledger";
import { nodeCrypto } from "@event-anchoring/node-crypto";
import { DecodeError, InvalidBytesError, ZERO_32, bytesToHex } from "@event-anchoring/protocol";
import type { TrustRootChain } from "@event-anchoring/protocol";
import type { Reader } from "../postgres/connection.ts";
import { StoreError } from "../postgres/errors.ts";
import { decodeCosignatures } from "../tables/certificates.ts";
import {
  LeavesInTables,
  judgeAnchorRow,
  judgeRepeatingRows,
  loadAnchorRows,
  loadCertificateRows,
  vouchedId,
} from "./anchor-rows.ts";
import type { WalkedAnchorRow, WalkedCertificateRow, MarkedEvent, SizeRange, WalkedRange } from "./anchor-rows.ts";
import { CertificateChecks } from "./certificates.ts";
import type { StatedCertificate } from "./certificates.ts";
import type { Findings } from "./findings.ts";
import { GroupWalk } from "./group-hashes.ts";
import { anchorRow, leafWalkInto } from "./leaf-walk.ts";
import { RunWalk } from "./look-up-run-rows.ts";
import { LogWalk } from "./log-rows.ts";
import type { StepBounds } from "./log-rows.ts";
import { NamedLeaves, judgeNested } from "./named-leaves.ts";
import type { FsckProgress } from "./options.ts";
import { judgeClaims, judgeGrants } from "./record-relations.ts";
import type { RecordsJudged } from "./record-relations.ts";
import { SignatureChecks } from "./signature-checks.ts";
import {
  judgeApiKeys,
  judgeGroupIdRows,
  judgeIdentity,
  judgeLedgerEnds,
  judgeLedgerRow,
  judgeOriginRows,
  judgePositions,
  judgeTrustRootRows,
  loadDocuments,
  loadOriginRows,
  loadTrustRootCount,
} from "./small-tables.ts";
import type { LedgerEnds, OriginRows } from "./small-tables.ts";
import { StateWalk } from "./state-tree-rows.ts";
import type { DerivedEntry } from "./state-tree-rows.ts";
import { judgeOrphanRows } from "./orphan-rows.ts";
import { judgeTiles } from "./tile-rows.ts";
import type { DerivedTile } from "./tile-rows.ts";
import { judgedChain } from "./trust-roots.ts";

/**
 * leaves: every leaf with the rows that repeat it, then the small tables; runs: the look-up runs; claims, grants: their
 * relations; tree: the pages of the state tree; log: the raft log; groups: their running hash. Then it is done.
 */
type WalkPhase = "leaves" | "runs" | "claims" | "grants" | "tree" | "log" | "groups" | "done";

/** The main table of each phase. */
const TABLE_OF: Readonly<Record<WalkPhase, string>> = {
  leaves: "state.anchors",
  runs: "state.lookup_runs",
  claims: "state.claims",
  grants: "state.grants",
  tree: "state.tree_pages",
  log: "node.raft_log",
  groups: "state.group_ids",
  done: "node.raft_log",
};

export interface DatabaseWalkOptions {
  readonly findings: Findings;
  readonly pinnedRootThk: Uint8Array | null;
  /** Default: the rules that this build can decide by. */
  readonly ruleTable?: RuleTable;
  /** Verified by this process: the same documents are not verified again. Default: nothing. */
  readonly heldChain?: () => TrustRootChain | null;
}

export class DatabaseWalk {
  readonly #findings: Findings;
  readonly #pinnedRootThk: Uint8Array | null;
  readonly #heldChain: () => TrustRootChain | null;
  readonly #signatures: SignatureChecks;
  readonly certificates: CertificateChecks;
  readonly #state: StateWalk;
  readonly #groups: GroupWalk;
  readonly #log: LogWalk;
  readonly #runs: RunWalk;
  readonly walk: LeafWalk;
  #phase: WalkPhase = "leaves";
  #trustRoots = -1;
  /** Where the claims or grants continue. */
  #nextRecord = 0;
  /** Running hash over the client events; null: one of them is damaged. */
  #clientEvents: Uint8Array | null = ZERO_32;

  constructor({ findings, pinnedRootThk, ruleTable = RELEASE_RULES, heldChain = () => null }: DatabaseWalkOptions) {
    this.#findings = findings;
    this.#pinnedRootThk = pinnedRootThk;
    this.#heldChain = heldChain;
    this.walk = leafWalkInto(findings);
    this.#signatures = new SignatureChecks(findings);
    this.certificates = new CertificateChecks(findings, this.#signatures, this.walk);
    this.#state = new StateWalk(findings);
    this.#groups = new GroupWalk(findings);
    this.#log = new LogWalk(findings, ruleTable);
    this.#runs = new RunWalk(findings);
  }

  get isDone(): boolean {
    return this.#phase === "done";
  }

  /** The next batch, within the snapshot that the session is in. Its findings are settled at the end of the batch. */
  async step(session: Reader, bounds: StepBounds): Promise<FsckProgress> {
    const phase = this.#phase;
    const before = phase === "log" ? this.#log.next : phase === "leaves" ? this.walk.nextSequence : this.#nextRecord;
    try {
      return await this.#step(session, bounds);
    } catch (error) {
      if (!isOfDamage(error)) throw error;
      const name = { table: TABLE_OF[phase], key: `from ${before} on`, at: before };
      this.#findings.add(name, null, `what cannot be read: ${error.message}`, "rows that the program has written");
      this.#phase = "done";
      return { phase: "leaves", done: this.walk.nextSequence, total: null };
    }
  }

  async #step(session: Reader, bounds: StepBounds): Promise<FsckProgress> {
    const ends = await judgeLedgerRow(session, this.#findings);
    if (ends === null) {
      this.#phase = "done";
      return { phase: "leaves", done: this.walk.nextSequence, total: null };
    }
    const { rowsMax } = bounds;
    switch (this.#phase) {
      case "leaves": {
        await this.#stepLeaves(session, rowsMax, ends);
        return { phase: "leaves", done: this.walk.nextSequence, total: ends.nextSequence };
      }
      case "runs":
        if (await this.#runs.step(session, rowsMax, ends.nextSequence)) this.#phase = "claims";
        return { phase: "records", done: 0, total: ends.nextSequence };
      case "claims": {
        const judged = await judgeClaims(session, this.#nextRecord, rowsMax, this.#findings);
        return this.#stepRecords(session, judged, "grants", ends);
      }
      case "grants": {
        const judged = await judgeGrants(session, this.#nextRecord, rowsMax, this.#findings);
        return this.#stepRecords(session, judged, "tree", ends);
      }
      case "tree":
        if (await this.#state.step(session, rowsMax, ends.stateRoot)) this.#phase = "log";
        return { phase: "records", done: ends.nextSequence, total: ends.nextSequence };
      case "log":
        if (await this.#log.step(session, bounds, ends)) this.#phase = "groups";
        return { phase: "log", done: this.#log.next, total: ends.appliedIndex };
      case "groups":
        if (await this.#groups.step(session, rowsMax, ends)) this.#phase = "done";
        return { phase: "log", done: this.#log.next, total: ends.appliedIndex };
      case "done":
        return { phase: "log", done: this.#log.next, total: ends.appliedIndex };
    }
  }

  async #stepRecords(
    session: Reader,
    { next, entries }: RecordsJudged,
    after: WalkPhase,
    { nextSequence: total, stateRoot }: LedgerEnds,
  ): Promise<FsckProgress> {
    await this.#state.judge(session, entries, stateRoot);
    const done = next ?? total;
    this.#nextRecord = next ?? 0;
    if (next === null) this.#phase = after;
    return { phase: "records", done, total };
  }

  async #stepLeaves(session: Reader, rowsMax: number, ends: LedgerEnds): Promise<void> {
    const origins = await loadOriginRows(session);
    await this.#followTrustRoots(session, origins);
    const from = this.walk.nextSequence;
    const past = Math.min(from + rowsMax, ends.nextSequence);
    if (from < past) await this.#judgeRange(session, { from, past }, origins, ends);
    if (this.walk.nextSequence < ends.nextSequence) return;
    await this.#judgeSmallTables(session, origins, ends);
    this.#phase = "runs";
  }

  /** Versions may be added while the walk is under way. */
  async #followTrustRoots(session: Reader, origins: OriginRows): Promise<void> {
    const count = await loadTrustRootCount(session);
    if (count === this.#trustRoots) return;
    this.#trustRoots = count;
    const documents = await loadDocuments(session, this.#findings);
    this.walk.setChain(judgedChain(documents, this.#pinnedRootThk, this.#findings, this.#heldChain()));
    judgeOriginRows(origins, this.walk.chain, this.#findings);
    await judgeIdentity(session, this.walk.chain, this.#findings);
  }

  async #judgeRange(
    session: Reader,
    { from, past }: { readonly from: number; readonly past: number },
    origins: OriginRows,
    ends: LedgerEnds,
  ): Promise<void> {
    const rows = await loadAnchorRows(session, from, past);
    const certificates = await this.#loadCertificates(session, past - from, origins);
    const leaves = new Map<number, WalkedLeaf>();
    const tiles: DerivedTile[] = [];
    const bySequence = new Map(rows.map((row) => [row.sequence, row]));
    for (let sequence = from; sequence < past; sequence++) {
      const row = bySequence.get(sequence);
      if (row === undefined) {
        this.#findings.add(anchorRow(sequence), null, "missing", "a leaf: sequences have no gaps");
        this.walk.skip();
        continue;
      }
      const walked = this.#place(row, origins);
      if (walked === null) continue;
      leaves.set(sequence, walked);
      if (walked.origin !== null) tiles.push(...this.#tilesOf(walked, walked.origin, sequence, origins));
      this.#judgeCertificate(walked.origin, sequence, certificates, origins);
    }
    await judgeTiles(session, tiles, this.#findings);
    const erased = await this.#judgeNamed(session, { from, past, leaves }, bySequence, origins);
    await this.#state.judge(session, erased, ends.stateRoot);
    await this.#signatures.settle();
  }

  #place(row: WalkedAnchorRow, origins: OriginRows): WalkedLeaf | null {
    const anchorId = vouchedId(row);
    this.#findings.checked.leaves += 1;
    const originFingerprint = origins.fingerprints.get(row.origin) ?? null;
    const known = originFingerprint === null ? null : this.walk.origin(originFingerprint);
    const stated = anchorId === null ? null : { anchorId, originFingerprint: known?.originFingerprint ?? null };
    return this.walk.place(row.leaf, stated);
  }

  #tilesOf(
    { tiles }: WalkedLeaf,
    { originFingerprint }: WalkedOrigin,
    at: number,
    origins: OriginRows,
  ): readonly DerivedTile[] {
    const origin = origins.numbers.get(bytesToHex(originFingerprint));
    return origin === undefined ? [] : tiles.map((tile) => ({ ...tile, origin, originFingerprint, at }));
  }

  async #loadCertificates(
    session: Reader,
    leaves: number,
    origins: OriginRows,
  ): Promise<ReadonlyMap<string, WalkedCertificateRow>> {
    const ranges: SizeRange[] = [];
    for (const [origin, fingerprint] of origins.fingerprints) {
      const first = this.walk.origin(fingerprint)?.frontier.size ?? 0;
      ranges.push({ origin, first, last: first + leaves });
    }
    const rows = await loadCertificateRows(session, ranges);
    return new Map(rows.map((row) => [`${row.origin} ${row.tree_size}`, row]));
  }

  #judgeCertificate(
    origin: WalkedOrigin | null,
    at: number,
    certificates: ReadonlyMap<string, WalkedCertificateRow>,
    origins: OriginRows,
  ): void {
    if (origin === null) return;
    const number = origins.numbers.get(bytesToHex(origin.originFingerprint)) ?? -1;
    const row = certificates.get(`${number} ${origin.frontier.size}`);
    if (row !== undefined) this.certificates.judge({ certificate: statedCertificate(row), origin, at });
  }

  /** @returns the entries in the state tree that follow from erased client event ids */
  async #judgeNamed(
    session: Reader,
    range: WalkedRange,
    rows: ReadonlyMap<number, WalkedAnchorRow>,
    origins: OriginRows,
  ): Promise<DerivedEntry[]> {
    const findings = this.#findings;
    const leaves = [...range.leaves.values()].map(({ leaf }) => leaf);
    const named = await NamedLeaves.load(leaves, new LeavesInTables(session));
    const erased: DerivedEntry[] = [];
    if (range.leaves.size < range.past - range.from) this.#clientEvents = null;
    for (const [sequence, walked] of range.leaves) {
      const row = rows.get(sequence);
      const number = origins.numbers.get(bytesToHex(walked.leaf.originFingerprint)) ?? null;
      const event = row === undefined ? "unknown" : judgeAnchorRow(row, walked, number, { named, findings });
      this.#follow(event);
      const isErased = event !== null && event !== "unknown" && event.isErased;
      if (isErased) erased.push({ entry: erasureEntry(sequence), name: anchorRow(sequence) });
      judgeNested(walked.leaf, named, { findings, signatures: this.#signatures });
    }
    await judgeRepeatingRows(session, range, { named, findings });
    return erased;
  }

  #follow(event: MarkedEvent | null | "unknown"): void {
    if (event === "unknown") this.#clientEvents = null;
    if (this.#clientEvents === null || event === null || event === "unknown") return;
    this.#clientEvents = nextClientEventsHash(this.#clientEvents, event, nodeCrypto.sha256);
  }

  async #judgeSmallTables(session: Reader, origins: OriginRows, ends: LedgerEnds): Promise<void> {
    const findings = this.#findings;
    this.walk.end();
    judgeLedgerEnds(ends, this.walk, this.#clientEvents, findings);
    await judgeTrustRootRows(session, this.walk, findings);
    await judgePositions(session, this.walk, origins, findings);
    await this.#state.judge(session, await judgeApiKeys(session, findings), ends.stateRoot);
    await judgeGroupIdRows(session, ends, findings);
    await judgeOrphanRows(session, ends.nextSequence, findings);
  }
}

const NUMBER_OUT_OF_RANGE = "22003";

/**
 * Integers beyond 2^53 or at the limit of 64 bits, hashes of other lengths: values that no program of ours has written.
 */
function isOfDamage(error: unknown): error is Error {
  if (error instanceof StoreError) {
    const { cause } = error;
    const isOutOfRange = cause instanceof Error && "code" in cause && cause.code === NUMBER_OUT_OF_RANGE;
    return error.code === "corrupt" || isOutOfRange;
  }
  return error instanceof RangeError || error instanceof DecodeError || error instanceof InvalidBytesError;
}

function statedCertificate(row: WalkedCertificateRow): StatedCertificate {
  return {
    rootHash: row.root_hash,
    certifiedAtS: row.certified_at_s,
    trustRootVersion: row.trust_root_version,
    cosignatures: decodedCosignatures(row.cosignatures),
  };
}

function decodedCosignatures(bytes: Uint8Array): StatedCertificate["cosignatures"] {
  try {
    return decodeCosignatures(bytes);
  } catch (error) {
    if (error instanceof DecodeError) return null;
    throw error;
  }
}
