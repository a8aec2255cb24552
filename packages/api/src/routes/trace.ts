import {
  anchorPathSchema,
  formatRfc3339,
  kindName,
  parsePath,
  parseQuery,
  traceQuerySchema,
} from "@event-anchoring/api-contract";
import type { AnchorJson, TraceAnswer, TraceQuery } from "@event-anchoring/api-contract";
import { TRACE_LIMITS, chainOf, parentViolations, traceEvent } from "@event-anchoring/records";
import type {
  AnchorFact,
  AsOf,
  ClaimRecord,
  GrantRecord,
  LoadedRecords,
  PossibleParents,
  RecordsInView,
  Trace,
  TraceInput,
} from "@event-anchoring/records";
import type { BundleVerification } from "@event-anchoring/bundle";
import { LEAF_KIND, bytesToHex } from "@event-anchoring/protocol";
import type { AnchorId, Crypto } from "@event-anchoring/protocol";
import type { StoredAnchor } from "@event-anchoring/store";
import { RefusedError } from "../control-plane/control-plane.ts";
import { assertProved, proveAnchors, receiptAnswer, storedAnchorToJson } from "../reading/anchor-view.ts";
import type { ProvedAnchor } from "../reading/anchor-view.ts";
import { asOfAnswer } from "../reading/as-of.ts";
import type { ConsistentRead } from "../reading/consistent-read.ts";
import { delegationToJson, hopsOf, recordToJson } from "../reading/delegation-view.ts";
import { beginJudgedRead } from "../reading/judged-read.ts";
import type { JudgedRead } from "../reading/judged-read.ts";
import { foundAmong, loadEvidence, loadRecords, statesAt, trustedClaims } from "../reading/load-records.ts";
import type { AnchorPlace, LoadedEvidence } from "../reading/load-records.ts";
import { loadFacts, placesOnTheWay, referencesOf } from "../reading/on-the-way.ts";
import { rememberingCrypto, verifyAhead } from "../reading/verdicts.ts";
import { parsed, ProblemError, problemError } from "../request/problem-error.ts";
import { callerOf } from "./handler.ts";
import type { ReadHandler } from "./handler.ts";
import { proofMember } from "./proof-member.ts";

/** How many grants to the root grantor are read: more than are shown, as some are not in force. */
const CANDIDATES_MAX = 256;

interface Parents {
  /** Directly before the anchor; null for a genesis leaf. */
  readonly nearest: StoredAnchor | null;
  /** The page asked for, deepest first. */
  readonly page: readonly StoredAnchor[];
  /** The leaf before the last of the page, if there is one. */
  readonly beforePage: StoredAnchor | null;
}

/** The page and the one leaf beyond it, with which its last leaf is compared. */
async function loadParents(read: ConsistentRead, anchor: StoredAnchor, query: TraceQuery): Promise<Parents> {
  if (anchor.depth === 0) return { nearest: null, page: [], beforePage: null };
  const { originFingerprint, depth } = anchor;
  const fromDepth = Math.min(query.cursor ?? depth, depth) - 1;
  const { anchors } = await read.select((reads) =>
    reads.anchorsOfOrigin(originFingerprint, fromDepth, query.limit + 1, "descending"),
  );
  const page = anchors.slice(0, query.limit);
  const beforePage = anchors[query.limit] ?? null;
  if (fromDepth === depth - 1) return { nearest: page[0] ?? null, page, beforePage };
  const { anchors: nearest } = await read.select((reads) =>
    reads.anchorsOfOrigin(originFingerprint, depth - 1, 1, "descending"),
  );
  return { nearest: nearest[0] ?? null, page, beforePage };
}

function recordsAt(places: readonly AnchorPlace[], records: LoadedRecords): RecordsInView {
  const claims: ClaimRecord[] = [];
  const grants: GrantRecord[] = [];
  for (const { kind, sequence } of places) {
    const claim = kind === LEAF_KIND.claim ? records.claim(sequence) : null;
    const grant = kind === LEAF_KIND.grant ? records.grant(sequence) : null;
    if (claim !== null) claims.push(claim);
    if (grant !== null) grants.push(grant);
  }
  return { claims, grants };
}

/** Grants to the root grantor, with the records that they depend on. */
async function loadPossibleParents(
  read: ConsistentRead,
  grant: GrantRecord | undefined,
  records: LoadedRecords,
  asOf: AsOf,
): Promise<PossibleParents> {
  const root = grant === undefined ? undefined : chainOf(grant, records).links.at(-1);
  if (root === undefined) return { grants: [], records };
  const { grants } = await read.select((reads) => reads.grantsTo(root.grantorLineage, asOf, CANDIDATES_MAX));
  const places = grants.map(({ sequence }) => ({ kind: LEAF_KIND.grant, sequence }));
  return { grants, records: await loadRecords(read, places, [asOf]) };
}

