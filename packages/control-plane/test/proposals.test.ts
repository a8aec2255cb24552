import { beforeEach, describe, expect, test } from "@jest/globals";
import {
  type Command,
  type CommandOutcome,
  type EntryDecision,
  type LeafWrite,
  type ProposalGroup,
  LIMITS,
  decodeEntry,
  decodeGroup,
  encodeEntry,
  encodeCommand,
  encodeGroup,
} from "@event-anchoring/ledger";
import { toAnchorId, toOriginFingerprint } from "@event-anchoring/protocol";
import type { QueuedGroup } from "../src/proposals/leader-queue.ts";
import { Proposals, type Submission, type SubmissionResult } from "../src/proposals/proposals.ts";
import { StepClock, quietLogger, settle } from "./doubles.ts";
import { eventCommand } from "./commands.ts";

const ORIGIN = toOriginFingerprint(new Uint8Array(32).fill(3));
const SELF = { node: 11n, incarnation: 4 };

let clock: StepClock;
let leader: string | null;
let isReachable: boolean;
let sent: { to: string; groups: readonly QueuedGroup[] }[];
let covered: (() => void)[];
let proposals: Proposals;
/** How often something else was decided under an id of this node's. */
let others: number;

beforeEach(() => {
  clock = new StepClock();
  leader = "a";
  isReachable = true;
  sent = [];
  covered = [];
  others = 0;
  proposals = new Proposals({
    clock,
    logger: quietLogger,
    onOtherDecided: () => (others += 1),
    self: SELF,
    commitIndex: () => 100,
    leader: () => leader,
    sendTo: (to, groups) => {
      if (isReachable) sent.push({ to, groups });
      return isReachable;
    },
    whenCovered: (_origin, _treeSize, call) => {
      covered.push(call);
      return () => (covered = covered.filter((each) => each !== call));
    },
  });
});

function submit(options: Partial<Submission> = {}): SubmissionResult[] {
  const results: SubmissionResult[] = [];
  proposals.submit({
    command: eventCommand(ORIGIN, 1),
    answer: "certified",
    deadlineMs: clock.monotonicMs() + 1000,
    respond: (result) => results.push(result),
    ...options,
  });
  return results;
}

/** Submits one event, and lets the turn end in which it is sent. */
async function submitted(options: Partial<Submission> = {}): Promise<SubmissionResult[]> {
  const results = submit(options);
  await settle();
  return results;
}

function lastGroup(): QueuedGroup {
  return sent.at(-1)?.groups[0] as QueuedGroup;
}

function accepted(): CommandOutcome {
  const leaf = { originFingerprint: ORIGIN, depth: 5, anchorId: toAnchorId(new Uint8Array(32)) } as LeafWrite;
  return { kind: "records", refused: false, records: [{ status: "accepted", leaf, clientEventSalt: null }] };
}

function rejected(): CommandOutcome {
  return { kind: "rejected", rejection: { code: "origin_unknown", detail: "", pointer: "" } };
}

/** The entry that holds a group is decided here. */
function decide(group: QueuedGroup, outcome: EntryDecision["outcomes"][number]): void {
  const payload = encodeEntry({ version: 1, certify: true, acceptedMs: 1, certificates: [], groups: [group.bytes] });
  proposals.onDecided(decodeEntry(payload), { outcomes: [outcome] } as unknown as EntryDecision, payload);
}

function sweepAfter(ms: number): void {
  clock.advance(ms);
  proposals.sweep();
}

