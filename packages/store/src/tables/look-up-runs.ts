/**
 * state.lookup_runs: which leaves an event hash or a reference is in, in the order of keys, a run for each range of
 * sequences. A run is derived from rows of state.anchors that never change, and leaves behind the last run are looked
 * through, so a run may be written at any time. It replaces a b-tree for each hash: these lists are read rarely, and
 * an entry for every leaf in three b-trees was half of what Postgres did for an event.
 *
 * An item is `key << 16 | sequence − first`. Items ascend through the parts of a run.
 */
import type { Session } from "../postgres/connection.ts";
import { StoreError } from "../postgres/errors.ts";
import { LOOK_UPS } from "./look-ups.ts";

/** Leaves of a run. Both are powers of two. */
export interface RunSizes {
  readonly short: number;
  /** At most ITEM_OFFSETS. So many short runs become one long run. */
  readonly long: number;
}

/** Bits of an item that say which leaf of the run it is. */
export const OFFSET_BITS = 16;
/** Offsets are below this. */
export const ITEM_OFFSETS = 2 ** OFFSET_BITS;

export const RUN_SIZES: RunSizes = { short: 2048, long: ITEM_OFFSETS };

/** A part fills a page: no item is stored out of line. */
const PART_ITEMS = 1000;

const ALL = Object.values(LOOK_UPS);

/** What runs over all of `lists (index, items)` are, from sequence $1 to before $2. An empty one has an empty part. */
const PARTS = `SELECT l.index, $1::bigint, $2::bigint, coalesce(p.items[cardinality(p.items)], 0), p.items
    FROM lists l, generate_series(0, greatest(cardinality(l.items) - 1, 0), ${PART_ITEMS}) AS n,
      LATERAL (SELECT l.items[n + 1 : n + ${PART_ITEMS}] AS items) AS p`;

function listsOf(itemsOf: (lookUp: (typeof ALL)[number]) => string): string {
  const lists = ALL.map((lookUp) => `SELECT ${lookUp.index}::smallint, ARRAY(${itemsOf(lookUp)} ORDER BY item)`);
  return `lists (index, items) AS (${lists.join("\n    UNION ALL ")})`;
}

/** Nothing is written unless every leaf of the range is there. Each leaf is read once. */
const WRITE_SHORT = {
  name: "short_runs",
  text: `WITH leaves AS MATERIALIZED (
      SELECT ${ALL.map(
        ({ index, key, condition }) =>
          `CASE WHEN ${condition} THEN (${key} << ${OFFSET_BITS}) | (a.sequence - $1::bigint) END AS item_${index}`,
      ).join(", ")}
      FROM state.anchors a WHERE a.sequence >= $1::bigint AND a.sequence < $2::bigint
    ), ${listsOf(({ index }) => `SELECT item_${index} AS item FROM leaves WHERE item_${index} IS NOT NULL`)},
    written AS (
      INSERT INTO state.lookup_runs (index, first, past, last_item, items) ${PARTS}
      WHERE (SELECT count(*) FROM leaves) = $2::bigint - $1::bigint RETURNING 1
    )
    SELECT count(*) AS parts FROM written`,
};

/** $3: how many short runs there must be. */
const WRITE_LONG = {
  name: "long_runs",
  text: `WITH short AS (
      DELETE FROM state.lookup_runs WHERE index IN (${ALL.map(({ index }) => index).join(", ")})
        AND first >= $1::bigint AND first < $2::bigint
      RETURNING index, first, items
    ), ${listsOf(
      ({ index }) => `SELECT unnest(s.items) + (s.first - $1::bigint) AS item FROM short s WHERE s.index = ${index}`,
    )}, written AS (
      INSERT INTO state.lookup_runs (index, first, past, last_item, items) ${PARTS}
      WHERE (SELECT count(*) FROM (SELECT DISTINCT s.index, s.first FROM short s) AS runs) = ${ALL.length} * $3::bigint
      RETURNING 1
    )
    SELECT count(*) AS parts FROM written`,
};

const LAST = {
  name: "last_run",
  text: "SELECT first, past FROM state.lookup_runs WHERE index = 1 ORDER BY first DESC LIMIT 1",
};

const AT = {
  name: "run_at",
  text: "SELECT first, past FROM state.lookup_runs WHERE index = 1 AND first = $1 LIMIT 1",
};

/** Which leaves a run is over: from `first` to before `past`. */
export interface RunRange {
  readonly first: number;
  readonly past: number;
}

/** A session that can also write what must be written together. */
export interface RunSession extends Pick<Session, "read" | "write"> {
  transaction<T>(work: (session: Pick<Session, "write">) => Promise<T>): Promise<T>;
}

/** Writes runs over leaves that are in the tables, one after another from sequence 0 on. */
export class LookUpRuns {
  readonly #session: RunSession;
  readonly #sizes: RunSizes;
  /** Every leaf before this sequence is in a run. */
  #past = 0;

  constructor(session: RunSession, sizes: RunSizes = RUN_SIZES) {
    this.#session = session;
    this.#sizes = sizes;
  }

  /** Goes on from what is there. A long run that was not written before the last end is written now. */
  async load(): Promise<void> {
    const [last] = await this.#session.read<RunRange>(LAST);
    this.#past = last?.past ?? 0;
    const first = this.#past - (this.#past % this.#sizes.long) - this.#sizes.long;
    if (first < 0) return;
    const [run] = await this.#session.read<RunRange>(AT, [first]);
    if (run?.past === first + this.#sizes.short) await this.#merge(first);
  }

  /** True: there are leaves for another short run. */
  isDue(nextSequence: number): boolean {
    return nextSequence - this.#past >= this.#sizes.short;
  }

  /** Writes the next short run, and the long one that it completes. @throws StoreError `corrupt` */
  async write(): Promise<void> {
    const { short, long } = this.#sizes;
    const first = this.#past;
    await writeParts(this.#session, WRITE_SHORT, [first, first + short]);
    this.#past = first + short;
    if (this.#past % long === 0) await this.#merge(this.#past - long);
  }

  async #merge(first: number): Promise<void> {
    const { short, long } = this.#sizes;
    await this.#session.transaction((session) => writeParts(session, WRITE_LONG, [first, first + long, long / short]));
  }
}

async function writeParts(
  session: Pick<Session, "write">,
  statement: { readonly name: string; readonly text: string },
  range: readonly [number, number, ...number[]],
): Promise<void> {
  const [written] = await session.write<{ parts: number }>(statement, range);
  if ((written?.parts ?? 0) > 0) return;
  throw new StoreError("corrupt", `leaves or look-up runs from ${range[0]} to ${range[1] - 1} are missing`);
}

/** The run that has a leaf; absent: none has. $2: the sequence. */
export function runOf(lookUp: { readonly index: number }, sequence: string): string {
  return `SELECT r.first, r.past FROM state.lookup_runs r
      WHERE r.index = ${lookUp.index} AND r.first <= ${sequence} ORDER BY r.first DESC LIMIT 1`;
}
