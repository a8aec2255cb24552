import {
  anchorPathSchema,
  anchorToJson,
  formatRfc3339,
  kindName,
  parsePath,
  parseQuery,
  traceQuerySchema,
} from "@event-anchoring/api-contract";
import type { AnchorJson, TraceAnswer, TraceQuery } from "@event-anchoring/api-contract";
import { traceEvent } from "@event-anchoring/ledger";
import type { AnchorFact, DelegationHop, LoadedLeaf, Trace } from "@event-anchoring/ledger";
import { bytesToHex, decodeLeaf, isZero, toAnchorId } from "@event-anchoring/protocol";
import type { AnchorId, Crypto } from "@event-anchoring/protocol";
import type { StoredAnchor } from "@event-anchoring/store";
import { assertProved, loadAnchors, proveAnchors, receiptAnswer, storedAnchorToJson } from "./anchor-view.ts";
import type { ProvedAnchor } from "./anchor-view.ts";
import { asOfAnswer, resolveAsOf } from "./as-of.ts";
import { ConsistentRead } from "./consistent-read.ts";
import { callerOf } from "./handler.ts";
import type { Handler } from "./handler.ts";
import { parsed } from "./parsed.ts";
import { RefusedError } from "./ports.ts";
import { ProblemError, problemError } from "./problem-error.ts";

/** What the anchor's non-empty references lead to. */
async function loadReferences(read: ConsistentRead, anchor: StoredAnchor): Promise<Map<string, AnchorFact>> {
  const facts = new Map<string, AnchorFact>();
  const leaf = decodeLeaf(anchor.bytes);
  if (leaf.kind !== 1 && leaf.kind !== 6) return facts;
  const { irisRef, scrollRef, grantRef, bondRef, yieldRef } = leaf.semanticAnchor;
  const ids = [irisRef, scrollRef, grantRef, bondRef, yieldRef].filter((id) => !isZero(id)).map(toAnchorId);
  if (ids.length === 0) return facts;
  const { anchors } = await read.select((reads) => reads.anchors(ids));
  for (const found of anchors) if (found !== null) facts.set(bytesToHex(found.anchorId), found);
  return facts;
}

interface Parents {
  /** Directly before the anchor; null for a genesis leaf. */
  readonly nearest: StoredAnchor | null;
  /** The page asked for, deepest first. */
  readonly page: readonly StoredAnchor[];
  /** The leaf before the last of the page, if there is one. */
  readonly beforePage: StoredAnchor | null;
}

/** The page and the one leaf beyond it, against which its last leaf is held. */
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

function traceWithParents(
  anchor: StoredAnchor,
  references: ReadonlyMap<string, AnchorFact>,
  { nearest, page, beforePage }: Parents,
  crypto: Crypto,
): Trace {
  const isAdjacent = nearest === null || page[0]?.depth === nearest.depth;
  if (isAdjacent) return traceEvent({ anchor, references, parents: page, beforeParents: beforePage }, crypto);
  const trace = traceEvent({ anchor, references, parents: [], beforeParents: nearest }, crypto);
  const [first, ...rest] = page;
  if (first === undefined) return trace;
  // A later page does not begin at the anchor: its links are checked by themselves.
  const links = traceEvent({ anchor: first, references: new Map(), parents: rest, beforeParents: beforePage }, crypto);
  const broken = links.violations.filter(({ code }) => code === "parent_link_broken");
  return { ...trace, violations: [...trace.violations, ...broken] };
}

function loadedToJson(loaded: LoadedLeaf): AnchorJson {
  const leaf = decodeLeaf(loaded.bytes);
  return anchorToJson({ leaf, anchorId: loaded.anchorId, finality: "certified", clientEvent: null });
}

function hopJson(hop: DelegationHop): TraceAnswer["delegation"][number] {
  return {
    grant: loadedToJson(hop.grant),
    grantor_claim: loadedToJson(hop.grantorClaim),
    grantee_claim: loadedToJson(hop.granteeClaim),
    witness_public_key: bytesToHex(hop.witnessPublicKey),
    witness_is_grantee: hop.witnessIsGrantee,
  };
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
function traceJson(trace: Trace) {
  return {
    authorised_at_action: trace.authorisedAtAction,
    authorised_now: trace.authorisedNow,
    reasons: trace.reasons.map(({ code, anchorId, sequence }) => ({
      code,
      anchor_id: hexOrNull(anchorId),
      sequence,
    })),
    actor: {
      claim: trace.actor.claim === null ? null : loadedToJson(trace.actor.claim),
      state: trace.actor.state,
      actor_signature: trace.actor.actorSignature,
    },
    delegation: trace.delegation.map(hopJson),
    boundary: boundaryJson(trace.boundary),
    root_authority: trace.rootAuthority,
    possible_parents: trace.possibleParents.map(bytesToHex),
    revocations: trace.revocations.map(loadedToJson),
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

/** GET /v1/event-anchors/{anchor_id}/trace */
export const traceEventAnchor: Handler = async (request, dependencies) => {
  const { anchorId } = parsed(parsePath(anchorPathSchema, request.pathParameters));
  const query = parsed(parseQuery(traceQuerySchema, request.search));
  const { crypto, clock } = dependencies;
  const read = await ConsistentRead.begin(dependencies, "all", request.deadline);
  const [anchor] = await loadAnchors(read, [anchorId]);
  if (anchor === undefined) throw problemError("anchor_not_found");
  const asOf = await resolveAsOf(read, query.asOf, clock);
  if (anchor.sequence > asOf.sequence) {
    throw new ProblemError({ code: "anchor_not_found", detail: "The anchor is younger than as_of." });
  }
  const [references, parents, [each]] = await Promise.all([
    loadReferences(read, anchor),
    loadParents(read, anchor, query),
    proveAnchors(read, [anchor], crypto.sha256),
  ]);
  const proved = assertProved(each ?? null);
  const caller = callerOf(request);
  const lowest = parents.page.at(-1)?.depth ?? 0;
  const json: TraceAnswer = {
    anchor: storedAnchorToJson(anchor, "certified", caller),
    ...traceJson(traceWithParents(anchor, references, parents, crypto)),
    parents: {
      items: parents.page.map((parent) => storedAnchorToJson(parent, "certified", caller)),
      next_cursor: lowest === 0 ? null : String(lowest),
    },
    eea: await eeaJson(read, proved),
    as_of: asOfAnswer(asOf),
    receipt: receiptAnswer(proved.receipt, proved.certificate, crypto.sha256),
  };
  return { status: 200, json };
};
