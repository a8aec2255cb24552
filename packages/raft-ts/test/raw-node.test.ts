import { beforeAll, describe, expect, test } from "@jest/globals";
import {
  EngineDeadError,
  InvalidArgumentError,
  InvalidMessageError,
  NodeFreedError,
  RaftEngine,
  RaftPanicError,
  StepRefusedError,
} from "../src/index.ts";
import type { EntryMeta, InboundMessage, InitialState, Message, RawNode, Ready } from "../src/index.ts";
import { Cluster, EMPTY_CONF, NO_BYTES, seededRandom } from "./support/cluster.ts";
import { describeReady } from "./support/describe.ts";

const voters = { ...EMPTY_CONF, voters: [1n, 2n, 3n] };
const alone = { ...EMPTY_CONF, voters: [1n] };
const fresh: InitialState = {
  hardState: { term: 0, vote: 0n, commit: 0 },
  confState: voters,
  snapshot: null,
  entries: [],
  applied: 0,
};
const heartbeat: InboundMessage = {
  type: "MsgHeartbeat",
  from: 2n,
  to: 1n,
  term: 1,
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

function normals(from: number, count: number, term = 1): EntryMeta[] {
  return Array.from({ length: count }, (_, i) => ({ index: from + i, term, type: "normal", payloadBytes: 10 }));
}

let engine: RaftEngine;
beforeAll(async () => {
  engine = await RaftEngine.load();
});

function create(initial: Partial<InitialState> = {}, id = 1n): RawNode {
  return engine.createNode({ id, initial: { ...fresh, ...initial }, random: seededRandom(Number(id)) });
}

function threeNodes(seed: number): Cluster {
  const cluster = new Cluster(engine);
  for (const id of voters.voters) cluster.add(id, voters, seed + Number(id));
  return cluster;
}

/** A node that leads alone, with nothing left to do. */
function leader(): RawNode {
  const node = create({ confState: alone });
  node.campaign();
  settle(node);
  return node;
}

function settle(node: RawNode): Ready[] {
  const taken: Ready[] = [];
  while (node.hasReady()) {
    const ready = node.ready();
    taken.push(ready);
    if (ready.append !== null) node.mirrorAppend(ready.append.entries);
    node.stepResponses(ready.append?.responses ?? []);
    node.stepResponses(ready.apply?.responses ?? []);
  }
  return taken;
}

describe("createNode refuses what no node has stored", () => {
  const snapshot = { index: 5, term: 1, confState: voters };
  const hardState = { term: 2, vote: 0n, commit: 0 };
  const cases: readonly (readonly [string, Partial<InitialState>])[] = [
    ["entries that start late", { hardState, entries: normals(2, 1) }],
    ["a gap", { hardState, entries: [...normals(1, 1), ...normals(3, 1)] }],
    ["falling terms", { hardState, entries: [...normals(1, 1, 2), ...normals(2, 1, 1)] }],
    ["an entry above the term", { hardState, entries: normals(1, 1, 3) }],
    ["an entry without a term", { hardState, entries: normals(1, 1, 0) }],
    ["a commit index beyond the log", { hardState: { ...hardState, commit: 2 }, entries: normals(1, 1) }],
    ["a commit index below the compaction point", { hardState: { ...hardState, commit: 4 }, snapshot, applied: 5 }],
    ["an applied index beyond the log", { hardState, entries: normals(1, 1), applied: 2 }],
    ["an applied index below the compaction point", { hardState: { ...hardState, commit: 5 }, snapshot, applied: 4 }],
    ["a membership that contradicts itself", { confState: { ...alone, learners: [1n] } }],
    [
      "a payload size that is no size",
      { hardState, entries: [{ index: 1, term: 1, type: "normal", payloadBytes: -1 }] },
    ],
    ["a term that is no number", { hardState: { ...hardState, term: Number.NaN } }],
  ];
  test.each(cases)("%s", (_name, initial) => expect(() => create(initial)).toThrow(InvalidArgumentError));

  test.each([0n, 0xffff_ffff_ffff_ffffn, 0xffff_ffff_ffff_fffen])("%s as an id", (id) => {
    expect(() => create({}, id)).toThrow(InvalidArgumentError);
  });

  test("an election timeout that is no longer than a heartbeat", () => {
    const options = { id: 1n, initial: fresh, random: seededRandom(1) };
    expect(() => engine.createNode({ ...options, electionTicks: 3, heartbeatTicks: 3 })).toThrow(InvalidArgumentError);
    expect(() => engine.createNode({ ...options, heartbeatTicks: 0 })).toThrow(InvalidArgumentError);
    expect(() => engine.createNode({ ...options, electionTicks: 10.5 })).toThrow(InvalidArgumentError);
  });
});

describe("createNode continues", () => {
  test("from a log of 200,000 entries, in well under a second", () => {
    const entries = normals(1, 200_000);
    const from = performance.now();
    const node = create({ hardState: { term: 1, vote: 0n, commit: 200_000 }, entries, applied: 200_000 });
    expect(performance.now() - from).toBeLessThan(2_000);
    expect(node.basicStatus()).toMatchObject({ firstIndex: 1, lastIndex: 200_000, commit: 200_000, applied: 200_000 });
    node.free();
  });

  test("with the commit index raised to what was applied", () => {
    const node = create({ hardState: { term: 1, vote: 0n, commit: 1 }, entries: normals(1, 3), applied: 2 });
    expect(node.basicStatus()).toMatchObject({ commit: 2, applied: 2 });
    expect(node.hasReady()).toBe(false);
  });

  test("by handing out what is committed and not applied, conf changes with the bytes they came with", () => {
    const change: EntryMeta = { index: 2, term: 1, type: "conf_change", payloadBytes: 2, payload: Uint8Array.of(8, 1) };
    const { payload: _absent, ...sizeOnly } = { ...change, index: 3 };
    const entries = [
      ...normals(1, 1),
      change,
      sizeOnly,
      { index: 4, term: 1, type: "normal", payloadBytes: 0 } as const,
    ];
    const node = create({ hardState: { term: 1, vote: 0n, commit: 4 }, entries });
    expect(node.ready().apply?.entries).toEqual(entries);
  });

  test("after a compaction point, with the terms of a run cut in two", () => {
    const node = create({
      hardState: { term: 3, vote: 0n, commit: 7 },
      snapshot: { index: 5, term: 2, confState: voters },
      entries: [...normals(6, 2, 2), ...normals(8, 2, 3)],
      applied: 7,
    });
    expect([4, 5, 6, 7, 8, 9, 10].map((index) => node.termAt(index))).toEqual([null, 2, 2, 2, 3, 3, null]);
    node.mirrorCompact(7, voters);
    expect([6, 7, 8, 9].map((index) => node.termAt(index))).toEqual([null, 2, 3, 3]);
    expect(node.basicStatus()).toMatchObject({ firstIndex: 8, lastIndex: 9 });
    node.mirrorCompact(7, voters);
    expect(() => node.mirrorCompact(8, voters)).toThrow(InvalidArgumentError);
    expect(() => node.mirrorCompact(6, voters)).toThrow(InvalidArgumentError);
  });
});

describe("propose", () => {
  test("returns where the entry stands, durable or not, and its term is known", () => {
    const node = leader();
    const ids = ["a", "b", "c"].map((text) => node.propose(new TextEncoder().encode(text)));
    expect(ids).toEqual([2, 3, 4].map((index) => ({ index, term: 1 })));
    expect(node.basicStatus().lastIndex).toBe(4);
    expect([1, 4, 5].map((index) => node.termAt(index))).toEqual([1, 1, null]);
    const entries = settle(node).flatMap((ready) => ready.append?.entries ?? []);
    expect(entries.map((entry) => new TextDecoder().decode(entry.payload))).toEqual(["a", "b", "c"]);
  });

  test("hands the same bytes back, not a copy: payloads never enter the engine", () => {
    const node = leader();
    const payload = new Uint8Array(3 * 1024 * 1024);
    const before = engine.memoryBytes;
    node.propose(payload);
    expect(node.ready().append?.entries[0]?.payload).toBe(payload);
    expect(engine.memoryBytes - before).toBeLessThan(payload.length);
  });

  test("sizes are exact on the way out of storage, though the engine holds a filler byte per KiB", () => {
    const node = leader();
    const sizes = [1, 1023, 1024, 1025, 100_000];
    for (const size of sizes) node.propose(new Uint8Array(size));
    const applied = settle(node).flatMap((ready) => ready.apply?.entries ?? []);
    expect(applied.map((entry) => entry.payloadBytes)).toEqual(sizes);
  });

  test("an empty payload is refused", () => expect(() => leader().propose(NO_BYTES)).toThrow(InvalidArgumentError));
});

describe("membership changes", () => {
  test("decode to what was proposed", () => {
    const node = leader();
    const change = {
      transition: "explicit",
      changes: [
        { type: "add_learner", id: 0xffff_ffff_ffff_fff0n },
        { type: "add_node", id: 2n },
        { type: "remove_node", id: 1n },
      ],
      context: Uint8Array.of(1, 2, 3),
    } as const;
    node.proposeConfChange(change);
    const entry = node.ready().append?.entries[0];
    expect(entry?.type).toBe("conf_change");
    expect(node.decodeConfChange(entry?.payload ?? NO_BYTES)).toEqual(change);
  });

  test("the empty payload leaves a joint configuration", () => {
    expect(leader().decodeConfChange(NO_BYTES)).toEqual({ transition: "auto", changes: [], context: NO_BYTES });
  });

  test.each([
    ["bytes that are no message", Uint8Array.of(0xff)],
    ["an update, which is never proposed", Uint8Array.of(0x12, 0x04, 0x08, 0x02, 0x10, 0x01)],
    ["an unknown transition", Uint8Array.of(0x08, 0x07)],
  ])("%s do not decode", (_name, payload) => {
    expect(() => leader().decodeConfChange(payload)).toThrow(InvalidMessageError);
  });

  test("a change that cannot be applied ends the node: it would go on with other members than its peers", () => {
    const node = leader();
    expect(() => node.applyConfChange(NO_BYTES)).toThrow(RaftPanicError);
    expect(() => node.confState()).toThrow(/leave a non-joint config/);
  });

  test("zero is no member", () => {
    const change = { transition: "auto", changes: [{ type: "add_node", id: 0n }], context: NO_BYTES } as const;
    expect(() => leader().proposeConfChange(change)).toThrow(InvalidArgumentError);
  });
});

describe("step refuses", () => {
  const cases: readonly (readonly [string, Partial<InboundMessage>])[] = [
    ["a local message", { type: "MsgHup" }],
    ["a storage response in the name of the append thread", { type: "MsgStorageAppendResp", from: 2n ** 64n - 1n }],
    ["a proposal", { type: "MsgProp" }],
    ["what is for another node", { to: 3n }],
    ["what it seems to have sent itself", { from: 1n }],
    ["an index that is no number", { index: 1.5 }],
    ["a negative commit index", { commit: -1 }],
    ["a read request without its context", { type: "MsgReadIndex", term: 0 }],
  ];
  test.each(cases)("%s", (_name, fields) => {
    const node = create();
    expect(() => node.step({ ...heartbeat, ...fields })).toThrow(StepRefusedError);
    node.step(heartbeat);
    expect(node.basicStatus().lead).toBe(2n);
  });

  test("nothing that is merely late: a response from a stranger", () => {
    const node = create();
    node.step({ ...heartbeat, type: "MsgHeartbeatResp", from: 9n });
    expect(node.basicStatus().term).toBe(0);
  });

  test("as a response, what is not one or not its own", () => {
    const node = create();
    const response: Message = { ...heartbeat, type: "MsgAppResp", from: 1n, entries: [] };
    expect(() => node.stepResponses([{ ...response, to: 2n }])).toThrow(InvalidArgumentError);
    expect(() => node.stepResponses([{ ...response, type: "MsgHeartbeat" }])).toThrow(InvalidArgumentError);
  });
});

describe("the storage mirror refuses", () => {
  test("a gap, a place below the compaction point, and terms that fall", () => {
    const node = create();
    expect(() => node.mirrorAppend(normals(2, 1))).toThrow(InvalidArgumentError);
    expect(() => node.mirrorAppend([...normals(1, 1), ...normals(3, 1)])).toThrow(InvalidArgumentError);
    expect(() => node.mirrorAppend([...normals(1, 1, 2), ...normals(2, 1, 1)])).toThrow(InvalidArgumentError);
    node.mirrorSnapshot({ index: 5, term: 1, confState: voters });
    expect(() => node.mirrorAppend(normals(5, 1))).toThrow(InvalidArgumentError);
    expect(() => node.mirrorSnapshot({ index: 0, term: 0, confState: voters })).toThrow(InvalidArgumentError);
  });

  test("nothing that replaces a suffix", () => {
    const node = create();
    node.mirrorAppend(normals(1, 5, 1));
    node.mirrorAppend(normals(3, 1, 2));
    expect([2, 3, 4].map((index) => node.termAt(index))).toEqual([1, 2, null]);
  });
});

describe("the storage mirror", () => {
  test("knows the same terms as a list does, through random appends, replacements and compactions", () => {
    const random = seededRandom(5);
    const draw = new Uint8Array(3);
    const applied = 40;
    for (let life = 0; life < 50; life += 1) {
      // terms[i] is the term of entry i; index 0 and what is compacted away but for the last are null.
      const terms: (number | null)[] = [0, ...Array.from({ length: applied }, (_, i) => 1 + Math.floor(i / 7))];
      const hardState = { term: 9, vote: 0n, commit: applied };
      const node = create({
        hardState,
        entries: terms.slice(1).flatMap((term, i) => normals(i + 1, 1, term ?? 0)),
        applied,
      });
      for (let change = 0; change < 20; change += 1) {
        random(draw);
        const [kind = 0, where = 0, count = 0] = draw;
        if (kind % 2 === 0) {
          const from = applied + 1 + (where % (terms.length - applied));
          terms.splice(from, terms.length, ...Array.from({ length: 1 + (count % 9) }, (_, i) => 9 + change + (i >> 2)));
          node.mirrorAppend(terms.slice(from).flatMap((term, i) => normals(from + i, 1, term ?? 0)));
        } else {
          const base = terms.findIndex((term) => term !== null);
          const to = Math.max(1, base + (where % (applied - base + 1)));
          node.mirrorCompact(to, voters);
          terms.fill(null, 0, to);
        }
        expect(terms.map((_term, index) => node.termAt(index))).toEqual(terms);
        expect(node.basicStatus().lastIndex).toBe(terms.length - 1);
      }
      node.free();
    }
  });
});

describe("a panic", () => {
  test("ends its node alone, names the cause, and repeats it", () => {
    const cluster = threeNodes(40);
    const bystander = leader();
    cluster.member(1n).node.campaign();
    cluster.stabilize();
    const victim = cluster.member(2n).node;
    const forgetful: InboundMessage = { ...heartbeat, from: 1n, to: 2n, commit: 50 };
    const errors = [() => victim.step(forgetful), () => victim.tick(), () => victim.hasReady()].map(thrownBy);
    expect(errors[0]).toBeInstanceOf(RaftPanicError);
    expect(errors[0]).toMatchObject({ code: "raft_panic", engineStack: expect.stringContaining("commitTo") });
    expect(errors[1]).toBe(errors[0]);
    expect(errors[2]).toBe(errors[0]);
    victim.free();
    expect(bystander.propose(Uint8Array.of(1))).toEqual({ index: 2, term: 1 });
    cluster.members.delete(2n);
    cluster.member(1n).node.propose(Uint8Array.of(1));
    cluster.stabilize();
    expect(cluster.member(3n).disk.applied).toBe(2);
  });
});

function thrownBy(call: () => unknown): unknown {
  try {
    call();
  } catch (error) {
    return error;
  }
  throw new Error("nothing was thrown");
}

describe("free", () => {
  test("ends the node, twice if need be", () => {
    const node = create();
    node.free();
    node.free();
    expect(() => node.tick()).toThrow(NodeFreedError);
    expect(() => node.propose(Uint8Array.of(1))).toThrow(NodeFreedError);
    expect(() => node.hasReady()).toThrow(NodeFreedError);
  });

  test("gives memory back: ten thousand nodes in turn fit where a thousand did", async () => {
    const own = await RaftEngine.load();
    const options = { id: 1n, initial: fresh, random: seededRandom(1) };
    for (let i = 0; i < 1_000; i += 1) own.createNode(options).free();
    const after = own.memoryBytes;
    for (let i = 0; i < 9_000; i += 1) own.createNode(options).free();
    expect(own.memoryBytes).toBeLessThanOrEqual(after + 2 ** 21);
  });
});

describe("randomness", () => {
  test("comes from the node's own source, and decides its timeouts", () => {
    const timeouts = [1, 2, 3, 4, 5, 6, 7, 8].map((seed) => {
      const node = engine.createNode({ id: 1n, initial: fresh, random: seededRandom(seed) });
      let ticks = 0;
      while (!node.hasReady()) {
        node.tick();
        ticks += 1;
      }
      return ticks;
    });
    expect(new Set(timeouts).size).toBeGreaterThan(3);
    for (const ticks of timeouts) {
      expect(ticks).toBeGreaterThanOrEqual(10);
      expect(ticks).toBeLessThan(20);
    }
  });

  test("same seeds, same run, byte for byte, whatever else the engine has done", () => {
    const [first, second, other] = [randomLife(7), randomLife(7), randomLife(8)];
    expect(second).toEqual(first);
    expect(other).not.toEqual(first);
    expect(first.length).toBeGreaterThan(1_000);
  });
});

/** Three nodes under random ticks, proposals, losses and delays; every Ready as text. */
function randomLife(seed: number): string[] {
  const cluster = threeNodes(seed);
  const random = seededRandom(seed);
  const draw = new Uint8Array(2);
  const lines: string[] = [];
  for (let step = 0; step < 2_000; step += 1) {
    random(draw);
    const member = cluster.member(BigInt(1 + ((draw[0] ?? 0) % 3)));
    const dice = (draw[1] ?? 0) % 16;
    if (dice < 4) member.node.tick();
    else if (dice === 4) cluster.inboxes.get(member.id)?.splice(0, 1);
    else if (dice === 5 && member.node.basicStatus().role === "leader") member.node.propose(Uint8Array.of(step & 0xff));
    else cluster.turn(member, (ready) => lines.push(...describeReady(ready)));
  }
  for (const member of cluster.members.values())
    lines.push(JSON.stringify(member.disk.entries.map((e) => [...e.payload])));
  return lines;
}

describe("many nodes", () => {
  test("a thousand in one engine: 333 groups elect, commit and apply side by side", () => {
    const groups = Array.from({ length: 333 }, (_, i) => threeNodes(i * 10));
    for (const group of groups) {
      group.member(1n).node.campaign();
      group.stabilize();
      group.member(1n).node.propose(Uint8Array.of(1));
      group.stabilize();
    }
    for (const group of groups) {
      for (const member of group.members.values()) {
        expect(member.disk.applied).toBe(2);
        member.node.free();
      }
    }
  });
});

describe("the engine's end", () => {
  test("a source of randomness that throws takes the engine with it, in words", async () => {
    const own = await RaftEngine.load();
    const random = seededRandom(1);
    const node = own.createNode({ id: 1n, initial: fresh, random });
    const failing = (): void => {
      throw new Error("no entropy");
    };
    const error = thrownBy(() => own.createNode({ id: 2n, initial: fresh, random: failing }));
    expect(error).toBeInstanceOf(EngineDeadError);
    expect(error).toMatchObject({ code: "engine_dead", message: "a source of randomness failed" });
    expect(thrownBy(() => node.tick())).toBe(error);
    expect(thrownBy(() => own.createNode({ id: 3n, initial: fresh, random }))).toBe(error);
    expect(create().basicStatus().term).toBe(0);
  });

  test("so does a logger that throws, and one that calls the engine", async () => {
    for (const isReentrant of [false, true]) {
      const own = await RaftEngine.load();
      const other = own.createNode({ id: 2n, initial: fresh, random: seededRandom(2) });
      const logger = (): void => {
        if (isReentrant) other.tick();
        else throw new Error("no space left on device");
      };
      const options = { id: 1n, initial: fresh, random: seededRandom(1), logger };
      expect(thrownBy(() => own.createNode(options))).toMatchObject({ message: "a logger failed" });
      expect(() => other.tick()).toThrow(EngineDeadError);
    }
  });

  test("log lines reach the logger of their node, with their level", () => {
    const lines: string[] = [];
    const node = engine.createNode({
      id: 1n,
      initial: fresh,
      random: seededRandom(1),
      logger: (level, text) => lines.push(`${level}: ${text}`),
    });
    create().campaign();
    node.campaign();
    expect(lines).toContainEqual("info: 1 became pre-candidate at term 0");
    expect(lines.filter((line) => line.includes("became pre-candidate"))).toHaveLength(1);
  });
});
