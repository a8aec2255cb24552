import { readFileSync } from "node:fs";
import { isUtf8 } from "node:buffer";
import { isDeepStrictEqual } from "node:util";
import { describe, expect, test } from "@jest/globals";
import {
  LIMITS,
  createBatchSchema,
  createEventSchema,
  parseBody,
  parseCreateBatch,
  parseCreateEvent,
  scanBatch,
  scanEvent,
} from "@event-anchoring/api-contract";

// The scan of plain bodies is a second reader of what the schemas read. Whenever it answers, it has to answer what they
// answer: anything that it takes and they refuse would be anchored without having been checked.

const MUTATIONS = Number(process.env["MUTATIONS"] ?? 4000);

type Kind = "event" | "batch";

/** mulberry32: the same bodies in every run. */
class Choices {
  #state: number;
  constructor(seed: number) {
    this.#state = seed;
  }
  below(bound: number): number {
    this.#state = (this.#state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(this.#state ^ (this.#state >>> 15), 1 | this.#state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return Math.floor((((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32) * bound);
  }
  of<T>(values: readonly T[]): T {
    return values[this.below(values.length)] as T;
  }
  isOneIn(count: number): boolean {
    return this.below(count) === 0;
  }
}

const ORIGIN = "0f".repeat(32);
const REFERENCES = ["iris_ref", "scroll_ref", "grant_ref", "bond_ref", "yield_ref", "event_data_hash"];

const hexOf = (choices: Choices, bytes: number): string =>
  Array.from({ length: bytes }, () => choices.below(256).toString(16).padStart(2, "0")).join("");

function referencesOf(choices: Choices): object | null {
  if (choices.isOneIn(4)) return null;
  const named = REFERENCES.filter(() => choices.isOneIn(2));
  return Object.fromEntries(named.map((name) => [name, choices.of([hexOf(choices, 32), "", null, "00".repeat(32)])]));
}

function eventOf(choices: Choices): Record<string, unknown> {
  const event: Record<string, unknown> = { event_hash: hexOf(choices, 32) };
  if (choices.isOneIn(2)) event["semantic_anchor"] = referencesOf(choices);
  if (choices.isOneIn(2)) event["client_event_id"] = choices.of([null, "order 7", "~", "a".repeat(128), "{}[],:"]);
  const isSigned = choices.isOneIn(4);
  if (isSigned || choices.isOneIn(8)) event["actor_public_key"] = isSigned ? hexOf(choices, 32) : null;
  if (isSigned || choices.isOneIn(8)) event["actor_signature"] = isSigned ? hexOf(choices, 64) : null;
  // Half of a pair.
  if (choices.isOneIn(32)) event["actor_public_key"] = choices.of([null, hexOf(choices, 32)]);
  return event;
}

function bodyOf(kind: Kind, choices: Choices): Record<string, unknown> {
  if (kind === "event") return { origin_fingerprint: ORIGIN, ...eventOf(choices) };
  const events = Array.from({ length: 1 + choices.below(3) }, () => {
    const event = eventOf(choices);
    if (choices.isOneIn(4)) event["origin_fingerprint"] = choices.of([null, ORIGIN]);
    return event;
  });
  const atomic = choices.isOneIn(2) ? { atomic: choices.of([true, false, null]) } : {};
  const receipts = choices.isOneIn(2) ? { receipts: choices.of(["shared", "whole", null]) } : {};
  return { origin_fingerprint: ORIGIN, events, ...atomic, ...receipts };
}

function inAnyOrder(value: unknown, choices: Choices): unknown {
  if (Array.isArray(value)) return value.map((item) => inAnyOrder(item, choices));
  if (typeof value !== "object" || value === null) return value;
  const entries = Object.entries(value).map(([key, field]) => [key, inAnyOrder(field, choices)] as const);
  for (let at = entries.length - 1; at > 0; at--) {
    const other = choices.below(at + 1);
    [entries[at], entries[other]] = [entries[other] as (typeof entries)[0], entries[at] as (typeof entries)[0]];
  }
  return Object.fromEntries(entries);
}

