import { anchorPathSchema, parsePath } from "@event-anchoring/api-contract";
import type { AnchorAnswer, AnchorJson, ReceiptAnswer } from "@event-anchoring/api-contract";
import type { RecordState } from "@event-anchoring/records";
import { bytesToHex, formatProof } from "@event-anchoring/protocol";
import type { AnchorId, OriginFingerprint } from "@event-anchoring/protocol";
import type { StoredAnchor } from "@event-anchoring/store";
import { RefusedError } from "../control-plane/control-plane.ts";
import {
  assertProved,
  isOfLostOrigin,
  loadAnchors,
  proveAnchors,
  receiptAnswer,
  storedAnchorToJson,
} from "../reading/anchor-view.ts";
import type { ProvedAnchor } from "../reading/anchor-view.ts";
import { ConsistentRead } from "../reading/consistent-read.ts";
import { loadStates } from "../reading/load-records.ts";
import { witnessedIfPossible, witnessedRead } from "../reading/witnessed-read.ts";
import { Deadline } from "../request/deadline.ts";
import { parsed, problemError } from "../request/problem-error.ts";
import { cacheHeaders } from "./cache-rules.ts";
import { callerOf } from "./handler.ts";
import type { Handler, HandlerDependencies, HandlerRequest } from "./handler.ts";

/** How long an answer to `Prefer: respond-async` waits for certificates that are about to be made. */
const AT_ONCE_MS = 100;
/**
 * The part of a write's time that is reserved for reading a replay that is not certified. Shorter than the grace of an
 * answer.
 */
const COMMITTED_READ_MS = 200;

/** An anchor without a receipt is committed, and not known to be certified. */
export interface ShownAnchor {
  readonly anchorId: AnchorId;
  readonly anchor: AnchorJson;
  readonly receipt: ReceiptAnswer | null;
  /** What the receipt was made of. */
  readonly proved: ProvedAnchor | null;
}

export interface CertifiedAnchor extends ShownAnchor {
  readonly receipt: ReceiptAnswer;
  readonly proved: ProvedAnchor;
}

/** Committed in an origin that is lost, and covered by no certificate: it never will be covered. */
interface UncertifiedAnchor extends ShownAnchor {
  readonly receipt: null;
  readonly proved: null;
}

type ByAnchorId<T> = ReadonlyMap<string, T>;

function certifiedAnchor(
  proved: ProvedAnchor,
  state: RecordState | null,
  request: HandlerRequest,
  { crypto }: HandlerDependencies,
): CertifiedAnchor {
  return {
    anchorId: proved.anchor.anchorId,
    anchor: storedAnchorToJson(proved.anchor, { finality: "certified", caller: callerOf(request), state }),
    receipt: receiptAnswer(proved.receipt, proved.certificate, crypto.sha256),
    proved,
  };
}

/** Anchors of one read with receipts against its certificates, except those that were lost before they had one. */
async function showCertified(
  read: ConsistentRead,
  ids: readonly AnchorId[],
  request: HandlerRequest,
  dependencies: HandlerDependencies,
): Promise<ByAnchorId<CertifiedAnchor | UncertifiedAnchor>> {
  const { clock, crypto } = dependencies;
  const anchors = await loadAnchors(read, ids);
  const [stateOf, provedAnchors] = await Promise.all([
    loadStates(read, anchors, clock),
    proveAnchors(read, anchors, crypto.sha256),
  ]);
  const shown = new Map<string, CertifiedAnchor | UncertifiedAnchor>();
  for (const [at, stored] of anchors.entries()) {
    const proved = provedAnchors[at] ?? null;
    const { anchorId } = stored;
    if (proved === null && (await isOfLostOrigin(read, stored))) {
      const anchor = storedAnchorToJson(stored, {
        finality: "committed",
        caller: callerOf(request),
        state: stateOf(stored),
      });
      shown.set(bytesToHex(anchorId), { anchorId, anchor, receipt: null, proved: null });
      continue;
    }
    const certified = certifiedAnchor(await assertProved(read, stored, proved), stateOf(stored), request, dependencies);
    shown.set(bytesToHex(anchorId), certified);
  }
  return shown;
}

