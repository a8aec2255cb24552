import { describe, expect, test } from "@jest/globals";
import { encodeCommand } from "@event-anchoring/ledger";
import { ByteWriter, DecodeError, ORIGINS_MAX, equalBytes, toOriginFingerprint } from "@event-anchoring/protocol";
import {
  HELLO_ANSWER_FRAME_BYTES_MAX,
  GROUP_TRACES_MAX,
  HELLO_FRAME_BYTES_MAX,
  LocalResponseReader,
  LocalResponseWriter,
  REFUSAL_CODES,
  decodeHello,
  decodeHelloAnswer,
  decodeLocalRequest,
  decodePeerFrame,
  encodeHello,
  encodeHelloAnswer,
  encodeLocalRequest,
  encodePeerFrame,
  trustRootsAfter,
} from "../src/index.ts";
import type { GroupTrace, Hello, HelloAnswer, LocalResponse, ShownCertificate } from "../src/index.ts";
import {
  TRACE,
  callerKeys,
  certificate,
  damaged,
  hello,
  latest,
  otherCertificate,
  ownWords,
  peerFrames,
  progress,
  requests,
  responses,
  seeded,
} from "./fixtures.ts";

const restored: Hello = { ...hello, restoredFrom: { raftIndex: 70, effect: new Uint8Array(32).fill(3) } };
const answers: readonly HelloAnswer[] = [
  { accepted: false, code: "other_backup", detail: "n6 was restored from another backup" },
  { accepted: true, hello },
  { accepted: false, code: "amnesia", detail: "you signed 12" },
  ...ownWords.map((ownWord) => ({ accepted: false, code: "amnesia", detail: "you signed it", ownWord }) as const),
  { accepted: false, code: "cut_off", detail: "for 2 s" },
  { accepted: false, code: "retired", detail: "version 4", trustRootChain: ["one\n", "two — é\n"] },
];

const ENTRY_TRACE = { type: "entry_trace", index: 5, term: 2, context: TRACE } as const;
const TRACED = { type: "proposals", groups: [Uint8Array.of(1)], remainingMs: 1, traces: traces(1) } as const;
const SUBMIT = {
  type: "submit",
  requestId: 1,
  remainingMs: 1,
  answer: "certified",
  command: encodeCommand({ kind: "mark_certify_point" }),
  call: null,
} as const;

/** Its kind and request id; whose it is comes next. */
const SUBMIT_HEAD = [1, 0, 0, 0, 1];

function traces(count: number): GroupTrace[] {
  return Array.from({ length: count }, () => ({ group: 0, context: TRACE }));
}

test("a hello holds a head of every origin that a trust root may list, and fits its frame", () => {
  const signed = Array.from({ length: ORIGINS_MAX }, (_, at) => ({
    originFingerprint: toOriginFingerprint(new Uint8Array(32).fill(at & 0xff, 0, 16).fill(at >> 8, 16)),
    treeSize: at,
    rootHash: new Uint8Array(32),
  }));
  const largest = encodeHello({ ...restored, signed });
  expect(decodeHello(largest)).toEqual({ ...restored, signed });
  expect(largest.length).toBeLessThan(HELLO_FRAME_BYTES_MAX - 8 * 1024);
  const [first] = signed;
  const more = encodeHello({ ...restored, signed: first === undefined ? [] : [...signed, first] });
  expect(() => decodeHello(more)).toThrow(DecodeError);
});

function readyToRead(certificates: readonly ShownCertificate[]): LocalResponse {
  return { type: "ready_to_read", requestId: 1, readIndex: 1, certificates, trustRootVersion: 1, latest: null };
}

/** Sends what an end has not sent yet; the frame of the response itself is the last one. */
function lastOf(bodies: readonly Uint8Array[]): Uint8Array {
  return bodies.at(-1) ?? new Uint8Array(0);
}

