import { parseBody, problemBody, verifyBatchSchema, verifyEventSchema } from "@event-anchoring/api-contract";
import type {
  AnchorToVerify,
  AsOf as WantedAsOf,
  VerifiedAnswer,
  VerifiedBatchAnswer,
} from "@event-anchoring/api-contract";
import { verifyEvent } from "@event-anchoring/records";
import type { AsOf, VerificationResult } from "@event-anchoring/records";
import { LEAF_KIND, bytesToHex, decodeLeaf, isZero, toAnchorId } from "@event-anchoring/protocol";
import type { AnchorId } from "@event-anchoring/protocol";
import type { StoredAnchor } from "@event-anchoring/store";
import { assertProved, proveAnchors, receiptAnswer, storedAnchorToJson } from "../reading/anchor-view.ts";
import type { ProvedAnchor } from "../reading/anchor-view.ts";
import { asOfAnswer } from "../reading/as-of.ts";
import type { ConsistentRead } from "../reading/consistent-read.ts";
import { beginJudgedRead } from "../reading/judged-read.ts";
import { loadRecords, statesAt } from "../reading/load-records.ts";
import type { StateOf } from "../reading/load-records.ts";
import { rememberingCrypto, verifyAhead } from "../reading/verdicts.ts";
import { parsed, problemError } from "../request/problem-error.ts";
import { bodyTextOf, callerOf } from "./handler.ts";
import type { HandlerRequest, ReadDependencies, ReadHandler } from "./handler.ts";
import { proofMember } from "./proof-member.ts";

interface VerifiedAnchor {
  readonly proved: ProvedAnchor;
  readonly result: VerificationResult;
}

interface VerifiedAnchors {
  readonly asOf: AsOf;
  readonly stateOf: StateOf;
  /** Parallel to what was asked; null for an id that does not exist. */
  readonly anchors: readonly (VerifiedAnchor | null)[];
}

/** What a leaf is compared with: the leaf before it, and for a signed event the claim that it names. */
interface RelatedIds {
  readonly parent: AnchorId | null;
  readonly irisClaim: AnchorId | null;
}

function relatedIds({ bytes, depth, kind }: StoredAnchor): RelatedIds {
  const leaf = decodeLeaf(bytes);
  const irisRef = kind === LEAF_KIND.signedEvent && leaf.kind === kind ? leaf.semanticAnchor.irisRef : null;
  return {
    parent: depth === 0 ? null : leaf.parentAnchorId,
    irisClaim: irisRef === null || isZero(irisRef) ? null : toAnchorId(irisRef),
  };
}

/** Finds what was loaded by an id that another anchor names. */
type FindRelated = (id: AnchorId | null) => StoredAnchor | null;

/** Loads all by one statement; many are among the anchors already. */
async function loadRelated(
  read: ConsistentRead,
  anchors: ReadonlyMap<string, StoredAnchor>,
  related: Iterable<RelatedIds>,
): Promise<FindRelated> {
  const missing = new Map<string, AnchorId>();
  for (const { parent, irisClaim } of related)
    for (const id of [parent, irisClaim]) {
      const name = id === null ? null : bytesToHex(id);
      if (id !== null && name !== null && !anchors.has(name)) missing.set(name, id);
    }
  const found = new Map(anchors);
  if (missing.size > 0) {
    const loaded = await read.select((reads) => reads.anchors([...missing.values()]));
    for (const anchor of loaded.anchors) if (anchor !== null) found.set(bytesToHex(anchor.anchorId), anchor);
  }
  return (id) => (id === null ? null : (found.get(bytesToHex(id)) ?? null));
}

