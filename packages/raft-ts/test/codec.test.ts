import { describe, expect, test } from "@jest/globals";
import {
  InvalidArgumentError,
  InvalidMessageError,
  MESSAGE_TYPES,
  decodeMessage,
  encodeMessage,
  isPeerMessage,
} from "../src/index.ts";
import type { Entry, InboundMessage, MessageType, SnapshotMeta } from "../src/index.ts";
import { EMPTY_CONF, NO_BYTES, seededRandom } from "./support/cluster.ts";

const snapshot: SnapshotMeta = {
  index: 9,
  term: 2,
  confState: { voters: [1n, 2n], votersOutgoing: [1n, 3n], learners: [4n], learnersNext: [3n], autoLeave: true },
};

const base: InboundMessage = {
  type: "MsgApp",
  from: 1n,
  to: 2n,
  term: 3,
  logTerm: 0,
  index: 0,
  commit: 0,
  vote: 0n,
  reject: false,
  rejectHint: 0,
  context: NO_BYTES,
  entries: [],
  snapshot: null,
};

function entry(index: number, term: number, payload = "p", type: Entry["type"] = "normal"): Entry {
  return { index, term, type, payload: new TextEncoder().encode(payload) };
}

/** One well-formed message of each type that peers send. */
const WELL_FORMED: readonly InboundMessage[] = [
  {
    ...base,
    logTerm: 2,
    index: 5,
    commit: 4,
    entries: [entry(6, 2), entry(7, 3, ""), entry(8, 3, "c", "conf_change")],
  },
  { ...base, type: "MsgAppResp", index: 7, reject: true, rejectHint: 5, logTerm: 2 },
  { ...base, type: "MsgVote", index: 7, logTerm: 2, context: new TextEncoder().encode("CampaignTransfer") },
  { ...base, type: "MsgVoteResp", reject: true },
  { ...base, type: "MsgSnap", snapshot },
  { ...base, type: "MsgHeartbeat", commit: 7, context: new Uint8Array(8).fill(1) },
  { ...base, type: "MsgHeartbeatResp", context: new Uint8Array(8).fill(1) },
  { ...base, type: "MsgTimeoutNow" },
  { ...base, type: "MsgReadIndex", term: 0, entries: [entry(0, 0, "who asks")] },
  { ...base, type: "MsgReadIndexResp", index: 7, entries: [entry(0, 0, "")] },
  { ...base, type: "MsgPreVote", term: Number.MAX_SAFE_INTEGER, from: 0xffff_ffff_ffff_fffdn },
  { ...base, type: "MsgPreVoteResp" },
];

describe("isPeerMessage", () => {
  test("holds for exactly the types in the table of well-formed messages", () => {
    const peers = WELL_FORMED.map((message) => message.type);
    expect(MESSAGE_TYPES.filter(isPeerMessage).toSorted()).toEqual(peers.toSorted());
  });

  test.each<MessageType>(["MsgHup", "MsgProp", "MsgStorageAppendResp", "MsgTransferLeader", "MsgForgetLeader"])(
    "not for %s",
    (type) => expect(isPeerMessage(type)).toBe(false),
  );
});

describe("encodeMessage and decodeMessage", () => {
  test.each(WELL_FORMED.map((message) => [message.type, message] as const))("%s survives", (_type, message) => {
    expect(decodeMessage(encodeMessage(message))).toEqual(message);
  });

  test("decoded bytes do not alias the input", () => {
    const bytes = encodeMessage({ ...base, entries: [entry(1, 1, "abc")] });
    const decoded = decodeMessage(bytes);
    bytes.fill(0);
    expect(decoded.entries[0]).toEqual(entry(1, 1, "abc"));
  });

  test("a view into a larger buffer is read from its own start", () => {
    const bytes = encodeMessage(base);
    const larger = new Uint8Array(bytes.length + 20).fill(0xee);
    larger.set(bytes, 7);
    expect(decodeMessage(larger.subarray(7, 7 + bytes.length))).toEqual(base);
  });

  test.each(MESSAGE_TYPES.filter((type) => !isPeerMessage(type)))("%s is refused on both sides", (type) => {
    expect(() => encodeMessage({ ...base, type })).toThrow(InvalidArgumentError);
    const bytes = encodeMessage(base);
    bytes[1] = MESSAGE_TYPES.indexOf(type);
    expect(() => decodeMessage(bytes)).toThrow(InvalidMessageError);
  });
});

