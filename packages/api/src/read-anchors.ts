import { anchorPathSchema, emptyQuerySchema, parsePath, parseQuery } from "@event-anchoring/api-contract";
import type { AnchorAnswer, AnchorJson, ReceiptAnswer } from "@event-anchoring/api-contract";
import { bytesToHex, formatProof } from "@event-anchoring/protocol";
import type { AnchorId } from "@event-anchoring/protocol";
import { loadAnchors, proveAnchors, receiptAnswer, storedAnchorToJson, assertProved } from "./anchor-view.ts";
import type { ProvedAnchor } from "./anchor-view.ts";
import { ConsistentRead } from "./consistent-read.ts";
import { callerOf } from "./handler.ts";
import type { Handler, HandlerDependencies, HandlerRequest } from "./handler.ts";
import { parsed } from "./parsed.ts";
import { problemError } from "./problem-error.ts";

export interface ShownAnchor {
  readonly anchorId: AnchorId;
  readonly anchor: AnchorJson;
  readonly receipt: ReceiptAnswer;
  readonly proved: ProvedAnchor;
}

/**
 * Anchors with receipts against the newest certificates, in one linearizable read of three round trips.
 * @returns by the hex of their ids; what does not exist is not in it
 */
export async function readProvedAnchors(
  ids: readonly AnchorId[],
  request: HandlerRequest,
  dependencies: HandlerDependencies,
): Promise<ReadonlyMap<string, ShownAnchor>> {
  const read = await ConsistentRead.begin(dependencies, "all", request.deadline);
  const anchors = await loadAnchors(read, ids);
  const caller = callerOf(request);
  const { sha256 } = dependencies.crypto;
  const shown = new Map<string, ShownAnchor>();
  for (const each of await proveAnchors(read, anchors, sha256)) {
    const proved = assertProved(each);
    const { anchorId } = proved.anchor;
    shown.set(bytesToHex(anchorId), {
      anchorId,
      anchor: storedAnchorToJson(proved.anchor, "certified", caller),
      receipt: receiptAnswer(proved.receipt, proved.certificate, sha256),
      proved,
    });
  }
  return shown;
}

async function readOne(request: HandlerRequest, dependencies: HandlerDependencies): Promise<ShownAnchor> {
  const { anchorId } = parsed(parsePath(anchorPathSchema, request.pathParameters));
  parsed(parseQuery(emptyQuerySchema, request.search));
  const shown = await readProvedAnchors([anchorId], request, dependencies);
  const found = shown.get(bytesToHex(anchorId));
  if (found === undefined) throw problemError("anchor_not_found");
  return found;
}

/** GET /v1/event-anchors/{anchor_id} */
export const getEventAnchor: Handler = async (request, dependencies) => {
  const { anchor, receipt } = await readOne(request, dependencies);
  const json: AnchorAnswer = { anchor, receipt };
  return { status: 200, json };
};

/** GET /v1/event-anchors/{anchor_id}/receipt: JSON, or the canonical C2SP tlog-proof for `Accept: text/plain`. */
export const getReceipt: Handler = async (request, dependencies) => {
  const { receipt, proved } = await readOne(request, dependencies);
  if (request.prefersText) return { status: 200, text: formatProof(proved.receipt) };
  return { status: 200, json: receipt };
};
