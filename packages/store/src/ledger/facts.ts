import { NO_FACTS, clientEventKey, clientEventLookup } from "@event-anchoring/ledger";
import { LoadedRecords, claimPairHash } from "@event-anchoring/records";
import type { ClientEventFact, ContentFact, Facts, FactsQuery, FoundAnchor } from "@event-anchoring/ledger";
import type { ClaimRecord, GrantRecord } from "@event-anchoring/records";
import { nodeCrypto } from "@event-anchoring/node-crypto";
import { assertNever, bytesToHex, toAnchorId } from "@event-anchoring/protocol";
import type { AnchorId, LeafKind } from "@event-anchoring/protocol";
import { byteaArray, prefixArray, textArray } from "../postgres/binary-array.ts";
import type { Parameter, Reader } from "../postgres/connection.ts";
import { StoreError } from "../postgres/errors.ts";
import { CONTENT_HASH } from "../tables/leaf-indexes.ts";
import type { OriginNumbers } from "../tables/origin-numbers.ts";
import { CLAIM_ANCHOR, CLAIM_BYTES, toClaimRecord } from "../tables/claims.ts";
import { GRANT_ANCHOR, GRANT_BYTES, toGrantRecord } from "../tables/grants.ts";
import { RELATED_RECORDS, assertWhole, relatedRecords } from "../tables/related-records.ts";
import type { RecordRow } from "../tables/related-records.ts";
import { StatementCache, unionOf } from "../postgres/composed-statement.ts";
import type { SelectPart } from "../postgres/composed-statement.ts";

interface ReferredAnchorRow {
  readonly what: "anchor";
  readonly sequence: number;
  readonly anchor_id: Uint8Array;
  readonly origin: number;
  readonly depth: number;
  readonly kind: number;
  /** Only for an event with a client event id. */
  readonly api_client_id: Uint8Array | null;
  readonly is_erased: boolean;
}

interface ClientEventRow {
  readonly what: "client_event";
  readonly sequence: number;
  readonly anchor_id: Uint8Array;
  readonly origin: number;
  readonly content_hash: Uint8Array | null;
  readonly api_client_id: Uint8Array;
  /** The id in the query. */
  readonly client_event_id: string;
  readonly is_erased: boolean;
}

interface ContentRow {
  readonly what: "content";
  readonly sequence: number;
  readonly anchor_id: Uint8Array;
  readonly origin: number;
  readonly content_hash: Uint8Array;
}

/**
 * The newest claim of a pair of entity and attribute type, the newest grant between two lineages, or a named record.
 */
interface LoneRow extends Omit<RecordRow, "what"> {
  readonly what: "pair" | "between" | "claim_alone" | "grant_alone";
}

type FactRow = ReferredAnchorRow | ClientEventRow | ContentRow | LoneRow | RecordRow;

/** One part of the query. `?` is the next parameter. */
interface FactsPart {
  readonly selects: readonly SelectPart[];
  /** CTEs that the selects use. */
  readonly ctes?: string;
}

const PLACE = { sequence: "a.sequence", anchor_id: "a.anchor_id", origin: "a.origin" };

const BY_ID = "JOIN state.anchors a ON a.anchor_prefix = u.prefix AND a.anchor_id = u.id";

