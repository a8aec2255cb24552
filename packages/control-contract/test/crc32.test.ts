import { crc32 as crc32OfZlib } from "node:zlib";
import { expect, test } from "@jest/globals";
import { crc32 } from "../src/crc32.ts";

test("is what zlib computes, in one go and in two", () => {
  expect(crc32(Buffer.from("123456789"))).toBe(0xcbf4_3926);
  for (const length of [0, 1, 255, 256, 5000]) {
    const bytes = Uint8Array.from({ length }, (_, at) => (at * 167 + 13) & 0xff);
    expect(crc32(bytes)).toBe(crc32OfZlib(bytes));
    expect(crc32(bytes.subarray(100), crc32(bytes.subarray(0, 100)))).toBe(crc32OfZlib(bytes));
  }
});
