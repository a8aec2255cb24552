import { parseBody, problemBody, verifyBatchSchema, verifyEventSchema } from "@event-anchoring/api-contract";
import type {
  AnchorToVerify,
  AsOf as WantedAsOf,
  VerifiedAnswer,
  VerifiedBatchAnswer,
} from "@event-anchoring/api-contract";
import { rememberVerdicts, verifyEvent } from "@event-anchoring/ledger";
import type { AsOf, VerificationResult } from "@event-anchoring/ledger";
import { bytesToHex, decodeLeaf, toAnchorId } from "@event-anchoring/protocol";
import type { AnchorId } from "@event-anchoring/protocol";
import type { StoredAnchor } from "@event-anchoring/store";
import { assertProved, loadAnchors, proveAnchors, receiptAnswer, storedAnchorToJson } from "./anchor-view.ts";
import type { ProvedAnchor } from "./anchor-view.ts";
import { asOfAnswer, resolveAsOf } from "./as-of.ts";
import { ConsistentRead } from "./consistent-read.ts";
import { callerOf } from "./handler.ts";
import type { Handler, HandlerDependencies, HandlerRequest } from "./handler.ts";
import { parsed } from "./parsed.ts";
import { problemError } from "./problem-error.ts";

interface VerifiedAnchor {
  readonly proved: ProvedAnchor;
  readonly result: VerificationResult;
}

interface VerifiedAnchors {
  readonly asOf: AsOf;
  /** Parallel to what was asked; null for an id that does not exist. */
  readonly anchors: readonly (VerifiedAnchor | null)[];
}

/** Each leaf names the one before it by id: all of them are loaded by one statement. */
async function loadParents(read: ConsistentRead, anchors: readonly StoredAnchor[]): Promise<Map<string, StoredAnchor>> {
  const ids = new Map<string, AnchorId>();
  for (const { bytes, depth } of anchors) {
    if (depth === 0) continue;
    const { parentAnchorId } = decodeLeaf(bytes);
    ids.set(bytesToHex(parentAnchorId), toAnchorId(parentAnchorId));
  }
  const parents = new Map<string, StoredAnchor>();
  if (ids.size === 0) return parents;
  const found = await read.select((reads) => reads.anchors([...ids.values()]));
  for (const parent of found.anchors) if (parent !== null) parents.set(bytesToHex(parent.anchorId), parent);
  return parents;
}

/** Any number of anchors in one linearizable read and a handful of statements. */
async function verifyAnchors(
  request: HandlerRequest,
  dependencies: HandlerDependencies,
  wanted: readonly AnchorToVerify[],
  wantedAsOf: WantedAsOf | null,
): Promise<VerifiedAnchors> {
  const read = await ConsistentRead.begin(dependencies, "all", request.deadline);
  const loaded = await loadAnchors(read, distinctIds(wanted));
  const [asOf, trustRoots, parents, provedAnchors] = await Promise.all([
    resolveAsOf(read, wantedAsOf, dependencies.clock),
    dependencies.trustRoots.chain(read),
    loadParents(read, loaded),
    proveAnchors(read, loaded, dependencies.crypto.sha256),
  ]);
  const byId = new Map<string, ProvedAnchor>();
  for (const each of provedAnchors) {
    const proved = assertProved(each);
    byId.set(bytesToHex(proved.anchor.anchorId), proved);
  }
  // One checkpoint certifies many anchors: each of its signatures is verified once for the whole request.
  const crypto = rememberVerdicts(dependencies.crypto);
  const anchors = wanted.map(({ anchorId, eventHash }) => {
    const proved = byId.get(bytesToHex(anchorId));
    if (proved === undefined) return null;
    const parent = parents.get(bytesToHex(decodeLeaf(proved.anchor.bytes).parentAnchorId)) ?? null;
    const { receipt } = proved;
    return { proved, result: verifyEvent({ anchorId, receipt, parent, eventHash, asOf, trustRoots }, crypto) };
  });
  return { asOf, anchors };
}

function distinctIds(wanted: readonly AnchorToVerify[]): AnchorId[] {
  return [...new Map(wanted.map(({ anchorId }) => [bytesToHex(anchorId), anchorId])).values()];
}

function verifiedJson(
  { proved, result }: VerifiedAnchor,
  request: HandlerRequest,
): Pick<VerifiedAnswer, "valid" | "checks" | "anchor"> {
  return {
    valid: result.valid,
    checks: result.checks.map((check) => ({ ...check })),
    anchor: storedAnchorToJson(proved.anchor, "certified", callerOf(request)),
  };
}

/** POST /v1/event-anchors:verify */
export const verifyEventAnchor: Handler = async (request, dependencies) => {
  const { asOf: wantedAsOf, ...wanted } = parsed(parseBody(verifyEventSchema, request.bodyText));
  const { asOf, anchors } = await verifyAnchors(request, dependencies, [wanted], wantedAsOf);
  const [verified] = anchors;
  if (verified === undefined || verified === null) throw problemError("anchor_not_found");
  const { valid, ...rest } = verifiedJson(verified, request);
  const { receipt, certificate } = verified.proved;
  const json: VerifiedAnswer = {
    valid,
    as_of: asOfAnswer(asOf),
    ...rest,
    receipt: receiptAnswer(receipt, certificate, dependencies.crypto.sha256),
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
export const verifyEventAnchors: Handler = async (request, dependencies) => {
  const body = parsed(parseBody(verifyBatchSchema, request.bodyText));
  const { asOf, anchors } = await verifyAnchors(request, dependencies, body.anchors, body.asOf);
  const results = anchors.map((verified, index): BatchResult => {
    const anchorId = bytesToHex(body.anchors[index]?.anchorId ?? new Uint8Array());
    if (verified === null) return notFound(anchorId, index);
    return { anchor_id: anchorId, ...verifiedJson(verified, request) };
  });
  const valid = results.filter((result) => result.valid).length;
  const missing = anchors.filter((verified) => verified === null).length;
  const summary = { total: results.length, valid, invalid: results.length - valid - missing, not_found: missing };
  const json: VerifiedBatchAnswer = { as_of: asOfAnswer(asOf), results, summary };
  return { status: 200, json };
};