const MALFORMED: readonly (readonly [string, InboundMessage])[] = [
  ["no sender", { ...base, from: 0n }],
  ["the append thread as sender", { ...base, from: 0xffff_ffff_ffff_ffffn }],
  ["the apply thread as addressee", { ...base, to: 0xffff_ffff_ffff_fffen }],
  ["no term", { ...base, term: 0 }],
  ["a read request with a term", { ...base, type: "MsgReadIndex", entries: [entry(0, 0)] }],
  ["a vote field", { ...base, vote: 1n }],
  ["a snapshot in an append", { ...base, snapshot }],
  ["MsgSnap without a snapshot", { ...base, type: "MsgSnap" }],
  ["an empty snapshot", { ...base, type: "MsgSnap", snapshot: { ...snapshot, index: 0 } }],
  ["a snapshot from the future", { ...base, type: "MsgSnap", snapshot: { ...snapshot, term: 4 } }],
  ["a snapshot without voters", { ...base, type: "MsgSnap", snapshot: { ...snapshot, confState: EMPTY_CONF } }],
  [
    "a voter twice",
    { ...base, type: "MsgSnap", snapshot: { ...snapshot, confState: { ...EMPTY_CONF, voters: [1n, 1n] } } },
  ],
  [
    "a learner that votes",
    { ...base, type: "MsgSnap", snapshot: { ...snapshot, confState: { ...EMPTY_CONF, voters: [1n], learners: [1n] } } },
  ],
  [
    "a next learner out of nowhere",
    {
      ...base,
      type: "MsgSnap",
      snapshot: { ...snapshot, confState: { ...EMPTY_CONF, voters: [1n], learnersNext: [2n] } },
    },
  ],
  [
    "autoLeave without a joint configuration",
    {
      ...base,
      type: "MsgSnap",
      snapshot: { ...snapshot, confState: { ...EMPTY_CONF, voters: [1n], autoLeave: true } },
    },
  ],
  ["entries in a heartbeat", { ...base, type: "MsgHeartbeat", entries: [entry(1, 1)] }],
  ["a heartbeat context of seven bytes", { ...base, type: "MsgHeartbeatResp", context: new Uint8Array(7) }],
  ["entries in a vote", { ...base, type: "MsgVote", entries: [entry(1, 1)] }],
  ["a read without its context", { ...base, type: "MsgReadIndexResp" }],
  ["two contexts", { ...base, type: "MsgReadIndexResp", entries: [entry(0, 0), entry(0, 0)] }],
  ["a read about a real entry", { ...base, type: "MsgReadIndexResp", entries: [entry(1, 1)] }],
  ["a context too long", { ...base, context: new Uint8Array(4097) }],
  ["a read context too long", { ...base, type: "MsgReadIndexResp", entries: [entry(0, 0, "x".repeat(4097))] }],
  ["entries that do not follow the anchor", { ...base, logTerm: 1, index: 5, entries: [entry(7, 1)] }],
  ["a gap between entries", { ...base, entries: [entry(1, 1), entry(3, 1)] }],
  ["falling terms", { ...base, entries: [entry(1, 2), entry(2, 1)] }],
  ["an entry older than the anchor", { ...base, logTerm: 2, index: 5, entries: [entry(6, 1)] }],
  ["an entry above the leader's term", { ...base, entries: [entry(1, 4)] }],
  ["an entry without a term", { ...base, entries: [entry(1, 0)] }],
  ["an anchor above the leader's term", { ...base, logTerm: 4, index: 5 }],
  ["an anchor without a term", { ...base, index: 5 }],
  ["a conf change of zero bytes", { ...base, entries: [entry(1, 1, "\0\0", "conf_change")] }],
];

describe("decodeMessage refuses", () => {
  test.each(MALFORMED)("%s", (_name, message) => {
    expect(() => decodeMessage(encodeMessage(message))).toThrow(InvalidMessageError);
  });

  test.each(WELL_FORMED.map((message) => [message.type, encodeMessage(message)] as const))(
    "every shorter and longer form of %s",
    (_type, bytes) => {
      for (let length = 0; length < bytes.length; length += 1) {
        expect(() => decodeMessage(bytes.subarray(0, length))).toThrow(InvalidMessageError);
      }
      const longer = new Uint8Array(bytes.length + 1);
      longer.set(bytes);
      expect(() => decodeMessage(longer)).toThrow(/after the end/);
    },
  );

  test.each([
    ["another version", 0, 2],
    ["an unknown type", 1, MESSAGE_TYPES.length],
    ["unknown flags", 2, 4],
    ["a term of 2^53 or more", 19, 0xff],
    ["an index of 2^53 or more", 36, 0x20],
  ])("%s", (_name, at, value) => {
    const bytes = encodeMessage(base);
    bytes[at] = value;
    expect(() => decodeMessage(bytes)).toThrow(InvalidMessageError);
  });

  test("a count of entries that the bytes cannot hold, before making room for them", () => {
    const bytes = encodeMessage(base);
    bytes.fill(0xff, bytes.length - 4);
    expect(() => decodeMessage(bytes)).toThrow(/count exceeds/);
  });

  test("an unknown entry type and an unknown boolean", () => {
    const withEntry = encodeMessage({ ...base, entries: [entry(1, 1, "")] });
    withEntry[withEntry.length - 5] = 2;
    expect(() => decodeMessage(withEntry)).toThrow(/entry type/);
    const conf = { ...EMPTY_CONF, voters: [1n] };
    const withSnapshot = encodeMessage({ ...base, type: "MsgSnap", snapshot: { ...snapshot, confState: conf } });
    withSnapshot[withSnapshot.length - 25] = 2;
    expect(() => decodeMessage(withSnapshot)).toThrow(/autoLeave/);
  });
});

describe("seeded fuzzing", () => {
  test("damaged bytes decode to a message that encodes to the same bytes, or are refused as such", () => {
    const random = seededRandom(20_261_121);
    const draw = new Uint8Array(4);
    const next = (below: number): number => {
      random(draw);
      return new DataView(draw.buffer).getUint32(0) % below;
    };
    const seen = { accepted: 0, refused: 0 };
    for (let round = 0; round < 20_000; round += 1) {
      const bytes = encodeMessage(WELL_FORMED[next(WELL_FORMED.length)] ?? base);
      for (let edits = 1 + next(3); edits > 0; edits -= 1) bytes[next(bytes.length)] = next(256);
      const outcome = reencode(bytes);
      expect(["refused", bytes]).toContainEqual(outcome);
      seen[outcome === "refused" ? "refused" : "accepted"] += 1;
    }
    expect(seen.accepted).toBeGreaterThan(1_000);
    expect(seen.refused).toBeGreaterThan(5_000);
  });
});

function reencode(bytes: Uint8Array): Uint8Array | "refused" {
  try {
    return encodeMessage(decodeMessage(bytes));
  } catch (error) {
    if (error instanceof InvalidMessageError) return "refused";
    throw error;
  }
}