function boundaryJson(boundary: Trace["boundary"]): TraceAnswer["boundary"] {
  if (boundary === null) return null;
  const { scopeHash, depth, window } = boundary;
  return {
    scope_hash: bytesToHex(scopeHash),
    depth: { ...depth },
    window: { not_before: window.notBefore, expires_at: window.expiresAt },
  };
}

function hexOrNull(id: AnchorId | null): string | null {
  return id === null ? null : bytesToHex(id);
}

/** The part of the answer that the ledger decides. */
function traceJson(read: ConsistentRead, trace: Trace, page: { readonly before: number; readonly asOf: AsOf }) {
  const { claim, state, actorSignature } = trace.actor;
  return {
    actor_proven: trace.isActorProven,
    authorised_at_action: trace.authorisedAtAction,
    authorised_now: trace.authorisedNow,
    suspect: trace.isSuspect,
    reasons: trace.reasons.map(({ verdict, code, anchorId, sequence }) => ({
      verdict,
      code,
      anchor_id: hexOrNull(anchorId),
      sequence,
    })),
    actor: {
      claim: claim === null ? null : recordToJson(read, claim, state),
      state,
      actor_signature: actorSignature,
    },
    ...delegationToJson(read, trace.delegation, page),
    boundary: boundaryJson(trace.boundary),
    root_authority: trace.rootAuthority,
    possible_parents: trace.possibleParents.map(bytesToHex),
    revocations: trace.revocations.map((revocation) => ({
      anchor: recordToJson(read, revocation, null),
      target_anchor_id: bytesToHex(revocation.targetAnchorId),
      before_action: revocation.isBeforeAction,
    })),
    violations: trace.violations.map(({ code, anchorId, detail }) => ({
      code,
      anchor_id: bytesToHex(anchorId),
      detail,
    })),
    references: trace.references.map(({ field, anchorId, exists, kind }) => ({
      field,
      anchor_id: bytesToHex(anchorId),
      exists,
      kind: kind === null ? null : kindName(kind),
    })),
  };
}

/** Claims that are judged and that the answer does not show elsewhere: the newest of lineages that went on. */
function lineageClaimsJson(
  { inView, leaves }: LoadedEvidence,
  { actor, delegation }: Trace,
  anchor: StoredAnchor,
  show: (stored: StoredAnchor) => AnchorJson,
): Pick<TraceAnswer, "lineage_claims"> {
  const elsewhere = [anchor, ...(actor.claim === null ? [] : [actor.claim])];
  const named = delegation.hops.flatMap(({ grantorClaim, granteeClaim }) => [grantorClaim, granteeClaim]);
  const shown = new Set([...elsewhere, ...named].map(({ anchorId }) => bytesToHex(anchorId)));
  const sequences = new Set(inView.claims.map(({ sequence }) => sequence));
  const others = leaves.filter(({ anchorId, sequence }) => sequences.has(sequence) && !shown.has(bytesToHex(anchorId)));
  return others.length === 0 ? {} : { lineage_claims: others.map(show) };
}

/** The newest certified anchor of the origin, in brief. */
async function eeaJson(read: ConsistentRead, { certificate }: ProvedAnchor): Promise<TraceAnswer["eea"]> {
  const { originFingerprint, treeSize, rootHash, certifiedAtS } = certificate;
  const { anchors } = await read.select((reads) =>
    reads.anchorsOfOrigin(originFingerprint, treeSize - 1, 1, "descending"),
  );
  const [head] = anchors;
  if (head === undefined) throw new RefusedError("unavailable", `no leaf ${treeSize - 1}`);
  return {
    origin_fingerprint: bytesToHex(originFingerprint),
    anchor_id: bytesToHex(head.anchorId),
    depth: head.depth,
    tree_size: treeSize,
    root_hash: bytesToHex(rootHash),
    certified_at: formatRfc3339(certifiedAtS * 1000),
  };
}

