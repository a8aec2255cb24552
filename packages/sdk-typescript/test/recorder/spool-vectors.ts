/** Files of a spool, and what a recorder reads from them. */
import { bytesToHex, hexToBytes, utf8ToBytes } from "@event-anchoring/protocol";
import { formatEnvelope } from "@event-anchoring/bundle";
import type { Envelope } from "@event-anchoring/bundle";
import { crc32 } from "../../src/recorder/crc32.ts";
import { frameLength, writeFrame } from "../../src/recorder/spool-frame.ts";
import type { SpooledEvent } from "../../src/recorder/spool-frame.ts";
import { hashOf } from "../../../../test/vector-builders/keys.ts";
import type { Json } from "../../../../test/vector-builders/json.ts";

const ENVELOPE: Envelope = {
  what: "tool.call",
  when: "2026-11-23T10:00:00.000Z",
  who: "billing-agent",
  contentType: "application/json",
  content: { json: { amount: 19.5, order: "4711" } },
  attachments: [],
  salt: null,
};

function eventOf(seed: string, more: Partial<SpooledEvent> = {}, envelope: Envelope = ENVELOPE): SpooledEvent {
  return {
    id: hashOf(seed).subarray(0, 16),
    content: null,
    fields: utf8ToBytes("{}"),
    envelope: utf8ToBytes(formatEnvelope(envelope)),
    ...more,
  };
}

const PLAIN = eventOf("plain");
const CONTENT = utf8ToBytes("bytes that lie beside");
const APART = eventOf(
  "apart",
  { content: CONTENT },
  {
    ...ENVELOPE,
    contentType: "text/plain",
    content: { hash: bytesToHex(hashOf("bytes that lie beside")), size: CONTENT.length },
  },
);
const REFERRING = eventOf("referring", {
  fields: utf8ToBytes(JSON.stringify({ semantic_anchor: { iris_ref: bytesToHex(hashOf("claim")) } })),
});
const SIGNED = eventOf("signed", {
  fields: utf8ToBytes(JSON.stringify({ actor_public_key: bytesToHex(hashOf("actor")) })),
});
const EMPTY = eventOf("empty", { content: new Uint8Array(0) });

function fileOf(...events: readonly SpooledEvent[]): Buffer {
  return Buffer.concat(
    events.map((event) => {
      const frame = Buffer.alloc(frameLength(event));
      writeFrame(frame, 0, event);
      return frame;
    }),
  );
}

function eventJson({ id, content, fields, envelope }: SpooledEvent): Json {
  return {
    client_event_id: bytesToHex(id),
    content: content === null ? null : bytesToHex(content),
    fields: Buffer.from(fields).toString(),
    envelope: Buffer.from(envelope).toString(),
  };
}

function spoiled(file: Buffer, offset: number): Buffer {
  const copy = Buffer.from(file);
  copy.writeUInt8(copy.readUInt8(offset) ^ 1, offset);
  return copy;
}

/** A file whose first frame has this body, under good checksums, and a good frame behind it. */
function withBody(body: Uint8Array): Buffer {
  const header = Buffer.alloc(12);
  header.writeUInt32BE(body.length, 0);
  header.writeUInt32BE(crc32(header, 0, 4), 4);
  header.writeUInt32BE(crc32(body), 8);
  return Buffer.concat([header, body, fileOf(PLAIN)]);
}

function good(): Json {
  const one = fileOf(PLAIN);
  const two = fileOf(PLAIN, APART);
  const read = (name: string, file: Buffer, events: readonly SpooledEvent[], length = file.length): Json => ({
    name,
    hex: bytesToHex(file),
    events: events.map(eventJson),
    length,
  });
  return [
    read("nothing", Buffer.alloc(0), []),
    read("one event", one, [PLAIN]),
    read("every form", fileOf(PLAIN, APART, REFERRING, SIGNED, EMPTY), [PLAIN, APART, REFERRING, SIGNED, EMPTY]),
    read("torn in its first header", one.subarray(0, 11), [], 0),
    read("torn in its first body", one.subarray(0, -1), [], 0),
    read("torn behind a header", two.subarray(0, one.length + 12), [PLAIN], one.length),
    read("torn in the second body", two.subarray(0, -1), [PLAIN], one.length),
    read("the last body spoiled", spoiled(two, two.length - 1), [PLAIN], one.length),
    read("zeros behind", Buffer.concat([one, Buffer.alloc(100)]), [PLAIN], one.length),
    read("fewer zeros than a header", Buffer.concat([one, Buffer.alloc(5)]), [PLAIN], one.length),
  ];
}

function corrupt(): Json {
  const one = fileOf(PLAIN);
  const two = fileOf(PLAIN, APART);
  const body = one.subarray(12);
  const refused = (name: string, file: Buffer, offset: number): Json => ({ name, hex: bytesToHex(file), offset });
  return [
    refused("the first length spoiled", spoiled(two, 3), 0),
    refused("the checksum of the first length spoiled", spoiled(two, 7), 0),
    refused("the checksum of the first body spoiled", spoiled(two, 11), 0),
    refused("the first body spoiled", spoiled(two, 40), 0),
    refused("the length of the last frame spoiled", spoiled(two, one.length + 1), one.length),
    refused("a length of zero, and a frame behind it", withBody(new Uint8Array(0)), 0),
    refused("zeros, and a frame behind them", Buffer.concat([Buffer.alloc(12), one]), 0),
    refused("another kind", withBody(spoiled(body, 0)), 0),
    refused(
      "content neither there nor absent",
      withBody(hexToBytes(bytesToHex(body).replace(/^(.{34})00/u, "$102"))),
      0,
    ),
    refused("fields longer than the frame", withBody(spoiled(body, 18)), 0),
    refused("too short for an event", withBody(body.subarray(0, 21)), 0),
  ];
}

export function spoolVectors(): Json {
  return {
    about:
      "Files of a recorder's spool. good: a file holds these events, up to `length`; what is behind it is torn off. " +
      "Written again, the events make these bytes. corrupt: the file is refused, for the frame at `offset`.",
    good: good(),
    corrupt: corrupt(),
  };
}