/** One connection on which the certificates of the samples have been sent, and one on which they are sent on. */
const link = new LocalResponseWriter();
const received = new LocalResponseReader();
const onward = new LocalResponseWriter();
const firsts: readonly LocalResponse[] = [
  readyToRead([otherCertificate]),
  { ...readyToRead([certificate]), latest } as LocalResponse,
  { type: "api_keys", requestId: 1, keys: callerKeys },
];
for (const first of firsts) {
  for (const body of link.bodiesOf(first)) {
    const response = received.read(body);
    if (response !== null) onward.bodiesOf(response);
  }
}

function encodeLocalResponse(response: LocalResponse): Uint8Array {
  return lastOf(link.bodiesOf(response));
}

function decodeLocalResponse(body: Uint8Array): LocalResponse | null {
  return received.read(body);
}

function encodeDecodedResponse(response: LocalResponse): Uint8Array {
  return lastOf(onward.bodiesOf(response));
}

/** The first frame of a connection. */
function encodeCertificate(shown: ShownCertificate): Uint8Array {
  const [body = new Uint8Array(0)] = new LocalResponseWriter().bodiesOf(readyToRead([shown]));
  return body;
}

function decodeCertificate(body: Uint8Array): ShownCertificate {
  const reader = new LocalResponseReader();
  if (reader.read(body) !== null) throw new DecodeError("kind_unknown", "a response");
  const response = reader.read(lastOf(new LocalResponseWriter().bodiesOf(readyToRead([certificate]))));
  const [shown] = response?.type === "ready_to_read" ? response.certificates : [];
  if (shown === undefined) throw new Error("it was not kept");
  return shown;
}

interface Codec {
  readonly name: string;
  readonly samples: readonly Uint8Array[];
  readonly decode: (bytes: Uint8Array) => unknown;
  readonly encode: (value: never) => Uint8Array;
}

function codec<T>(
  name: string,
  values: readonly T[],
  encode: (value: T) => Uint8Array,
  decode: (bytes: Uint8Array) => T,
): Codec {
  return { name, samples: values.map(encode), decode, encode };
}

const codecs: readonly Codec[] = [
  codec("local requests", requests, encodeLocalRequest, decodeLocalRequest),
  {
    name: "local responses",
    samples: responses.map(encodeLocalResponse),
    decode: decodeLocalResponse,
    encode: encodeDecodedResponse,
  },
  codec("certificates", [certificate, otherCertificate], encodeCertificate, decodeCertificate),
  codec("peer frames", peerFrames, encodePeerFrame, decodePeerFrame),
  codec("hellos", [hello], encodeHello, decodeHello),
  codec("answers to hellos", answers, encodeHelloAnswer, decodeHelloAnswer),
];

test("every message comes back as it was", () => {
  expect(requests.map((value) => decodeLocalRequest(encodeLocalRequest(value)))).toEqual(requests);
  expect(responses.map((value) => decodeLocalResponse(encodeLocalResponse(value)))).toEqual(responses);
  expect(peerFrames.map((value) => decodePeerFrame(encodePeerFrame(value)))).toEqual(peerFrames);
  expect(answers.map((value) => decodeHelloAnswer(encodeHelloAnswer(value)))).toEqual(answers);
  expect(decodeHello(encodeHello(hello))).toEqual(hello);
  expect(decodeHello(encodeHello(restored))).toEqual(restored);
  const answer: HelloAnswer = { accepted: true, hello: restored };
  expect(decodeHelloAnswer(encodeHelloAnswer(answer))).toEqual(answer);
});

test("a refusal has room for later trust roots, however many there are, and what follows is shown next", () => {
  const held = Array.from({ length: 100 }, (_, at) => ({
    trustRoot: { version: at + 1 },
    note: `version ${at + 1} — ${"x".repeat(20_000)}`,
  }));
  const learnt: string[] = [];
  for (let dials = 0; dials < 5; dials++) {
    const trustRootChain = trustRootsAfter(held, 7 + learnt.length);
    const answer: HelloAnswer = { accepted: false, code: "retired", detail: "", trustRootChain };
    // Its Cluster-auth header takes less than 1 KiB.
    expect(encodeHelloAnswer(answer).length).toBeLessThan(HELLO_ANSWER_FRAME_BYTES_MAX - 1024);
    learnt.push(...trustRootChain);
  }
  expect(learnt).toEqual(held.slice(7).map(({ note }) => note));
});

