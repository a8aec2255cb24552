import { consistencyQuerySchema, parseQuery } from "@event-anchoring/api-contract";
import type { ConsistencyAnswer } from "@event-anchoring/api-contract";
import { bytesToBase64, bytesToHex, equalBytes } from "@event-anchoring/protocol";
import { ConsistentRead } from "../reading/consistent-read.ts";
import { aheadOf, proveGrowth } from "../reading/growth.ts";
import { parsed, problemError } from "../request/problem-error.ts";
import type { Handler } from "./handler.ts";

/** GET /v1/event-anchors/consistency */
export const getConsistency: Handler = async (request, dependencies) => {
  const query = parsed(parseQuery(consistencyQuerySchema, request.search));
  const { sha256 } = dependencies.crypto;
  const origin = query.originFingerprint ?? dependencies.node.originFingerprint;
  const read = await ConsistentRead.begin(dependencies, [origin], request.deadline);
  const origins = await read.origins();
  if (!origins.some((head) => equalBytes(head.originFingerprint, origin))) throw problemError("origin_unknown");
  const certificate = read.certificateOf(origin);
  if (certificate === null) throw aheadOf("from_size", query.fromSize, 0);
  const { fromSize } = query;
  const toSize = query.toSize ?? certificate.treeSize;
  const { fromRoot, toRoot, proof } = await proveGrowth(read, certificate, { fromSize, toSize }, sha256);
  const checkpoint = toSize === certificate.treeSize ? certificate.checkpoint : null;
  const json: ConsistencyAnswer = {
    origin_fingerprint: bytesToHex(origin),
    from: { tree_size: fromSize, root_hash: bytesToHex(fromRoot) },
    to: { tree_size: toSize, root_hash: bytesToHex(toRoot), checkpoint },
    proof: proof.map(bytesToBase64),
  };
  return { status: 200, json };
};