/** A later page does not begin at the anchor: its links are compared with one another. */
function withParents(
  input: Omit<TraceInput, "parents" | "beforeParents">,
  { nearest, page, beforePage }: Parents,
  crypto: Crypto,
): Trace {
  const isAdjacent = nearest === null || page[0]?.depth === nearest.depth;
  if (isAdjacent) return traceEvent({ ...input, parents: page, beforeParents: beforePage }, crypto);
  const trace = traceEvent({ ...input, parents: [], beforeParents: nearest }, crypto);
  const broken = page.length === 0 ? [] : parentViolations(page, beforePage, crypto);
  return { ...trace, violations: [...trace.violations, ...broken] };
}

/** The rows that are judged: records, their leaves, their revocations, and possible parents of the root. */
async function loadTraced(
  read: ConsistentRead,
  anchor: StoredAnchor,
  references: ReadonlyMap<string, AnchorFact>,
  others: readonly StoredAnchor[],
  asOf: AsOf,
): Promise<LoadedEvidence & { readonly possibleParents: PossibleParents }> {
  const positions = [{ sequence: anchor.sequence, timeMs: anchor.acceptedMs }, asOf];
  const onTheWay = placesOnTheWay(anchor, references);
  const records = await loadRecords(read, [...onTheWay, ...others], positions);
  const shown = recordsAt(onTheWay, records);
  const [evidence, possibleParents] = await Promise.all([
    loadEvidence(read, shown, records, { at: asOf, positions, hopsMax: TRACE_LIMITS.delegationMax }),
    loadPossibleParents(read, shown.grants[0], records, asOf),
  ]);
  return { ...evidence, possibleParents };
}

/** The anchor, unless it is younger than the position. @throws ProblemError `anchor_not_found` */
function tracedAnchor({ anchors, asOf }: JudgedRead, anchorId: AnchorId): StoredAnchor {
  const anchor = anchors.get(bytesToHex(anchorId));
  if (anchor === undefined) throw problemError("anchor_not_found");
  if (anchor.sequence <= asOf.sequence) return anchor;
  throw new ProblemError({ code: "anchor_not_found", detail: "The anchor is younger than as_of." });
}

function isSameVerdict(proved: BundleVerification, trace: Trace): boolean {
  return (
    proved.actorProven === trace.isActorProven &&
    proved.authorisedAtAction === trace.authorisedAtAction &&
    proved.authorisedNow === trace.authorisedNow &&
    proved.trace?.isSuspect === trace.isSuspect
  );
}

/** GET /v1/event-anchors/{anchor_id}/trace */
export const traceEventAnchor: ReadHandler = async (request, dependencies) => {
  const { anchorId } = parsed(parsePath(anchorPathSchema, request.pathParameters));
  const query = parsed(parseQuery(traceQuerySchema, request.search));
  const { trustedRoots } = query;
  const crypto = rememberingCrypto(dependencies.crypto);
  const judged = await beginJudgedRead(request, dependencies, [anchorId, ...(trustedRoots ?? [])], query.asOf);
  const { read, asOf, anchors } = judged;
  const anchor = tracedAnchor(judged, anchorId);
  const [references, parents, [each]] = await Promise.all([
    loadFacts(read, referencesOf(anchor)),
    loadParents(read, anchor, query),
    proveAnchors(read, [anchor], crypto.sha256),
  ]);
  const proved = await assertProved(read, anchor, each);
  const others = [...foundAmong(anchors, trustedRoots), ...parents.page];
  const [rows, eea] = await Promise.all([loadTraced(read, anchor, references, others, asOf), eeaJson(read, proved)]);
  await verifyAhead([anchor, ...rows.leaves], crypto, request.deadline);
  const trusted = trustedClaims(trustedRoots, anchors, rows.records);
  const trace = withParents({ anchor, references, asOf, ...rows, trustedRoots: trusted }, parents, crypto);
  const stateOf = statesAt(rows.records, asOf);
  const show = (stored: StoredAnchor) =>
    storedAnchorToJson(stored, { finality: "certified", caller: callerOf(request), state: stateOf(stored) });
  const lowest = parents.page.at(-1)?.depth ?? 0;
  const proof = await proofMember(request, dependencies, { anchor, asOf }, (proved) => isSameVerdict(proved, trace));
  const json: TraceAnswer = {
    anchor: show(anchor),
    ...traceJson(read, trace, { before: query.hopsBefore, asOf }),
    ...lineageClaimsJson(rows, trace, anchor, show),
    parents: { items: parents.page.map(show), next_cursor: lowest === 0 ? null : String(lowest) },
    eea,
    as_of: asOfAnswer(asOf),
    receipt: receiptAnswer(proved.receipt, proved.certificate, crypto.sha256),
    ...proof,
  };
  request.spend({ hops: hopsOf(trace.delegation) });
  return { status: 200, json };
};
