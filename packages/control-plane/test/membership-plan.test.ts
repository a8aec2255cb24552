import { describe, expect, test } from "@jest/globals";
import type { ConfChange, ConfChangeSingle, ConfState } from "raft-ts";
import { type GroupView, type ListedNode, planMembership, refusalOf } from "../src/membership/membership-plan.ts";

const EMPTY: ConfState = { voters: [], votersOutgoing: [], learners: [], learnersNext: [], autoLeave: false };
const [A, B, C, D, E]: readonly [bigint, bigint, bigint, bigint, bigint] = [1n, 2n, 3n, 4n, 5n];
const NAMES = new Map<bigint, string>([
  [A, "a"],
  [B, "b"],
  [C, "c"],
  [D, "d"],
  [E, "e"],
]);

/** `a:active c:retired` */
function nodesOf(text: string): readonly ListedNode[] {
  return text.split(" ").map((word) => {
    const [nodeId = "", status = ""] = word.split(":");
    const [raftId = 0n] = [...NAMES].find(([, name]) => name === nodeId) ?? [];
    return { nodeId, raftId, status: status as ListedNode["status"] };
  });
}

function conf(voters: readonly bigint[], learners: readonly bigint[] = []): ConfState {
  return { ...EMPTY, voters, learners };
}

function view(nodes: string, confState: ConfState, more: Partial<GroupView> = {}): GroupView {
  const always = (): boolean => true;
  return { self: A, confState, nodes: nodesOf(nodes), hasCaughtUp: always, isAlive: always, ...more };
}

const add = (id: bigint): ConfChangeSingle => ({ type: "add_node", id });
const learn = (id: bigint): ConfChangeSingle => ({ type: "add_learner", id });
const remove = (id: bigint): ConfChangeSingle => ({ type: "remove_node", id });
const changeOf = (...changes: readonly ConfChangeSingle[]): ConfChange => ({
  transition: "auto",
  changes,
  context: new Uint8Array(4),
});

describe("the next step of the group", () => {
  const NEVER = { hasCaughtUp: (): boolean => false };
  const dead = (...ids: readonly bigint[]): Partial<GroupView> => ({ isAlive: (id) => !ids.includes(id) });

  test.each<[string, GroupView, readonly ConfChangeSingle[]]>([
    ["a new learner is added", view("a:active b:active c:learner", conf([A, B])), [learn(C)]],
    ["a new active node begins as a learner", view("a:active b:active c:active", conf([A, B])), [learn(C)]],
    ["a learner that has followed votes", view("a:active b:active c:active", conf([A, B], [C])), [add(C)]],
    ["of two newcomers one comes first", view("a:active b:learner c:learner", conf([A])), [learn(B)]],
    [
      "a dead node goes as its successor begins to follow",
      view("a:active b:active c:retired d:active", conf([A, B, C]), dead(C)),
      [remove(C), learn(D)],
    ],
    [
      "a living node goes as its successor votes",
      view("a:active b:active c:retired d:active", conf([A, B, C], [D])),
      [remove(C), add(D)],
    ],
    [
      "a living node stays while its successor only begins to follow",
      view("a:active b:active c:retired d:active", conf([A, B, C])),
      [learn(D)],
    ],
    ["a living node without a successor goes", view("a:active b:active c:retired", conf([A, B, C])), [remove(C)]],
    ["a retired learner goes", view("a:active b:active c:retired", conf([A, B], [C])), [remove(C)]],
    [
      "a distrusted node goes at once, alive or not",
      view("a:active b:active c:distrusted d:active", conf([A, B, C]), NEVER),
      [remove(C), learn(D)],
    ],
  ])("%s", (_what, group, changes) => {
    expect(planMembership(group)).toMatchObject({ kind: "change", changes });
  });

  test.each<[string, GroupView, object]>([
    ["nothing, when the group is as it should be", view("a:active b:learner", conf([A], [B])), { kind: "none" }],
    ["nothing for a node that has gone", view("a:active b:retired", conf([A])), { kind: "none" }],
    [
      "nothing while a joint change is on its way",
      view("a:active b:retired", { ...EMPTY, voters: [A], votersOutgoing: [A, B], autoLeave: true }),
      { kind: "wait" },
    ],
    [
      "nothing while a learner lags",
      view("a:active b:active", conf([A], [B]), NEVER),
      { kind: "wait", reason: expect.stringContaining("b must follow") },
    ],
    [
      "nothing while the successor of a living node lags",
      view("a:active b:retired c:active", conf([A, B], [C]), NEVER),
      { kind: "wait", reason: expect.stringContaining("then b may leave") },
    ],
    [
      "a transfer, before the leader itself goes",
      view("a:retired b:active c:active", conf([A, B, C])),
      {
        kind: "transfer",
      },
    ],
    [
      "a transfer, before a leader that is to go takes anybody in",
      view("a:retired b:distrusted c:active d:active", conf([A, B, C])),
      { kind: "transfer" },
    ],
    [
      "no transfer to anybody who is silent",
      view("a:retired b:active c:active", conf([A, B], [C]), { ...NEVER, isAlive: (id) => id !== B }),
      { kind: "wait" },
    ],
  ])("%s", (_what, group, step) => {
    expect(planMembership(group)).toMatchObject(step);
  });

  test("leads, whatever is asked for, to the group that the trust root names, and is never refused", () => {
    const statuses = ["learner", "active", "retired", "distrusted"] as const;
    for (let code = 0; code < 4 ** 4; code++) {
      // a is active always: somebody must be.
      const nodes = nodesOf(
        ["a:active", ...["b", "c", "d", "e"].map((id, at) => `${id}:${statuses[Math.floor(code / 4 ** at) % 4]}`)].join(
          " ",
        ),
      );
      let confState = conf([A, B, C]);
      for (let steps = 0; ; steps++) {
        expect(steps).toBeLessThan(12);
        const step = planMembership({ ...view("a:active", confState), nodes });
        if (step.kind === "none") break;
        if (step.kind !== "change") throw new Error(`${step.kind} for ${JSON.stringify(nodes.map((n) => n.status))}`);
        expect(refusalOf(changeOf(...step.changes), nodes, confState)).toBeNull();
        confState = applied(confState, step.changes);
      }
      const named = (status: string): bigint[] => nodes.filter((node) => node.status === status).map((n) => n.raftId);
      // b and c voted before: a voter does not become a learner.
      const stay = [B, C].filter((id) => named("learner").includes(id));
      expect(new Set(confState.voters)).toEqual(new Set([...named("active"), ...stay]));
      expect(new Set(confState.learners)).toEqual(new Set(named("learner").filter((id) => !stay.includes(id))));
    }
  });

  function applied({ voters, learners }: ConfState, changes: readonly ConfChangeSingle[]): ConfState {
    let [nextVoters, nextLearners] = [voters, learners];
    for (const { type, id } of changes) {
      nextVoters = nextVoters.filter((each) => each !== id);
      nextLearners = nextLearners.filter((each) => each !== id);
      if (type === "add_node") nextVoters = [...nextVoters, id];
      if (type === "add_learner") nextLearners = [...nextLearners, id];
    }
    return conf(nextVoters, nextLearners);
  }
});