const PARTS = {
  records: {
    ctes: relatedRecords(
      `SELECT DISTINCT a.sequence FROM unnest(?::bigint[], ?::bytea[]) AS u (prefix, id) ${BY_ID}`,
      "'{9223372036854775807}'::bigint[]",
    ),
    selects: RELATED_RECORDS,
  },
  recordsAlone: {
    ctes: `alone (sequence) AS MATERIALIZED (
      SELECT DISTINCT a.sequence FROM unnest(?::bigint[], ?::bytea[]) AS u (prefix, id) ${BY_ID}
    )`,
    selects: [
      {
        what: "claim_alone",
        columns: { record: CLAIM_BYTES },
        from: `FROM alone JOIN state.claims c ON c.sequence = alone.sequence ${CLAIM_ANCHOR}`,
      },
      {
        what: "grant_alone",
        columns: { record: GRANT_BYTES },
        from: `FROM alone JOIN state.grants g ON g.sequence = alone.sequence ${GRANT_ANCHOR}`,
      },
    ],
  },
  anchors: {
    selects: [
      {
        what: "anchor",
        columns: {
          ...PLACE,
          depth: "a.depth",
          kind: "a.kind",
          api_client_id: "CASE WHEN a.kind IN (1, 6) THEN a.api_client_id END",
          is_erased: "a.client_event_id IS NULL",
        },
        from: `FROM unnest(?::bigint[], ?::bytea[]) AS u (prefix, id) ${BY_ID}`,
      },
    ],
  },
  // An erased id is known by its prefix and its API client alone.
  clientEvents: {
    selects: [
      {
        what: "client_event",
        columns: {
          ...PLACE,
          content_hash: "a.content_hash",
          api_client_id: "a.api_client_id",
          client_event_id: "u.id",
          is_erased: "a.client_event_id IS NULL",
        },
        from: `FROM unnest(?::bigint[], ?::bytea[], ?::text[]) AS u (prefix, client, id)
          JOIN state.anchors a ON a.client_prefix = u.prefix AND a.api_client_id = u.client
            AND (a.client_event_id = u.id OR a.client_event_id IS NULL)`,
      },
    ],
  },
  contents: {
    selects: [
      {
        what: "content",
        columns: { ...PLACE, content_hash: "a.content_hash" },
        from: `FROM unnest(?::bigint[], ?::bytea[]) AS u (prefix, hash), LATERAL (
            SELECT a.* FROM state.anchors a
            WHERE ${CONTENT_HASH.condition} AND ${CONTENT_HASH.prefix} = u.prefix AND ${CONTENT_HASH.hash} = u.hash
            LIMIT 1
          ) AS a`,
      },
    ],
  },
  claimPairs: {
    selects: [
      {
        what: "pair",
        columns: { record: CLAIM_BYTES },
        from: `FROM unnest(?::bigint[], ?::bytea[]) AS u (prefix, hash), LATERAL (
            SELECT c.* FROM state.claims c WHERE c.pair_prefix = u.prefix AND c.pair_hash = u.hash
            ORDER BY c.sequence DESC LIMIT 1
          ) AS c ${CLAIM_ANCHOR}`,
      },
    ],
  },
  grantParties: {
    selects: [
      {
        what: "between",
        columns: { record: GRANT_BYTES },
        from: `FROM unnest(?::bigint[], ?::bytea[], ?::bigint[], ?::bytea[])
            AS u (grantor_prefix, grantor_id, grantee_prefix, grantee_id)
          JOIN state.anchors ga ON ga.anchor_prefix = u.grantor_prefix AND ga.anchor_id = u.grantor_id
          JOIN state.claims grantor ON grantor.sequence = ga.sequence
          JOIN state.anchors ea ON ea.anchor_prefix = u.grantee_prefix AND ea.anchor_id = u.grantee_id
          JOIN state.claims grantee ON grantee.sequence = ea.sequence, LATERAL (
            SELECT g.* FROM state.grants g
            WHERE g.grantee_lineage = grantee.lineage AND g.grantor_lineage = grantor.lineage
            ORDER BY g.sequence DESC LIMIT 1
          ) AS g ${GRANT_ANCHOR}`,
      },
    ],
  },
} as const satisfies Record<string, FactsPart>;

type PartName = keyof typeof PARTS;

const STATEMENTS = new StatementCache("facts");

function textOf(names: readonly PartName[]): string {
  const parts: FactsPart[] = names.map((name) => PARTS[name]);
  const ctes = parts.flatMap((part) => part.ctes ?? []);
  const select = unionOf(parts.flatMap(({ selects }) => selects));
  return ctes.length === 0 ? select : `WITH RECURSIVE ${ctes.join(",\n")}\n${select}`;
}

/** In addition to what deciding needs: claims and grants without the records they depend on. */
export interface StoredFactsQuery extends FactsQuery {
  readonly recordsAlone?: readonly AnchorId[];
}

/** Every record that is asked for is also asked for as an anchor. */
function anchorsOf({ anchors, records, recordsAlone = [] }: StoredFactsQuery): readonly AnchorId[] {
  if (records.length + recordsAlone.length === 0) return anchors;
  const all = [...anchors, ...records, ...recordsAlone];
  return [...new Map(all.map((anchorId) => [bytesToHex(anchorId), anchorId])).values()];
}

/**
 * Parameters by part, in the order of the text; an empty part is left out, because the server sets up every part of a
 * statement, even an empty one. The parts that only grants and revocations need are included together or not at all: a
 * session keeps a plan for every combination that it has seen.
 */
