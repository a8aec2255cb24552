import { beforeEach, describe, expect, test } from "@jest/globals";
import type { Hello } from "@event-anchoring/control-contract";
import { RULES_FIRST, type RuleTable } from "@event-anchoring/ledger";
import type { TrustRoot } from "@event-anchoring/protocol";
import { NEXT_RULES } from "@event-anchoring/testkit/records";
import type { Submission } from "../src/proposals/proposals.ts";
import { RulesKeeper } from "../src/session/rules-keeper.ts";
import { StepClock, quietLogger } from "./doubles.ts";

let clock: StepClock;
let state: { rules: number; ruleTable: RuleTable };
let nodes: { nodeId: string; status: string }[];
let connected: Set<string>;
let submitted: Submission[];
let hasGenesis: boolean;

beforeEach(() => {
  clock = new StepClock();
  state = { rules: RULES_FIRST, ruleTable: NEXT_RULES };
  nodes = ["a", "b", "c"].map((nodeId) => ({ nodeId, status: "active" }));
  connected = new Set(["b", "c"]);
  submitted = [];
  hasGenesis = true;
});

function keeper(rulesHeldAt: number | null = null): RulesKeeper {
  return new RulesKeeper({
    environment: { clock, logger: quietLogger },
    state,
    selfNodeId: "a",
    rulesHeldAt,
    trustRoot: () => (hasGenesis ? ({ nodes } as unknown as TrustRoot) : null),
    isConnected: (nodeId) => connected.has(nodeId),
    submit: (submission) => submitted.push(submission),
  });
}

function say(rules: RulesKeeper, nodeId: string, rulesMax: number): void {
  rules.onHello({ nodeId, rulesMax } as Hello);
}

/** What was proposed since the last look. */
function proposedBy(rules: RulesKeeper): readonly unknown[] {
  const before = submitted.length;
  rules.look();
  return submitted.slice(before).map(({ command }) => command);
}

describe("raising the rules", () => {
  test("happens when every node has said that it knows them", () => {
    const rules = keeper();
    say(rules, "b", NEXT_RULES.max);
    expect(proposedBy(rules)).toEqual([]);
    say(rules, "c", NEXT_RULES.max + 5);
    expect(proposedBy(rules)).toEqual([{ kind: "raise_rules", rules: NEXT_RULES.max }]);
    expect(rules.heldBackBy()).toEqual([]);
  });

  test.each<[string, () => void, RulesKeeper["heldBackBy"] extends () => infer Holders ? Holders : never]>([
    ["a node that knows less", () => {}, [{ nodeId: "c", rulesMax: RULES_FIRST }]],
    ["a node that is away", () => connected.delete("c"), [{ nodeId: "c", rulesMax: null }]],
    [
      "a learner that knows less",
      () => nodes.forEach((node) => (node.status = node.nodeId === "c" ? "learner" : "active")),
      [{ nodeId: "c", rulesMax: RULES_FIRST }],
    ],
    [
      "a node that never said hello",
      () => {
        nodes.push({ nodeId: "d", status: "active" });
        connected.add("d");
      },
      [
        { nodeId: "c", rulesMax: RULES_FIRST },
        { nodeId: "d", rulesMax: null },
      ],
    ],
  ])("waits for %s", (_, change, holders) => {
    const rules = keeper();
    say(rules, "b", NEXT_RULES.max);
    say(rules, "c", RULES_FIRST);
    change();
    expect(proposedBy(rules)).toEqual([]);
    expect(rules.heldBackBy()).toEqual(holders);
  });

  test.each(["retired", "distrusted"])("waits for no node that is %s", (status) => {
    const rules = keeper();
    say(rules, "b", NEXT_RULES.max);
    nodes[2] = { nodeId: "c", status };
    expect(proposedBy(rules)).toHaveLength(1);
  });

  test("waits for this node where its settings say so, and it tells the others", () => {
    const rules = keeper(RULES_FIRST);
    say(rules, "b", NEXT_RULES.max);
    say(rules, "c", NEXT_RULES.max);
    expect(proposedBy(rules)).toEqual([]);
    expect(rules.rulesMax).toBe(RULES_FIRST);
    expect(rules.heldBackBy()).toEqual([{ nodeId: "a", rulesMax: RULES_FIRST }]);
    expect([keeper(0).rulesMax, keeper(NEXT_RULES.max + 9).rulesMax, keeper().rulesMax]).toEqual([
      1,
      NEXT_RULES.max,
      NEXT_RULES.max,
    ]);
  });

  test("a node that comes back as another program counts as what it then says", () => {
    const rules = keeper();
    say(rules, "b", NEXT_RULES.max);
    say(rules, "c", NEXT_RULES.max);
    say(rules, "c", RULES_FIRST);
    expect(proposedBy(rules)).toEqual([]);
  });

  test("is not proposed twice at a time, nor for long, nor once it is done, nor before genesis", () => {
    const rules = keeper();
    say(rules, "b", NEXT_RULES.max);
    say(rules, "c", NEXT_RULES.max);
    hasGenesis = false;
    expect(proposedBy(rules)).toEqual([]);
    hasGenesis = true;
    expect(proposedBy(rules)).toHaveLength(1);
    expect(proposedBy(rules)).toHaveLength(0);
    const [first] = submitted;
    expect(first).toMatchObject({ deadlineMs: clock.monotonicMs() + 1000 });
    first?.respond({ kind: "refused", code: "no_leader", detail: "" });
    expect(proposedBy(rules)).toHaveLength(1);
    submitted.at(-1)?.respond({ kind: "decided", finality: "certified", outcome: { kind: "applied" } });
    state.rules = NEXT_RULES.max;
    expect(proposedBy(rules)).toHaveLength(0);
  });
});

describe("a program that the group has outgrown", () => {
  const MORE = NEXT_RULES.max + 1;

  test("is one that knows less than every other node that is connected, the leader aside", () => {
    const rules = keeper();
    expect(rules.isOutgrown("b")).toBeNull();
    say(rules, "b", MORE);
    expect(rules.isOutgrown("b")).toBeNull();
    say(rules, "c", NEXT_RULES.max);
    expect(rules.isOutgrown("b")).toBe(false);
    say(rules, "c", MORE);
    expect(rules.isOutgrown("b")).toBe(true);
    connected.delete("c");
    expect(rules.isOutgrown("b")).toBeNull();
  });

  test("takes a leader's word where there is nobody else", () => {
    nodes = nodes.filter(({ nodeId }) => nodeId !== "c");
    expect(keeper().isOutgrown("b")).toBe(true);
  });
});
