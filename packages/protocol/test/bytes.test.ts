import { describe, expect, test } from "@jest/globals";
import {
  ByteReader,
  ByteWriter,
  asciiToBytes,
  base64ToBytes,
  bytesToAscii,
  bytesToBase64,
  bytesToHex,
  bytesToUtf8,
  compareBytes,
  concatBytes,
  equalBytes,
  hexToBytes,
  isZero,
  parseDecimal,
  utf8ToBytes,
} from "@event-anchoring/protocol";
import { codeOf, loadVectors } from "./vectors.ts";

interface Texts {
  readonly good: readonly { readonly text: string; readonly result: string }[];
  readonly bad: readonly string[];
}

const vectors = loadVectors("bytes.json") as {
  hex: Texts;
  base64: Texts;
  u64: { good: { bytes: string; value: number }[]; bad: string[] };
  decimal: { good: string[]; bad: string[] };
};

describe("hex and base64", () => {
  test.each(vectors.hex.good)("reads hex $text", ({ text, result }) => {
    expect(bytesToHex(hexToBytes(text))).toBe(result);
    expect(hexToBytes(text, result.length / 2)).toHaveLength(result.length / 2);
  });

  test.each(vectors.hex.bad)("refuses hex %j", (text) => {
    expect(codeOf(() => hexToBytes(text))).toBe("hex_invalid");
  });

  test("refuses hex of another length", () => {
    expect(codeOf(() => hexToBytes("00", 2))).toBe("length_invalid");
    expect(codeOf(() => hexToBytes("000000", 2))).toBe("length_invalid");
  });

  test.each(vectors.base64.good)("reads base64 $text and prints it back", ({ text, result }) => {
    expect(bytesToHex(base64ToBytes(text))).toBe(result);
    expect(bytesToBase64(hexToBytes(result))).toBe(text);
  });

  test.each(vectors.base64.bad)("refuses base64 %j", (text) => {
    expect(codeOf(() => base64ToBytes(text))).toBe("base64_invalid");
  });

  test("base64 agrees with the platform's for every length to 70", () => {
    for (let length = 0; length <= 70; length++) {
      const bytes = Uint8Array.from({ length }, (_, index) => (index * 37 + length) & 0xff);
      const text = Buffer.from(bytes).toString("base64");
      expect(bytesToBase64(bytes)).toBe(text);
      expect(base64ToBytes(text, length)).toEqual(bytes);
    }
    expect(codeOf(() => base64ToBytes("AAAA", 2))).toBe("length_invalid");
  });

  test.each(vectors.decimal.good)("reads the decimal %s", (text) => {
    expect(String(parseDecimal(text))).toBe(text);
  });

  test.each(vectors.decimal.bad)("refuses the decimal %j", (text) => {
    expect(parseDecimal(text)).toBeNull();
  });
});

describe("text", () => {
  test.each(["", "plain", "näme", "— dash", "漢字", "😀 and more"])("UTF-8 of %j is the platform's", (text) => {
    expect(utf8ToBytes(text)).toEqual(Uint8Array.from(Buffer.from(text, "utf8")));
    expect(bytesToUtf8(utf8ToBytes(text))).toBe(text);
  });

  test.each([
    "80",
    "c0af",
    "c1bf",
    "e08080",
    "e0a0",
    "eda080",
    "f0808080",
    "f4908080",
    "f5808080",
    "ff",
    "c3",
    "e28028",
  ])("refuses the UTF-8 bytes %s", (hex) => {
    expect(codeOf(() => bytesToUtf8(hexToBytes(hex)))).toBe("text_invalid");
  });

  test("refuses lone surrogates and what is not ASCII", () => {
    expect(codeOf(() => utf8ToBytes("a\ud800"))).toBe("text_invalid");
    expect(codeOf(() => utf8ToBytes("\udc00b"))).toBe("text_invalid");
    expect(codeOf(() => asciiToBytes("ä"))).toBe("text_invalid");
    expect(codeOf(() => bytesToAscii(Uint8Array.of(0x80)))).toBe("text_invalid");
    expect(bytesToAscii(asciiToBytes("\0~"))).toBe("\0~");
  });
});

