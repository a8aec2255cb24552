/** GET /v1/event-anchors: the events with a hash, of a claim, under a grant, or with the caller's own id. */
import { listQuerySchema, parseQuery } from "@event-anchoring/api-contract";
import type { EventFilter, EventListAnswer, ListQuery } from "@event-anchoring/api-contract";
import { LEAF_KIND, assertNever, bytesToHex } from "@event-anchoring/protocol";
import type { AnchorId } from "@event-anchoring/protocol";
import type { StoredAnchor } from "@event-anchoring/store";
import type { Caller } from "../access/auth.ts";
import { storedAnchorToJson } from "../reading/anchor-view.ts";
import { certifiedSizes, finalityOf, settledPart } from "../reading/certified-list.ts";
import { ConsistentRead } from "../reading/consistent-read.ts";
import { parsed, ProblemError, problemError } from "../request/problem-error.ts";
import { callerOf } from "./handler.ts";
import type { Handler } from "./handler.ts";
import { formatListCursor, parseListCursor } from "./list-cursor.ts";

/** The filter as one text. A client event id means a different list for each API client. */
function filterText(filter: EventFilter, { credential }: Caller): string {
  switch (filter.by) {
    case "event_hash":
      return `event_hash=${bytesToHex(filter.eventHash)}`;
    case "iris_ref":
    case "grant_ref":
      return `${filter.by}=${bytesToHex(filter.anchorId)}`;
    case "client_event_id":
      return `client_event_id=${bytesToHex(credential.apiClientId)}:${filter.clientEventId}`;
    default:
      return assertNever(filter);
  }
}

interface PageQuery {
  readonly filter: EventFilter;
  readonly afterSequence: number;
  /** Rows wanted. */
  readonly limit: number;
}

/** @throws ProblemError `anchor_not_found`, `wrong_kind`: an empty list would mean that no event exists */
async function sequenceOf(read: ConsistentRead, by: "iris_ref" | "grant_ref", anchorId: AnchorId): Promise<number> {
  const { anchors } = await read.select((reads) => reads.anchors([anchorId]));
  const [target] = anchors;
  if (target === undefined || target === null) throw problemError("anchor_not_found");
  if (target.kind !== (by === "iris_ref" ? LEAF_KIND.claim : LEAF_KIND.grant)) throw problemError("wrong_kind");
  return target.sequence;
}

/** The caller's own event. @throws ProblemError `client_event_id_erased` */
async function ownEvent(read: ConsistentRead, clientEventId: string, { credential }: Caller): Promise<StoredAnchor[]> {
  const { apiClientId } = credential;
  const { anchor, isErased } = await read.select((reads) => reads.clientEvent(apiClientId, clientEventId));
  if (anchor === null) return [];
  if (!isErased) return [anchor];
  const extension = { anchor_id: bytesToHex(anchor.anchorId) };
  throw new ProblemError({ code: "client_event_id_erased" }, { extension });
}

/** Ascending by sequence. */
async function loadPage(read: ConsistentRead, query: PageQuery, caller: Caller): Promise<readonly StoredAnchor[]> {
  const { filter, afterSequence, limit } = query;
  switch (filter.by) {
    case "event_hash":
      return (await read.select((reads) => reads.eventsBy(filter, afterSequence, limit))).anchors;
    case "iris_ref":
    case "grant_ref": {
      const { by, anchorId } = filter;
      const sequence = await sequenceOf(read, by, anchorId);
      return (await read.select((reads) => reads.eventsBy({ by, sequence }, afterSequence, limit))).anchors;
    }
    case "client_event_id": {
      const own = await ownEvent(read, filter.clientEventId, caller);
      return own.filter(({ sequence }) => sequence > afterSequence);
    }
    default:
      return assertNever(filter);
  }
}

export const listEventAnchors: Handler = async (request, dependencies) => {
  const { filter, cursor, limit }: ListQuery = parsed(parseQuery(listQuerySchema, request.search));
  const { sha256 } = dependencies.crypto;
  const caller = callerOf(request);
  const text = filterText(filter, caller);
  const afterSequence = parseListCursor(cursor, text, sha256);
  const read = await ConsistentRead.begin(dependencies, "all", request.deadline);
  const origins = await read.origins();
  // One more than is shown says whether there is another page.
  const found = settledPart(read, await loadPage(read, { filter, afterSequence, limit: limit + 1 }, caller), origins);
  const page = found.slice(0, limit);
  const last = found.length > limit ? page.at(-1) : undefined;
  const json: EventListAnswer = {
    items: page.map((anchor) =>
      storedAnchorToJson(anchor, { finality: finalityOf(read, anchor), caller, state: null }),
    ),
    next_cursor: last === undefined ? null : formatListCursor(text, last.sequence, sha256),
    certified: certifiedSizes(read, origins),
  };
  request.spend({ listed: page.length });
  return { status: 200, json };
};