/** Any number of anchors in one linearizable read and a handful of statements. */
async function verifyAnchors(
  request: HandlerRequest,
  dependencies: ReadDependencies,
  wanted: readonly AnchorToVerify[],
  wantedAsOf: WantedAsOf | null,
): Promise<VerifiedAnchors> {
  const ids = wanted.map(({ anchorId }) => anchorId);
  const { read, asOf, anchors } = await beginJudgedRead(request, dependencies, ids, wantedAsOf);
  const stored = [...anchors.values()];
  const related = new Map([...anchors].map(([name, anchor]) => [name, relatedIds(anchor)]));
  const crypto = rememberingCrypto(dependencies.crypto);
  const [trustRoots, find, provedAnchors, records] = await Promise.all([
    dependencies.trustRoots.chain(read),
    loadRelated(read, anchors, related.values()),
    proveAnchors(read, stored, crypto.sha256),
    loadRecords(read, stored, [asOf]),
    verifyAhead(
      stored.filter(({ kind }) => kind === LEAF_KIND.signedEvent),
      crypto,
      request.deadline,
    ),
  ]);
  const byId = new Map<string, ProvedAnchor>();
  for (const [at, anchor] of stored.entries()) {
    const proved = await assertProved(read, anchor, provedAnchors[at]);
    byId.set(bytesToHex(proved.anchor.anchorId), proved);
  }
  const verified = wanted.map(({ anchorId, eventHash }) => {
    const name = bytesToHex(anchorId);
    const proved = byId.get(name);
    const named = related.get(name);
    if (proved === undefined || named === undefined) return null;
    const { receipt } = proved;
    const [parent, irisClaim] = [find(named.parent), find(named.irisClaim)];
    const input = { anchorId, receipt, parent, eventHash, irisClaim, asOf, trustRoots };
    return { proved, result: verifyEvent(input, crypto) };
  });
  return { asOf, stateOf: statesAt(records, asOf), anchors: verified };
}

function verifiedJson(
  { proved, result }: VerifiedAnchor,
  stateOf: StateOf,
  request: HandlerRequest,
): Pick<VerifiedAnswer, "valid" | "checks" | "anchor"> {
  const { anchor } = proved;
  return {
    valid: result.valid,
    checks: result.checks.map((check) => ({ ...check })),
    anchor: storedAnchorToJson(anchor, {
      finality: "certified",
      caller: callerOf(request),
      state: stateOf(anchor),
    }),
  };
}

/** POST /v1/event-anchors:verify */
export const verifyEventAnchor: ReadHandler = async (request, dependencies) => {
  const { asOf: wantedAsOf, ...wanted } = parsed(parseBody(verifyEventSchema, bodyTextOf(request)));
  const { asOf, stateOf, anchors } = await verifyAnchors(request, dependencies, [wanted], wantedAsOf);
  const [verified] = anchors;
  if (verified === undefined || verified === null) throw problemError("anchor_not_found");
  const { valid, ...rest } = verifiedJson(verified, stateOf, request);
  const { receipt, certificate, anchor } = verified.proved;
  const proof = await proofMember(request, dependencies, { anchor, asOf }, () => true);
  const json: VerifiedAnswer = {
    valid,
    as_of: asOfAnswer(asOf),
    ...rest,
    receipt: receiptAnswer(receipt, certificate, dependencies.crypto.sha256),
    ...proof,
  };
  return { status: 200, json };
};

type BatchResult = VerifiedBatchAnswer["results"][number];

function notFound(anchorId: string, index: number): BatchResult {
  const code = "anchor_not_found";
  const { errors: _none, ...body } = problemBody({ code }, null);
  const errors = [{ pointer: `/anchors/${index}/anchor_id`, code, detail: "there is no such anchor" }];
  return { anchor_id: anchorId, valid: false, problem: { ...body, errors } };
}

/** POST /v1/event-anchors:batchVerify */
export const verifyEventAnchors: ReadHandler = async (request, dependencies) => {
  const body = parsed(parseBody(verifyBatchSchema, bodyTextOf(request)));
  request.spend({ items: body.anchors.length });
  const { asOf, stateOf, anchors } = await verifyAnchors(request, dependencies, body.anchors, body.asOf);
  const results = anchors.map((verified, index): BatchResult => {
    const anchorId = bytesToHex(body.anchors[index]?.anchorId ?? new Uint8Array());
    if (verified === null) return notFound(anchorId, index);
    return { anchor_id: anchorId, ...verifiedJson(verified, stateOf, request) };
  });
  const valid = results.filter((result) => result.valid).length;
  const missing = anchors.filter((verified) => verified === null).length;
  const summary = { total: results.length, valid, invalid: results.length - valid - missing, not_found: missing };
  const json: VerifiedBatchAnswer = { as_of: asOfAnswer(asOf), results, summary };
  return { status: 200, json };
};
