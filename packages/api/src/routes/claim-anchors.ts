import { claimQuerySchema, createClaimSchema, parseBody, parseQuery } from "@event-anchoring/api-contract";
import type { ActiveClaimAnswer } from "@event-anchoring/api-contract";
import { claimStateAt } from "@event-anchoring/records";
import type { RecordClaimCommand } from "@event-anchoring/ledger";
import { bytesToHex } from "@event-anchoring/protocol";
import { resolveAsOf } from "../reading/as-of.ts";
import { parsed, ProblemError } from "../request/problem-error.ts";
import { bodyTextOf, callerOf } from "./handler.ts";
import type { Handler } from "./handler.ts";
import { readCovered, showRecord } from "./read-anchors.ts";
import { createdResponse } from "./created-answer.ts";
import { recordOne } from "./record.ts";
import { answerClaimHistory } from "./record-history.ts";

/** POST /v1/claim-anchors */
export const createClaimAnchor: Handler = async (request, dependencies) => {
  const claim = parsed(parseBody(createClaimSchema, bodyTextOf(request)));
  const { credential } = callerOf(request);
  const command: RecordClaimCommand = { kind: "record_claim", credential, claim };
  return createdResponse(await recordOne(request, dependencies, command));
};

/** GET /v1/claim-anchors: the active claim of a pair, or all claims of an entity. */
export const getClaimAnchor: Handler = async (request, dependencies) => {
  const query = parsed(parseQuery(claimQuerySchema, request.search));
  if (query.history !== null) return answerClaimHistory(query, request, dependencies);
  const { entityFingerprint, attributeType } = query;
  const json = await readCovered(request, dependencies, async (read): Promise<ActiveClaimAnswer | null> => {
    const { claim } = await read.select((reads) => reads.newestClaim(entityFingerprint, attributeType));
    if (claim === null) throw new ProblemError({ code: "no_active_claim" });
    const { anchorId } = claim;
    const state = claimStateAt(claim, await resolveAsOf(read, null, dependencies.clock));
    if (state !== "active") {
      const extension = { anchor_id: bytesToHex(anchorId), state };
      throw new ProblemError({ code: "no_active_claim" }, { extension });
    }
    const shown = await showRecord(read, { anchorId, state }, request, dependencies);
    return shown === null ? null : { anchor: shown.anchor, receipt: shown.receipt, state };
  });
  return { status: 200, json };
};
