import { createGrantSchema, grantQuerySchema, parseBody, parseQuery } from "@event-anchoring/api-contract";
import type { ActiveGrantAnswer } from "@event-anchoring/api-contract";
import { grantForceAt } from "@event-anchoring/ledger";
import type { AsOf, GrantRecord, RecordGrantCommand, Records } from "@event-anchoring/ledger";
import { bytesToHex } from "@event-anchoring/protocol";
import { PAGE_ROWS_MAX } from "@event-anchoring/store";
import { resolveAsOf } from "./as-of.ts";
import { ConsistentRead } from "./consistent-read.ts";
import { callerOf } from "./handler.ts";
import type { Handler } from "./handler.ts";
import { parsed } from "./parsed.ts";
import { ProblemError } from "./problem-error.ts";
import { showRecord } from "./read-anchors.ts";
import { recordOne, recordedResponse } from "./record.ts";
import { grantStateAt, missingRecord } from "./record-states.ts";

/** Grants between two entities that are looked at, one for each two lineages, the oldest lineages first. */
const CANDIDATES_MAX = PAGE_ROWS_MAX;

/** POST /v1/grant-anchors */
export const createGrantAnchor: Handler = async (request, dependencies) => {
  const grant = parsed(parseBody(createGrantSchema, request.bodyText));
  const { credential } = callerOf(request);
  const command: RecordGrantCommand = { kind: "record_grant", credential, grant };
  return recordedResponse(await recordOne(request, dependencies, command));
};

function isInForce(grant: GrantRecord, at: AsOf, records: Records): boolean {
  const { faults, isComplete } = grantForceAt(grant, at, records);
  if (!isComplete) throw missingRecord(grant.sequence);
  return faults.length === 0;
}

function noActiveGrant(newest: GrantRecord | null, at: AsOf, records: Records): ProblemError {
  if (newest === null) return new ProblemError({ code: "no_active_grant" });
  const extension = { anchor_id: bytesToHex(newest.anchorId), state: grantStateAt(newest, at, records) };
  return new ProblemError({ code: "no_active_grant" }, { extension });
}

/** GET /v1/grant-anchors: the grant in force between two entities, and how many others there are. */
export const getGrantAnchor: Handler = async (request, dependencies) => {
  const { grantorFingerprint, granteeFingerprint } = parsed(parseQuery(grantQuerySchema, request.search));
  const read = await ConsistentRead.begin(dependencies, "all", request.deadline);
  const { grants: candidates, newest } = await read.select((reads) =>
    reads.grantsBetween(grantorFingerprint, granteeFingerprint, CANDIDATES_MAX),
  );
  const at = await resolveAsOf(read, null, dependencies.clock);
  const wanted = [...candidates, ...(newest === null ? [] : [newest])];
  const sequences = [...new Set(wanted.map(({ sequence }) => sequence))];
  const { records } = await read.select((reads) => reads.records({ claims: [], grants: sequences }, [at.sequence]));
  const [first, ...others] = candidates.filter((grant) => isInForce(grant, at, records));
  if (first === undefined) throw noActiveGrant(newest, at, records);
  const state = "active";
  const { anchorId } = first;
  const { anchor, receipt } = await showRecord(read, { anchorId, state }, request, dependencies);
  const json: ActiveGrantAnswer = { anchor, receipt, state, others: others.length };
  return { status: 200, json };
};
