/** Bodies of a given size that cost a parser as much as they can: one of each shape. */

import { execFileSync } from "node:child_process";
import { parseBody, parseCreateBatch, verifyBatchSchema } from "@event-anchoring/api-contract";

/** Milliseconds of processor time, on 2 vCPU, that one body may keep a process from everything else. */
export const HOLD_MS_MAX = 100;

/** Beyond these the code is compiled. */
const RUNS = 5;

/** One body, and what is peculiar about it. */
export interface HostileBody {
  readonly shape: string;
  readonly text: string;
}

const HEX_32 = "ab".repeat(32);
const SIGNATURE = "cd".repeat(64);
const SEMANTIC = ["iris_ref", "scroll_ref", "grant_ref", "bond_ref", "yield_ref", "event_data_hash"];

/** As many pieces as fit between the two ends. */
function filled(bytes: number, [before, after]: readonly [string, string], pieceAt: (at: number) => string): string {
  const pieces: string[] = [];
  let left = bytes - Buffer.byteLength(before) - Buffer.byteLength(after);
  for (let at = 0; ; at++) {
    const piece = (at === 0 ? "" : ",") + pieceAt(at);
    left -= Buffer.byteLength(piece);
    if (left < 0) break;
    pieces.push(piece);
  }
  return before + pieces.join("") + after;
}

function list(bytes: number, pieceAt: (at: number) => string): string {
  return filled(bytes, ['{"events":[', "]}"], pieceAt);
}

/** A text value of so many bytes, made of one unit. */
function texted(bytes: number, unit: string): string {
  const [before, after] = ['{"client_event_id":"', '"}'];
  const count = Math.floor((bytes - before.length - after.length) / Buffer.byteLength(unit));
  return before + unit.repeat(count) + after;
}

function eventWith(fields: string): string {
  const references = SEMANTIC.map((name) => `"${name}":"${HEX_32}"`).join(",");
  return `{"event_hash":"${HEX_32}","semantic_anchor":{${references}}${fields}}`;
}

/** A thousand items that are good, or wrong in every field, padded to the size by blanks between them. */
function thousand(bytes: number, itemAt: (at: number) => string): string {
  const items = Array.from({ length: 1000 }, (_, at) => itemAt(at));
  const [before, after] = [`{"origin_fingerprint":"${HEX_32}","events":[`, "]}"];
  const blanks = Math.max(0, bytes - before.length - after.length - Buffer.byteLength(items.join(",")));
  return before + items.join(",") + " ".repeat(blanks) + after;
}

function objectOf(keys: number, keyAt: (at: number) => string, value: string): string {
  return `{${Array.from({ length: keys }, (_, at) => `"${keyAt(at)}":${value}`).join(",")}}`;
}

