/** The pages of the state tree: compared with the entries that follow from a node's rows, and with one another. */
import { stateLeafOf, stateRootOf, StatePage } from "@event-anchoring/ledger";
import type { StateEntry, StateSlot } from "@event-anchoring/ledger";
import { nodeCrypto } from "@event-anchoring/node-crypto";
import { DecodeError, bytesToHex, equalBytes } from "@event-anchoring/protocol";
import type { StateLeaf } from "@event-anchoring/protocol";
import { textArray } from "../postgres/binary-array.ts";
import type { Reader } from "../postgres/connection.ts";
import type { Findings, RowName } from "./findings.ts";

const { sha256 } = nodeCrypto;

/** An entry in the state tree that follows from a row or an event. */
export interface DerivedEntry {
  readonly entry: StateEntry;
  /** The row that it follows from. */
  readonly name: RowName;
}

/** Levels of pages that are read at once below a requested one: most keys end within these. */
const PAGES_AHEAD = 3;
/** Reported last: all pages come after all rows. */
const AFTER_ALL = Number.MAX_SAFE_INTEGER;

function pageRow(prefix: string, at: number): RowName {
  return { table: "state.tree_pages", key: `prefix "${prefix}"`, at };
}

/** @returns null: it cannot be decoded */
function pageOf(slots: Uint8Array): StatePage | null {
  try {
    return StatePage.decode(slots);
  } catch (error) {
    if (error instanceof DecodeError) return null;
    throw error;
  }
}

function slotAt(page: StatePage, hex: string, digit: number): StateSlot {
  return page.slot(Number.parseInt(hex.charAt(digit), 16));
}

/** A key on its way down the tree. */
interface Descent extends DerivedEntry {
  readonly leaf: StateLeaf;
  readonly hex: string;
  /** Hex digits that lead to the page that is looked at next. */
  readonly depth: number;
}

/** Pages that were read in one snapshot, by prefix; null: it cannot be decoded. Absent ones are not in the table. */
class PagesRead {
  readonly #session: Reader;
  readonly #pages = new Map<string, StatePage | null>();
  readonly #asked = new Set<string>();

  constructor(session: Reader) {
    this.#session = session;
  }