/**
 * The anchor of a claim or grant whose state the read has determined.
 * @returns null if no certificate of the read covers it
 * @throws ProblemError `origin_lost`
 */
export async function showRecord(
  read: ConsistentRead,
  { anchorId, state }: { readonly anchorId: AnchorId; readonly state: RecordState },
  request: HandlerRequest,
  dependencies: HandlerDependencies,
): Promise<CertifiedAnchor | null> {
  const anchors = await loadAnchors(read, [anchorId]);
  const [proved] = await proveAnchors(read, anchors, dependencies.crypto.sha256);
  if (proved !== undefined && proved !== null) return certifiedAnchor(proved, state, request, dependencies);
  const [anchor] = anchors;
  if (anchor !== undefined && (await isOfLostOrigin(read, anchor))) throw problemError("origin_lost");
  return null;
}

/**
 * Reads what may have been written after the read began: tables can be a moment ahead of the certificates of one read,
 * but not of the next one's.
 * @param attempt null: what it found is not covered by a certificate of its read
 * @throws RefusedError when the time is over
 */
export async function readCovered<T>(
  request: HandlerRequest,
  dependencies: HandlerDependencies,
  attempt: (read: ConsistentRead) => Promise<T | null>,
): Promise<T> {
  for (;;) {
    const found = await attempt(await ConsistentRead.begin(dependencies, "all", request.deadline));
    if (found !== null) return found;
  }
}

/** Sizes of the trees that recorded certificates cover, by origin: a certificate in the tables stays for good. */
async function recordedSizes(
  read: ConsistentRead,
  anchors: readonly StoredAnchor[],
): Promise<ReadonlyMap<string, number>> {
  const origins = new Map<string, OriginFingerprint>();
  for (const { originFingerprint } of anchors) origins.set(bytesToHex(originFingerprint), originFingerprint);
  const sizes = await Promise.all(
    [...origins].map(async ([name, origin]) => {
      const { certificate } = await read.select((reads) => reads.latestCertificate(origin));
      return [name, certificate?.treeSize ?? 0] as const;
    }),
  );
  return new Map(sizes);
}

/** Committed anchors, without receipts: does not wait for a certificate. */
async function showCommitted(
  ids: readonly AnchorId[],
  request: HandlerRequest,
  dependencies: HandlerDependencies,
): Promise<ByAnchorId<ShownAnchor>> {
  const { clock } = dependencies;
  const deadline = new Deadline(clock, Math.max(request.deadline.remainingMs, COMMITTED_READ_MS));
  const read = await ConsistentRead.begin(dependencies, "none", deadline);
  const { anchors: found } = await read.select((reads) => reads.anchors(ids));
  const anchors = found.filter((anchor) => anchor !== null);
  const [stateOf, sizes] = await Promise.all([loadStates(read, anchors, clock), recordedSizes(read, anchors)]);
  const caller = callerOf(request);
  return new Map(
    anchors.map((stored) => {
      const { anchorId, depth, originFingerprint } = stored;
      const isCertified = depth < (sizes.get(bytesToHex(originFingerprint)) ?? 0);
      const finality = isCertified ? "certified" : "committed";
      const anchor = storedAnchorToJson(stored, { finality, caller, state: stateOf(stored) });
      return [bytesToHex(anchorId), { anchorId, anchor, receipt: null, proved: null }];
    }),
  );
}

function isLate(error: unknown): boolean {
  if (!(error instanceof RefusedError)) return false;
  return error.code === "certification_stalled" || error.code === "deadline_exceeded" || error.code === "no_leader";
}

async function beginWithin(
  dependencies: HandlerDependencies,
  deadline: Deadline,
  patienceMs: number,
): Promise<ConsistentRead | null> {
  try {
    return await ConsistentRead.begin(dependencies, "all", deadline, patienceMs);
  } catch (error) {
    if (isLate(error)) return null;
    throw error;
  }
}

/**
 * Anchors with receipts against the newest certificates, in one linearizable read.
 * @returns by the hex of their ids; without those that do not exist
 */
