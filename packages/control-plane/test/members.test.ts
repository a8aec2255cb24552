import { beforeAll, describe, expect, test } from "@jest/globals";
import { type ConfChange, type ConfState, RaftEngine, type RawNode } from "raft-ts";
import { changeInForce, membershipContext } from "../src/membership/members.ts";

const SELF = 1n;
const OTHER = 2n;
const CONF_STATE: ConfState = {
  voters: [SELF],
  votersOutgoing: [],
  learners: [],
  learnersNext: [],
  autoLeave: false,
};

let node: RawNode;

beforeAll(async () => {
  const engine = await RaftEngine.load();
  const hardState = { term: 0, vote: 0n, commit: 0 };
  const initial = { hardState, confState: CONF_STATE, snapshot: null, entries: [], applied: 0 };
  node = engine.createNode({ id: SELF, initial, random: (bytes) => bytes.fill(1) });
  node.campaign();
  const { append } = node.ready();
  if (append === null) throw new Error("a candidate appends its term");
  if (append.hardState !== null) node.mirrorHardState(append.hardState);
  node.stepResponses(append.responses);
  const opened = node.ready().append;
  if (opened === null) throw new Error("a leader opens its term");
  node.mirrorAppend(opened.entries);
  node.stepResponses(opened.responses);
});

/** A committed change, as it comes out of the log. */
function payloadOf(change: Partial<ConfChange>): Uint8Array {
  node.proposeConfChange({
    transition: "auto",
    changes: [{ type: "add_learner", id: OTHER }],
    context: membershipContext(7),
    ...change,
  });
  for (let round = 0; round < 5; round++) {
    const { append, apply } = node.ready();
    const found = append?.entries.find(({ type }) => type === "conf_change")?.payload;
    if (append !== null) node.mirrorAppend(append.entries);
    node.stepResponses(append?.responses ?? []);
    node.stepResponses(apply?.responses ?? []);
    if (found === undefined) continue;
    while (node.hasReady()) {
      const rest = node.ready();
      node.stepResponses(rest.append?.responses ?? []);
      node.stepResponses(rest.apply?.responses ?? []);
    }
    return found;
  }
  throw new Error("no membership change came out of the engine");
}

describe("a committed membership change", () => {
  test("that follows from the trust root in force is put into force", () => {
    const payload = payloadOf({});
    expect(changeInForce(node, payload, 7)).toBe(payload);
  });

  test.each<[string, number]>([
    ["an older version", 8],
    ["a newer version", 6],
    ["a version whose low byte is the same", 7 + 256],
  ])("that follows from %s is refused", (_what, inForce) => {
    expect(changeInForce(node, payloadOf({}), inForce)).toBeNull();
  });

  test.each<[string, Uint8Array]>([
    ["none", new Uint8Array(0)],
    ["one of three bytes", Uint8Array.of(0, 0, 7)],
    ["one of five bytes", Uint8Array.of(0, 0, 0, 7, 0)],
  ])("without a version is refused: %s", (_what, context) => {
    expect(changeInForce(node, payloadOf({ context }), 7)).toBeNull();
  });

  test("of the engine's own, which leaves a joint configuration, is put into force", () => {
    const payload = new Uint8Array(0);
    expect(changeInForce(node, payload, 7)).toBe(payload);
  });
});
