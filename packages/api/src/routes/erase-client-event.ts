import { anchorPathSchema, emptyBodySchema, parseBody, parsePath } from "@event-anchoring/api-contract";
import type { ErasedAnswer } from "@event-anchoring/api-contract";
import type { EraseClientEventCommand, Rejection } from "@event-anchoring/ledger";
import { bytesToHex } from "@event-anchoring/protocol";
import { parsed, ProblemError, problemError } from "../request/problem-error.ts";
import { rejectionProblem } from "../request/problems.ts";
import { bodyTextOf, callerOf } from "./handler.ts";
import type { Handler } from "./handler.ts";
import { readCommittedAnchors } from "./read-anchors.ts";

/** The path names the anchor, so a rejected reference means a problem with the resource. */
function refusalOf(rejection: Rejection): ProblemError {
  if (rejection.code === "reference_not_found") return problemError("anchor_not_found");
  if (rejection.code === "reference_wrong_kind") return problemError("wrong_kind");
  return new ProblemError(rejectionProblem(rejection));
}

/**
 * POST /v1/event-anchors/{anchor_id}/erase-client-event-id. The request is idempotent: a client that got no answer can
 * repeat it.
 */
export const eraseClientEventId: Handler = async (request, dependencies) => {
  const { anchorId } = parsed(parsePath(anchorPathSchema, request.pathParameters));
  parsed(parseBody(emptyBodySchema, bodyTextOf(request)));
  const { credential } = callerOf(request);
  const command: EraseClientEventCommand = { kind: "erase_client_event", credential, anchorId };
  const { call, deadline } = request;
  const options = { remainingMs: deadline.remainingMs, answer: "committed", call } as const;
  const outcome = await dependencies.controlPlane.submit(command, options);
  if (outcome.kind === "rejected") throw refusalOf(outcome.rejection);
  if (outcome.kind === "records") throw new Error("an erasure was answered with records");
  const found = (await readCommittedAnchors([anchorId], request, dependencies)).get(bytesToHex(anchorId));
  if (found === undefined) throw new Error(`erased anchor ${bytesToHex(anchorId)} is not in the tables`);
  const json: ErasedAnswer = { anchor: found.anchor, erased: outcome.kind === "applied" };
  return { status: 200, json };
};
