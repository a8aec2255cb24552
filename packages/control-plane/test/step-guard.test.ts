import { describe, expect, test } from "@jest/globals";
import {
  type BasicStatus,
  type ConfState,
  type Entry,
  type InboundMessage,
  type Message,
  type MessageType,
  RaftEngine,
  type RawNode,
  decodeMessage,
  encodeMessage,
} from "raft-ts";
import type { EntryFault } from "../src/raft/entry-guard.ts";
import { type StepGuardView, judgeStep } from "../src/raft/step-guard.ts";
import { seededRandom } from "./doubles.ts";

const SELF = 1n;
const PEER = 2n;
const MEMBERS: ConfState = {
  voters: [SELF, PEER, 3n],
  votersOutgoing: [],
  learners: [],
  learnersNext: [],
  autoLeave: false,
};
const STATUS: BasicStatus = {
  id: SELF,
  term: 5,
  vote: 0n,
  commit: 10,
  applied: 10,
  lead: PEER,
  role: "follower",
  leadTransferee: 0n,
  firstIndex: 1,
  lastIndex: 12,
};

/** By the first byte of a payload. */
const FAULTS = new Map<number, EntryFault>([
  [7, { kind: "offence", code: "entry_malformed", detail: "bytes" }],
  [8, { kind: "outgrown", code: "rules_unknown", detail: "rules 2" }],
  [9, { kind: "unexplained", code: "entry_from_the_future", detail: "stamp" }],
]);

function view(changes: Partial<BasicStatus> = {}, confState = MEMBERS): StepGuardView {
  return {
    status: { ...STATUS, ...changes },
    confState,
    termMax: 1000,
    termAt: (index) => (index <= 12 ? 4 : null),
    faultOf: (offered) => FAULTS.get(offered.payload[0] ?? 0) ?? null,
  };
}

function message(type: MessageType, changes: Partial<InboundMessage> = {}): InboundMessage {
  return {
    type,
    from: PEER,
    to: SELF,
    term: 5,
    logTerm: 4,
    index: 12,
    commit: 0,
    vote: 0n,
    reject: false,
    rejectHint: 0,
    context: new Uint8Array(),
    entries: [],
    snapshot: null,
    ...changes,
  };
}

function entry(index: number, term: number, content = 1): Entry {
  return { index, term, type: "normal", payload: Uint8Array.of(content) };
}

const leading = { role: "leader", lead: SELF } as const;
const strangers: ConfState = { ...MEMBERS, voters: [SELF, 3n] };

