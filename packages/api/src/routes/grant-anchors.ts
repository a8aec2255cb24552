import { createGrantSchema, grantQuerySchema, parseBody, parseQuery } from "@event-anchoring/api-contract";
import type { ActiveGrantAnswer, GrantQuery } from "@event-anchoring/api-contract";
import { RecordStates, grantForceAt, grantStateOf } from "@event-anchoring/records";
import type { RecordGrantCommand } from "@event-anchoring/ledger";
import type { AsOf, GrantRecord, Records } from "@event-anchoring/records";
import { LEAF_KIND, bytesToHex } from "@event-anchoring/protocol";
import { PAGE_ROWS_MAX } from "@event-anchoring/store";
import type { Clock } from "@event-anchoring/telemetry";
import { nowAt } from "../reading/as-of.ts";
import type { ConsistentRead } from "../reading/consistent-read.ts";
import { loadRecords, missingRecord } from "../reading/load-records.ts";
import { parsed, ProblemError } from "../request/problem-error.ts";
import { bodyTextOf, callerOf } from "./handler.ts";
import type { Handler } from "./handler.ts";
import { readCovered, showRecord } from "./read-anchors.ts";
import { createdResponse } from "./created-answer.ts";
import { recordOne } from "./record.ts";
import { answerGrantHistory } from "./record-history.ts";

type GrantParties = Extract<GrantQuery, { readonly history: null }>;

/** How many grants between two entities are read, one for each two lineages, the oldest lineages first. */
const CANDIDATES_MAX = PAGE_ROWS_MAX;

/** POST /v1/grant-anchors */
export const createGrantAnchor: Handler = async (request, dependencies) => {
  const grant = parsed(parseBody(createGrantSchema, bodyTextOf(request)));
  const { credential } = callerOf(request);
  const command: RecordGrantCommand = { kind: "record_grant", credential, grant };
  return createdResponse(await recordOne(request, dependencies, command));
};

/** @throws RefusedError `unavailable` if a record that the grant depends on is missing: then its state is unknown */
function noActiveGrant(newest: GrantRecord | null, at: AsOf, records: Records): ProblemError {
  if (newest === null) return new ProblemError({ code: "no_active_grant" });
  const force = grantForceAt(newest, at, records);
  if (!force.isComplete) throw missingRecord(newest.sequence);
  const extension = { anchor_id: bytesToHex(newest.anchorId), state: grantStateOf(force) };
  return new ProblemError({ code: "no_active_grant" }, { extension });
}

/**
 * In the order of their lineages. They are judged at the position of the snapshot that they come from: the records they
 * depend on are read afterwards, and an ending that came meanwhile is after that position.
 * @throws ProblemError `no_active_grant` if there is none
 */
async function grantsInForce(
  read: ConsistentRead,
  { grantorFingerprint, granteeFingerprint }: GrantParties,
  clock: Clock,
): Promise<readonly [GrantRecord, ...GrantRecord[]]> {
  const found = await read.select((reads) =>
    reads.grantsBetween(grantorFingerprint, granteeFingerprint, CANDIDATES_MAX),
  );
  const { grants: candidates, newest } = found;
  const at = nowAt(found, clock);
  const wanted = [...candidates, ...(newest === null ? [] : [newest])];
  const places = wanted.map(({ sequence }) => ({ kind: LEAF_KIND.grant, sequence }));
  const records = await loadRecords(read, places, [at]);
  const states = new RecordStates(records, at);
  const [first, ...others] = candidates.filter((grant) => states.isInForce(grant));
  if (first === undefined) throw noActiveGrant(newest, at, records);
  return [first, ...others];
}

/** GET /v1/grant-anchors: the grant in force between two entities and how many others there are, or all grants. */
export const getGrantAnchor: Handler = async (request, dependencies) => {
  const query = parsed(parseQuery(grantQuerySchema, request.search));
  if (query.history !== null) return answerGrantHistory(query, request, dependencies);
  const json = await readCovered(request, dependencies, async (read): Promise<ActiveGrantAnswer | null> => {
    const [first, ...others] = await grantsInForce(read, query, dependencies.clock);
    const state = "active";
    const shown = await showRecord(read, { anchorId: first.anchorId, state }, request, dependencies);
    return shown === null ? null : { anchor: shown.anchor, receipt: shown.receipt, state, others: others.length };
  });
  return { status: 200, json };
};
