import { formatRfc3339, latestQuerySchema, parseQuery } from "@event-anchoring/api-contract";
import type { LatestAnswer } from "@event-anchoring/api-contract";
import type { LatestAnchor, ShownCertificate } from "@event-anchoring/control-contract";
import {
  bytesToBase64,
  bytesToHex,
  equalBytes,
  parseCosignatureLine,
  parseNote,
  quorumPolicyOf,
} from "@event-anchoring/protocol";
import type { OriginFingerprint, Receipt, Sha256, TrustRootChain } from "@event-anchoring/protocol";
import type { RecordState } from "@event-anchoring/records";
import { proveAnchors, receiptAnswer, storedAnchorToJson } from "../reading/anchor-view.ts";
import type { VisibleAnchor } from "../reading/anchor-view.ts";
import { ConsistentRead } from "../reading/consistent-read.ts";
import { proveGrowth } from "../reading/growth.ts";
import { LatestAnswers } from "../reading/latest-answers.ts";
import { loadStates } from "../reading/load-records.ts";
import { parsed, problemError } from "../request/problem-error.ts";
import type { ProblemError } from "../request/problem-error.ts";
import { callerOf, madeAnswer } from "./handler.ts";
import type { Handler, HandlerAnswer, HandlerDependencies } from "./handler.ts";

/**
 * Who has co-signed. The control plane verified the lines when it accepted the certificate; here they are only parsed.
 */
function quorumJson(certificate: ShownCertificate, chain: TrustRootChain): LatestAnswer["quorum"] {
  const judge = chain.versions.find(({ trustRoot }) => trustRoot.version === certificate.trustRootVersion);
  if (judge === undefined) throw new Error(`no trust root ${certificate.trustRootVersion}`);
  const policy = quorumPolicyOf(judge.trustRoot);
  const cosigners: LatestAnswer["quorum"]["cosigners"] = [];
  for (const line of parseNote(certificate.checkpoint).lines) {
    const vkey = policy.cosigners.find(({ name, keyId }) => name === line.name && keyId === line.keyId);
    if (vkey !== undefined) cosigners.push({ name: vkey.name, time: parseCosignatureLine(line).timeS });
  }
  return { threshold: policy.threshold, trust_root_version: certificate.trustRootVersion, cosigners };
}

async function consistencyJson(
  read: ConsistentRead,
  certificate: ShownCertificate,
  fromSize: number,
  sha256: Sha256,
): Promise<LatestAnswer["consistency"]> {
  const { treeSize } = certificate;
  const { proof } = await proveGrowth(read, certificate, { fromSize, toSize: treeSize }, sha256);
  return { from_size: fromSize, tree_size: treeSize, proof: proof.map(bytesToBase64) };
}

/** Why an origin without a certified anchor has no EEA. */
async function nothingToShow(read: ConsistentRead, origin: OriginFingerprint): Promise<ProblemError> {
  const origins = await read.origins();
  const isKnown = origins.some((head) => equalBytes(head.originFingerprint, origin));
  return problemError(isKnown ? "no_anchor_yet" : "origin_unknown");
}

/** The last leaf under a certificate. */
interface LastAnchor {
  readonly anchor: VisibleAnchor;
  readonly receipt: Receipt;
  /** The state of a claim or a grant, which depends on the time of the request; null for other kinds. */
  readonly state: RecordState | null;
}

/** From the control plane's memory, which has decided every entry up to the read index. */
function lastAnchorOf({ certificate, leaf, anchorId, path, clientEvent }: LatestAnchor): LastAnchor {
  const { treeSize, checkpoint } = certificate;
  const stored = clientEvent === null ? null : { ...clientEvent, isErased: clientEvent.clientEventId === null };
  const receipt = { leaf, index: treeSize - 1, treeSize, path, checkpoint };
  return { anchor: { anchorId, bytes: leaf, clientEvent: stored }, receipt, state: null };
}

async function readLastAnchor(
  read: ConsistentRead,
  { originFingerprint, treeSize }: ShownCertificate,
  { crypto, clock }: HandlerDependencies,
): Promise<LastAnchor> {
  const depth = treeSize - 1;
  const { anchors } = await read.selectUntil(
    (reads) => reads.anchorsOfOrigin(originFingerprint, depth, 1, "descending"),
    (found) => found.anchors[0]?.depth === depth,
  );
  const [proved] = await proveAnchors(read, anchors, crypto.sha256);
  if (proved === null || proved === undefined) throw new Error("a certificate covers the last leaf of its tree");
  const { anchor, receipt } = proved;
  const stateOf = await loadStates(read, [anchor], clock);
  return { anchor, receipt, state: stateOf(anchor) };
}

const finished = new LatestAnswers<HandlerAnswer>();

/**
 * GET /v1/event-anchors/latest: the EEA of one origin. Read from the tables only if the control plane does not have it
 * in memory, and if what the answer shows changes without a new certificate: the state of a claim or a grant, and what
 * depends on `from_size`.
 */
export const getLatestEventAnchor: Handler = async (request, dependencies) => {
  const query = parsed(parseQuery(latestQuerySchema, request.search));
  const { controlPlane, trustRoots, crypto, node } = dependencies;
  const origin = query.originFingerprint ?? node.originFingerprint;
  const { fromSize } = query;
  const { remainingMs } = request.deadline;
  const ready = await (fromSize === null
    ? controlPlane.readLatest(origin, remainingMs)
    : controlPlane.read([origin], remainingMs));
  const read = ConsistentRead.from(ready, dependencies, request.deadline);
  const certificate = read.certificateOf(origin);
  // Leaf 0 is the genesis leaf: a tree of one leaf holds no client's anchor yet.
  if (certificate === null || certificate.treeSize < 2) throw await nothingToShow(read, origin);
  const { latest } = ready;
  const caller = callerOf(request);
  const known = fromSize === null ? finished.find(certificate, latest, caller) : null;
  if (known !== null) return known;
  const last = latest === null ? await readLastAnchor(read, certificate, dependencies) : lastAnchorOf(latest);
  const json: LatestAnswer = {
    origin_fingerprint: bytesToHex(origin),
    depth: certificate.treeSize - 1,
    tree_size: certificate.treeSize,
    anchor: storedAnchorToJson(last.anchor, { finality: "certified", caller, state: last.state }),
    root_hash: bytesToHex(certificate.rootHash),
    certified_at: formatRfc3339(certificate.certifiedAtS * 1000),
    checkpoint: certificate.checkpoint,
    quorum: quorumJson(certificate, await trustRoots.chain(read)),
    receipt: receiptAnswer(last.receipt, certificate, crypto.sha256),
    ...(fromSize === null ? {} : { consistency: await consistencyJson(read, certificate, fromSize, crypto.sha256) }),
  };
  if (fromSize !== null || last.state !== null) return { status: 200, json };
  const { status, body, mediaType } = madeAnswer({ status: 200, json });
  const answer = { status, bytes: body, mediaType };
  finished.keep(answer, { certificate, latest }, last.anchor.clientEvent, caller);
  return answer;
};