describe("the step guard", () => {
  test.each<[string, InboundMessage, StepGuardView]>([
    ["an append at the end of the log", message("MsgApp", { entries: [entry(13, 5)] }), view()],
    [
      "an append that replaces what is not committed",
      message("MsgApp", { index: 10, entries: [entry(11, 5)] }),
      view(),
    ],
    ["an append that repeats what is committed", message("MsgApp", { index: 8, entries: [entry(9, 4)] }), view()],
    ["a high term at a node that is new", message("MsgHeartbeat", { term: 1000 }), view({ term: 0, lastIndex: 0 })],
    ["a heartbeat up to the last index", message("MsgHeartbeat", { commit: 12 }), view()],
    ["a late heartbeat beyond the last index", message("MsgHeartbeat", { term: 4, commit: 99 }), view()],
    ["a late append over what is committed", message("MsgApp", { term: 4, index: 8, entries: [entry(9, 3)] }), view()],
    ["an acknowledgement of the last index", message("MsgAppResp", { index: 12 }), view(leading)],
    ["a rejection beyond the last index", message("MsgAppResp", { index: 40, reject: true }), view(leading)],
    ["an answer of a later term", message("MsgAppResp", { term: 6, index: 40 }), view(leading)],
    ["an acknowledgement to a node that does not lead", message("MsgAppResp", { index: 40 }), view()],
    ["a vote request of a member", message("MsgVote"), view()],
    ["an append of a leader that is no member yet", message("MsgApp", { entries: [] }), view({}, strangers)],
    ["a read request, which has no term", message("MsgReadIndex", { term: 0 }), view(leading)],
  ])("lets through %s", (_what, given, state) => {
    expect(judgeStep(given, PEER, state)).toEqual({ kind: "step" });
  });

  test.each<[string, InboundMessage, StepGuardView]>([
    ["a message in another node's name", message("MsgApp", { from: 3n }), view()],
    ["a message to another node", message("MsgApp", { to: 3n }), view()],
    ["a late message in another node's name", message("MsgApp", { from: 3n, term: 1 }), view()],
    ["a proposal", message("MsgProp"), view(leading)],
    ["a local call for an election", message("MsgHup", { term: 0 }), view()],
    ["a local message about storage", message("MsgStorageAppendResp"), view()],
    ["a local report", message("MsgUnreachable"), view(leading)],
    ["a vote request of a stranger", message("MsgVote"), view({}, strangers)],
    ["a stranger's acknowledgement", message("MsgAppResp"), view(leading, strangers)],
    ["a stranger's read request", message("MsgReadIndex", { term: 0 }), view(leading, strangers)],
    ["entries with a gap", message("MsgApp", { entries: [entry(13, 5), entry(15, 5)] }), view()],
    ["entries that do not follow their index", message("MsgApp", { entries: [entry(14, 5)] }), view()],
  ])("refuses %s", (_what, given, state) => {
    expect(judgeStep(given, PEER, state).kind).toBe("refuse");
  });

  test.each<[string, InboundMessage, StepGuardView]>([
    ["a heartbeat", message("MsgHeartbeat", { term: 1001 }), view()],
    ["a vote request", message("MsgVote", { term: 2 ** 53 - 2 }), view()],
    ["a pre-vote", message("MsgPreVote", { term: 2 ** 53 - 1 }), view()],
    ["an answer", message("MsgAppResp", { term: 1001, reject: true }), view(leading)],
    ["a stranger's heartbeat", message("MsgHeartbeat", { term: 1001 }), view({}, strangers)],
  ])("drops %s of a term that nothing explains", (_what, given, state) => {
    expect(judgeStep(given, PEER, state)).toMatchObject({ kind: "offence", offence: "term_too_high" });
  });

  test("lets through the own term and those below, however high it is", () => {
    const state = view({ term: 5000 });
    expect(judgeStep(message("MsgHeartbeat", { term: 5000 }), PEER, state).kind).toBe("step");
    expect(judgeStep(message("MsgHeartbeat", { term: 1001 }), PEER, state).kind).toBe("step");
    expect(judgeStep(message("MsgHeartbeat", { term: 5001 }), PEER, state).kind).toBe("offence");
  });

  test.each<[string, InboundMessage, StepGuardView]>([
    ["a heartbeat that commits what this log lacks", message("MsgHeartbeat", { commit: 13 }), view()],
    ["another term at a committed index", message("MsgApp", { index: 8, entries: [entry(9, 3)] }), view()],
    ["a later term at a committed index", message("MsgApp", { index: 9, entries: [entry(10, 5)] }), view()],
    ["an acknowledgement of what was never sent", message("MsgAppResp", { index: 13 }), view(leading)],
  ])("drops %s", (_what, given, state) => {
    expect(judgeStep(given, PEER, state)).toMatchObject({ kind: "offence", offence: "impossible_message" });
  });
});

describe("an entry that could not be decided", () => {
  const append = (...entries: Entry[]): InboundMessage =>
    message("MsgApp", { index: (entries[0]?.index ?? 1) - 1, entries });

  test("is dropped, and its sender answers for it", () => {
    expect(judgeStep(append(entry(13, 5), entry(14, 5, 7)), PEER, view())).toMatchObject({
      kind: "offence",
      offence: "unreadable_entry",
      code: "entry_malformed",
    });
  });

  test("halts a program that the group has outgrown, before it is acknowledged", () => {
    expect(judgeStep(append(entry(13, 5, 8)), PEER, view())).toMatchObject({ kind: "halt", code: "rules_unknown" });
  });

  test("is left alone where nobody can say who is wrong", () => {
    expect(judgeStep(append(entry(13, 5, 9)), PEER, view()).kind).toBe("refuse");
  });

  test("is not looked at where this log holds it, or the message is late", () => {
    expect(judgeStep(append(entry(11, 4, 7), entry(12, 4, 7)), PEER, view()).kind).toBe("step");
    expect(judgeStep(append(entry(9, 4, 7)), PEER, view()).kind).toBe("step");
    const late = message("MsgApp", { term: 4, index: 12, entries: [entry(13, 4, 7)] });
    expect(judgeStep(late, PEER, view()).kind).toBe("step");
  });

  test("is looked at behind one that this log lacks, whatever term it has here", () => {
    expect(judgeStep(append(entry(11, 5), entry(12, 4, 7)), PEER, view()).kind).toBe("offence");
  });
});

