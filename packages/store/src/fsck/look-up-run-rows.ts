/** Look-up runs: each has the items of its leaves, in order, and no others; and one follows the other without a gap. */
import { nodeCrypto } from "@event-anchoring/node-crypto";
import { LEAF_KIND, anchorIdOf, decodeLeaf, equalBytes, isZero } from "@event-anchoring/protocol";
import type { Leaf } from "@event-anchoring/protocol";
import { bigintArray } from "../postgres/binary-array.ts";
import type { Reader } from "../postgres/connection.ts";
import { LOOK_UPS, eventKeyOf, referenceKeyOf } from "../tables/look-ups.ts";
import type { LookUpName } from "../tables/look-ups.ts";
import { ITEM_OFFSETS, OFFSET_BITS, runOf } from "../tables/look-up-runs.ts";
import type { RunRange } from "../tables/look-up-runs.ts";
import type { Findings, RowName } from "./findings.ts";

const NAMES = Object.keys(LOOK_UPS) as readonly LookUpName[];

/** A run that is being judged, in steps. */
interface OpenRun extends RunRange {
  /** The last item that was judged. */
  last: bigint;
  /** How many were. */
  count: number;
}

/** Where all parts of a run say it ends: both null if there is no such run. */
interface EndsRow {
  readonly least: string | null;
  readonly most: string | null;
}

const ENDS = {
  name: "fsck_run_ends",
  text: `SELECT min(past)::text AS least, max(past)::text AS most FROM state.lookup_runs
    WHERE index = $1 AND first = $2`,
};

/** Integers that may be damaged come as text. */
interface PartRow {
  readonly last_item: string;
  /** null: the part is empty. */
  readonly last: string | null;
  /** The next items. */
  readonly items: string;
}

/** The part with the next items after $3, at most $4 of them. */
const PART = {
  name: "fsck_run_part",
  text: `SELECT p.last_item::text AS last_item, p.items[cardinality(p.items)]::text AS last,
      p.items[p.before + 1 : p.before + $4::integer]::text AS items
    FROM (
      SELECT last_item, items, width_bucket($3::bigint, items) AS before FROM state.lookup_runs
      WHERE index = $1 AND first = $2 AND last_item > $3::bigint ORDER BY last_item LIMIT 1
    ) AS p`,
};

const LATER = {
  name: "fsck_later_run",
  text: "SELECT first FROM state.lookup_runs WHERE index = $1 AND first > $2 ORDER BY first LIMIT 1",
};

/** Items are not negative. */
const BEFORE_ALL = -1n;

/** Goes over the runs of one hash after another. Between two steps, short runs may become a long one. */
export class RunWalk {
  readonly #findings: Findings;
  /** Which hash. */
  #at = 0;
  /** Every leaf before this sequence is in a run that was judged. */
  #past = 0;
  #run: OpenRun | null = null;

  constructor(findings: Findings) {
    this.#findings = findings;
  }