test("where a restored node began is said whole or not at all", () => {
  const whole = encodeHello(restored);
  for (let bytes = whole.length - 1; bytes > encodeHello(hello).length; bytes--) {
    expect(() => decodeHello(whole.subarray(0, bytes))).toThrow(DecodeError);
  }
  expect(() => decodeHello(Uint8Array.from([...whole, 0]))).toThrow(DecodeError);
});

describe.each(codecs)("$name", ({ samples, decode, encode }) => {
  test("refuse every truncation", () => {
    for (const sample of samples.filter(({ length }) => length < 4000)) {
      const whole = decode(sample);
      expect(whole).toBeDefined();
      for (let length = 0; length < sample.length; length++) {
        // A raft message is opaque: any prefix of it is one.
        if ((whole as { type?: string }).type === "raft" && length > 1) continue;
        expect(() => decode(sample.subarray(0, length))).toThrow(DecodeError);
      }
    }
  });

  test("refuse a byte too many", () => {
    const strict = samples.filter((sample) => (decode(sample) as { type?: string }).type !== "raft");
    for (const sample of strict) expect(() => decode(Uint8Array.from([...sample, 0]))).toThrow(DecodeError);
    expect(strict.length).toBeGreaterThan(0);
  });

  test("answer 4,000 damaged inputs by DecodeError, or by a value that encodes to the same bytes", () => {
    const draw = seeded(20_261_121);
    let refused = 0;
    for (let round = 0; round < 4000; round++) {
      const input = damaged(samples[draw(samples.length)] ?? new Uint8Array(0), draw);
      let value: unknown;
      try {
        value = decode(input);
      } catch (error) {
        if (!(error instanceof DecodeError)) throw error;
        refused++;
        continue;
      }
      // Statuses are JSON, where white space is free.
      if ((value as { type?: string }).type === "status") continue;
      if (!equalBytes(encode(value as never), input)) throw new Error(`round ${round}: two encodings of one value`);
    }
    expect(refused).toBeGreaterThan(400);
  });
});

describe("a value that cannot be said is refused by its writer", () => {
  test.each([
    ["a negative request id", () => encodeLocalRequest({ type: "status", requestId: -1 })],
    ["a request id above u32", () => encodeLocalRequest({ type: "metrics", requestId: 2 ** 32 })],
    ["a fraction", () => encodePeerFrame({ type: "clock", wallMs: 1.5, appliedIndex: 1, monotonicMs: 1 })],
    ["an unsafe integer", () => encodePeerFrame({ type: "clock", wallMs: 2 ** 53, appliedIndex: 1, monotonicMs: 1 })],
    ["a node id with a capital", () => encodeHello({ ...hello, nodeId: "Node" })],
    [
      "a short effect chain",
      () => encodeHello({ ...restored, restoredFrom: { raftIndex: 1, effect: new Uint8Array(31) } }),
    ],
    ["a short life id", () => encodeHello({ ...hello, progress: { ...progress, lifeId: new Uint8Array(15) } })],
    ["a trace id of zeros", () => encodePeerFrame({ ...ENTRY_TRACE, context: { ...TRACE, traceId: "0".repeat(32) } })],
    ["a span id too short", () => encodePeerFrame({ ...ENTRY_TRACE, context: { ...TRACE, spanId: "b7ad6b71" } })],
    ["a trace of too many writes", () => encodePeerFrame({ ...TRACED, traces: traces(GROUP_TRACES_MAX + 1) })],
    ["a request id with a space", () => encodeLocalRequest({ ...SUBMIT, call: { requestId: "a b", trace: null } })],
    ["a submit without a command", () => encodeLocalRequest({ ...SUBMIT, command: new Uint8Array(0) })],
    ["a request id of 65", () => encodeLocalRequest({ ...SUBMIT, call: { requestId: "r".repeat(65), trace: null } })],
    ["a short cluster id", () => encodeHello({ ...hello, clusterId: new Uint8Array(31) })],
  ])("%s", (_what, encode) => {
    expect(encode).toThrow(RangeError);
  });
});

