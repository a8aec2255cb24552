/** test/vectors/spool.json, read as any other implementation reads it. */
import { describe, expect, test } from "@jest/globals";
import { bytesToHex, hexToBytes, utf8ToBytes } from "@event-anchoring/protocol";
import { crc32 } from "../../src/recorder/crc32.ts";
import { SpoolCorrupt } from "../../src/recorder/errors.ts";
import { frameLength, readSpool, writeFrame } from "../../src/recorder/spool-frame.ts";
import type { SpooledEvent } from "../../src/recorder/spool-frame.ts";
import { vectors } from "../vectors.ts";

interface EventJson {
  readonly client_event_id: string;
  readonly content: string | null;
  readonly fields: string;
  readonly envelope: string;
}

const { good, corrupt } = vectors("spool") as {
  readonly good: readonly {
    readonly name: string;
    readonly hex: string;
    readonly events: readonly EventJson[];
    readonly length: number;
  }[];
  readonly corrupt: readonly { readonly name: string; readonly hex: string; readonly offset: number }[];
};

function eventOf({ client_event_id, content, fields, envelope }: EventJson): SpooledEvent {
  return {
    id: hexToBytes(client_event_id, 16),
    content: content === null ? null : hexToBytes(content),
    fields: utf8ToBytes(fields),
    envelope: utf8ToBytes(envelope),
  };
}

function jsonOf({ id, content, fields, envelope }: SpooledEvent): EventJson {
  const text = (bytes: Uint8Array): string => Buffer.from(bytes).toString();
  return {
    client_event_id: bytesToHex(id),
    content: content === null ? null : bytesToHex(content),
    fields: text(fields),
    envelope: text(envelope),
  };
}

describe("a file of the spool", () => {
  test.each(good.map((each) => [each.name, each] as const))("good: %s", (_, { hex, events, length }) => {
    const read = readSpool(Buffer.from(hex, "hex"));
    expect([read.events.map(jsonOf), read.length]).toEqual([events, length]);
    const written = events.map(eventOf).map((event) => {
      const frame = Buffer.alloc(frameLength(event));
      expect(writeFrame(frame, 0, event)).toBe(frame.length);
      return frame;
    });
    expect(Buffer.concat(written).toString("hex")).toBe(hex.slice(0, length * 2));
  });

  test.each(corrupt.map((each) => [each.name, each] as const))("corrupt: %s", (_, { hex, offset }) => {
    expect(() => readSpool(Buffer.from(hex, "hex"))).toThrow(SpoolCorrupt);
    expect(() => readSpool(Buffer.from(hex, "hex"))).toThrow(`at offset ${offset}`);
  });

  test("torn at every byte gives the frames before", () => {
    const whole = good.find(({ name }) => name === "every form");
    const file = Buffer.from(whole?.hex ?? "", "hex");
    const ends = readSpool(file).events.reduce<number[]>(
      (found, event) => [...found, (found.at(-1) ?? 0) + frameLength(event)],
      [],
    );
    for (let length = 0; length <= file.length; length++) {
      const kept = ends.filter((end) => end <= length);
      expect(readSpool(file.subarray(0, length))).toMatchObject({ length: kept.at(-1) ?? 0 });
      expect(readSpool(file.subarray(0, length)).events).toHaveLength(kept.length);
    }
  });

  test("a flipped bit is never read as another event", () => {
    const file = Buffer.from(good.find(({ name }) => name === "every form")?.hex ?? "", "hex");
    const whole = readSpool(file).events.map(jsonOf);
    for (let bit = 0; bit < file.length * 8; bit++) {
      const spoiled = Buffer.from(file);
      spoiled.writeUInt8(spoiled.readUInt8(bit >> 3) ^ (1 << (bit & 7)), bit >> 3);
      let read: readonly SpooledEvent[] = [];
      try {
        read = readSpool(spoiled).events;
      } catch (error) {
        if (!(error instanceof SpoolCorrupt)) throw error;
      }
      expect(whole.slice(0, read.length)).toEqual(read.map(jsonOf));
    }
  });

  test("the checksum is that of zlib", () => {
    expect(crc32(utf8ToBytes("123456789"))).toBe(0xcbf43926);
  });
});
