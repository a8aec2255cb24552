import { clientEventKey } from "@event-anchoring/ledger";
import type { AnchorFact, ClientEventFact, Facts, FactsQuery } from "@event-anchoring/ledger";
import { bytesToHex, toAnchorId } from "@event-anchoring/protocol";
import type { LeafKind } from "@event-anchoring/protocol";
import { byteaArray, prefixArray, textArray } from "./binary-array.ts";
import type { Reader } from "./connection.ts";
import { StoreError } from "./errors.ts";
import { clientEventLookup } from "./ledger-codec.ts";
import type { OriginNumbers } from "./origin-numbers.ts";

interface FactRow {
  readonly is_event: boolean;
  readonly sequence: number;
  readonly origin: number;
  readonly depth: number;
  readonly kind: number;
  readonly anchor_id: Uint8Array;
  readonly content_hash: Uint8Array | null;
  readonly api_client_id: Uint8Array | null;
  readonly client_event_id: string | null;
}

const LOAD_FACTS = {
  name: "facts",
  text: `
    SELECT false AS is_event, a.sequence, a.origin, a.depth, a.kind, a.anchor_id,
      NULL::bytea AS content_hash, NULL::bytea AS api_client_id, NULL::text AS client_event_id
    FROM unnest($1::bigint[], $2::bytea[]) AS u (prefix, id)
    JOIN state.anchors a ON a.anchor_prefix = u.prefix AND a.anchor_id = u.id
    UNION ALL
    SELECT true, a.sequence, a.origin, a.depth, a.kind, a.anchor_id,
      a.content_hash, a.api_client_id, a.client_event_id
    FROM unnest($3::bigint[], $4::bytea[], $5::text[]) AS u (prefix, client, id)
    JOIN state.anchors a ON a.client_prefix = u.prefix AND a.api_client_id = u.client AND a.client_event_id = u.id`,
};

const NO_FACTS: Facts = { clientEvents: new Map(), anchors: new Map() };

/** One SELECT; nothing to ask is no round trip. */
export async function loadFacts(session: Reader, query: FactsQuery, numbers: OriginNumbers): Promise<Facts> {
  const { anchors, clientEvents } = query;
  if (anchors.length === 0 && clientEvents.length === 0) return NO_FACTS;
  const rows = await session.read<FactRow>(LOAD_FACTS, [
    prefixArray(anchors),
    byteaArray(anchors),
    prefixArray(clientEvents.map((event) => clientEventLookup(event.apiClientId, event.clientEventId))),
    byteaArray(clientEvents.map(({ apiClientId }) => apiClientId)),
    textArray(clientEvents.map(({ clientEventId }) => clientEventId)),
  ]);
  const anchorFacts = new Map<string, AnchorFact>();
  const eventFacts = new Map<string, ClientEventFact>();
  for (const row of rows) {
    const originFingerprint = numbers.fingerprintOf(row.origin);
    const { sequence, depth } = row;
    if (row.is_event) {
      eventFacts.set(eventKeyOf(row), {
        anchorId: toAnchorId(row.anchor_id),
        originFingerprint,
        sequence,
        contentHash: present(row.content_hash, row),
      });
    } else {
      const kind = row.kind as LeafKind;
      anchorFacts.set(bytesToHex(row.anchor_id), { kind, sequence, originFingerprint, depth });
    }
  }
  return { clientEvents: eventFacts, anchors: anchorFacts };
}

function eventKeyOf(row: FactRow): string {
  return clientEventKey(present(row.api_client_id, row), present(row.client_event_id, row));
}

function present<T>(value: T | null, row: FactRow): T {
  if (value === null) throw new StoreError("corrupt", `anchor ${row.sequence} has half a client event id`);
  return value;
}
