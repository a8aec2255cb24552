import { describe, expect, test } from "@jest/globals";
import { FrameSizeError, FrameSplitter, frameHeader, joinFrames } from "../src/index.ts";
import { seeded } from "./fixtures.ts";

const bodies = [1, 2, 255, 256, 3000].map((length) =>
  new Uint8Array(length).map((_, index) => (index * 7 + length) % 256),
);
const stream = joinFrames(bodies);

function collect(splitter: FrameSplitter, chunks: readonly Uint8Array[]): Uint8Array[] {
  return chunks.flatMap((chunk) => splitter.push(chunk));
}

describe("frames come out as they went in", () => {
  test("byte by byte", () => {
    const splitter = new FrameSplitter(3000);
    const chunks = Array.from(stream, (byte) => Uint8Array.of(byte));
    expect(collect(splitter, chunks)).toEqual(bodies);
    expect(splitter.pendingBytes).toBe(0);
  });

  test("in one chunk", () => {
    expect(new FrameSplitter(3000).push(stream)).toEqual(bodies);
  });

  test("split at every one point", () => {
    for (let at = 0; at <= stream.length; at++) {
      const splitter = new FrameSplitter(3000);
      const out = collect(splitter, [stream.subarray(0, at), stream.subarray(at)]);
      if (out.length !== bodies.length) throw new Error(`split at ${at}`);
      expect(out.map(({ length }) => length)).toEqual(bodies.map(({ length }) => length));
    }
  });

  test("in 300 seeded random cuts", () => {
    const draw = seeded(7);
    for (let round = 0; round < 300; round++) {
      const chunks: Uint8Array[] = [];
      for (let offset = 0; offset < stream.length;) {
        const length = 1 + draw(700);
        chunks.push(stream.subarray(offset, offset + length));
        offset += length;
      }
      expect(joinFrames(collect(new FrameSplitter(3000), chunks))).toEqual(stream);
    }
  });

  test("when one is much longer than what is reserved at first", () => {
    const body = new Uint8Array(1_000_000).fill(5);
    const framed = joinFrames([body]);
    const splitter = new FrameSplitter(1_000_000);
    const chunks: Uint8Array[] = [];
    for (let offset = 0; offset < framed.length; offset += 16_384)
      chunks.push(framed.subarray(offset, offset + 16_384));
    const [out = new Uint8Array(0), ...more] = collect(splitter, chunks);
    expect(Buffer.from(out).equals(Buffer.from(body))).toBe(true);
    expect(more).toEqual([]);
  });
});

describe("what is refused", () => {
  test.each([
    ["an empty frame", [0, 0, 0, 0]],
    ["one above the limit", [0, 0, 0, 11]],
    ["one of 2 GiB", [0x80, 0, 0, 0]],
    ["one of 4 GiB − 1", [255, 255, 255, 255]],
  ])("%s, and everything after it", (_what, header) => {
    const splitter = new FrameSplitter(10);
    expect(() => splitter.push(Uint8Array.from(header))).toThrow(FrameSizeError);
    expect(() => splitter.push(joinFrames([Uint8Array.of(1)]))).toThrow(FrameSizeError);
  });

  test.each([0, -1, 1.5, 2 ** 32])("a body of %d bytes cannot be framed", (length) => {
    expect(() => frameHeader(length)).toThrow(RangeError);
  });
});

test("an announced length reserves nothing by itself", () => {
  const splitter = new FrameSplitter(0xffff_ffff);
  splitter.push(Uint8Array.from([0xff, 0xff, 0xff, 0xff, 1, 2, 3]));
  expect(splitter.pendingBytes).toBe(7);
});
