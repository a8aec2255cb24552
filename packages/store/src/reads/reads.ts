import { clientEventLookup } from "@event-anchoring/ledger";
import type { AsOf, ClaimRecord, GrantRecord, LoadedRecords } from "@event-anchoring/records";
import { nodeCrypto } from "@event-anchoring/node-crypto";
import { toAnchorId, toOriginFingerprint } from "@event-anchoring/protocol";
import type { AnchorId, OriginFingerprint, OriginStatus, StateProof } from "@event-anchoring/protocol";
import { byteaArray, prefixArray } from "../postgres/binary-array.ts";
import type { Parameter, Reader } from "../postgres/connection.ts";
import { loadDatabaseUsage } from "./database-usage.ts";
import type { DatabaseUsage } from "./database-usage.ts";
import { StoreError } from "../postgres/errors.ts";
import { assertMigrated } from "../postgres/migrate.ts";
import { loadProofHashes } from "./proof-hashes.ts";
import type { ProofHashes, SubtreesOfOrigin } from "./proof-hashes.ts";
import { ANCHORS_ASCENDING, ANCHORS_BY_ID, ANCHORS_DESCENDING, ANCHOR_BY_CLIENT_EVENT } from "./anchor-queries.ts";
import { ACCEPTED_MS_OF, POSITION, SEQUENCE_AT_OR_BEFORE } from "./position-queries.ts";
import { ReadPool } from "./read-pool.ts";
import type { ReadPoolOptions } from "./read-pool.ts";
import { adoptState } from "../snapshot/state-point.ts";
import { loadStateProofs } from "./state-proofs.ts";
import { toStoredAnchor } from "../tables/anchors.ts";
import type { AnchorRow, StoredAnchor } from "../tables/anchors.ts";
import { certificateColumns, toStoredCertificate } from "../tables/certificates.ts";
import type { CertificateRow, StoredCertificate } from "../tables/certificates.ts";
import { toClaimRecord } from "../tables/claims.ts";
import { toGrantRecord } from "../tables/grants.ts";
import { SELECT_TRUST_ROOTS } from "../tables/trust-roots.ts";
import type { StoredTrustRootRow } from "../tables/trust-roots.ts";
import {
  anchorsBySequenceQuery,
  grantsBetweenQuery,
  grantsToQuery,
  newestClaimQuery,
  recordsQuery,
  revocationsQuery,
  toLoadedRecords,
  withApplied,
} from "./record-reads.ts";
import type { RecordQuery, RowWithPosition } from "./record-reads.ts";
import { eventsQuery } from "./event-lists.ts";
import type { EventFilter } from "./event-lists.ts";
import { claimHistoryQuery, grantHistoryQuery } from "./record-histories.ts";
import type { ClaimHistoryFilter, GrantHistoryFilter } from "./record-histories.ts";
import type { RecordRow } from "../tables/related-records.ts";
import { loadHashRanges } from "../ledger/tree-hashes.ts";

/** Every answer has the applied index of the snapshot that it was read from. */
export interface AsOfApplied {
  readonly appliedIndex: number;
}

/** The newest leaf applied. */
export interface ReadPosition extends AsOfApplied {
  /** −1 while there is no leaf. */
  readonly sequence: number;
  /** Unix milliseconds; 0 while there is no leaf. */
  readonly acceptedMs: number;
}

export interface StoredOriginHead {
  readonly originFingerprint: OriginFingerprint;
  readonly status: OriginStatus;
  readonly treeSize: number;
  /** null: no leaf. */
  readonly lastAnchorId: AnchorId | null;
}

export type ReadDirection = "ascending" | "descending";

/** Rows of a page at most. */
export const PAGE_ROWS_MAX = 1_000;

type Found<R> = AsOfApplied & { readonly rows: R[] };

type Applied<R> = R & { readonly applied_index: number };

const CERTIFICATE_COLUMNS = `o.origin_fingerprint AS "originFingerprint", ${certificateColumns("c")}`;

const LATEST_CERTIFICATE = {
  name: "latest_certificate",
  text: withApplied(`
    SELECT ${CERTIFICATE_COLUMNS} FROM state.origins o CROSS JOIN LATERAL (
      SELECT * FROM state.certificates WHERE origin = o.origin AND tree_size >= $2 ORDER BY tree_size DESC LIMIT 1
    ) AS c WHERE o.origin_fingerprint = $1`),
};

