/**
 * Changes after which a document can still be read: what it says is another thing, and it is signed and hashed again
 * where the keys are at hand. So the rules behind the first look are asked, too.
 */
import type { Seeded } from "@event-anchoring/simulator";
import { type VectorKeys, proofTextOf, receiptOfProof } from "@event-anchoring/testkit/sdks";

/** How a text is built. */
export type Form = "note" | "trust-root" | "receipt" | "proof" | "bundle";

/** What a change may draw from. */
export interface Material {
  readonly dice: Seeded;
  readonly keys: VectorKeys;
  /** Texts of the same form: parts of one can stand in another. */
  readonly others: readonly string[];
}

type FormChange = (text: string, material: Material) => string;

/** At the edges of what a time, a size or a place may be. */
const EDGES = [0, 1, 2, 1_769_999_999, 1_770_000_001, 2_147_483_648, 4_294_967_296, Number.MAX_SAFE_INTEGER] as const;
const BYTES = /^(?:[0-9a-f]{64}|[A-Za-z0-9+/]{43,}={0,2})$/u;

/** Some changes say the same as before: then another one is made. */
const TRIES_MAX = 4;

/** The text, changed by the rules of its form. Nearly always another one. */
export function wellFormed(text: string, form: Form, material: Material): string {
  for (let tries = 1; tries < TRIES_MAX; tries++) {
    const other = CHANGES[form](text, material);
    if (other !== text) return other;
  }
  return CHANGES[form](text, material);
}

/** A neighbour, or an edge. */
function otherNumber(number: number, dice: Seeded): number {
  if (dice.chance(0.25)) return dice.pick(EDGES);
  return Math.max(0, number + dice.pick([-2, -1, 1, 2]));
}

/** A bit of what stands there as hex or base64. */
function otherHash(hash: string, dice: Seeded): string {
  const format = /^[0-9a-f]+$/u.test(hash) ? "hex" : "base64";
  const bytes = Buffer.from(hash, format);
  const at = dice.below(bytes.length);
  bytes[at] = (bytes[at] ?? 0) ^ (1 << dice.below(8));
  return bytes.toString(format);
}

/** One item is missing, there twice, or in another place. */
function rearranged<Item>(items: readonly Item[], dice: Seeded): readonly Item[] {
  if (items.length === 0) return items;
  const [from, to] = [dice.below(items.length), dice.below(items.length)];
  const moved = items.slice(from, from + 1);
  const left = items.toSpliced(from, 1);
  return dice.pick([left, items.toSpliced(to, 0, ...moved), left.toSpliced(to, 0, ...moved)]);
}

interface Note {
  /** With its final newline. */
  readonly text: string;
  readonly lines: readonly string[];
}

function noteOf(note: string): Note {
  const split = note.lastIndexOf("\n\n");
  return { text: note.slice(0, split + 1), lines: note.slice(split + 2, -1).split("\n") };
}

function formatted({ text, lines }: Note): string {
  return `${text}\n${lines.map((line) => `${line}\n`).join("")}`;
}

/** The signature of one line under the name of another; or a line of another note. */
function relabelled(lines: readonly string[], { dice, others }: Material): readonly string[] {
  const [at, from] = [dice.below(lines.length), dice.pick(lines)];
  const foreign = dice.pick(noteOf(dice.pick(others)).lines);
  const named = (lines[at] ?? "").slice(0, (lines[at] ?? "").lastIndexOf(" "));
  return lines.with(at, dice.pick([foreign, `${named}${from.slice(from.lastIndexOf(" "))}`]));
}

const otherLines: FormChange = (note, material) => {
  const { text, lines } = noteOf(note);
  const change = material.dice.chance(0.6) ? rearranged(lines, material.dice) : relabelled(lines, material);
  return formatted({ text, lines: change });
};

/** The lines of other notes that name the same tree, and its own: a quorum of other keys, or more lines than keys. */
const moreLines: FormChange = (note, { dice, keys, others }) => {
  const { text, lines } = noteOf(note);
  const added = noteOf(dice.pick(others)).lines;
  return keys.signed(text, [...lines, ...added.slice(0, 1 + dice.below(added.length))]);
};

/** Signed at another time. */
const otherTime: FormChange = (note, { dice, keys }) => {
  const { text, lines } = noteOf(note);
  return keys.signed(text, lines, dice.pick(EDGES));
};

/** Another origin, size or root, signed by all whose keys are at hand, or by none. */
const otherCheckpoint: FormChange = (note, { dice, keys, others }) => {
  const { text, lines } = noteOf(note);
  const [origin = "", size = "", root = ""] = text.split("\n");
  const [otherOrigin = "", otherSize = "", otherRoot = ""] = dice.pick(others).split("\n");
  const changed = dice.pick([
    [otherOrigin, size, root],
    [origin, otherSize, root],
    [origin, size, otherRoot],
    [origin, String(otherNumber(Number(size), dice)), root],
    [origin, size, otherHash(root, dice)],
    [origin.replace(/[0-9a-f]$/u, (digit) => (digit === "0" ? "1" : "0")), size, root],
  ]);
  const made = `${changed.join("\n")}\n`;
  return dice.chance(0.8) ? keys.signed(made, lines) : formatted({ text: made, lines });
};

