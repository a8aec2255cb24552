import { describe, expect, test } from "@jest/globals";
import type { Restoration } from "@event-anchoring/store";
import { RestoredGroup } from "../src/membership/restored-group.ts";
import { ceremonyOf } from "./ceremony.ts";

const { document } = ceremonyOf(["a", "b", "c"]);

function restoration(change: Partial<Restoration> = {}): Restoration {
  return {
    scope: "cluster",
    nodeId: "a",
    backupSha256: new Uint8Array(32),
    point: { index: 70, term: 3 },
    effect: new Uint8Array(32).fill(1),
    trustRoots: [document],
    ...change,
  };
}

const other = (raftIndex: number, effect: number) => ({
  nodeId: "b",
  restoredFrom: { raftIndex, effect: new Uint8Array(32).fill(effect) },
});

describe("a group that was restored", () => {
  test("waits for each of its versions, and for nothing once the last one is applied", () => {
    let applied = 0;
    const group = new RestoredGroup(restoration(), () => applied);
    expect(group.pending()).toEqual({ version: 1, document });
    expect(group.promised()?.nodes.map(({ nodeId }) => nodeId)).toEqual(["a", "b", "c"]);
    applied = 1;
    expect(group.pending()).toBeNull();
    expect(group.promised()).toBeNull();
  });

  test("takes a node that began from the same backup, and says from which it began itself", () => {
    const group = new RestoredGroup(restoration(), () => 1);
    expect(group.judge(other(70, 1))).toBeNull();
    expect(group.mark).toEqual({ restoredFrom: { raftIndex: 70, effect: new Uint8Array(32).fill(1) } });
  });

  test.each([
    ["ends elsewhere", other(71, 1)],
    ["ends before it", other(69, 1)],
    ["ends there, and says something else", other(70, 2)],
  ])("refuses a node whose backup %s", (_, hello) => {
    const verdict = new RestoredGroup(restoration(), () => 1).judge(hello);
    expect(verdict).toMatchObject({ accepted: false, code: "other_backup" });
    expect(verdict).toHaveProperty("detail", expect.stringMatching(/b was restored .* begin from the same/u));
  });

  test.each([
    ["there was no backup", null],
    ["the backup was of one node that joins", restoration({ scope: "node" })],
  ])("is like any other if %s", (_, given) => {
    const group = new RestoredGroup(given, () => 0);
    expect([group.pending(), group.promised(), group.mark]).toEqual([null, null, {}]);
    expect(group.judge(other(3, 3))).toBeNull();
  });
});