/** Three engines whose stores are perfect, and whose messages a test may bend. */
class Trio {
  readonly nodes = new Map<bigint, RawNode>();
  readonly #wire: Message[] = [];
  readonly #payloads = new Map<string, Uint8Array>();

  constructor(engine: RaftEngine, seed: number) {
    for (const id of MEMBERS.voters) {
      const hardState = { term: 0, vote: 0n, commit: 0 };
      const initial = { hardState, confState: MEMBERS, snapshot: null, entries: [], applied: 0 };
      this.nodes.set(id, engine.createNode({ id, initial, random: seededRandom(seed + Number(id)) }));
    }
  }

  drain(node: RawNode): void {
    while (node.hasReady()) {
      const { append, apply, messages } = node.ready();
      this.#wire.push(...messages);
      const { entries = [], responses = [] } = append ?? {};
      for (const { index, term, payload } of entries) this.#payloads.set(`${index}/${term}`, payload);
      if (entries.length > 0) node.mirrorAppend(entries);
      for (const each of [...responses, ...(apply?.responses ?? [])]) {
        if (each.to === node.id) node.stepResponses([each]);
        else this.#wire.push(each);
      }
    }
  }

  /** All messages on the wire, as they would arrive. */
  take(): InboundMessage[] {
    return this.#wire.splice(0).map((each) => {
      const entries = each.entries.map(({ index, term, type }) => {
        return { index, term, type, payload: this.#payloads.get(`${index}/${term}`) ?? new Uint8Array() };
      });
      return decodeMessage(encodeMessage({ ...each, entries }));
    });
  }

  free(): void {
    for (const node of this.nodes.values()) node.free();
  }
}

/** Turns numbers of a message a little or a lot; the result may be nonsense. */
function bent(given: InboundMessage, pick: () => number): InboundMessage {
  const shift = (value: number): number => {
    const choice = pick() % 6;
    return choice < 3 ? value : Math.max(0, choice === 5 ? pick() * 1000 : value + (pick() % 5) - 2);
  };
  return {
    ...given,
    term: given.term === 0 ? 0 : Math.max(1, given.term + (pick() % 8 === 0 ? 1 : 0)),
    logTerm: shift(given.logTerm),
    index: shift(given.index),
    commit: shift(given.commit),
    reject: pick() % 4 === 0 ? !given.reject : given.reject,
    rejectHint: shift(given.rejectHint),
    entries: given.entries.map((each) => ({ ...each, term: Math.max(1, shift(each.term)) })),
  };
}

describe("whatever the step guard lets through", () => {
  test("never makes the engine panic, however a peer bends its messages", async () => {
    const engine = await RaftEngine.load();
    let stepped = 0;
    for (let seed = 1; seed <= 60; seed++) {
      const random = seededRandom(seed * 7919);
      const byte = new Uint8Array(1);
      const pick = (): number => {
        random(byte);
        return byte[0] ?? 0;
      };
      const trio = new Trio(engine, seed * 31);
      for (let round = 0; round < 60; round++) {
        for (const node of trio.nodes.values()) {
          node.tick();
          if (node.basicStatus().role === "leader" && pick() % 2 === 0) node.propose(Uint8Array.of(round + 1));
          trio.drain(node);
        }
        for (const real of trio.take()) {
          const node = trio.nodes.get(real.to) as RawNode;
          // One liar among three: the messages of node 3 are bent now and then.
          const given = real.from === 3n && pick() % 4 === 0 ? bent(real, pick) : real;
          const termAt = (at: number): number | null => node.termAt(at);
          const status = node.basicStatus();
          const state = { status, confState: MEMBERS, termMax: 2 ** 20, termAt, faultOf: () => null };
          if (!isWellFormed(given) || judgeStep(given, given.from, state).kind !== "step") continue;
          node.step(given);
          stepped += 1;
          trio.drain(node);
        }
      }
      trio.free();
    }
    expect(stepped).toBeGreaterThan(5000);
  }, 30_000);
});

/** What cannot be encoded never arrives. */
function isWellFormed(given: InboundMessage): boolean {
  try {
    decodeMessage(encodeMessage(given));
    return true;
  } catch {
    return false;
  }
}