function partsOf(query: StoredFactsQuery): Map<PartName, readonly Parameter[]> {
  const { clientEvents, contents, claimPairs, records, recordsAlone = [], grantParties } = query;
  const anchors = anchorsOf(query);
  const asksOfGrants = records.length + grantParties.length > 0;
  const parts = new Map<PartName, readonly Parameter[]>();
  if (asksOfGrants) parts.set("records", [prefixArray(records), byteaArray(records)]);
  if (recordsAlone.length > 0) parts.set("recordsAlone", [prefixArray(recordsAlone), byteaArray(recordsAlone)]);
  if (anchors.length > 0) parts.set("anchors", [prefixArray(anchors), byteaArray(anchors)]);
  if (clientEvents.length > 0) {
    parts.set("clientEvents", [
      prefixArray(
        clientEvents.map((event) => clientEventLookup(event.apiClientId, event.clientEventId, nodeCrypto.sha256)),
      ),
      byteaArray(clientEvents.map(({ apiClientId }) => apiClientId)),
      textArray(clientEvents.map(({ clientEventId }) => clientEventId)),
    ]);
  }
  if (contents.length > 0) parts.set("contents", [prefixArray(contents), byteaArray(contents)]);
  if (claimPairs.length > 0) parts.set("claimPairs", [prefixArray(claimPairs), byteaArray(claimPairs)]);
  if (asksOfGrants) {
    const grantors = grantParties.map(({ grantorClaim }) => grantorClaim);
    const grantees = grantParties.map(({ granteeClaim }) => granteeClaim);
    parts.set("grantParties", [
      prefixArray(grantors),
      byteaArray(grantors),
      prefixArray(grantees),
      byteaArray(grantees),
    ]);
  }
  return parts;
}

/** Sorts rows by what they are. */
class FoundFacts {
  readonly #numbers: OriginNumbers;
  readonly #anchors = new Map<string, FoundAnchor>();
  readonly #clientEvents = new Map<string, ClientEventFact>();
  /** Keys of clientEvents that matched the prefix of an erased id. */
  readonly #erased = new Set<string>();
  readonly #contents = new Map<string, ContentFact>();
  readonly #claims: ClaimRecord[] = [];
  readonly #grants: GrantRecord[] = [];
  /** Grants that were loaded with everything they depend on. */
  readonly #chained: GrantRecord[] = [];
  readonly #pairs = new Map<string, ClaimRecord>();

  constructor(numbers: OriginNumbers) {
    this.#numbers = numbers;
  }

  add(row: FactRow): void {
    switch (row.what) {
      case "anchor": {
        const { sequence, depth, api_client_id: apiClientId, is_erased: isErased } = row;
        const clientEvent = apiClientId === null ? null : { apiClientId, isErased };
        const originFingerprint = this.#numbers.fingerprintOf(row.origin);
        const kind = row.kind as LeafKind;
        this.#anchors.set(bytesToHex(row.anchor_id), { kind, sequence, originFingerprint, depth, clientEvent });
        return;
      }
      case "client_event":
        this.#addClientEvent(row);
        return;
      case "content":
        this.#contents.set(bytesToHex(row.content_hash), this.#placeOf(row));
        return;
      case "pair": {
        const claim = toClaimRecord(row);
        this.#claims.push(claim);
        this.#pairs.set(bytesToHex(claimPairHash(claim, nodeCrypto.sha256)), claim);
        return;
      }
      case "claim":
      case "claim_alone":
        this.#claims.push(toClaimRecord(row));
        return;
      case "grant":
        this.#chained.push(toGrantRecord(row));
        return;
      case "between":
      case "grant_alone":
        this.#grants.push(toGrantRecord(row));
        return;
      default:
        assertNever(row);
    }
  }

  /** A clear id is the one in the query. Among erased ones the first is taken, on every node. */
  #addClientEvent(row: ClientEventRow): void {
    const { content_hash: contentHash } = row;
    if (contentHash === null) throw new StoreError("corrupt", `anchor ${row.sequence} has half a client event id`);
    const key = clientEventKey(row.api_client_id, row.client_event_id);
    const known = this.#clientEvents.get(key);
    if (row.is_erased) {
      const isBetter = known === undefined || (this.#erased.has(key) && row.sequence < known.sequence);
      if (!isBetter) return;
      this.#erased.add(key);
    } else {
      this.#erased.delete(key);
    }
    this.#clientEvents.set(key, { ...this.#placeOf(row), contentHash, isErased: row.is_erased });
  }

  #placeOf(row: ClientEventRow | ContentRow): ContentFact {
    return {
      anchorId: toAnchorId(row.anchor_id),
      originFingerprint: this.#numbers.fingerprintOf(row.origin),
      sequence: row.sequence,
    };
  }

  /** @throws StoreError `corrupt` */
  facts(): Facts {
    assertWhole(this.#claims, this.#chained);
    return {
      anchors: this.#anchors,
      clientEvents: this.#clientEvents,
      contents: this.#contents,
      records: new LoadedRecords(this.#claims, [...this.#chained, ...this.#grants], this.#pairs),
    };
  }
}

/** One SELECT with the needed parts; no round trip if there are none. */
export async function loadFacts(session: Reader, query: StoredFactsQuery, numbers: OriginNumbers): Promise<Facts> {
  const parts = partsOf(query);
  if (parts.size === 0) return NO_FACTS;
  const names = [...parts.keys()];
  const statement = STATEMENTS.statement(names.join("_"), () => textOf(names));
  const found = new FoundFacts(numbers);
  for (const row of await session.read<FactRow>(statement, [...parts.values()].flat())) found.add(row);
  return found.facts();
}
