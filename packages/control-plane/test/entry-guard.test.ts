import { beforeAll, beforeEach, describe, expect, test } from "@jest/globals";
import { type Command, LIMITS, RELEASE_RULES, decodeEntry, encodeEntry } from "@event-anchoring/ledger";
import { NEXT_RULES } from "@event-anchoring/testkit/records";
import { type ConfChange, type Entry, RaftEngine, type RawNode } from "raft-ts";
import { EntryGuard } from "../src/raft/entry-guard.ts";

const NOW_MS = 1_700_000_000_000;
const DAY_MS = 24 * 60 * 60_000;
const MARK: Command = { kind: "mark_certify_point" };

let node: RawNode;
let isOutgrown: boolean | null;
let lastAcceptedMs: number;
let guard: EntryGuard;

beforeAll(async () => {
  const engine = await RaftEngine.load();
  const confState = { voters: [1n], votersOutgoing: [], learners: [], learnersNext: [], autoLeave: false };
  const hardState = { term: 0, vote: 0n, commit: 0 };
  const initial = { hardState, confState, snapshot: null, entries: [], applied: 0 };
  node = engine.createNode({ id: 1n, initial, random: (bytes) => bytes.fill(1) });
});

beforeEach(() => {
  isOutgrown = false;
  lastAcceptedMs = NOW_MS;
  guard = new EntryGuard({
    node,
    read: (payload) => decodeEntry(payload, RELEASE_RULES),
    rulesKnown: RELEASE_RULES.max,
    isOutgrown: () => isOutgrown,
    wallMs: () => NOW_MS,
    lastAcceptedMs: () => lastAcceptedMs,
  });
});

function payloadOf(commands: readonly Command[], acceptedMs = NOW_MS, version = 1): Uint8Array {
  const groups = commands.map((command, at) => ({
    id: { node: 1n, incarnation: 1, counter: at },
    notAfter: 50_000,
    commands: [command],
  }));
  return encodeEntry({ version, certify: true, acceptedMs, certificates: [], groups });
}

function faultOf(payload: Uint8Array, type: Entry["type"] = "normal"): ReturnType<EntryGuard["faultOf"]> {
  return guard.faultOf({ index: 7, term: 2, type, payload }, "b");
}

/** As a leader's engine encodes it. */
function changeOf(change: Partial<ConfChange>): Uint8Array {
  node.campaign();
  for (let rounds = 0; rounds < 4; rounds++) settleNode();
  const { index } = node.proposeConfChange({
    transition: "auto",
    changes: [{ type: "add_learner", id: 2n }],
    context: new Uint8Array(4),
    ...change,
  });
  const entry = settleNode().find((each) => each.index === index);
  if (entry === undefined) throw new Error("the change was not appended");
  node.applyConfChange(null);
  return entry.payload;
}

/** Does the chores of a node alone; what it has appended. */
function settleNode(): Entry[] {
  const appended: Entry[] = [];
  while (node.hasReady()) {
    const { append, apply } = node.ready();
    appended.push(...(append?.entries ?? []));
    if (append !== null && append.entries.length > 0) node.mirrorAppend(append.entries);
    node.stepResponses([...(append?.responses ?? []), ...(apply?.responses ?? [])]);
  }
  return appended;
}

describe("what a leader may add to the log", () => {
  test.each<[string, () => Uint8Array]>([
    ["the empty entry that opens its term", () => new Uint8Array()],
    ["commands", () => payloadOf([MARK, MARK])],
    ["rules that this program knows", () => payloadOf([{ kind: "raise_rules", rules: RELEASE_RULES.max }])],
    ["a stamp of yesterday", () => payloadOf([MARK], NOW_MS - DAY_MS)],
    ["a stamp of a clock that is ahead", () => payloadOf([MARK], NOW_MS + DAY_MS)],
  ])("%s", (_what, payload) => {
    expect(faultOf(payload())).toBeNull();
  });

  test("a membership change that this build's leaders propose", () => {
    expect(faultOf(changeOf({}), "conf_change")).toBeNull();
  });

  test("and the end of a joint one, which says nothing", () => {
    expect(faultOf(new Uint8Array(), "conf_change")).toBeNull();
  });
});

describe("what no leader adds to the log", () => {
  test.each<[string, () => Uint8Array]>([
    ["bytes that are no entry", () => Uint8Array.of(1, 1, 0)],
    ["an entry with something behind it", () => Uint8Array.of(...payloadOf([MARK]), 0)],
    ["an entry with less than it says", () => payloadOf([MARK]).slice(0, -1)],
    ["more bytes than an entry has", () => new Uint8Array(LIMITS.entryBytesMax + 1).fill(1)],
  ])("%s", (_what, payload) => {
    expect(faultOf(payload())).toMatchObject({ kind: "offence", code: "entry_malformed" });
  });

  test("more commands than an entry has, in groups that are each within their bounds", () => {
    const commands = Array.from({ length: 600 }, () => MARK);
    const groups = [1, 2].map((counter) => ({ id: { node: 1n, incarnation: 1, counter }, notAfter: 9, commands }));
    const payload = encodeEntry({ version: 1, certify: true, acceptedMs: NOW_MS, certificates: [], groups });
    expect(faultOf(payload)).toMatchObject({ kind: "offence", code: "entry_malformed" });
  });

  test("leaves that are not to be certified", () => {
    const groups = [{ id: { node: 1n, incarnation: 1, counter: 1 }, notAfter: 9, commands: [MARK] }];
    const payload = encodeEntry({ version: 1, certify: false, acceptedMs: NOW_MS, certificates: [], groups });
    expect(faultOf(payload)).toMatchObject({ kind: "offence", code: "entry_malformed" });
  });

  test("a membership change that cannot be read, or leaves the group between two memberships", () => {
    expect(faultOf(Uint8Array.of(9, 9, 9), "conf_change")).toMatchObject({ kind: "offence" });
    const changes: ConfChange["changes"] = [{ type: "add_learner", id: 3n }];
    expect(faultOf(changeOf({ transition: "explicit", changes }), "conf_change")).toMatchObject({ kind: "offence" });
  });
});

describe("what a newer program adds to the log", () => {
  const newer: readonly [string, () => Uint8Array, string][] = [
    ["an entry of a version that is not known here", () => newerEntry(), "entry_version_unknown"],
    ["higher rules", () => payloadOf([{ kind: "raise_rules", rules: NEXT_RULES.max }]), "rules_unknown"],
  ];

  function newerEntry(): Uint8Array {
    const payload = payloadOf([MARK]);
    payload[0] = NEXT_RULES.of(NEXT_RULES.max).entryVersion + 1;
    return payload;
  }

  test.each(newer)("%s: is a lie where the others know no more", (_what, payload, code) => {
    expect(faultOf(payload())).toMatchObject({ kind: "offence", code });
  });

  test.each(newer)("%s: is refused by name where the others know more", (_what, payload, code) => {
    isOutgrown = true;
    expect(faultOf(payload())).toMatchObject({ kind: "outgrown", code });
  });

  test.each(newer)("%s: is not taken where nobody else can be asked", (_what, payload, code) => {
    isOutgrown = null;
    expect(faultOf(payload())).toMatchObject({ kind: "unexplained", code });
  });
});

test("time that neither this clock nor the ledger has come near is not taken", () => {
  const future = payloadOf([MARK], NOW_MS + DAY_MS + 1);
  expect(faultOf(future)).toMatchObject({ kind: "unexplained", code: "entry_from_the_future" });
  // A node whose clock is behind goes by the ledger.
  lastAcceptedMs = NOW_MS + 1;
  expect(faultOf(future)).toBeNull();
});
