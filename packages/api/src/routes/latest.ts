import { formatRfc3339, latestQuerySchema, parseQuery } from "@event-anchoring/api-contract";
import type { LatestAnswer } from "@event-anchoring/api-contract";
import type { ShownCertificate } from "@event-anchoring/control-contract";
import {
  bytesToBase64,
  bytesToHex,
  equalBytes,
  parseCosignatureLine,
  parseNote,
  quorumPolicyOf,
} from "@event-anchoring/protocol";
import type { OriginFingerprint, Sha256, TrustRootChain } from "@event-anchoring/protocol";
import { proveAnchors, receiptAnswer, storedAnchorToJson } from "../reading/anchor-view.ts";
import { ConsistentRead } from "../reading/consistent-read.ts";
import { loadStates } from "../reading/load-records.ts";
import { parsed, problemError } from "../request/problem-error.ts";
import type { ProblemError } from "../request/problem-error.ts";
import { proveGrowth } from "./consistency.ts";
import { callerOf } from "./handler.ts";
import type { Handler } from "./handler.ts";

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

/** GET /v1/event-anchors/latest: the EEA of one origin. */
export const getLatestEventAnchor: Handler = async (request, dependencies) => {
  const query = parsed(parseQuery(latestQuerySchema, request.search));
  const origin = query.originFingerprint ?? dependencies.node.originFingerprint;
  const read = await ConsistentRead.begin(dependencies, [origin], request.deadline);
  const certificate = read.certificateOf(origin);
  // Leaf 0 is the genesis leaf: a tree of one leaf holds no client's anchor yet.
  if (certificate === null || certificate.treeSize < 2) throw await nothingToShow(read, origin);
  const depth = certificate.treeSize - 1;
  const { anchors } = await read.selectUntil(
    (reads) => reads.anchorsOfOrigin(origin, depth, 1, "descending"),
    (found) => found.anchors[0]?.depth === depth,
  );
  const [proved] = await proveAnchors(read, anchors, dependencies.crypto.sha256);
  if (proved === null || proved === undefined) throw new Error("a certificate covers the last leaf of its tree");
  const { sha256 } = dependencies.crypto;
  const chain = await dependencies.trustRoots.chain(read);
  const consistency =
    query.fromSize === null ? {} : { consistency: await consistencyJson(read, certificate, query.fromSize, sha256) };
  const stateOf = await loadStates(read, [proved.anchor], dependencies.clock);
  const state = stateOf(proved.anchor);
  const json: LatestAnswer = {
    origin_fingerprint: bytesToHex(origin),
    depth,
    tree_size: certificate.treeSize,
    anchor: storedAnchorToJson(proved.anchor, { finality: "certified", caller: callerOf(request), state }),
    root_hash: bytesToHex(certificate.rootHash),
    certified_at: formatRfc3339(certificate.certifiedAtS * 1000),
    checkpoint: certificate.checkpoint,
    quorum: quorumJson(certificate, chain),
    receipt: receiptAnswer(proved.receipt, certificate, sha256),
    ...consistency,
  };
  return { status: 200, json };
};
