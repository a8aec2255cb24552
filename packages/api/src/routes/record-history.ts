/** GET /v1/claim-anchors and /v1/grant-anchors with history=true: what there has been, and how each has ended. */
import { LIMITS } from "@event-anchoring/api-contract";
import type {
  ClaimQuery,
  GrantFilter,
  GrantQuery,
  HistoryPage,
  RecordEndAnswer,
  RecordHistoryAnswer,
} from "@event-anchoring/api-contract";
import { claimFaultAt, claimStateAt, grantEndOf, grantForceAt, grantStateOf } from "@event-anchoring/records";
import type { AsOf, ForceFault, GrantRecord, RecordState } from "@event-anchoring/records";
import { LEAF_KIND, bytesToHex } from "@event-anchoring/protocol";
import type { StoredAnchor } from "@event-anchoring/store";
import { storedAnchorToJson } from "../reading/anchor-view.ts";
import { asOfAnswer, nowAt } from "../reading/as-of.ts";
import { certifiedSizes, finalityOf, settledPart } from "../reading/certified-list.ts";
import { ConsistentRead } from "../reading/consistent-read.ts";
import { loadRecords, missingRecord } from "../reading/load-records.ts";
import { callerOf } from "./handler.ts";
import type { HandlerAnswer, HandlerRequest, ReadDependencies } from "./handler.ts";
import { formatListCursor, parseListCursor } from "./list-cursor.ts";

type Query<Of extends ClaimQuery | GrantQuery> = Of extends { readonly history: HistoryPage } ? Of : never;

interface JudgedRecord {
  readonly sequence: number;
  readonly state: RecordState;
  /** null while it is active. */
  readonly end: ForceFault | null;
}

interface FoundRecords {
  /** The position of the snapshot that they come from. */
  readonly at: AsOf;
  readonly judged: readonly JudgedRecord[];
  /** The first record after them; null: there is none. */
  readonly next: number | null;
}

type FindRecords = (read: ConsistentRead, afterSequence: number, limit: number) => Promise<FoundRecords>;

type BySequence = ReadonlyMap<number, StoredAnchor>;

/** The leaves of the records, and those that ended them. */
async function loadLeaves(read: ConsistentRead, { judged, next }: FoundRecords): Promise<BySequence> {
  const sequences = judged.flatMap(({ sequence, end }) => [sequence, end?.sequence ?? []].flat());
  const { anchors } = await read.select((reads) => reads.anchorsBySequence([...sequences, next ?? []].flat()));
  return new Map(anchors.flatMap((anchor) => (anchor === null ? [] : [[anchor.sequence, anchor]])));
}

/** @throws RefusedError `unavailable` if the leaf of a record is missing */
function leafAt(leaves: BySequence, sequence: number): StoredAnchor {
  const leaf = leaves.get(sequence);
  if (leaf === undefined) throw missingRecord(sequence);
  return leaf;
}

function endAnswer({ code, anchorId, sequence }: ForceFault, leaves: BySequence): RecordEndAnswer {
  const endedBy = sequence === null ? null : bytesToHex(leafAt(leaves, sequence).anchorId);
  return { code, anchor_id: bytesToHex(anchorId), sequence, ended_by: endedBy };
}

/** @param filter as one text: its cursors are good for no other list */
async function answerHistory(
  { cursor, limit }: HistoryPage,
  filter: string,
  request: HandlerRequest,
  dependencies: ReadDependencies,
  findRecords: FindRecords,
): Promise<HandlerAnswer> {
  const { sha256 } = dependencies.crypto;
  const afterSequence = parseListCursor(cursor, filter, sha256);
  const read = await ConsistentRead.begin(dependencies, "all", request.deadline);
  const origins = await read.origins();
  const found = await findRecords(read, afterSequence, limit);
  const leaves = await loadLeaves(read, found);
  const listed = [...found.judged.map(({ sequence }) => sequence), found.next ?? []].flat();
  const settled = settledPart(
    read,
    listed.map((sequence) => leafAt(leaves, sequence)),
    origins,
  );
  const page = found.judged.slice(0, settled.length);
  const last = settled.length > page.length ? page.at(-1) : undefined;
  const caller = callerOf(request);
  const json: RecordHistoryAnswer = {
    items: page.map(({ sequence, state, end }) => {
      const leaf = leafAt(leaves, sequence);
      const anchor = storedAnchorToJson(leaf, { finality: finalityOf(read, leaf), caller, state });
      return { anchor, ended: end === null ? null : endAnswer(end, leaves) };
    }),
    next_cursor: last === undefined ? null : formatListCursor(filter, last.sequence, sha256),
    certified: certifiedSizes(read, origins),
    as_of: asOfAnswer(found.at),
  };
  request.spend({ listed: page.length });
  return { status: 200, json };
}