const CERTIFICATE_AT = {
  name: "certificate_at",
  text: withApplied(`
    SELECT ${CERTIFICATE_COLUMNS} FROM state.origins o JOIN state.certificates c ON c.origin = o.origin
    WHERE o.origin_fingerprint = $1 AND c.tree_size = $2`),
};

const TRUST_ROOTS = {
  name: "trust_roots",
  text: withApplied(SELECT_TRUST_ROOTS),
};

const ORIGINS = {
  name: "origin_heads",
  text: withApplied(`
    SELECT o.origin_fingerprint, o.status, a.depth, a.anchor_id FROM state.origins o LEFT JOIN LATERAL (
      SELECT depth, anchor_id FROM state.anchors WHERE origin = o.origin ORDER BY depth DESC LIMIT 1
    ) AS a ON true ORDER BY o.origin_fingerprint`),
};

/**
 * What the api process may read: the state tables, read-only. Each answer comes from one snapshot and carries its
 * applied index, which the caller compares with the read index it holds. "Absent" is an answer; "damaged" is an error.
 *
 * All methods: StoreError `unavailable` (no connection, statement timeout), `corrupt`.
 */
export class Reads {
  readonly #session: Reader;
  /** null: one transaction is read. */
  readonly #pool: ReadPool | null;

  private constructor(session: Reader, pool: ReadPool | null) {
    this.#session = session;
    this.#pool = pool;
  }

  /** @throws StoreError `unavailable`, `schema` */
  static async open(options: ReadPoolOptions): Promise<Reads> {
    const pool = new ReadPool(options);
    try {
      await assertMigrated(pool);
    } catch (cause) {
      await pool.close();
      throw cause;
    }
    return new Reads(pool, pool);
  }