async function readProvedAnchors(
  ids: readonly AnchorId[],
  request: HandlerRequest,
  dependencies: HandlerDependencies,
): Promise<ByAnchorId<CertifiedAnchor | UncertifiedAnchor>> {
  const read = await ConsistentRead.begin(dependencies, "all", request.deadline);
  return showCertified(read, ids, request, dependencies);
}

/**
 * Anchors that are known to be committed: with receipts if certificates come in time, else without. With `Prefer:
 * respond-async` that time is short.
 */
export async function readCommittedAnchors(
  ids: readonly AnchorId[],
  request: HandlerRequest,
  dependencies: HandlerDependencies,
): Promise<ByAnchorId<ShownAnchor>> {
  const { deadline, isAsync } = request;
  const patienceMs = Math.max(0, deadline.remainingMs - COMMITTED_READ_MS);
  const read = await beginWithin(dependencies, deadline, isAsync ? Math.min(AT_ONCE_MS, patienceMs) : patienceMs);
  if (read === null) return showCommitted(ids, request, dependencies);
  return showCertified(read, ids, request, dependencies);
}

/** GET /v1/event-anchors/{anchor_id}: also where the `Location` of a write leads. */
export const getEventAnchor: Handler = async (request, dependencies) => {
  const { anchorId } = parsed(parsePath(anchorPathSchema, request.pathParameters));
  const readAnchors = request.isAsync ? readCommittedAnchors : readProvedAnchors;
  const found = (await readAnchors([anchorId], request, dependencies)).get(bytesToHex(anchorId));
  if (found === undefined) throw problemError("anchor_not_found");
  const { anchor, proved } = found;
  const witnessed = proved === null ? null : await proveWitnessed(proved.anchor, request, dependencies);
  const receipt =
    witnessed === null
      ? found.receipt
      : receiptAnswer(witnessed.receipt, witnessed.certificate, dependencies.crypto.sha256);
  const json: AnchorAnswer = { anchor, receipt };
  return { status: 200, json, isWitnessed: witnessed !== null };
};

/**
 * Under a witnessed head, if that is preferred and one covers the anchor in time. Neither a visitor waits nor who wants
 * an answer at once.
 */
async function proveWitnessed(
  anchor: StoredAnchor,
  request: HandlerRequest,
  dependencies: HandlerDependencies,
): Promise<ProvedAnchor | null> {
  const { prefersWitnessed, deadline, isVisit, isAsync } = request;
  if (!prefersWitnessed) return null;
  return witnessedIfPossible(async () => {
    const read = await witnessedRead(dependencies, [anchor], deadline, !isVisit && !isAsync);
    if (read === null) return null;
    const [proved = null] = await proveAnchors(read, [anchor], dependencies.crypto.sha256);
    return proved;
  }, dependencies.logger);
}

/**
 * GET /v1/event-anchors/{anchor_id}/receipt: JSON, or the canonical C2SP tlog-proof for `Accept: text/plain`. To a
 * visitor there is nothing but what a certificate covers.
 */
export const getReceipt: Handler = async (request, dependencies) => {
  const { anchorId } = parsed(parsePath(anchorPathSchema, request.pathParameters));
  const { sha256 } = dependencies.crypto;
  const read = await ConsistentRead.begin(dependencies, "all", request.deadline);
  const [anchor] = await loadAnchors(read, [anchorId]);
  if (anchor === undefined) throw problemError("anchor_not_found");
  const [certified = null] = await proveAnchors(read, [anchor], sha256);
  if (certified === null && request.isVisit) throw problemError("anchor_not_found");
  const witnessed = await proveWitnessed(anchor, request, dependencies);
  const { receipt, certificate } = await assertProved(read, anchor, witnessed ?? certified);
  const rest = { status: 200, headers: cacheHeaders("receipt", request), isWitnessed: witnessed !== null };
  if (request.prefersText) return { ...rest, text: formatProof(receipt) };
  return { ...rest, json: receiptAnswer(receipt, certificate, sha256) };
};
