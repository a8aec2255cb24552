/** Keys change while clients write: root keys, cosigner keys, auth keys; with anchorctl, on a real cluster. */
import { copyFileSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { changeTrustRoot, mustRun, rotateNode, runRoot, settleNode } from "@event-anchoring/gates/anchorctl";
import { ClusterLoad, servedChain, startTestCluster } from "@event-anchoring/testkit/cluster";
import type { Acknowledged } from "@event-anchoring/testkit/clients";
import type { TestCluster } from "@event-anchoring/testkit/cluster";
import { differencesWhenCalm, offlineFailures, renewalFailures, spread } from "./trust-root-steps.ts";

const WRITERS = 4;
const STEP_TIMEOUT_MS = 240_000;

let setup: TestCluster;
let load: ClusterLoad;
let ceremony: string;

beforeAll(async () => {
  setup = await startTestCluster();
  ceremony = join(setup.cluster.root, "nodes", "ceremony");
  mkdirSync(ceremony);
  load = ClusterLoad.start(setup, WRITERS);
  await load.more(20);
}, STEP_TIMEOUT_MS);

afterAll(async () => {
  await load.abandon();
  await setup.erase();
}, STEP_TIMEOUT_MS);

const at = (name: string): string => join(ceremony, name);
const keys = (...names: readonly string[]): { readonly keys: readonly string[] } => ({ keys: names.map(at) });

/** Draws other keys for a node; its new card. */
async function rotated(nodeId: string, names: string): Promise<string> {
  const card = at(`${nodeId}-${names}.card`);
  await rotateNode(setup, nodeId, names, card);
  return card;
}

describe("a cluster whose keys change while events are written", () => {
  test(
    "one root key becomes three, of which two must sign, each on a copy of its own",
    async () => {
      for (const name of ["alice", "bob", "carol"]) {
        await mustRun(setup, ["root", "init", at(name), "--label", name, "--plain"]);
      }
      const added = ["alice", "bob", "carol"].flatMap((name) => ["--add-root-key", at(`${name}.pub`)]);
      const change = [...added, "--remove-root-key", "root-1", "--root-threshold", "2"];
      const proposed = await mustRun(setup, ["root", "propose", "--out", at("v2"), ...change]);
      const copies = ["v2-a", "v2-b", "v2-c"].map(at);
      const [first = "", second = "", third = ""] = copies;
      for (const copy of copies) copyFileSync(at("v2"), copy);
      const sign = (copy: string, key: string): Promise<unknown> =>
        mustRun(setup, ["root", "sign", copy, "--key", key, "--expect", String(proposed["root_thk"])]);
      await sign(first, join(setup.cluster.root, "root-keys", "root-1.seed"));
      await sign(second, at("alice"));
      const early = await runRoot(setup, ["root", "submit", first, second]);
      expect([early.exitCode, early.json["failure"]]).toEqual([2, "signatures_missing"]);
      await sign(third, at("bob"));
      expect(await mustRun(setup, ["root", "submit", ...copies])).toMatchObject({ version: 2, changed: true });
      expect(await mustRun(setup, ["root", "show"])).toMatchObject({ version: 2, root_threshold: 2 });
      await load.more(10);
    },
    STEP_TIMEOUT_MS,
  );

  test(
    "the old root key, and one of two, have no say any more",
    async () => {
      const { root_thk: thk } = await mustRun(setup, ["root", "propose", "--out", at("v3"), "--expires", "300d"]);
      const sign = (key: string) => runRoot(setup, ["root", "sign", at("v3"), "--key", key, "--expect", String(thk)]);
      const old = await sign(join(setup.cluster.root, "root-keys", "root-1.seed"));
      expect([old.exitCode, old.json["failure"]]).toEqual([2, "change_invalid"]);
      expect((await sign(at("carol"))).json).toMatchObject({ complete: false });
      const run = await runRoot(setup, ["root", "submit", at("v3")]);
      expect([run.exitCode, run.json["failure"]]).toEqual([2, "signatures_missing"]);
    },
    STEP_TIMEOUT_MS,
  );

  test(
    "a cosigner key is taken up without a restart, and is what certifies from then on",
    async () => {
      await changeTrustRoot(setup, ["--new-keys", await rotated("n1", "cosigner")], keys("alice", "carol"));
      // With n3 away nothing is certified without n1.
      await setup.cluster.node("n3").killProcesses();
      await load.more(20, STEP_TIMEOUT_MS);
      expect(await settleNode(setup, "n1")).toMatchObject({ version: 3, replaced: ["cosigner"] });
      expect((await servedChain(setup, "n1")).newest.trustRoot.version).toBe(3);
    },
    STEP_TIMEOUT_MS,
  );

  test(
    "a node that slept while all others changed their auth keys finds its way back",
    async () => {
      const cards = [await rotated("n1", "auth"), await rotated("n2", "auth,cosigner")];
      await changeTrustRoot(
        setup,
        cards.flatMap((card) => ["--new-keys", card]),
        keys("bob", "carol"),
      );
      await load.more(10, STEP_TIMEOUT_MS);
      for (const id of ["n1", "n2"]) await settleNode(setup, id);
      // With the new keys alone, so that nobody in the cluster speaks as it did when n3 went to sleep.
      for (const id of ["n1", "n2"]) {
        await setup.cluster.node(id).stopProcesses();
        setup.cluster.node(id).startProcesses();
      }
      setup.cluster.node("n3").startProcesses();
      await setup.cluster.ready(STEP_TIMEOUT_MS);
      await load.more(10, STEP_TIMEOUT_MS);
      expect((await servedChain(setup, "n3")).newest.trustRoot.version).toBe(4);
    },
    2 * STEP_TIMEOUT_MS,
  );

  test(
    "a version whose keys are on too few nodes is not let in",
    async () => {
      const cards = ["n1", "n2"].map(async (nodeId) => {
        const elsewhere = at(`elsewhere-${nodeId}`);
        mkdirSync(elsewhere, { recursive: true });
        const card = at(`${nodeId}-elsewhere.card`);
        await mustRun(setup, ["member", "rotate", nodeId, "--identity", elsewhere, "--card", card]);
        return card;
      });
      const changes = (await Promise.all(cards)).flatMap((card) => ["--new-keys", card]);
      const { root_thk: thk } = await mustRun(setup, ["root", "propose", "--out", at("bad"), ...changes]);
      for (const key of ["alice", "bob"]) {
        await mustRun(setup, ["root", "sign", at("bad"), "--key", at(key), "--expect", String(thk)]);
      }
      const run = await runRoot(setup, ["root", "submit", at("bad")]);
      expect([run.exitCode, run.json["failure"]]).toEqual([3, "not_ready"]);
      expect(run.json["detail"]).toMatch(/1 of the 2 nodes .* n1: the cosigner key that the trust root names is not/u);
      expect((await servedChain(setup, "n1")).newest.trustRoot.version).toBe(4);
    },
    STEP_TIMEOUT_MS,
  );
});

describe("when that is over", () => {
  let acknowledged: readonly Acknowledged[];

  test(
    "nothing was refused, and every acknowledged anchor is on every node",
    async () => {
      acknowledged = await load.stop();
      expect(load.refusals).toEqual([]);
      for (const { id } of setup.cluster.file.nodes)
        expect(await differencesWhenCalm(setup, id, acknowledged)).toEqual([]);
    },
    STEP_TIMEOUT_MS,
  );

  test(
    "every receipt verifies offline against the chain, and can be renewed against the newest version",
    async () => {
      const chain = await servedChain(setup, "n3");
      expect(offlineFailures(chain, spread(acknowledged, 300))).toEqual([]);
      expect(await renewalFailures(setup, "n3", chain, spread(acknowledged, 10))).toEqual([]);
    },
    STEP_TIMEOUT_MS,
  );

  test(
    "whoever holds the first version fetches the others, verified",
    async () => {
      const folder = at("auditor");
      mkdirSync(folder);
      for (const name of ["trust-root.txt", "root-thk.txt"]) {
        copyFileSync(join(setup.cluster.root, name), join(folder, name));
      }
      const given = ["--trust-root", join(folder, "trust-root.txt"), "--out", folder];
      expect(await mustRun(setup, ["root", "fetch", ...given])).toMatchObject({ version: 4 });
      writeFileSync(join(folder, "root-thk.txt"), `${"00".repeat(32)}\n`);
      const run = await runRoot(setup, ["root", "fetch", ...given]);
      expect([run.exitCode, run.json["failure"]]).toEqual([1, "pin_mismatch"]);
    },
    STEP_TIMEOUT_MS,
  );
});
