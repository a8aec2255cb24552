/** The api's queries of anchors: one statement each. */
import { ANCHOR_COLUMNS } from "../tables/anchors.ts";
import { withApplied } from "./record-reads.ts";

export const ANCHORS_BY_ID = {
  name: "anchors_by_id",
  text: withApplied(`
    SELECT u.n, ${ANCHOR_COLUMNS} FROM unnest($1::bigint[], $2::bytea[]) WITH ORDINALITY AS u (prefix, id, n)
    JOIN state.anchors a ON a.anchor_prefix = u.prefix AND a.anchor_id = u.id
    JOIN state.origins o ON o.origin = a.origin`),
};

/** The limit stands where the index is: a join would gather and sort everything beyond the depth first. */
function anchorsOfOrigin(comparison: "<=" | ">=", order: "ASC" | "DESC"): { name: string; text: string } {
  return {
    name: `anchors_of_origin_${order.toLowerCase()}`,
    text: withApplied(`
      SELECT ${ANCHOR_COLUMNS} FROM state.origins o CROSS JOIN LATERAL (
        SELECT * FROM state.anchors WHERE origin = o.origin AND depth ${comparison} $2 ORDER BY depth ${order} LIMIT $3
      ) AS a WHERE o.origin_fingerprint = $1 ORDER BY a.depth ${order}`),
  };
}

export const ANCHORS_ASCENDING = anchorsOfOrigin(">=", "ASC");
export const ANCHORS_DESCENDING = anchorsOfOrigin("<=", "DESC");

export const ANCHOR_BY_CLIENT_EVENT = {
  name: "anchor_by_client_event",
  text: withApplied(`
    SELECT ${ANCHOR_COLUMNS} FROM state.anchors a JOIN state.origins o ON o.origin = a.origin
    WHERE a.client_prefix = ($1::bigint[])[1] AND a.api_client_id = $2
      AND (a.client_event_id = $3 OR a.client_event_id IS NULL)
    ORDER BY a.client_event_id IS NULL, a.sequence LIMIT 1`),
};
