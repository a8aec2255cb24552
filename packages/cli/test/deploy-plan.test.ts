import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { createCluster } from "@event-anchoring/provision";
import { runAnchorctl } from "./run-anchorctl.ts";
import type { Run } from "./run-anchorctl.ts";

const HOSTS = "10.77.0.1,10.77.0.2,10.77.0.3";
let home: string;
let trustRoot: string;

beforeAll(async () => {
  home = mkdtempSync(join(tmpdir(), "anchorctl-deploy-"));
  const nodes = ["n1", "n2", "n3"].map((nodeId) => ({ nodeId, controlHost: "127.0.0.1", controlPort: 9 }));
  const outDir = join(home, "cluster");
  await createCluster({ clusterName: "deploy.test", nodes, quorum: 2, outDir });
  trustRoot = join(outDir, "trust-root.txt");
});

afterAll(() => {
  rmSync(home, { recursive: true, force: true });
});

const plan = (...args: readonly string[]): Promise<Run> => runAnchorctl(home, ["deploy", "plan", ...args]);

/** Begins a cluster of cards, with no trust root. */
async function cardsOf(name: string): Promise<readonly string[]> {
  const at = (file: string): string => join(home, name, file);
  await runAnchorctl(home, ["root", "begin", join(home, name), "--cluster-name", name]);
  for (const id of ["n1", "n2", "n3"]) {
    const from = ["--cluster-card", at("cluster.card"), "--log-seed", at("log.seed")];
    const to = ["--identity", at(id), "--card", at(`${id}.card`)];
    expect((await runAnchorctl(home, ["member", "prepare", id, ...from, ...to])).exitCode).toBe(0);
  }
  return ["n1", "n2", "n3"].map((id) => at(`${id}.card`));
}

describe("anchorctl deploy plan", () => {
  test("writes a folder for each host, and says where", async () => {
    const out = join(home, "plan");
    const { exitCode, stdout } = await plan("--hosts", HOSTS, "--trust-root", trustRoot, "--out", out);
    expect(exitCode).toBe(0);
    expect(stdout).toContain(
      `✓ n2             10.77.0.2: compose.env, hosts, control-plane.json, api.json in ${out}/n2`,
    );
    for (const id of ["n1", "n2", "n3"]) {
      const settings = JSON.parse(readFileSync(join(out, id, "control-plane.json"), "utf8")) as { node_id: string };
      expect(settings.node_id).toBe(id);
    }
    expect(stdout).toContain(`✓ operators      ${out}/cluster.json`);
    const { nodes } = JSON.parse(readFileSync(join(out, "cluster.json"), "utf8")) as { nodes: readonly object[] };
    expect(nodes[2]).toMatchObject({ id: "n3", control_address: "n3.control.internal:7400" });
    expect(stdout).toContain(`✓ Helm           ${out}/helm-values.yaml`);
    const { stdout: json } = await plan("--hosts", HOSTS, "--trust-root", trustRoot, "--out", out, "--json");
    expect(JSON.parse(json)).toMatchObject({
      cluster_name: "deploy.test",
      cluster_file: join(out, "cluster.json"),
      helm_values: join(out, "helm-values.yaml"),
      hosts: [{ node_id: "n1", address: "10.77.0.1", folder: join(out, "n1") }, {}, {}],
    });
  });

  test("goes by the cards of a ceremony that has no trust root yet", async () => {
    const cards = await cardsOf("cards.test");
    const out = join(home, "from-cards");
    const args = cards.flatMap((card) => ["--card", card]);
    expect((await plan("--hosts", HOSTS, ...args, "--out", out)).exitCode).toBe(0);
    expect(existsSync(join(out, "n3", "api.json"))).toBe(true);
  });

  test("prints every contradiction, a line each, and writes nothing", async () => {
    const [first = "", second = ""] = await cardsOf("strangers.test");
    const out = join(home, "refused");
    const args = ["--hosts", "10.77.0.1,127.0.0.1", "--trust-root", trustRoot, "--out", out];
    const run = await plan(...args, "--card", first, "--card", second);
    expect([run.exitCode, run.stdout]).toEqual([2, ""]);
    const lines = run.stderr.trimEnd().split("\n");
    expect(lines).toEqual(
      expect.arrayContaining([
        expect.stringMatching(/^anchorctl: the card of n1 is of the cluster strangers\.test/u),
        "anchorctl: the card of n2 has another auth key than the trust root",
        "anchorctl: the trust root names n3, and there is no card of it",
        "anchorctl: 127.0.0.1 is loopback: no other host reaches it",
      ]),
    );
    expect(existsSync(out)).toBe(false);
    const json = await plan(...args, "--card", first, "--card", second, "--json");
    expect(JSON.parse(json.stdout)).toMatchObject({
      failure: "plan_refused",
      faults: lines.map((line) => line.replace("anchorctl: ", "")),
    });
  });

  test("says what cannot be read or written", async () => {
    const none = await plan("--hosts", HOSTS, "--out", join(home, "x"));
    expect([none.exitCode, none.stderr]).toEqual([2, expect.stringContaining("no trust root: give --trust-root")]);
    const blocked = await plan("--hosts", HOSTS, "--trust-root", trustRoot, "--out", join(trustRoot, "below"));
    expect([blocked.exitCode, blocked.stderr]).toEqual([
      2,
      expect.stringContaining("a part of the path is not a folder"),
    ]);
    const noCard = await plan("--hosts", HOSTS, "--card", "/nowhere.card", "--out", join(home, "x"));
    expect([noCard.exitCode, noCard.stderr]).toEqual([2, expect.stringContaining("/nowhere.card")]);
  });
});