  async load(descents: readonly Descent[]): Promise<void> {
    const wanted = new Set<string>();
    for (const { hex, depth } of descents) {
      if (this.#asked.has(hex.slice(0, depth))) continue;
      for (let more = 0; more <= PAGES_AHEAD; more++) wanted.add(hex.slice(0, depth + more));
    }
    const prefixes = [...wanted].filter((prefix) => !this.#asked.has(prefix));
    if (prefixes.length === 0) return;
    const rows = await this.#session.read<{ prefix: string; slots: Uint8Array }>(
      { name: "fsck_state_pages", text: "SELECT prefix, slots FROM state.tree_pages WHERE prefix = ANY($1::text[])" },
      [textArray(prefixes)],
    );
    for (const prefix of prefixes) this.#asked.add(prefix);
    for (const { prefix, slots } of rows) this.#pages.set(prefix, pageOf(slots));
  }

  /** @returns undefined: there is no such page. The tree without keys has none at all */
  at(prefix: string): StatePage | null | undefined {
    const page = this.#pages.get(prefix);
    return page === undefined && prefix === "" ? StatePage.empty : page;
  }
}

/** Goes one page down. @returns null: the descent has ended */
function descend(descent: Descent, pages: PagesRead, findings: Findings): Descent | null {
  const { leaf, hex, depth, name } = descent;
  const prefix = hex.slice(0, depth);
  const page = pages.at(prefix);
  const row = pageRow(prefix, name.at);
  const shouldBe = `${bytesToHex(leaf.valueHash)} for ${name.table}, ${name.key}`;
  if (page === undefined) findings.add(row, null, "missing", shouldBe);
  // An undecodable page is reported when all pages are checked.
  if (page === undefined || page === null) return null;
  const slot = slotAt(page, hex, depth);
  if (slot?.kind === "page") return { ...descent, depth: depth + 1 };
  const found = slot !== null && equalBytes(slot.leaf.key, leaf.key) ? slot.leaf.valueHash : null;
  if (found === null) findings.add(row, "slots", "nothing", shouldBe);
  else if (!equalBytes(found, leaf.valueHash)) findings.add(row, "slots", bytesToHex(found), shouldBe);
  return null;
}

/** Each entry is in the tree, with its value. All is read in one snapshot. */
async function judgeEntries(session: Reader, derived: readonly DerivedEntry[], findings: Findings): Promise<void> {
  const pages = new PagesRead(session);
  let descents: readonly Descent[] = derived.map((each) => {
    const leaf = stateLeafOf(each.entry, sha256);
    return { ...each, leaf, hex: bytesToHex(leaf.key), depth: 0 };
  });
  while (descents.length > 0) {
    await pages.load(descents);
    descents = descents.flatMap((descent) => descend(descent, pages, findings) ?? []);
  }
}

interface PageRow {
  readonly prefix: string;
  readonly slots: Uint8Array;
  /** Slots of the page above; null: there is none. */
  readonly above: Uint8Array | null;
}

const PAGES = {
  name: "fsck_tree_pages",
  text: `SELECT p.prefix, p.slots, above.slots AS above
    FROM (SELECT prefix, slots FROM state.tree_pages WHERE prefix >= $1 ORDER BY prefix LIMIT $2) AS p
    LEFT JOIN state.tree_pages above ON p.prefix <> '' AND above.prefix = left(p.prefix, -1) ORDER BY p.prefix`,
};

/** The hash that the tree states for a page; null: no page refers to it. */
function statedHash({ prefix, above }: PageRow, stateRoot: Uint8Array): Uint8Array | null {
  if (prefix === "") return stateRoot;
  const slot = slotAt((above === null ? null : pageOf(above)) ?? StatePage.empty, prefix, prefix.length - 1);
  return slot?.kind === "page" ? slot.hash : null;
}

/** @returns how many keys end in the page */
function judgePage(row: PageRow, stateRoot: Uint8Array, findings: Findings): number {
  const { prefix } = row;
  findings.checked.statePages += 1;
  const name = pageRow(prefix, AFTER_ALL);
  const page = pageOf(row.slots);
  if (page === null) {
    findings.add(name, "slots", "what cannot be decoded", "a page of the state tree");
    return 0;
  }
  const { slots } = page;
  const leaves = slots.filter((slot) => slot?.kind === "leaf");
  const isLone = leaves.length === 1 && slots.every((slot) => slot === null || slot.kind === "leaf");
  if (prefix !== "" && (isLone || slots.every((slot) => slot === null))) {
    findings.add(name, "slots", "a page for less than two keys", "none: a lone key is in the page above");
  }
  const strays = slots.filter((slot, digit) => {
    return slot?.kind === "leaf" && !bytesToHex(slot.leaf.key).startsWith(`${prefix}${digit.toString(16)}`);
  });
  if (strays.length > 0) findings.add(name, "slots", "a key that does not belong there", "keys that begin with it");
  const stated = statedHash(row, stateRoot);
  const hash = stateRootOf(page, sha256);
  if (stated === null) findings.add(name, null, "a page", "none: nothing in the page above leads to it");
  else if (!equalBytes(hash, stated)) {
    const where = prefix === "" ? "the state_root of state.ledger" : "the hash in the page above";
    findings.add(name, "slots", `a page with hash ${bytesToHex(hash)}`, `${bytesToHex(stated)}, ${where}`);
  }
  return leaves.length;
}

/**
 * Walks the state tree: entries as the rows are walked that they follow from, then all pages. Each step is judged
 * within its own snapshot, and the tree may change between two.
 */
export class StateWalk {
  readonly #findings: Findings;
  /** The root when the first entry was checked; null: none was. */
  #rootBefore: Uint8Array | null = null;
  #entries = 0;
  #keys = 0;
  #nextPrefix = "";

  constructor(findings: Findings) {
    this.#findings = findings;
  }

  /** @param stateRoot of this snapshot */
  async judge(session: Reader, derived: readonly DerivedEntry[], stateRoot: Uint8Array): Promise<void> {
    this.#rootBefore ??= stateRoot;
    this.#entries += derived.length;
    await judgeEntries(session, derived, this.#findings);
  }

  /** @returns true: all pages are done */
  async step(session: Reader, rowsMax: number, stateRoot: Uint8Array): Promise<boolean> {
    const rows = await session.read<PageRow>(PAGES, [this.#nextPrefix, rowsMax]);
    for (const row of rows) this.#keys += judgePage(row, stateRoot, this.#findings);
    const last = rows.at(-1);
    if (last !== undefined && rows.length === rowsMax) {
      // The next prefix in order, whether or not it exists: prefixes are hex digits.
      this.#nextPrefix = `${last.prefix}0`;
      return false;
    }
    this.#judgeCount(stateRoot);
    return true;
  }

  /** If the tree is the same as at the beginning, each of its keys was checked, and there must be no others. */
  #judgeCount(stateRoot: Uint8Array): void {
    if (this.#rootBefore === null || !equalBytes(this.#rootBefore, stateRoot) || this.#findings.hasAny) return;
    if (this.#keys === this.#entries) return;
    const name = { table: "state.tree_pages", key: "all of them", at: AFTER_ALL };
    const should = `${this.#entries}, for claims, lineages, grants, API keys, operators and erasures`;
    this.#findings.add(name, "slots", `${this.#keys} keys`, should);
  }
}