describe("a submission", () => {
  test("is answered once its entry is decided and covered", async () => {
    const results = await submitted();
    decide(lastGroup(), { status: "decided", commands: [accepted()] });
    expect(results).toEqual([]);
    covered[0]?.();
    expect(results).toEqual([{ kind: "decided", finality: "certified", outcome: accepted() }]);
    expect(proposals.openCount).toBe(0);
  });

  test("that asks for no more is answered when it is decided", async () => {
    const results = await submitted({ answer: "committed" });
    decide(lastGroup(), { status: "decided", commands: [accepted()] });
    expect(results).toMatchObject([{ finality: "committed" }]);
  });

  test("that appended nothing waits for no certificate", async () => {
    const results = await submitted();
    decide(lastGroup(), { status: "decided", commands: [rejected()] });
    expect(results).toMatchObject([{ finality: "certified", outcome: { kind: "rejected" } }]);
  });

  test("decided, not covered in time, is known to be committed", async () => {
    const results = await submitted();
    decide(lastGroup(), { status: "decided", commands: [accepted()] });
    sweepAfter(1000);
    expect(results).toMatchObject([{ kind: "decided", finality: "committed" }]);
    expect(covered).toEqual([]);
  });

  test("sent, not decided in time, has an unknown outcome", async () => {
    const results = await submitted();
    sweepAfter(1000);
    expect(results).toMatchObject([{ kind: "refused", code: "outcome_unknown" }]);
    decide(lastGroup(), { status: "decided", commands: [accepted()] });
    expect(results).toHaveLength(1);
    expect(covered).toEqual([]);
  });

  test("that no leader ever had is answered no_leader", async () => {
    leader = null;
    const results = await submitted();
    sweepAfter(1000);
    expect(results).toMatchObject([{ kind: "refused", code: "no_leader" }]);
  });

  test("whose group has others with more time may yet leave with them: its outcome is unknown", async () => {
    leader = null;
    const patient = submit({ deadlineMs: clock.monotonicMs() + 5000 });
    const results = await submitted();
    sweepAfter(1000);
    expect(results).toMatchObject([{ kind: "refused", code: "outcome_unknown" }]);
    leader = "a";
    proposals.onLeaderReachable();
    decide(lastGroup(), { status: "decided", commands: [rejected(), accepted()] });
    expect(results).toHaveLength(1);
    expect(patient).toMatchObject([{ kind: "decided", outcome: { kind: "rejected" } }]);
  });

  test("whose group ends with it, or with the session, was never proposed: nothing was anchored", async () => {
    leader = null;
    const first = submit();
    const second = await submitted();
    sweepAfter(1000);
    expect([first, second]).toMatchObject([[{ code: "no_leader" }], [{ code: "no_leader" }]]);
    const patient = submit({ deadlineMs: clock.monotonicMs() + 5000 });
    const third = await submitted();
    proposals.close();
    expect([patient, third]).toMatchObject([[{ code: "no_leader" }], [{ code: "no_leader" }]]);
  });

  test("shares no group with others of its turn that one entry could not hold", async () => {
    const event = eventCommand(ORIGIN, 1);
    if (event.kind !== "record_events") throw new Error("not an event");
    const command = { ...event, events: Array.from({ length: 600 }, () => event.events[0] as never) };
    submit({ command });
    await submitted({ command });
    expect(sent.flatMap(({ groups }) => groups).map(({ weight }) => weight.commands)).toEqual([600, 600]);
  });

  test("goes to the leader in the bytes that it came in, which are those that are weighed", async () => {
    const command = eventCommand(ORIGIN, 1);
    const bytes = encodeCommand(eventCommand(ORIGIN, 2));
    await submitted({ command, bytes });
    expect(decodeGroup(lastGroup().bytes).commands).toEqual([eventCommand(ORIGIN, 2)]);
    const big = new Uint8Array(LIMITS.entryBytesMax);
    expect(await submitted({ command, bytes: big })).toMatchObject([{ kind: "refused", code: "too_large" }]);
  });

  test("shares a group with all of its turn, and no group with another turn", async () => {
    submit();
    submit();
    await settle();
    await submitted();
    expect(sent.map(({ groups }) => groups.map(({ weight }) => weight.commands))).toEqual([[2], [1]]);
  });

  test("that makes no leaves for a client shares its group with nothing", async () => {
    const revocation: Command = { kind: "revoke_api_key", keyId: new Uint8Array(16) };
    submit();
    submit();
    submit({ command: { kind: "trust_root", document: "a document" } });
    submit({ command: revocation });
    submit({ command: revocation });
    submit({ command: { kind: "mark_certify_point" } });
    submit();
    await settle();
    expect(sent[0]?.groups.map(({ purpose, weight }) => [purpose, weight.commands])).toEqual([
      ["client", 2],
      ["group", 1],
      ["operator", 1],
      ["operator", 1],
      ["group", 1],
      ["client", 1],
    ]);
    expect(sent[0]?.groups.map(({ isAlone }) => isAlone)).toEqual([false, true, false, false, false, false]);
  });
});