/** @param bytes of each body, at most */
export function hostileBodies(bytes: number): readonly HostileBody[] {
  const deep = (levels: number, inside: string): string => "[".repeat(levels) + inside + "]".repeat(levels);
  const longKeys = objectOf(64, (at) => `${at}`.padEnd(128, "k"), '""');
  const manyItems: readonly [string, (at: number) => string][] = [
    ["a list of nulls", () => "null"],
    ["a list of zeros", () => "0"],
    ["a list of empty objects", () => "{}"],
    ["a list of empty lists", () => "[]"],
    ["lists in lists", () => deep(13, "1")],
    ["long numbers", () => "9007199254740991"],
    ["objects of one key", (at) => `{"${at}":1}`],
    ["objects of 64 keys", () => objectOf(64, (at) => `k${at}`, "1")],
    ["objects of 64 long keys", () => longKeys],
    ["objects of 65 keys", () => objectOf(65, (at) => `k${at}`, "1")],
    ["nested objects", (at) => `${`{"a${at}":`.repeat(12)}1${"}".repeat(12)}`],
  ];
  const units: readonly [string, string][] = [
    ["a long text", "x"],
    ["escapes", "\\n"],
    ["escapes of four digits", "\\u0041"],
    ["escaped pairs of surrogates", "\\ud83d\\ude00"],
    ["characters of two bytes", "\u00e9"],
    ["characters of three bytes", "\u20ac"],
    ["characters of four bytes", "\u{1f600}"],
  ];
  const wrong = '"event_hash":1,"client_event_id":{},"semantic_anchor":[],"actor_public_key":"x","actor_signature":"y"';
  const unknown = Array.from({ length: 20 }, (_, at) => `"u${at}":0`).join(",");
  const signed = `,"actor_public_key":"${HEX_32}","actor_signature":"${SIGNATURE}"`;
  return [
    ...manyItems.map(([shape, pieceAt]) => ({ shape, text: list(bytes, pieceAt) })),
    ...units.map(([shape, unit]) => ({ shape, text: texted(bytes, unit) })),
    { shape: "one object of unknown keys", text: filled(bytes, ["{", "}"], (at) => `"k${at}":1`) },
    { shape: "one key, again and again", text: filled(bytes, ["{", "}"], () => '"k":1') },
    { shape: "one long key", text: `{"${"k".repeat(bytes - 5)}":1}`.slice(0, bytes) },
    { shape: "blanks", text: `{${" ".repeat(bytes - 2)}}` },
    { shape: "brackets that nobody closes", text: "[".repeat(bytes) },
    { shape: "one long number", text: "9".repeat(bytes) },
    {
      shape: "a thousand good events",
      text: thousand(bytes, (at) => eventWith(`,"client_event_id":"id-${at}"${signed}`)),
    },
    { shape: "a thousand events, all fields wrong", text: thousand(bytes, () => `{${wrong}}`) },
    { shape: "a thousand events, all fields unknown", text: thousand(bytes, () => `{${unknown}}`) },
    {
      shape: "a thousand events of 30 unknown fields",
      text: thousand(bytes, () => objectOf(30, (at) => `k${at}`, "0")),
    },
    {
      shape: "a thousand events with long ids",
      text: thousand(bytes, () => eventWith(`,"client_event_id":"${"x".repeat(1200)}"`)),
    },
  ];
}

/** Processor time of this process, in milliseconds. */
function workedMs(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000;
}

/** What the slower of the two routes with bodies of this size takes to parse one, or to refuse it. */
function holdMs({ text }: HostileBody): number {
  const bytes = Buffer.from(text);
  const parsers = [() => parseCreateBatch(bytes), () => parseBody(verifyBatchSchema, text)];
  const slowest = parsers.map((parse) => {
    const runs = Array.from({ length: RUNS }, () => {
      const startMs = workedMs();
      parse();
      return workedMs() - startMs;
    });
    return Math.min(...runs);
  });
  return Math.max(...slowest);
}

/** How long one body of a shape keeps the loop, in milliseconds of processor time. */
export interface HostileHold {
  readonly shape: string;
  readonly ms: number;
}

/** In this process, which must have one thread: what others of it do would count, too. */
export function holdsHere(bytes: number): readonly HostileHold[] {
  return hostileBodies(bytes).map((body) => ({ shape: body.shape, ms: holdMs(body) }));
}

const BUILT = new URL("../../dist/overload/hostile-bodies.js", import.meta.url).href;

/**
 * Holds of all shapes, measured in a process of its own with the built code. Processor time of its one thread is how
 * long the loop is held, also while others use the machine.
 */
export function hostileHolds(bytes: number): readonly HostileHold[] {
  const program = `
    import { holdsHere } from ${JSON.stringify(BUILT)};
    process.stdout.write(JSON.stringify(holdsHere(${bytes})));`;
  const args = ["--single-threaded", "--input-type=module", "-e", program];
  return JSON.parse(execFileSync(process.execPath, args, { encoding: "utf8" })) as readonly HostileHold[];
}