describe("a committed change that does not fit", () => {
  const NODES = nodesOf("a:active b:active c:retired d:learner e:distrusted");

  test.each<[string, ConfChange, ConfState, RegExp]>([
    ["an active node is removed", changeOf(remove(B)), conf([A, B]), /b is active/],
    ["a learner is removed", changeOf(remove(D)), conf([A, B], [D]), /d is learner/],
    ["a node that is no member is removed", changeOf(remove(C)), conf([A, B]), /c is no member/],
    ["a learner is given a vote", changeOf(add(D)), conf([A, B], [D]), /d is learner/],
    ["a retired node is given a vote", changeOf(add(C)), conf([A, B], [C]), /c is retired/],
    ["a distrusted node begins to follow", changeOf(learn(E)), conf([A, B]), /e is distrusted/],
    ["a voter is given a vote", changeOf(add(B)), conf([A, B]), /b is no learner/],
    ["a stranger is given a vote", changeOf(add(99n)), conf([A, B]), /lists no node 63/],
    ["a node that never followed is given a vote", changeOf(add(B)), conf([A]), /b is no learner/],
    ["a voter becomes a learner", changeOf(learn(B)), conf([A, B]), /b is a member/],
    ["a node is named twice", changeOf(remove(C), learn(C)), conf([A, C]), /named twice/],
    ["nobody is left", changeOf(remove(C)), conf([C]), /no voter/],
    ["nothing is to be left", changeOf(), conf([A, B]), /no joint/],
  ])("is refused: %s", (_what, change, confState, reason) => {
    expect(refusalOf(change, NODES, confState)).toMatch(reason);
  });

  test("is refused while a joint change is not finished", () => {
    const joint = { ...EMPTY, voters: [A, B], votersOutgoing: [A, B, C], autoLeave: true };
    expect(refusalOf(changeOf(learn(D)), NODES, joint)).toMatch(/not finished/);
    expect(refusalOf(changeOf(), NODES, joint)).toBeNull();
  });
});