describe("what was decided under the id of a group", () => {
  /** The same id, and what a leader has made of the rest. */
  function otherThan(sent: QueuedGroup, changes: Partial<ProposalGroup>): QueuedGroup {
    return { ...sent, bytes: encodeGroup({ ...decodeGroup(sent.bytes), ...changes }) };
  }

  test.each<[string, Partial<ProposalGroup>, EntryDecision["outcomes"][number]]>([
    ["another event", { commands: [eventCommand(ORIGIN, 2)] }, { status: "decided", commands: [accepted()] }],
    ["a command more", { commands: [eventCommand(ORIGIN, 1), eventCommand(ORIGIN, 1)] }, { status: "expired" }],
    ["a shorter life", { notAfter: 1 }, { status: "expired" }],
    ["another command, that was refused", { commands: [{ kind: "mark_certify_point" }] }, { status: "duplicate" }],
  ])("is not taken for it: %s", async (_what, changes, outcome) => {
    const results = await submitted();
    const sent = lastGroup();
    decide(otherThan(sent, changes), outcome);
    expect(results).toMatchObject([{ kind: "refused", code: "outcome_unknown" }]);
    expect([others, covered.length, proposals.openCount]).toEqual([1, 0, 0]);
    decide(sent, { status: "decided", commands: [accepted()] });
    expect([results.length, others]).toEqual([1, 1]);
  });

  test("of another node, or another life of this one, is nobody's business here", async () => {
    const results = await submitted();
    const sent = lastGroup();
    decide(otherThan(sent, { id: { ...sent.id, incarnation: 99 } }), { status: "decided", commands: [accepted()] });
    decide(otherThan(sent, { id: { ...sent.id, node: 99n } }), { status: "decided", commands: [accepted()] });
    expect([results.length, others]).toEqual([0, 0]);
  });
});

describe("leaders come and go", () => {
  test("a waiting group goes to the first leader there is", async () => {
    leader = null;
    await submitted();
    expect(sent).toEqual([]);
    leader = "b";
    proposals.onLeaderReachable();
    expect(sent.map(({ to }) => to)).toEqual(["b"]);
  });

  test("a group that could not leave goes with the next sweep", async () => {
    isReachable = false;
    const results = await submitted();
    isReachable = true;
    sweepAfter(25);
    expect(sent).toHaveLength(1);
    sweepAfter(25);
    expect(sent).toHaveLength(1);
    expect(results).toEqual([]);
  });

  test("a sent group goes to the new leader under the same id", async () => {
    await submitted();
    leader = "b";
    proposals.onLeaderReachable();
    expect(sent.map(({ to }) => to)).toEqual(["a", "b"]);
    expect(sent[1]?.groups[0]?.id).toEqual(sent[0]?.groups[0]?.id);
    expect(sent[1]?.groups[0]?.bytes).toEqual(sent[0]?.groups[0]?.bytes);
  });

  test("what is decided is not sent again", async () => {
    await submitted();
    decide(lastGroup(), { status: "decided", commands: [accepted()] });
    proposals.onLeaderReachable();
    expect(sent).toHaveLength(1);
  });

  test("everything open leaves in frames of bounded size", async () => {
    leader = null;
    const event = eventCommand(ORIGIN, 1, "x".repeat(100));
    if (event.kind !== "record_events") throw new Error("not an event");
    const events = Array.from({ length: 1000 }, () => event.events[0] as never);
    for (let at = 0; at < 12; at++) await submitted({ command: { ...event, events } });
    leader = "b";
    proposals.onLeaderReachable();
    const bytes = sent.map(({ groups }) => groups.reduce((sum, group) => sum + group.bytes.length, 0));
    expect(sent.flatMap(({ groups }) => groups)).toHaveLength(12);
    expect(bytes.length).toBeGreaterThan(1);
    expect(Math.max(...bytes)).toBeLessThanOrEqual(1024 * 1024);
  });

  test("a second copy decided as a duplicate changes nothing", async () => {
    const results = await submitted();
    const first = lastGroup();
    leader = "b";
    proposals.onLeaderReachable();
    decide(first, { status: "duplicate" });
    expect(results).toEqual([]);
    decide(first, { status: "decided", commands: [accepted()] });
    decide(first, { status: "duplicate" });
    covered[0]?.();
    expect(results).toMatchObject([{ kind: "decided", finality: "certified" }]);
  });

  test("a group of an earlier incarnation, or of another node, answers nobody", async () => {
    const results = await submitted();
    const group = lastGroup();
    const payload = encodeEntry({ version: 1, certify: true, acceptedMs: 1, certificates: [], groups: [group.bytes] });
    const entry = decodeEntry(payload);
    for (const id of [
      { ...group.id, incarnation: 3 },
      { ...group.id, node: 12n },
    ]) {
      const groups = [{ ...(entry.groups[0] as (typeof entry.groups)[number]), id }];
      const outcomes = [{ status: "decided", commands: [accepted()] }];
      proposals.onDecided({ ...entry, groups }, { outcomes } as unknown as EntryDecision, payload);
    }
    expect(results).toEqual([]);
    expect(covered).toEqual([]);
  });
});