/** The claims of an entity, of one type or of all. */
export function answerClaimHistory(
  { history, entityFingerprint, attributeType }: Query<ClaimQuery>,
  request: HandlerRequest,
  dependencies: ReadDependencies,
): Promise<HandlerAnswer> {
  const ofType = attributeType === null ? "" : `&attribute_type=${attributeType}`;
  const filter = `entity_fingerprint=${bytesToHex(entityFingerprint)}${ofType}`;
  return answerHistory(history, filter, request, dependencies, async (read, afterSequence, limit) => {
    const found = await read.select((reads) =>
      reads.claimHistory({ entityFingerprint, attributeType }, afterSequence, limit + 1),
    );
    const at = nowAt(found, dependencies.clock);
    const judged = found.claims.slice(0, limit).map((claim) => {
      return { sequence: claim.sequence, state: claimStateAt(claim, at), end: claimFaultAt(claim, at) };
    });
    return { at, judged, next: found.claims[limit]?.sequence ?? null };
  });
}

function grantFilterText(filter: GrantFilter): string {
  if (filter.by !== "both") return `${filter.by}_fingerprint=${bytesToHex(filter.fingerprint)}`;
  const [grantor, grantee] = [filter.grantorFingerprint, filter.granteeFingerprint].map(bytesToHex);
  return `grantor_fingerprint=${grantor}&grantee_fingerprint=${grantee}`;
}

/**
 * How many of the grants one page judges: as many as their chains allow. Each is judged up to its root, and all chains
 * of a page together are no longer than one chain can be.
 */
function judgedTogether(grants: readonly GrantRecord[], limit: number): number {
  let links = 0;
  const end = grants.findIndex((grant, at) => {
    links += grant.links;
    return at === limit || (at > 0 && links > LIMITS.delegationLinksMax);
  });
  return end < 0 ? grants.length : end;
}

/**
 * They are judged at the position of the snapshot that they come from: the records they depend on are read afterwards,
 * and an ending that came meanwhile is after that position.
 * @throws RefusedError `unavailable` if a record that a grant depends on is missing: then its state is unknown
 */
async function judgeGrants(
  read: ConsistentRead,
  grants: readonly GrantRecord[],
  at: AsOf,
  spend: HandlerRequest["spend"],
): Promise<readonly JudgedRecord[]> {
  const places = grants.map(({ sequence }) => ({ kind: LEAF_KIND.grant, sequence }));
  const records = await loadRecords(read, places, [at]);
  const links = new Set<number>();
  const judged = grants.map((grant) => {
    const force = grantForceAt(grant, at, records);
    if (!force.isComplete) throw missingRecord(grant.sequence);
    for (const { sequence } of force.chain) links.add(sequence);
    return { sequence: grant.sequence, state: grantStateOf(force), end: grantEndOf(force) };
  });
  spend({ hops: links.size - grants.length });
  return judged;
}

/** The grants of a grantor, to a grantee, or from one to the other. */
export function answerGrantHistory(
  { history, filter }: Query<GrantQuery>,
  request: HandlerRequest,
  dependencies: ReadDependencies,
): Promise<HandlerAnswer> {
  return answerHistory(history, grantFilterText(filter), request, dependencies, async (read, afterSequence, limit) => {
    const found = await read.select((reads) => reads.grantHistory(filter, afterSequence, limit + 1));
    const at = nowAt(found, dependencies.clock);
    const count = judgedTogether(found.grants, limit);
    const judged = await judgeGrants(read, found.grants.slice(0, count), at, request.spend);
    return { at, judged, next: found.grants[count]?.sequence ?? null };
  });
}
