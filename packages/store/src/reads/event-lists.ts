/** The api's lists of events: those with a hash, and those that refer to a claim or a grant; one statement each. */
import { ANCHOR_COLUMNS } from "../tables/anchors.ts";
import { LOOK_UPS, eventKeyOf, keyOfId } from "../tables/look-ups.ts";
import type { LookUpName } from "../tables/look-ups.ts";
import { ITEM_OFFSETS, OFFSET_BITS, runOf } from "../tables/look-up-runs.ts";
import { withApplied } from "./record-reads.ts";
import type { RecordQuery } from "./record-reads.ts";

/** Which events are listed. A reference is named by the sequence of the claim or grant. */
export type EventFilter =
  | { readonly by: "event_hash"; readonly eventHash: Uint8Array }
  | { readonly by: "iris_ref" | "grant_ref"; readonly sequence: number };

/**
 * A search through the runs, from the leaf after $2 on, until there are $3. Each step takes the run that has the next
 * leaf, and of its items the first ones with the key; keys are short, so the hash of each leaf is compared. It goes on
 * after the last of them, or with the next run if there was none. Leaves that are in no run are looked through.
 * @param asked one row (key, hash), from $1
 */
function eventsBy(name: LookUpName, asked: string): RecordQuery["statement"] {
  const lookUp = LOOK_UPS[name];
  const { index, hash, condition } = lookUp;
  const key = `asked.key << ${OFFSET_BITS}`;
  const steps = `SELECT
        coalesce((SELECT max(c.sequence) FROM unnest(candidates.sequences) AS c (sequence)), run.past - 1),
        s.missing - cardinality(found.sequences), found.sequences
      FROM search s, asked, LATERAL (${runOf(lookUp, "s.after + 1")}) AS run,
      LATERAL (
        SELECT (${key}) | greatest(s.after + 1 - run.first, 0) AS first, (${key}) | ${ITEM_OFFSETS - 1} AS last
      ) AS wanted,
      LATERAL (SELECT ARRAY(
        SELECT run.first + (item & ${ITEM_OFFSETS - 1}) FROM (
          SELECT p.items, width_bucket(wanted.first - 1, p.items) AS before, width_bucket(wanted.last, p.items) AS upto
          FROM state.lookup_runs p
          WHERE p.index = ${index} AND p.first = run.first AND p.last_item >= wanted.first ORDER BY p.last_item LIMIT 1
        ) AS part, unnest(part.items[part.before + 1 : least(part.upto, part.before + s.missing)]) AS item
      ) AS sequences OFFSET 0) AS candidates,
      LATERAL (SELECT ARRAY(
        SELECT a.sequence FROM unnest(candidates.sequences) AS c (sequence)
        JOIN state.anchors a ON a.sequence = c.sequence WHERE ${condition} AND ${hash} = asked.hash
      ) AS sequences OFFSET 0) AS found
      WHERE s.missing > 0 AND run.past > s.after + 1`;
  const found = `SELECT unnest(s.sequences) AS sequence FROM search s
      UNION ALL
      SELECT behind.sequence
      FROM asked, (SELECT after, missing FROM search ORDER BY after DESC LIMIT 1) AS rest, LATERAL (
        SELECT a.sequence FROM state.anchors a WHERE a.sequence > rest.after AND ${condition} AND ${hash} = asked.hash
        ORDER BY a.sequence LIMIT rest.missing
      ) AS behind`;
  const text = withApplied(
    `SELECT ${ANCHOR_COLUMNS} FROM (${found}) AS found JOIN state.anchors a ON a.sequence = found.sequence
      JOIN state.origins o ON o.origin = a.origin ORDER BY a.sequence`,
    `WITH RECURSIVE asked (key, hash) AS MATERIALIZED (${asked}),
    search (after, missing, sequences) AS (
      SELECT $2::bigint, $3::integer, '{}'::bigint[]
      UNION ALL
      ${steps}
    )`,
  );
  return { name: `events_by_${name}`, text };
}

/** The id of the referenced record is looked up in the same statement. */
const REFERRED = `SELECT ${keyOfId("t.anchor_id")}, t.anchor_id FROM state.anchors t WHERE t.sequence = $1`;

const EVENTS_BY = {
  event_hash: eventsBy("event_hash", "SELECT $1::bigint, $4::bytea"),
  iris_ref: eventsBy("iris_ref", REFERRED),
  grant_ref: eventsBy("grant_ref", REFERRED),
};

export function eventsQuery(filter: EventFilter, afterSequence: number, limit: number): RecordQuery {
  const statement = EVENTS_BY[filter.by];
  if (filter.by !== "event_hash") return { statement, values: [filter.sequence, afterSequence, limit] };
  const { eventHash } = filter;
  return { statement, values: [eventKeyOf(eventHash), afterSequence, limit, eventHash] };
}