  /** @returns true: all runs are done */
  async step(session: Reader, rowsMax: number, nextSequence: number): Promise<boolean> {
    const name = NAMES[this.#at];
    if (name === undefined) return true;
    this.#run ??= await this.#openRun(session, name, nextSequence);
    if (this.#run === null) {
      this.#at += 1;
      this.#past = 0;
    } else if (!(await this.#isAsOpened(session, name, this.#run))) {
      this.#run = null;
    } else {
      await this.#judgePart(session, name, this.#run, rowsMax);
    }
    return this.#at === NAMES.length;
  }

  /** The run that has the next leaf; null: no run has, or a later one. */
  async #openRun(session: Reader, name: LookUpName, nextSequence: number): Promise<OpenRun | null> {
    const lookUp = LOOK_UPS[name];
    const [run] = await session.read<RunRange>({ name: `fsck_run_${name}`, text: runOf(lookUp, "$1::bigint") }, [
      this.#past,
    ]);
    if (run !== undefined && run.past > this.#past) {
      if (run.past <= nextSequence && run.past - run.first <= ITEM_OFFSETS) {
        return { ...run, last: BEFORE_ALL, count: 0 };
      }
      const most = `at most ${nextSequence}, and ${ITEM_OFFSETS} after the first`;
      this.#findings.add(rowOf(name, run.first), "past", String(run.past), most);
      return null;
    }
    const [later] = await session.read<{ first: number }>(LATER, [lookUp.index, this.#past]);
    if (later !== undefined) {
      this.#findings.add(rowOf(name, later.first), null, `a run after ${this.#past - 1}`, "runs without a gap");
    }
    return null;
  }

  /** False: it has become part of a longer one, or its parts contradict each other. */
  async #isAsOpened(session: Reader, name: LookUpName, run: OpenRun): Promise<boolean> {
    const [ends] = await session.read<EndsRow>(ENDS, [LOOK_UPS[name].index, run.first]);
    const { least, most } = ends ?? { least: null, most: null };
    if (least === most) return least === String(run.past);
    this.#findings.add(rowOf(name, run.first), "past", `${least} and ${most}`, "the same in all parts");
    this.#past = run.past;
    return false;
  }

  async #judgePart(session: Reader, name: LookUpName, run: OpenRun, rowsMax: number): Promise<void> {
    const [part] = await session.read<PartRow>(PART, [LOOK_UPS[name].index, run.first, run.last, rowsMax]);
    const items = part === undefined ? [] : itemsOf(part.items);
    const isOver = part === undefined || part.last === null;
    const fault = isOver ? null : this.#faultOfPart(part, items, run);
    if (fault !== null) this.#findings.add(rowOf(name, run.first), ...fault);
    const isSound = fault === null && (await this.#judgeItems(session, name, run, items));
    if (isSound && isOver) await this.#judgeCount(session, name, run);
    if (isSound && !isOver) return;
    this.#past = run.past;
    this.#run = null;
  }

  /** Column, what it is, and what it should be. */
  #faultOfPart({ last_item: stated, last }: PartRow, items: readonly bigint[], run: OpenRun): Fault | null {
    if (stated !== last) return ["last_item", stated, last ?? "0"];
    const isAscending = items.every((item, at) => item > (items[at - 1] ?? run.last));
    return items.length > 0 && isAscending ? null : ["items", "not in order", "ascending"];
  }

  /** @returns true: each item is that of its leaf */
  async #judgeItems(session: Reader, name: LookUpName, run: OpenRun, items: readonly bigint[]): Promise<boolean> {
    const keys = await keysOf(
      session,
      name,
      items.map((item) => sequenceOf(item, run)),
    );
    for (const item of items) {
      const [sequence, key] = [sequenceOf(item, run), Number(item >> BigInt(OFFSET_BITS))];
      const derived = sequence < run.past ? keys.get(sequence) : null;
      this.#findings.checked.lookUpItems += 1;
      run.last = item;
      run.count += 1;
      if (derived === key || derived === undefined) continue;
      const shouldBe = derived === null ? "no such item" : String(derived);
      this.#findings.add(rowOf(name, run.first), "items", `key ${key} of sequence ${sequence}`, shouldBe);
      return false;
    }
    return true;
  }

  /** Items that differ from each other and are those of their leaves, as many as there are such leaves: all of them. */
  async #judgeCount(session: Reader, name: LookUpName, run: OpenRun): Promise<void> {
    const [counted] = await session.read<{ count: number }>(
      {
        name: `fsck_run_count_${name}`,
        text: `SELECT count(*) AS count FROM state.anchors a
          WHERE a.sequence >= $1 AND a.sequence < $2 AND ${LOOK_UPS[name].condition}`,
      },
      [run.first, run.past],
    );
    const count = counted?.count ?? 0;
    if (count === run.count) return;
    this.#findings.add(rowOf(name, run.first), "items", `${run.count} items`, `${count}, one for each leaf`);
  }
}

type Fault = readonly [column: string, is: string, shouldBe: string];

function rowOf(name: LookUpName, first: number): RowName {
  return { table: "state.lookup_runs", key: `${name}, run from sequence ${first}`, at: first };
}

/** The text of a bigint array. An element that is no integer counts as before all, which is not in order. */
function itemsOf(text: string): readonly bigint[] {
  const list = text.slice(text.indexOf("{") + 1, -1);
  return list === "" ? [] : list.split(",").map((item) => (/^-?\d+$/u.test(item) ? BigInt(item) : BEFORE_ALL));
}

function sequenceOf(item: bigint, { first }: RunRange): number {
  return first + Number(item & BigInt(ITEM_OFFSETS - 1));
}

const LEAVES = {
  name: "fsck_run_leaves",
  text: `SELECT a.sequence, a.anchor_id, a.leaf FROM unnest($1::bigint[]) AS u (sequence)
    JOIN state.anchors a ON a.sequence = u.sequence`,
};

/** null: the leaf has no such hash; absent: it is missing or damaged, which was reported at its own row. */
async function keysOf(
  session: Reader,
  name: LookUpName,
  sequences: readonly number[],
): Promise<ReadonlyMap<number, number | null>> {
  if (sequences.length === 0) return new Map();
  const rows = await session.read<{ sequence: number; anchor_id: Uint8Array; leaf: Uint8Array }>(LEAVES, [
    bigintArray(sequences),
  ]);
  const intact = rows.filter((row) => equalBytes(anchorIdOf(row.leaf, nodeCrypto.sha256), row.anchor_id));
  return new Map(intact.map(({ sequence, leaf }) => [sequence, keyOf(name, decodeLeaf(leaf))]));
}

function keyOf(name: LookUpName, leaf: Leaf): number | null {
  if (leaf.kind !== LEAF_KIND.event && leaf.kind !== LEAF_KIND.signedEvent) return null;
  if (name === "event_hash") return eventKeyOf(leaf.eventHash);
  const reference = leaf.semanticAnchor[name === "iris_ref" ? "irisRef" : "grantRef"];
  return isZero(reference) ? null : referenceKeyOf(reference);
}
