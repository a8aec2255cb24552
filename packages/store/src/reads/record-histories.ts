/** The api's queries about all claims and all grants of an entity, ended or not: one statement each. */
import { CLAIM_ANCHOR, CLAIM_BYTES } from "../tables/claims.ts";
import { GRANT_ANCHOR, GRANT_BYTES } from "../tables/grants.ts";
import { BETWEEN, OF_PAIR, WITH_POSITION, betweenValues, pairValues, withApplied } from "./record-reads.ts";
import type { RecordQuery } from "./record-reads.ts";

/** Whose claims: an entity's, or those of one of its pairs. */
export interface ClaimHistoryFilter {
  readonly entityFingerprint: Uint8Array;
  /** u32; null: of every type. */
  readonly attributeType: number | null;
}

/** Whose grants: those of one party, or those from one to another. */
export type GrantHistoryFilter =
  | { readonly by: "grantor" | "grantee"; readonly fingerprint: Uint8Array }
  | { readonly by: "both"; readonly grantorFingerprint: Uint8Array; readonly granteeFingerprint: Uint8Array };

type HistoryStatement = RecordQuery["statement"];

/** Each condition is that of an index which has the sequences in order: a page costs as much as it holds. */
function claimHistory(name: string, condition: string, [after, limit]: readonly [string, string]): HistoryStatement {
  const select = `SELECT 'claim' AS what, ${CLAIM_BYTES} AS record FROM state.claims c ${CLAIM_ANCHOR}
    WHERE ${condition} AND c.sequence > ${after} ORDER BY c.sequence LIMIT ${limit}`;
  return { name, text: withApplied(select, "", WITH_POSITION) };
}

const CLAIMS_OF_ENTITY = claimHistory("claims_of_entity", "c.entity_fingerprint = $1", ["$2", "$3"]);
const CLAIMS_OF_PAIR = claimHistory("claims_of_pair", OF_PAIR, ["$3", "$4"]);

export function claimHistoryQuery(filter: ClaimHistoryFilter, afterSequence: number, limit: number): RecordQuery {
  const { entityFingerprint, attributeType } = filter;
  if (attributeType === null) return { statement: CLAIMS_OF_ENTITY, values: [entityFingerprint, afterSequence, limit] };
  const values = [...pairValues({ entityFingerprint, attributeType }), afterSequence, limit];
  return { statement: CLAIMS_OF_PAIR, values };
}

function grantHistory(name: string, condition: string, [after, limit]: readonly [string, string]): HistoryStatement {
  const select = `SELECT 'grant' AS what, ${GRANT_BYTES} AS record FROM state.grants g ${GRANT_ANCHOR}
    WHERE ${condition} AND g.sequence > ${after} ORDER BY g.sequence LIMIT ${limit}`;
  return { name, text: withApplied(select, "", WITH_POSITION) };
}

const GRANTS_OF_PARTY = {
  grantor: grantHistory("grants_of_grantor", "g.grantor_fingerprint = $1", ["$2", "$3"]),
  grantee: grantHistory("grants_of_grantee", "g.grantee_fingerprint = $1", ["$2", "$3"]),
};
const GRANTS_OF_BOTH = grantHistory("grants_of_both", BETWEEN, ["$3", "$4"]);

export function grantHistoryQuery(filter: GrantHistoryFilter, afterSequence: number, limit: number): RecordQuery {
  if (filter.by === "both")
    return { statement: GRANTS_OF_BOTH, values: [...betweenValues(filter), afterSequence, limit] };
  return { statement: GRANTS_OF_PARTY[filter.by], values: [filter.fingerprint, afterSequence, limit] };
}