const otherNote: FormChange = (note, material) =>
  material.dice.pick([otherLines, otherLines, moreLines, otherTime, otherCheckpoint, otherCheckpoint])(note, material);

/** Words of a trust root that stand for each other. */
const STATUSES = [
  ["learner", "active", "retired", "distrusted"],
  ["active", "closed", "lost"],
] as const;
/** Lines that begin so hold numbers by which a quorum, a version or a time is judged. */
const COUNTED = /^(?:version|validity|root|quorum|witnesses) /u;

/** A line of a trust root says another thing. */
function otherLine(line: string, { dice }: Material): string {
  const words = line.split(" ");
  const numbers = words.flatMap((word, at) => (/^\d{1,16}$/u.test(word) ? [at] : []));
  if (COUNTED.test(line) && numbers.length > 0 && dice.chance(0.8)) {
    const at = dice.pick(numbers);
    return words.with(at, String(otherNumber(Number(words[at]), dice))).join(" ");
  }
  const statuses = STATUSES[line.startsWith("node ") ? 0 : 1];
  const status = words.findIndex((word) => statuses.some((known) => known === word));
  if (status >= 0 && dice.chance(0.8)) return words.with(status, dice.pick(statuses)).join(" ");
  const hashes = words.flatMap((word, at) => (word.length === 64 ? [at] : []));
  if (hashes.length === 0) return rearranged(words, dice).join(" ");
  const at = dice.pick(hashes);
  return words.with(at, otherHash(words[at] ?? "", dice)).join(" ");
}

/** One line is another one, is missing, or is that of another version. */
function otherLinesOf(text: string, material: Material): string {
  const { dice, others } = material;
  const lines = text.slice(0, -1).split("\n");
  const at = 1 + dice.below(lines.length - 1);
  const line = lines[at] ?? "";
  const [keyword = "", name = ""] = line.split(" ");
  const foreign = dice.pick(others).split("\n");
  const same = foreign.filter((each) => each.startsWith(`${keyword} ${name}`) || each.split(" ")[0] === keyword);
  const place = dice.unit();
  if (place < 0.55) return `${lines.with(at, otherLine(line, material)).join("\n")}\n`;
  if (place < 0.9 && same.length > 0) return `${lines.with(at, dice.pick(same)).join("\n")}\n`;
  return `${lines.toSpliced(at, 1).join("\n")}\n`;
}

const otherTrustRoot: FormChange = (document, material) => {
  const { dice, keys, others } = material;
  const { text, lines } = noteOf(document);
  const way = dice.unit();
  if (way < 0.1) return dice.pick(others);
  if (way < 0.25) return otherLines(document, material);
  if (way < 0.3) return formatted({ text, lines: noteOf(dice.pick(others)).lines });
  const changed = dice.chance(0.2)
    ? otherLinesOf(otherLinesOf(text, material), material)
    : otherLinesOf(text, material);
  const signed = dice.chance(0.6) ? keys.rootSigned(changed) : keys.signed(changed, lines);
  return dice.chance(0.1) ? otherLines(signed, material) : signed;
};

/** A receipt on the wire, as far as it is changed. */
type Receipt = ReturnType<typeof receiptOfProof>;

function otherReceipt(receipt: Receipt, other: Receipt, material: Material): Receipt {
  const { dice } = material;
  const notes = { ...material, others: [receipt.checkpoint, other.checkpoint] };
  const { index, tree_size: size, inclusion, leaf, checkpoint } = receipt;
  const place = dice.below(inclusion.length);
  const bytes = Buffer.from(leaf, "base64");
  // Behind what says that it is a leaf, and of which kind.
  const at = Math.min(bytes.length - 1, 24 + dice.below(bytes.length));
  bytes[at] = (bytes[at] ?? 0) ^ (1 << dice.below(8));
  const ways: readonly (() => Partial<Receipt>)[] = [
    () => ({ index: otherNumber(index, dice) }),
    () => ({ tree_size: otherNumber(size, dice) }),
    () => ({ index: other.index, tree_size: other.tree_size }),
    () => ({ inclusion: rearranged(inclusion, dice) }),
    () => ({ inclusion: other.inclusion }),
    () => (inclusion.length === 0 ? {} : { inclusion: inclusion.with(place, otherHash(inclusion[place] ?? "", dice)) }),
    () => ({ leaf: other.leaf }),
    () => ({ leaf: other.leaf, anchor_id: other.anchor_id }),
    () => ({ leaf: bytes.toString("base64") }),
    () => ({ anchor_id: dice.pick([other.anchor_id, otherHash(receipt.anchor_id, dice)]) }),
    () => ({ checkpoint: other.checkpoint }),
    () => ({ checkpoint: otherNote(checkpoint, notes) }),
    () => ({ checkpoint: otherNote(checkpoint, notes) }),
  ];
  const changed = { ...receipt, ...dice.pick(ways)() };
  return dice.chance(0.4) ? (material.keys.sealed(changed) ?? changed) : changed;
}

