import { describe, expect, test } from "@jest/globals";
import { nodeCrypto } from "@event-anchoring/node-crypto";
import { formatListCursor, parseListCursor } from "../src/routes/list-cursor.ts";

const { sha256 } = nodeCrypto;
const FILTER = "event_hash=00";

const good = formatListCursor(FILTER, 4711, sha256);
const bytesOf = (cursor: string): Buffer => Buffer.from(cursor, "base64url");
const withByte = (position: number, byte: number): string => {
  const bytes = bytesOf(good);
  bytes[position] = byte;
  return bytes.toString("base64url");
};

describe("a cursor", () => {
  test.each([0, 1, 4711, 2 ** 32, 2 ** 47 - 1])("leads back to sequence %i", (sequence) => {
    expect(parseListCursor(formatListCursor(FILTER, sequence, sha256), FILTER, sha256)).toBe(sequence);
  });

  test("none is from the start: before sequence 0", () => {
    expect(parseListCursor(null, FILTER, sha256)).toBe(-1);
  });

  test.each([
    ["nothing", ""],
    ["words", "next"],
    ["a number", "4711"],
    ["a byte less", bytesOf(good).subarray(0, -1).toString("base64url")],
    ["a byte more", Buffer.concat([bytesOf(good), Buffer.from([0])]).toString("base64url")],
    ["padding", `${good}=`],
    ["the other base64", bytesOf(good).toString("base64").replaceAll("=", "").replace("A", "+")],
    ["a space", `${good.slice(0, 4)} ${good.slice(4)}`],
    ["stray bits in its last character", `${good.slice(0, -1)}_`],
    ["another version", withByte(0, 2)],
    ["a sequence beyond 2^53 − 1", withByte(9, 0xff)],
    ["another filter's mark", withByte(3, (bytesOf(good)[3] ?? 0) ^ 1)],
    ["a cursor of another filter", formatListCursor("event_hash=01", 4711, sha256)],
    ["very long", "A".repeat(4000)],
  ])("%s is none", (_what, text) => {
    expect(() => parseListCursor(text, FILTER, sha256)).toThrow(
      expect.objectContaining({
        problem: expect.objectContaining({
          code: "invalid_request",
          errors: [expect.objectContaining({ parameter: "cursor" })],
        }),
      }),
    );
  });
});