/** The text before and after a place where a JSON token begins or ends. */
function atToken(text: string, choices: Choices): [string, string] {
  const places = [...text.matchAll(/["{}[\],:]/g)].map(({ index }) => index + choices.below(2));
  const place = places.length === 0 ? 0 : choices.of(places);
  return [text.slice(0, place), text.slice(place)];
}

function inserted(text: string, choices: Choices, parts: readonly string[]): string {
  const [before, after] = atToken(text, choices);
  return before + choices.of(parts) + after;
}

const SPACES = [" ", "\n", "\r", "\t", " \n ", "\v", "\f", "\u00a0", "\u2028"];
const CHARACTERS = ["\0", "\u0001", "\ufeff", "\u007f", "\u0080", "\u{1f600}", "\\", "\\u0061", "\\n", '\\"', "/"];
const VALUES = ["0", "1", "-1", "1e3", "1.5", "007", "true", "false", "null", "nul", "{}", "[]", '""', '"x"', "NaN"];
const FIELDS = [
  '"event_hash":null',
  '"atomic":1',
  '"receipts":"other"',
  '"receipts":"shared"',
  '"__proto__":{}',
  '"constructor":{}',
  '"Event_hash":""',
  '"\\u0065vent_hash":null',
];

/** Each makes another text of a text; some of what comes out is good. */
const TEXT_MUTATIONS: readonly ((text: string, choices: Choices) => string)[] = [
  (text, choices) => inserted(text, choices, SPACES),
  (text, choices) => inserted(text, choices, CHARACTERS),
  (text, choices) => inserted(text, choices, [",", ":", '"', "{", "}", "[", "]", "//", "/**/", "'"]),
  (text, choices) => text.slice(0, choices.below(text.length + 1)),
  (text, choices) => text + choices.of(["}", " ", "\n", "\0", "{}", ",", text, "x", "\ufeff"]),
  (text, choices) => choices.of(["\ufeff", " ", "\n", "\0", "[", "x"]) + text,
  // A field twice, or one that nobody knows.
  (text, choices) => text.replace("{", `{${choices.of(FIELDS)},`),
  (text, choices) => {
    const fields = text.match(/"[a-z_]+":(?:"[^"]*"|null|true|false)/g) ?? [FIELDS[0]];
    return choices.isOneIn(2)
      ? text.replace("{", `{${choices.of(fields)},`)
      : text.replace(/\}$/, `,${choices.of(fields)}}`);
  },
  // Another value, in the place of one.
  (text, choices) => {
    const values = text.match(/(?<=:)(?:"[^"]*"|null|true|false)/g) ?? [];
    return values.length === 0 ? text : text.replace(choices.of(values), choices.of(VALUES));
  },
  // Hex of another case or length.
  (text, choices) => {
    const hashes = text.match(/"[0-9a-f]{64,128}"/g) ?? [];
    if (hashes.length === 0) return text;
    const hash = choices.of(hashes);
    const other = choices.of([
      hash.toUpperCase(),
      hash.replace(/[a-f]/, (digit) => digit.toUpperCase()),
      `"0x${hash.slice(3)}`,
      `"${hash.slice(2)}`,
      `"0${hash.slice(1)}`,
      hash.replace(/[0-9]/, "g"),
      hash.replace(/[0-9]/, " "),
      `"${hash.slice(1, -1)}00"`,
    ]);
    return text.replace(hash, other);
  },
  // Other ids: too long, not printable, escaped.
  (text, choices) => {
    const long = LIMITS.clientEventIdCharsMax;
    const ids = ["a".repeat(long), "a".repeat(long + 1), "", "\u00e9", "a\\u0062", "a\tb", "\\\\", " ", "\u007f"];
    return text.replace("{", `{"client_event_id":"${choices.of(ids)}",`);
  },
];

/** Each makes other bytes of bytes: most are not UTF-8, or not the text any more. */
const BYTE_MUTATIONS: readonly ((bytes: Buffer, choices: Choices) => Buffer)[] = [
  (bytes, choices) => {
    const other = Buffer.from(bytes);
    if (other.length > 0) other[choices.below(other.length)] = choices.below(256);
    return other;
  },
  (bytes, choices) => {
    const other = Buffer.from(bytes);
    const at = choices.below(other.length);
    if (other.length > 0) other[at] = (other[at] ?? 0) ^ (1 << choices.below(8));
    return other;
  },
  (bytes, choices) => {
    const at = choices.below(bytes.length + 1);
    const part = Buffer.from(choices.of([[0xff], [0xc0, 0xa2], [0xed, 0xa0, 0x80], [0xe2, 0x80], [0], [0x22]]));
    return Buffer.concat([bytes.subarray(0, at), part, bytes.subarray(at)]);
  },
  (bytes, choices) => {
    const at = choices.below(bytes.length + 1);
    return Buffer.concat([bytes.subarray(0, at), bytes.subarray(at + 1)]);
  },
];

function mutated(text: string, choices: Choices): Buffer {
  let other = text;
  for (let left = choices.below(3); left > 0; left--) other = choices.of(TEXT_MUTATIONS)(other, choices);
  const bytes = Buffer.from(other);
  return choices.isOneIn(4) ? choices.of(BYTE_MUTATIONS)(bytes, choices) : bytes;
}

const bySchema = {
  event: (text: string) => parseBody(createEventSchema, text),
  batch: (text: string) => parseBody(createBatchSchema, text),
};
const byScan = { event: scanEvent, batch: scanBatch };
const byBoth = { event: parseCreateEvent, batch: parseCreateBatch };

/** Whether the scan has answered. @throws if its answer is not that of the schema */
function isAnsweredAlike(kind: Kind, bytes: Buffer): boolean {
  const scanned = byScan[kind](bytes);
  if (scanned === null) return false;
  const expected = isUtf8(bytes) ? bySchema[kind](bytes.toString("utf8")) : { ok: false };
  if (isDeepStrictEqual({ ok: true, value: scanned }, expected)) return true;
  throw new Error(`scanned, and not what the schema says: ${bytes.toString("latin1")}`);
}

/** What a request of each kind may look like, from the reference. */
function documented(kind: Kind): string[] {
  const path = kind === "event" ? "/v1/event-anchors" : "/v1/event-anchors/batch";
  const reference = JSON.parse(readFileSync(new URL("../../../docs/openapi.json", import.meta.url), "utf8"));
  const { examples } = reference.paths[path].post.requestBody.content["application/json"];
  return Object.values(examples as Record<string, { value: unknown }>).map(({ value }) => JSON.stringify(value));
}

describe.each(["event", "batch"] as const)("the body of one %s", (kind) => {
  test("is plain as the reference writes it", () => {
    const bodies = documented(kind);
    expect(bodies.length).toBeGreaterThan(0);
    for (const body of bodies) expect(isAnsweredAlike(kind, Buffer.from(body))).toBe(true);
  });

  test(`${MUTATIONS} bodies and mutations: what the scan takes is what the schema makes of it`, () => {
    const choices = new Choices(kind === "event" ? 815 : 4711);
    let answered = 0;
    for (let body = 0; body < MUTATIONS; body++) {
      const text = JSON.stringify(inAnyOrder(bodyOf(kind, choices), choices), null, choices.of([0, 0, 1]));
      if (isAnsweredAlike(kind, mutated(text, choices))) answered += 1;
    }
    // Neither are all of them refused by both, nor do all pass.
    expect(answered).toBeGreaterThan(MUTATIONS * 0.2);
    expect(answered).toBeLessThan(MUTATIONS * 0.6);
  });

  test("what is not plain has the schema's answer", () => {
    const [body = ""] = documented(kind);
    const texts = [body, body.toUpperCase(), body.replace(/[0-9a-f]{64}/, (hash) => hash.toUpperCase()), `${body}x`];
    for (const text of texts) expect(byBoth[kind](Buffer.from(text))).toEqual(bySchema[kind](text));
  });
});

const item = (index: number): object => ({ event_hash: index.toString(16).padStart(64, "0") });

test("a batch is plain up to the limits, and no further", () => {
  const batchOf = (items: number): Buffer =>
    Buffer.from(
      JSON.stringify({ origin_fingerprint: ORIGIN, events: Array.from({ length: items }, (_, at) => item(at)) }),
    );
  expect(scanBatch(batchOf(0))).toBeNull();
  expect(isAnsweredAlike("batch", batchOf(1))).toBe(true);
  expect(isAnsweredAlike("batch", batchOf(LIMITS.batchItemsMax))).toBe(true);
  expect(scanBatch(batchOf(LIMITS.batchItemsMax + 1))).toBeNull();
});

const hash = "ab".repeat(32);
const plain = `"origin_fingerprint":"${ORIGIN}","event_hash":"${hash}"`;

test.each([
  ["a field twice", `{${plain},"event_hash":"${hash}"}`],
  ["a field nobody knows", `{${plain},"note":""}`],
  ["__proto__", `{${plain},"__proto__":null}`],
  ["an escaped key", `{"origin_fingerprint":"${ORIGIN}","\\u0065vent_hash":"${hash}"}`],
  ["upper-case digits", `{"origin_fingerprint":"${ORIGIN}","event_hash":"${hash.toUpperCase()}"}`],
  ["no hash", `{"origin_fingerprint":"${ORIGIN}"}`],
  ["half of a pair", `{${plain},"actor_public_key":"${hash}"}`],
  ["an escape in an id", `{${plain},"client_event_id":"\\u0061"}`],
  ["an id that is too long", `{${plain},"client_event_id":"${"a".repeat(LIMITS.clientEventIdCharsMax + 1)}"}`],
  ["NUL after the end", `{${plain}}\0`],
  ["a byte order mark", `\ufeff{${plain}}`],
  ["text after the end", `{${plain}}{}`],
  ["nothing", ""],
])("%s is not plain", (_what, text) => {
  expect(scanEvent(Buffer.from(text))).toBeNull();
});

test("another origin than the batch's is for the schema to refuse, wherever it comes", () => {
  const events = `"events":[{"event_hash":"${hash}","origin_fingerprint":"${"00".repeat(32)}"}]`;
  for (const text of [`{"origin_fingerprint":"${ORIGIN}",${events}}`, `{${events},"origin_fingerprint":"${ORIGIN}"}`]) {
    expect(scanBatch(Buffer.from(text))).toBeNull();
    expect(parseCreateBatch(Buffer.from(text))).toMatchObject({ ok: false });
  }
});