describe("a value that may not be said is refused by its reader", () => {
  test.each([
    ["a local request of unknown kind", () => decodeLocalRequest(Uint8Array.of(11, 0, 0, 0, 0))],
    [
      "a submit without a command",
      () => decodeLocalRequest(Uint8Array.of(...SUBMIT_HEAD, 0, 0, 0, 0, 1, 1, 0, 0, 0, 0)),
    ],
    ["a boolean of 2", () => decodeLocalRequest(Uint8Array.of(...SUBMIT_HEAD, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0))],
    ["a local response of unknown kind", () => decodeLocalResponse(Uint8Array.of(0, 0, 0, 0, 0))],
    [
      "a refusal of unknown code",
      () => decodeLocalResponse(Uint8Array.of(5, 0, 0, 0, 1, REFUSAL_CODES.length, 0, 0, 0)),
    ],
    ["a status that is no JSON", () => decodeLocalResponse(Uint8Array.of(3, 0, 0, 0, 1, 0, 0, 0, 1, 0x7b))],
    ["a status that lacks its fields", () => decodeLocalResponse(Uint8Array.of(3, 0, 0, 0, 1, 0, 0, 0, 2, 0x7b, 0x7d))],
    ["text that is not UTF-8", () => decodeLocalResponse(Uint8Array.of(4, 0, 0, 0, 1, 0, 0, 0, 1, 0xff))],
    ["a peer frame of unknown kind", () => decodePeerFrame(Uint8Array.of(9, 0))],
    ["a trace of a group that is not there", () => decodePeerFrame(encodePeerFrame({ ...TRACED, groups: [] }))],
    ["traces of 65,535 writes", () => decodePeerFrame(Uint8Array.of(3, 0, 0, 0, 1, 0, 0, 255, 255))],
    ["an entry's trace of zeros", () => decodePeerFrame(Uint8Array.of(6, ...new Uint8Array(40)))],
    ["a request id that is empty", () => decodeLocalRequest(Uint8Array.of(...SUBMIT_HEAD, 1, 0, 0, 0))],
    ["a request id with a line feed", () => decodeLocalRequest(Uint8Array.of(...SUBMIT_HEAD, 1, 0, 1, 10, 0))],
    ["a request id beyond ASCII", () => decodeLocalRequest(Uint8Array.of(...SUBMIT_HEAD, 1, 0, 1, 0xe9, 0))],
    ["an empty raft message", () => decodePeerFrame(Uint8Array.of(1))],
    ["a list of 65,535 of which nothing comes", () => decodePeerFrame(Uint8Array.of(2, 255, 255))],
    ["an own word of unknown kind", () => decodeHelloAnswer(Uint8Array.of(0, 0, 0, 0, 0, 1, 3))],
    ["a hello refusal of unknown code", () => decodeHelloAnswer(Uint8Array.of(0, 99, 0, 0, 0))],
  ])("%s", (_what, decode) => {
    expect(decode).toThrow(DecodeError);
  });
});

test("a submission carries the bytes of one command as a log entry holds them, last", () => {
  const bytes = encodeLocalRequest(SUBMIT);
  expect(bytes.slice(0, SUBMIT_HEAD.length)).toEqual(Uint8Array.from(SUBMIT_HEAD));
  const { command } = SUBMIT;
  expect(bytes.slice(-command.length - 4)).toEqual(new ByteWriter(8).lengthPrefixed32(command).finish());
});

test("a long detail is cut, and a lone surrogate in it replaced: a detail never makes an answer unsendable", () => {
  const detail = `\ud800${"x".repeat(5000)}`;
  const decoded = decodeLocalResponse(
    encodeLocalResponse({ type: "refused", requestId: 1, code: "unavailable", detail, retryAfterMs: null }),
  );
  expect(decoded).toMatchObject({ detail: `\ufffd${"x".repeat(999)}` });
});