describe("a leader's refusal", () => {
  const refuse = (from: string, code: "overloaded" | "no_leader"): void =>
    proposals.onRefused(from, [lastGroup().id], code, "");

  test("of the only copy is the answer", async () => {
    const results = await submitted();
    refuse("a", "overloaded");
    expect(results).toMatchObject([{ kind: "refused", code: "overloaded" }]);
  });

  test("of a second copy says nothing: the first may be in the log", async () => {
    const results = await submitted();
    leader = "b";
    proposals.onLeaderReachable();
    refuse("b", "overloaded");
    expect(results).toEqual([]);
    sweepAfter(1000);
    expect(results).toMatchObject([{ code: "outcome_unknown" }]);
  });

  test("no_leader leaves the group for the next leader, and a refusal there is definite again", async () => {
    const results = await submitted();
    refuse("a", "no_leader");
    expect(results).toEqual([]);
    leader = "b";
    proposals.onLeaderReachable();
    refuse("b", "overloaded");
    expect(results).toMatchObject([{ code: "overloaded" }]);
  });

  test("no_leader, with the same leader known again, is followed by another try", async () => {
    await submitted();
    refuse("a", "no_leader");
    sweepAfter(25);
    expect(sent.map(({ to }) => to)).toEqual(["a", "a"]);
  });

  test.each(["overloaded", "no_leader"] as const)("%s by a node that was sent nothing is ignored", async (code) => {
    const results = await submitted();
    refuse("c", code);
    sweepAfter(999);
    expect(results).toEqual([]);
    sweepAfter(1);
    expect(results).toMatchObject([{ code: "outcome_unknown" }]);
  });

  test("no_leader said twice takes back one copy only", async () => {
    const results = await submitted();
    leader = "b";
    proposals.onLeaderReachable();
    refuse("a", "no_leader");
    refuse("a", "no_leader");
    sweepAfter(1000);
    expect(results).toMatchObject([{ code: "outcome_unknown" }]);
  });

  test("given within the call that sends is taken as well", async () => {
    const reentrant: Proposals = new Proposals({
      clock,
      logger: quietLogger,
      onOtherDecided: () => {},
      self: SELF,
      commitIndex: () => 0,
      leader: () => "a",
      sendTo: (_to, groups) => {
        reentrant.onRefused(
          "a",
          groups.map(({ id }) => id),
          "overloaded",
          "",
        );
        return true;
      },
      whenCovered: () => () => {},
    });
    const results: SubmissionResult[] = [];
    reentrant.submit({
      command: eventCommand(ORIGIN, 1),
      answer: "certified",
      deadlineMs: 1e9,
      respond: (result) => results.push(result),
    });
    await settle();
    expect(results).toMatchObject([{ code: "overloaded" }]);
  });
});

describe("closing", () => {
  test("answers everybody with what is known", async () => {
    const unknown = await submitted();
    const decided = await submitted();
    decide(lastGroup(), { status: "decided", commands: [accepted()] });
    leader = null;
    const waiting = await submitted();
    const ofThisTurn = submit();
    proposals.close();
    expect([unknown, decided, waiting, ofThisTurn].map(([result]) => result)).toMatchObject([
      { kind: "refused", code: "outcome_unknown" },
      { kind: "decided", finality: "committed" },
      { kind: "refused", code: "no_leader" },
      { kind: "refused", code: "no_leader" },
    ]);
    await settle();
    expect(sent).toHaveLength(2);
  });

  test("refuses at once whatever comes after it", async () => {
    proposals.close();
    expect(submit()).toMatchObject([{ kind: "refused", code: "unavailable" }]);
    expect(proposals.openCount).toBe(0);
  });
});