describe("byte strings", () => {
  test("compares, joins and recognises zeros", () => {
    const [a, b] = [Uint8Array.of(1, 2), Uint8Array.of(1, 255)];
    expect(compareBytes(a, b)).toBeLessThan(0);
    expect(compareBytes(b, a)).toBeGreaterThan(0);
    expect(compareBytes(a, Uint8Array.of(1))).toBeGreaterThan(0);
    expect(compareBytes(a, a)).toBe(0);
    expect(equalBytes(a, b)).toBe(false);
    expect(equalBytes(a, Uint8Array.of(1))).toBe(false);
    expect(concatBytes(a, new Uint8Array(0), b)).toEqual(Uint8Array.of(1, 2, 1, 255));
    expect([isZero(new Uint8Array(3)), isZero(Uint8Array.of(0, 1))]).toEqual([true, false]);
  });
});

describe("encoding", () => {
  test.each(vectors.u64.good)("u64 $value", ({ bytes, value }) => {
    const reader = new ByteReader(hexToBytes(bytes));
    expect(reader.u64()).toBe(value);
    reader.finish();
    expect(bytesToHex(new ByteWriter(0).u64(value).finish())).toBe(bytes);
  });

  test.each(vectors.u64.bad)("refuses the u64 bytes %j", (bytes) => {
    const expected = bytes.length === 16 ? "integer_unsafe" : "truncated";
    expect(codeOf(() => new ByteReader(hexToBytes(bytes)).u64())).toBe(expected);
  });

  test("writes and reads each kind of field", () => {
    const written = new ByteWriter(1)
      .u8(255)
      .u16(65_535)
      .u32(4_294_967_295)
      .bytes(Uint8Array.of(9, 8), 2)
      .lengthPrefixed16(Uint8Array.of(1))
      .lengthPrefixed32(new Uint8Array(300))
      .finish();
    const reader = new ByteReader(written);
    expect([reader.u8(), reader.u16(), reader.u32()]).toEqual([255, 65_535, 4_294_967_295]);
    expect(reader.bytes(2)).toEqual(Uint8Array.of(9, 8));
    expect(reader.lengthPrefixed16()).toEqual(Uint8Array.of(1));
    expect(reader.lengthPrefixed32()).toHaveLength(300);
    reader.finish();
  });

  test.each([-1, 0.5, Number.NaN, 256])("refuses to write %d as u8", (value) => {
    expect(() => new ByteWriter().u8(value)).toThrow(RangeError);
  });

  test("refuses what does not fit, what is missing and what is left over", () => {
    expect(() => new ByteWriter().u32(2 ** 32)).toThrow(RangeError);
    expect(() => new ByteWriter().u64(2 ** 53)).toThrow(RangeError);
    expect(() => new ByteWriter().bytes(new Uint8Array(31), 32)).toThrow(RangeError);
    expect(() => new ByteWriter().lengthPrefixed16(new Uint8Array(65_536))).toThrow(RangeError);
    expect(codeOf(() => new ByteReader(Uint8Array.of(1)).u16())).toBe("truncated");
    expect(codeOf(() => new ByteReader(Uint8Array.of(255, 255, 255, 255)).lengthPrefixed32())).toBe("truncated");
    expect(codeOf(() => new ByteReader(Uint8Array.of(1)).finish())).toBe("trailing_bytes");
  });

  test("what is read is a plain copy, also from a Buffer", () => {
    const source = Buffer.from([1, 2, 3]);
    const copy = new ByteReader(source).bytes(3);
    source[0] = 9;
    expect(copy).toEqual(Uint8Array.of(1, 2, 3));
    expect(Buffer.isBuffer(copy)).toBe(false);
  });
});
