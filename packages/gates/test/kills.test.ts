import { describe, expect, test } from "@jest/globals";
import { PROCESS_NEMESES } from "@event-anchoring/testkit/faults";
import { KILLS, unplannedEnds } from "../src/gates/kills.ts";

const ROLES = { leader: "n2", followers: ["n1", "n3"] } as const;
const AGAIN = "next start in 200 ms";

function endsOf(name: string): readonly string[] {
  const found = KILLS.find((kill) => kill.name === name);
  if (found === undefined) throw new Error(`no kill of this name: ${name}`);
  return found.ends(ROLES);
}

test("every fault that kills processes is among the kills, a Postgres alone, and both kinds of a majority", () => {
  const names = KILLS.map(({ name }) => name);
  const faults = PROCESS_NEMESES.map(({ name }) => name).filter((name) => / (is|are) killed$/.test(name));
  expect(names).toEqual(expect.arrayContaining(faults));
  expect(endsOf("a follower's Postgres is killed")).toEqual(["n1 postgres"]);
  expect(endsOf("the leader's Postgres is killed")).toEqual(["n2 postgres"]);
  const processes = (id: string): readonly string[] => [`${id} postgres`, `${id} control_plane`, `${id} api`];
  expect(endsOf("all processes of the leader and of a follower are killed")).toEqual([
    ...processes("n2"),
    ...processes("n1"),
  ]);
  expect(endsOf("all processes of both followers are killed")).toEqual([...processes("n1"), ...processes("n3")]);
  expect(new Set(names).size).toBe(names.length);
});

test("a majority is killed at the same moment: the other follower is another node", async () => {
  const { nemeses = [] } = KILLS.find(({ name }) => name === "all processes of both followers are killed") ?? {};
  const asked: string[] = [];
  const faulty = {
    entry: (id: string) => {
      asked.push(id);
      // What does not run cannot be killed: nothing is, here.
      return { pids: { api: null, control_plane: null, postgres: null } };
    },
  };
  for (const nemesis of nemeses) {
    await expect(nemesis.inject(faulty as never, ROLES)).rejects.toThrow("does not run");
  }
  expect([...new Set(asked)]).toEqual(["n1", "n3"]);
});

describe("an end of a process", () => {
  const ends = endsOf("the leader's Postgres is killed");

  test("that the kill made is planned, once", () => {
    const killed = `n2 postgres: ended with SIGKILL; ${AGAIN}`;
    expect(unplannedEnds([killed], ends)).toEqual([]);
    expect(unplannedEnds([killed, killed], ends)).toEqual([killed]);
    expect(unplannedEnds([killed], endsOf("every process of every node is killed"))).toEqual([killed]);
  });

  test.each([
    `n2 control_plane: ended with code 1 (the database is gone); ${AGAIN}`,
    `n2 postgres: ended with code 1; ${AGAIN}`,
    `n1 postgres: ended with SIGKILL; ${AGAIN}`,
    `n2 api: ended with SIGSEGV; ${AGAIN}`,
    "n2 control_plane: fenced, not started again: peer_remembers_more: a",
  ])("that it did not make is a failure: %s", (said) => {
    expect(unplannedEnds([said], ends)).toEqual([said]);
  });
});
