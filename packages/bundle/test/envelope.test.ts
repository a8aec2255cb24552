/** test/vectors/envelope.json, read as any other implementation reads it; and values of programs. */
import { readFileSync } from "node:fs";
import { describe, expect, test } from "@jest/globals";
import { nodeCrypto } from "@event-anchoring/node-crypto";
import { bytesToHex, hexToBytes, utf8ToBytes } from "@event-anchoring/protocol";
import { ENVELOPE_FORMAT, EnvelopeError, formatEnvelope, parseEnvelope } from "../src/index.ts";
import type { Envelope } from "../src/index.ts";
import { randomOf } from "../../../test/worlds/random-life.ts";

interface Refused {
  readonly name: string;
  readonly error: string;
}

interface VectorFile {
  readonly format: string;
  readonly good: readonly { readonly name: string; readonly text: string; readonly event_hash: string }[];
  readonly numbers: readonly { readonly ieee754: string; readonly text: string }[];
  readonly unsafe_numbers: readonly string[];
  readonly bad: readonly (Refused & { readonly text: string })[];
  readonly bad_bytes: readonly (Refused & { readonly hex: string })[];
  readonly long: readonly {
    readonly name: string;
    readonly error: string | null;
    readonly pieces: readonly (readonly [string, number])[];
  }[];
}

const vectors = JSON.parse(
  readFileSync(new URL("../../../test/vectors/envelope.json", import.meta.url), "utf8"),
) as VectorFile;

function codeOf(action: () => unknown): string | null {
  try {
    action();
  } catch (error) {
    if (error instanceof EnvelopeError) return error.code;
    throw error;
  }
  return null;
}

const read = (text: string): Envelope => parseEnvelope(utf8ToBytes(text));

const CALL: Envelope = {
  what: "tool.call",
  when: "2026-11-23T10:00:00.000Z",
  who: null,
  contentType: "application/json",
  content: { json: 1 },
  attachments: [],
  salt: null,
};

function written(value: unknown): string {
  return formatEnvelope({ ...CALL, content: { json: value as number } });
}

function doubleOf(ieee754: string): number {
  const bytes = hexToBytes(ieee754, 8);
  return new DataView(bytes.buffer, bytes.byteOffset, 8).getFloat64(0);
}

describe("the vectors", () => {
  test.each(vectors.good.map((each) => [each.name, each] as const))("good: %s", (_, { text, event_hash }) => {
    expect(formatEnvelope(read(text))).toBe(text);
    expect(bytesToHex(nodeCrypto.sha256(utf8ToBytes(text)))).toBe(event_hash);
    expect(vectors.format).toBe(ENVELOPE_FORMAT);
  });

  test("numbers", () => {
    for (const { ieee754, text } of vectors.numbers) {
      expect(written(doubleOf(ieee754))).toContain(`"content":${text},`);
    }
    for (const ieee754 of vectors.unsafe_numbers) {
      expect(codeOf(() => written(doubleOf(ieee754)))).toBe("envelope_number_unsafe");
    }
  });

  test.each(vectors.bad.map((each) => [each.name, each] as const))("bad: %s", (_, { text, error }) => {
    expect(codeOf(() => read(text))).toBe(error);
  });

  test.each(vectors.bad_bytes.map((each) => [each.name, each] as const))("bad bytes: %s", (_, { hex, error }) => {
    expect(codeOf(() => parseEnvelope(hexToBytes(hex)))).toBe(error);
  });

  test.each(vectors.long.map((each) => [each.name, each] as const))("long: %s", (_, { pieces, error }) => {
    expect(codeOf(() => read(pieces.map(([piece, count]) => piece.repeat(count)).join("")))).toBe(error);
  });
});

describe("values of a program", () => {
  test.each([
    ["undefined", undefined],
    ["a date", new Date(0)],
    ["bytes", new Uint8Array(3)],
    ["a map", new Map([["a", 1]])],
    ["a function", () => 1],
    ["a symbol", Symbol("a")],
    ["a list with a hole", Array.from({ length: 2 }).fill(1, 1)],
    ["half of a surrogate pair", "\ud800"],
    ["half of a surrogate pair in a name", { "\udc00": 1 }],
    ["not a number", Number.NaN],
    ["infinity", Number.NEGATIVE_INFINITY],
  ])("%s is refused", (_, value) => {
    expect(codeOf(() => written({ a: [value] }))).toBe("envelope_malformed");
  });

  test("a bigint is refused, and not rounded", () => {
    expect(codeOf(() => written({ a: 2n ** 60n }))).toBe("envelope_number_unsafe");
  });

  test("what contains itself is refused", () => {
    const loop: unknown[] = [];
    loop.push(loop);
    expect(codeOf(() => written(loop))).toBe("envelope_too_large");
  });

  test("a member that is undefined is left out", () => {
    expect(written({ b: undefined, a: 1 })).toContain('"content":{"a":1},');
  });

  test("an object without a prototype, or of another realm, is one", () => {
    expect(written(Object.assign(Object.create(null) as object, { a: 1 }))).toContain('"content":{"a":1},');
    expect(written(structuredClone({ a: 1 }))).toContain('"content":{"a":1},');
  });
});

test("spoiled envelopes say what was written, or nothing", () => {
  const random = randomOf(8785);
  const good = vectors.good.find(({ name }) => name === "every member")?.text ?? "";
  const bytes = utf8ToBytes(good);
  const differing: string[] = [];
  for (let round = 0; round < 4_000; round++) {
    const spoiled = Uint8Array.from(bytes);
    spoiled[random(spoiled.length)] = random(256);
    const text = new TextDecoder().decode(spoiled);
    // There is one text of one envelope: what can be read is written back as it was.
    const code = codeOf(() => parseEnvelope(spoiled));
    if (code === null && formatEnvelope(parseEnvelope(spoiled)) !== text) differing.push(text);
  }
  expect(differing).toEqual([]);
});
