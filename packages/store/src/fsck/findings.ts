/** Differences between what is stored and what should be, one place at a time. */
import { bytesToHex, equalBytes } from "@event-anchoring/protocol";

/** One stored value that differs from the derived one. */
export interface Difference {
  /** With its schema, for example `state.anchors`. */
  readonly table: string;
  /** The row, for example `sequence 17`. */
  readonly key: string;
  /** null: the row as a whole. */
  readonly column: string | null;
  readonly is: string;
  readonly shouldBe: string;
}

/** One line for operators. */
export function describeDifference({ table, key, column, is, shouldBe }: Difference): string {
  return `${table}, ${key}${column === null ? "" : `, ${column}`}: is ${is}, should be ${shouldBe}`;
}

/** How much was checked, so that an empty walk is not taken for a good one. */
export interface Checked {
  readonly leaves: number;
  /** Items of look-up runs. */
  readonly lookUpItems: number;
  /** Signatures inside leaves, and cosignatures. */
  readonly signatures: number;
  readonly certificates: number;
  readonly tiles: number;
  readonly claims: number;
  readonly grants: number;
  /** Pages of the state tree. */
  readonly statePages: number;
  readonly logRows: number;
  /** Entries whose groups are kept. */
  readonly groupRows: number;
}

export type CheckCounts = { -readonly [Name in keyof Checked]: number };

/** A row, and its place among all others. */
export interface RowName {
  readonly table: string;
  readonly key: string;
  /** Differences of one batch are reported in this order: a sequence, mostly. */
  readonly at: number;
}

/** A value, stored or derived. */
export type Value = Uint8Array | string | number | null;

/** Hex, digits, `null`, or the text as it is. */
export function show(value: Value): string {
  if (value === null) return "null";
  return value instanceof Uint8Array ? bytesToHex(value) : String(value);
}

/** Integers come as text from the tables, as a damaged one may be beyond 2^53. */
export function isSame(stated: Value, derived: Value): boolean {
  if (stated instanceof Uint8Array && derived instanceof Uint8Array) return equalBytes(stated, derived);
  if (stated === null || derived === null) return stated === derived;
  return !(stated instanceof Uint8Array) && !(derived instanceof Uint8Array) && String(stated) === String(derived);
}

export interface FindingsOptions {
  /** False: the walk ends with the first difference. */
  readonly findsAll: boolean;
  /** How many are named; the others are counted. */
  readonly differencesMax: number;
}

/** Gathers differences, in the order of the rows they are in. */
export class Findings {
  readonly checked: CheckCounts = {
    leaves: 0,
    lookUpItems: 0,
    signatures: 0,
    certificates: 0,
    tiles: 0,
    claims: 0,
    grants: 0,
    statePages: 0,
    logRows: 0,
    groupRows: 0,
  };
  readonly #options: FindingsOptions;
  readonly #settled: Difference[] = [];
  #pending: { readonly at: number; readonly difference: Difference }[] = [];
  #count = 0;

  constructor(options: FindingsOptions) {
    this.#options = options;
  }

  get differences(): readonly Difference[] {
    return this.#settled;
  }

  /** All that were found, including those not named. */
  get count(): number {
    return this.#count;
  }

  /** True: a difference was found, in this batch or before. */
  get hasAny(): boolean {
    return this.#count + this.#pending.length > 0;
  }

  /** True: no more differences are wanted. */
  get isEnough(): boolean {
    return !this.#options.findsAll && this.#count > 0;
  }

  add({ table, key, at }: RowName, column: string | null, is: string, shouldBe: string): void {
    this.#pending.push({ at, difference: { table, key, column, is, shouldBe } });
  }

  /** @returns true if all columns are as derived */
  compare(name: RowName, stated: Readonly<Record<string, Value>>, derived: Readonly<Record<string, Value>>): boolean {
    let isAsDerived = true;
    for (const [column, value] of Object.entries(derived)) {
      const found = stated[column] ?? null;
      if (isSame(found, value)) continue;
      isAsDerived = false;
      this.add(name, column, show(found), show(value));
    }
    return isAsDerived;
  }

  /** Ends a batch: its differences are sorted. */
  settle(): void {
    if (this.#pending.length === 0) return;
    const inOrder = this.#pending.toSorted((a, b) => a.at - b.at);
    this.#pending = [];
    const most = this.#options.findsAll ? this.#options.differencesMax : 1;
    for (const { difference } of inOrder) {
      this.#count += 1;
      if (this.#settled.length < most) this.#settled.push(difference);
      if (this.isEnough) return;
    }
  }

  /** Drops the differences found since the last batch ended. */
  discard(): void {
    this.#pending = [];
  }
}