  /** A null row of the lateral part means that nothing was found. */
  async #select<R extends object>(
    statement: { readonly name: string; readonly text: string },
    values: readonly Parameter[],
    isFound: (row: R) => boolean,
  ): Promise<Found<R>> {
    const rows = await this.#session.read<Applied<R>>(statement, values);
    const first = rows[0];
    if (first === undefined) throw new StoreError("corrupt", "the row of the ledger is missing");
    return { appliedIndex: first.applied_index, rows: rows.filter(isFound) };
  }

  databaseUsage(): Promise<DatabaseUsage> {
    return loadDatabaseUsage(this.#session);
  }

  async position(): Promise<ReadPosition> {
    const { appliedIndex, rows } = await this.#select<{ sequence: number; last_accepted_ms: number }>(
      POSITION,
      [],
      () => true,
    );
    const row = rows[0];
    return { appliedIndex, sequence: row?.sequence ?? -1, acceptedMs: row?.last_accepted_ms ?? 0 };
  }

  /** @param anchorId of any kind; null: there is none */
  async anchor(anchorId: AnchorId): Promise<AsOfApplied & { readonly anchor: StoredAnchor | null }> {
    const { appliedIndex, anchors } = await this.anchors([anchorId]);
    return { appliedIndex, anchor: anchors[0] ?? null };
  }

  /** Parallel to the ids; null where there is none. */
  async anchors(
    anchorIds: readonly AnchorId[],
  ): Promise<AsOfApplied & { readonly anchors: readonly (StoredAnchor | null)[] }> {
    const { appliedIndex, rows } = await this.#select<AnchorRow & { n: number }>(
      ANCHORS_BY_ID,
      [prefixArray(anchorIds), byteaArray(anchorIds)],
      hasAnchor,
    );
    const byPosition = new Map(rows.map((row) => [row.n, row]));
    const anchors = anchorIds.map((_, position) => {
      const row = byPosition.get(position + 1);
      return row === undefined ? null : toStoredAnchor(row);
    });
    return { appliedIndex, anchors };
  }

  /** Neighbours in one origin's tree, beginning with `fromDepth`. @param limit at most PAGE_ROWS_MAX are returned */
  async anchorsOfOrigin(
    originFingerprint: OriginFingerprint,
    fromDepth: number,
    limit: number,
    direction: ReadDirection,
  ): Promise<AsOfApplied & { readonly anchors: readonly StoredAnchor[] }> {
    const { appliedIndex, rows } = await this.#select<AnchorRow>(
      direction === "ascending" ? ANCHORS_ASCENDING : ANCHORS_DESCENDING,
      [originFingerprint, fromDepth, pageOf(limit)],
      hasAnchor,
    );
    return { appliedIndex, anchors: rows.map(toStoredAnchor) };
  }

  /**
   * The event that a client event id was first used for. An erased id is known by the first 8 bytes of its hash alone:
   * the answer is then the first erased event of the API client that has them.
   */
  async clientEvent(
    apiClientId: Uint8Array,
    clientEventId: string,
  ): Promise<AsOfApplied & { readonly anchor: StoredAnchor | null; readonly isErased: boolean }> {
    const prefix = prefixArray([clientEventLookup(apiClientId, clientEventId, nodeCrypto.sha256)]);
    const { appliedIndex, rows } = await this.#select<AnchorRow>(
      ANCHOR_BY_CLIENT_EVENT,
      [prefix, apiClientId, clientEventId],
      hasAnchor,
    );
    const anchor = rows[0] === undefined ? null : toStoredAnchor(rows[0]);
    return { appliedIndex, anchor, isErased: anchor?.clientEvent?.isErased ?? false };
  }

  async #records<R extends object>(query: RecordQuery, isFound: (row: R) => boolean): Promise<Found<R>> {
    return this.#select<R>(query.statement, query.values, isFound);
  }

  async #anchors(query: RecordQuery): Promise<AsOfApplied & { readonly anchors: readonly StoredAnchor[] }> {
    const { appliedIndex, rows } = await this.#records<AnchorRow>(query, hasAnchor);
    return { appliedIndex, anchors: rows.map(toStoredAnchor) };
  }

  /** Parallel to the sequences; null where there is none yet. */
  async anchorsBySequence(
    sequences: readonly number[],
  ): Promise<AsOfApplied & { readonly anchors: readonly (StoredAnchor | null)[] }> {
    const { appliedIndex, anchors } = await this.#anchors(anchorsBySequenceQuery(sequences));
    const bySequence = new Map(anchors.map((anchor) => [anchor.sequence, anchor]));
    return { appliedIndex, anchors: sequences.map((sequence) => bySequence.get(sequence) ?? null) };
  }

  /**
   * Claims and grants by sequence, with all records that their force depends on: ancestors of grants to the root, both
   * claims of each, and of each lineage the newest claim at or before every position. Other sequences are skipped.
   * @param positions sequences
   */
  async records(
    wanted: { readonly claims: readonly number[]; readonly grants: readonly number[] },
    positions: readonly number[],
  ): Promise<AsOfApplied & { readonly records: LoadedRecords }> {
    const query = recordsQuery([...wanted.claims, ...wanted.grants], positions);
    const { appliedIndex, rows } = await this.#records<RecordRow>(query, isRecord);
    return { appliedIndex, records: toLoadedRecords(rows) };
  }

  /** The newest claim of a pair, whatever its state; null: the pair has none. @param attributeType u32 */
  async newestClaim(
    entityFingerprint: Uint8Array,
    attributeType: number,
  ): Promise<AsOfApplied & { readonly claim: ClaimRecord | null }> {
    const query = newestClaimQuery(entityFingerprint, attributeType);
    const { appliedIndex, rows } = await this.#records<RecordRow>(query, isRecord);
    return { appliedIndex, claim: rows[0] === undefined ? null : toClaimRecord(rows[0]) };
  }

  /**
   * Grants between two entities that are themselves neither superseded nor revoked, ascending by the lineages of
   * grantor and grantee, and the newest one whatever its state; with the position of the snapshot.
   * @param limit at most PAGE_ROWS_MAX are returned
   */
  async grantsBetween(
    grantorFingerprint: Uint8Array,
    granteeFingerprint: Uint8Array,
    limit: number,
  ): Promise<ReadPosition & { readonly grants: readonly GrantRecord[]; readonly newest: GrantRecord | null }> {
    const query = grantsBetweenQuery(grantorFingerprint, granteeFingerprint, pageOf(limit));
    const { rows, ...position } = await this.#withPosition(query);
    const newest = rows.find(({ what }) => what === "newest");
    return {
      ...position,
      grants: rows.filter(({ what }) => what === "standing").map(toGrantRecord),
      newest: newest === undefined ? null : toGrantRecord(newest),
    };
  }

  async #withPosition(query: RecordQuery): Promise<ReadPosition & { readonly rows: RowWithPosition[] }> {
    const { appliedIndex, rows } = await this.#records<RowWithPosition>(query, () => true);
    const { newest_sequence: sequence = -1, last_accepted_ms: acceptedMs = 0 } = rows[0] ?? {};
    return { appliedIndex, sequence, acceptedMs, rows };
  }

  /** Claims, ended or not, ascending from after a sequence. @param limit at most PAGE_ROWS_MAX are returned */
  async claimHistory(
    filter: ClaimHistoryFilter,
    afterSequence: number,
    limit: number,
  ): Promise<ReadPosition & { readonly claims: readonly ClaimRecord[] }> {
    const query = claimHistoryQuery(filter, afterSequence, pageOf(limit));
    const { rows, ...position } = await this.#withPosition(query);
    return { ...position, claims: rows.filter(isRecord).map(toClaimRecord) };
  }

  /** The same of grants. */
  async grantHistory(
    filter: GrantHistoryFilter,
    afterSequence: number,
    limit: number,
  ): Promise<ReadPosition & { readonly grants: readonly GrantRecord[] }> {
    const query = grantHistoryQuery(filter, afterSequence, pageOf(limit));
    const { rows, ...position } = await this.#withPosition(query);
    return { ...position, grants: rows.filter(isRecord).map(toGrantRecord) };
  }

  /**
   * Grants to a lineage that are themselves neither superseded nor revoked at a position, and inside their windows,
   * ascending by sequence. Only the 1,024 oldest lineages of grantors are read.
   * @param limit at most PAGE_ROWS_MAX are returned
   */
  async grantsTo(
    granteeLineage: number,
    at: AsOf,
    limit: number,
  ): Promise<AsOfApplied & { readonly grants: readonly GrantRecord[] }> {
    const query = grantsToQuery(granteeLineage, at, pageOf(limit));
    const { appliedIndex, rows } = await this.#records<RecordRow>(query, isRecord);
    return { appliedIndex, grants: rows.map(toGrantRecord) };
  }

  /**
   * Revocations of claims and grants at or before sequence `upTo`, ascending by sequence.
   * @param targets sequences
   * @param limit at most PAGE_ROWS_MAX are returned
   */
  async revocationsOf(
    targets: readonly number[],
    upTo: number,
    limit: number,
  ): Promise<AsOfApplied & { readonly revocations: readonly StoredAnchor[] }> {
    const { appliedIndex, anchors } = await this.#anchors(revocationsQuery(targets, upTo, pageOf(limit)));
    return { appliedIndex, revocations: anchors };
  }

  /**
   * Events that have a hash or refer to a claim or a grant, ascending by sequence.
   * @param afterSequence −1: from the first
   * @param limit at most PAGE_ROWS_MAX are returned
   */
  async eventsBy(
    filter: EventFilter,
    afterSequence: number,
    limit: number,
  ): Promise<AsOfApplied & { readonly anchors: readonly StoredAnchor[] }> {
    return this.#anchors(eventsQuery(filter, afterSequence, pageOf(limit)));
  }

  /** The newest recorded one. @param atLeastSize null is the answer if it is smaller */
  async latestCertificate(
    originFingerprint: OriginFingerprint,
    options: { readonly atLeastSize?: number } = {},
  ): Promise<AsOfApplied & { readonly certificate: StoredCertificate | null }> {
    return this.#certificate(LATEST_CERTIFICATE, originFingerprint, options.atLeastSize ?? 0);
  }

  /** The one recorded for exactly this size. */
  async certificateAt(
    originFingerprint: OriginFingerprint,
    treeSize: number,
  ): Promise<AsOfApplied & { readonly certificate: StoredCertificate | null }> {
    return this.#certificate(CERTIFICATE_AT, originFingerprint, treeSize);
  }

  async #certificate(
    statement: { readonly name: string; readonly text: string },
    originFingerprint: OriginFingerprint,
    treeSize: number,
  ): Promise<AsOfApplied & { readonly certificate: StoredCertificate | null }> {
    const { appliedIndex, rows } = await this.#select<CertificateRow>(
      statement,
      [originFingerprint, treeSize],
      (row) => row.treeSize !== null,
    );
    return { appliedIndex, certificate: rows[0] === undefined ? null : toStoredCertificate(rows[0]) };
  }

  /**
   * Roots of complete subtrees of any number of origins, in one statement. They are unverified, as stored: a caller
   * checks a proof made from them against the checkpoint's root.
   * @throws StoreError `out_of_order` if a subtree is not complete in what is applied, or the origin is unknown
   */
  async proofHashes(requests: readonly SubtreesOfOrigin[]): Promise<ProofHashes> {
    return loadProofHashes(this.#session, requests);
  }

  /**
   * The first `width` hashes of a tile, as they are served.
   * @throws StoreError `out_of_order` if they are not complete in what is applied, or the origin is unknown
   */
  async tileHashes(
    originFingerprint: OriginFingerprint,
    { level, index, width }: { readonly level: number; readonly index: number; readonly width: number },
  ): Promise<AsOfApplied & { readonly hashes: Uint8Array }> {
    const ranges = [{ level, index, start: 0, end: width }];
    const { appliedIndex, hashes } = await loadHashRanges(this.#session, [{ originFingerprint, ranges }]);
    return { appliedIndex, hashes: hashes[0]?.[0] ?? new Uint8Array(0) };
  }

  /** Every version, ascending. */
  async trustRoots(): Promise<AsOfApplied & { readonly trustRoots: readonly StoredTrustRootRow[] }> {
    const { appliedIndex, rows } = await this.#select<StoredTrustRootRow>(
      TRUST_ROOTS,
      [],
      (row) => row.version !== null,
    );
    const trustRoots = rows.map(({ version, rootThk, sequence, document }) => ({
      version,
      rootThk,
      sequence,
      document,
    }));
    return { appliedIndex, trustRoots };
  }

  /** Ascending by fingerprint. */
  async origins(): Promise<AsOfApplied & { readonly origins: readonly StoredOriginHead[] }> {
    const { appliedIndex, rows } = await this.#select<{
      origin_fingerprint: Uint8Array;
      status: OriginStatus;
      depth: number | null;
      anchor_id: Uint8Array | null;
    }>(ORIGINS, [], (row) => row.origin_fingerprint !== null);
    const origins = rows.map((row) => ({
      originFingerprint: toOriginFingerprint(row.origin_fingerprint),
      status: row.status,
      treeSize: row.depth === null ? 0 : row.depth + 1,
      lastAnchorId: row.anchor_id === null ? null : toAnchorId(row.anchor_id),
    }));
    return { appliedIndex, origins };
  }

  /** The largest sequence whose accepted time is at or before `timeMs`; null: the first leaf is younger. */
  async sequenceAtOrBefore(timeMs: number): Promise<AsOfApplied & { readonly sequence: number | null }> {
    const { appliedIndex, rows } = await this.#select<{ sequence: number }>(
      SEQUENCE_AT_OR_BEFORE,
      [timeMs],
      () => true,
    );
    const sequence = rows[0]?.sequence ?? -1;
    return { appliedIndex, sequence: sequence < 0 ? null : sequence };
  }

  /** Unix milliseconds; null: no leaf has this sequence yet. */
  async acceptedMsOf(sequence: number): Promise<AsOfApplied & { readonly acceptedMs: number | null }> {
    const { appliedIndex, rows } = await this.#select<{ sequence: number; accepted_ms: number }>(
      ACCEPTED_MS_OF,
      [sequence],
      (row) => row.sequence !== null,
    );
    return { appliedIndex, acceptedMs: rows[0]?.accepted_ms ?? null };
  }

  async close(): Promise<void> {
    await this.#pool?.close();
  }

  /**
   * Reads a state that is held, in one transaction that sees exactly this.
   * @throws StoreError `unavailable`: it is held no more
   */
  async atState<T>(databaseSnapshot: string, work: (reads: Reads) => Promise<T>): Promise<T> {
    if (this.#pool === null) throw new StoreError("unavailable", "a state is being read already");
    return this.#pool.snapshot(async (session) => {
      await adoptState(session, databaseSnapshot);
      return work(new Reads(session, null));
    });
  }

  /** Proofs of these keys of the state tree, in their order. Of what `atState` reads: each page is a statement. */
  stateProofs(keys: readonly Uint8Array[]): Promise<readonly StateProof[]> {
    return loadStateProofs(this.#session, keys);
  }
}

function hasAnchor(row: AnchorRow): boolean {
  return row.sequence !== null;
}

function isRecord({ what }: { readonly what: string | null }): boolean {
  return what !== null;
}

function pageOf(limit: number): number {
  return Math.min(limit, PAGE_ROWS_MAX);
}