/** In either form. */
function readReceipt(text: string): Receipt {
  return text.startsWith("{") ? (JSON.parse(text) as Receipt) : receiptOfProof(text);
}

const changedReceipt: FormChange = (text, material) => {
  const other = readReceipt(material.dice.pick(material.others));
  return JSON.stringify(otherReceipt(readReceipt(text), other, material));
};

/** The size of a tree is in the checkpoint of a proof alone, and no anchor id is in it. */
const changedProof: FormChange = (text, material) => {
  const changed = JSON.parse(changedReceipt(text, material)) as Receipt;
  return changed.checkpoint.includes("\n\n") ? proofTextOf(changed) : text;
};

type Json = string | number | boolean | null | readonly Json[] | { readonly [name: string]: Json };

interface Member {
  readonly path: readonly (string | number)[];
  readonly value: Json;
}

/** All members of a document, below its root, that have a value of their own. */
function membersOf(value: Json, path: Member["path"] = []): readonly Member[] {
  const own = path.length === 0 ? [] : [{ path, value }];
  if (typeof value !== "object" || value === null) return own;
  const entries = Array.isArray(value) ? [...value.entries()] : Object.entries(value);
  return [...own, ...entries.flatMap(([name, item]) => membersOf(item as Json, [...path, name]))];
}

function withMember(value: Json, [name, ...rest]: Member["path"], to: Json): Json {
  if (name === undefined) return to;
  if (typeof value !== "object" || value === null) throw new RangeError(`no member ${name}`);
  if (Array.isArray(value)) {
    const items = value as readonly Json[];
    return items.map((item, at) => (at === name ? withMember(item, rest, to) : item));
  }
  const members = value as { readonly [name: string]: Json };
  return { ...members, [name]: withMember(members[name] ?? null, rest, to) };
}

/** Which part of a bundle it is, whatever its place in a list. */
function partOf({ path }: Member): string {
  return path.map((name) => (typeof name === "number" ? "[]" : name)).join(".");
}

/** A value of the same part: of this bundle, or of another one. */
function sibling(member: Member, own: readonly Member[], material: Material): Json {
  const { dice, others } = material;
  const foreign = dice.chance(0.5) ? membersOf(JSON.parse(dice.pick(others)) as Json) : own;
  const alike = foreign.filter((each) => partOf(each) === partOf(member));
  return alike.length === 0 ? member.value : dice.pick(alike).value;
}

function otherValue(member: Member, own: readonly Member[], material: Material): Json {
  const { dice } = material;
  const { value } = member;
  if (dice.chance(0.3)) return sibling(member, own, material);
  if (typeof value === "number") return otherNumber(value, dice);
  if (typeof value === "boolean") return !value;
  if (Array.isArray(value)) return rearranged(value as readonly Json[], dice);
  if (typeof value !== "string") return sibling(member, own, material);
  if (value.includes("\n\n")) return otherNoteOfBundle(value, own, material);
  if (BYTES.test(value)) return otherHash(value, dice);
  return sibling(member, own, material);
}

/** A checkpoint, a state head or a trust root: they differ by their first line. */
function otherNoteOfBundle(note: string, own: readonly Member[], material: Material): string {
  const notes = own.flatMap(({ value }) => (typeof value === "string" && value.includes("\n\n") ? [value] : []));
  const isTrustRoot = (each: string): boolean => each.startsWith("event-anchoring/v4.2/trust-root\n");
  const others = notes.filter((each) => isTrustRoot(each) === isTrustRoot(note));
  if (isTrustRoot(note)) return otherTrustRoot(note, { ...material, others });
  if (!note.startsWith("event-anchoring/")) return otherNote(note, { ...material, others });
  const { text, lines } = noteOf(note);
  const { dice, keys } = material;
  if (dice.chance(0.3)) return formatted({ text, lines: rearranged(lines, dice) });
  return keys.signed(otherLinesOf(text, { ...material, others: [note] }), lines);
}

/** Parts that are judged by their content: a change of the others ends at the first look. */
const changedBundle: FormChange = (text, material) => {
  const { dice } = material;
  const bundle = JSON.parse(text) as Json;
  const own = membersOf(bundle);
  // Parts with many members would be all that is ever changed.
  const part = dice.pick([...new Set(own.map(partOf))].filter((name) => name !== "format"));
  const member = dice.pick(own.filter((each) => partOf(each) === part));
  return JSON.stringify(withMember(bundle, member.path, otherValue(member, own, material)));
};

const CHANGES: Readonly<Record<Form, FormChange>> = {
  note: otherNote,
  "trust-root": otherTrustRoot,
  receipt: changedReceipt,
  proof: changedProof,
  bundle: changedBundle,
};
