import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "@jest/globals";
import { DEFAULT_LIMIT_SETTINGS } from "@event-anchoring/api-contract";
import { createCluster, issueOperatorCertificate } from "@event-anchoring/provision";
import { RATE_DEFAULT } from "../src/commands/keys.ts";
import { runAnchorctl } from "./run-anchorctl.ts";

const ID = "0123456789abcdef".repeat(2);
/** Nobody listens there. */
const NOWHERE = "127.0.0.1:9";
let home: string;
let folder: string;

beforeAll(async () => {
  home = mkdtempSync(join(tmpdir(), "anchorctl-keys-"));
  folder = join(home, ".anchoring");
  const nodes = [{ nodeId: "n1", controlHost: "127.0.0.1", controlPort: 9 }];
  await createCluster({ clusterName: "keys.test", nodes, quorum: 1, outDir: folder });
  const credential = await issueOperatorCertificate({ outDir: folder, operatorId: "alice" });
  writeFileSync(join(home, "alice.crt"), credential.certificatePem);
  writeFileSync(join(home, "alice.key"), credential.privateKeyPem, { mode: 0o600 });
});

beforeEach(() => {
  writeCluster({});
});

afterAll(() => {
  rmSync(home, { recursive: true, force: true });
});

function writeCluster(fields: object): void {
  const node = { id: "n1", api_url: `http://${NOWHERE}`, control_address: NOWHERE };
  const file = { state: "running", api_key: null, nodes: [node], ...fields };
  writeFileSync(join(folder, "cluster.json"), JSON.stringify(file));
}

const keys = (...args: readonly string[]): ReturnType<typeof runAnchorctl> => runAnchorctl(home, ["keys", ...args]);

/** All that is needed away from a cluster folder: options and values in turn. */
function given(): readonly string[] {
  const certificate = ["--operator-cert", join(home, "alice.crt"), "--operator-key", join(home, "alice.key")];
  const cluster = ["--ca", join(folder, "ca", "ca.crt"), "--node", `n1@${NOWHERE}`];
  return [...certificate, ...cluster, "--trust-root", join(folder, "trust-root.txt")];
}

test("a new key has the rate that nodes give keys without one", () => {
  expect(RATE_DEFAULT).toBe(DEFAULT_LIMIT_SETTINGS.keyRequestsPerSecond);
});

describe("anchorctl keys", () => {
  test.each([
    [["create", "--label", ""], "label_invalid"],
    [["create", "--label", "é"], "label_invalid"],
    [["create", "--label", "x".repeat(129)], "label_invalid"],
    [["create", "--scopes", ""], "scopes_invalid"],
    [["create", "--scopes", "read,everything"], "scopes_invalid"],
    [["create", "--scopes", "read,read"], "scopes_invalid"],
    [["create", "--client", "me"], "id_invalid"],
    [["create", "--client", `${ID}00`], "id_invalid"],
    [["create", "--expires", "soon"], "expiry_invalid"],
    [["create", "--expires", "0s"], "expiry_invalid"],
    [["create", "--expires", "-1d"], "expiry_invalid"],
    [["create", "--expires", "2001-01-31T00:00:00Z"], "expiry_invalid"],
    [["create", "--expires", "2031-02-28"], "expiry_invalid"],
    [["create", "--expires", "2031-02-31T00:00:00Z"], "expiry_invalid"],
    [["create", "--expires", "99999999y"], "expiry_invalid"],
    [["create", "--rate", "0"], "rate_invalid"],
    [["create", "--rate", "1.5"], "rate_invalid"],
    [["create", "--rate", "4294967296"], "rate_invalid"],
    [["create", "--rate", "none"], "rate_invalid"],
    [["revoke", "mine"], "id_invalid"],
    [["rotate", ID, "--overlap", "1 day"], "duration_invalid"],
    [["rotate", ID, "--expires", "tomorrow"], "expiry_invalid"],
    [["list", "--timeout", "never"], "timeout_invalid"],
    [["list", "--node", "n1"], "node_invalid"],
    [["list", "--node", "n1@localhost:70000"], "node_invalid"],
    [["list", "--node", "n9@127.0.0.1:9"], "node_unknown"],
    [["list", "--operator-cert", "alice.crt"], "credential_incomplete"],
  ])("%j is wrong usage", async (args, failure) => {
    const run = await keys(...args, "--json");
    expect([run.exitCode, JSON.parse(run.stdout)]).toMatchObject([2, { failure }]);
  });

  test.each([[[]], [["destroy"]], [["revoke"]], [["rotate"]], [["create", "--secret", "x"]]])(
    "keys %j is no command line",
    async (args) => {
      const run = await keys(...args);
      expect([run.exitCode, run.stdout]).toEqual([2, ""]);
      expect(run.stderr).toContain("anchorctl keys");
    },
  );

  test.each([
    ["without nodes that answer", {}, 4, "outcome_unknown"],
    ["with a cluster that is stopped", { state: "stopped" }, 4, "cluster_stopped"],
    ["with a cluster file that names no control plane", { nodes: [{ id: "n1", api_url: "x" }] }, 2, "no_node"],
    ["with a cluster file that is none", { nodes: 3 }, 2, "cluster_file_damaged"],
  ])("fails %s", async (_title, fields, exitCode, failure) => {
    writeCluster(fields);
    const run = await keys("list", "--json", "--timeout", "0.3");
    expect([run.exitCode, JSON.parse(run.stdout)]).toMatchObject([exitCode, { failure }]);
  });

  test("shows no secret of a key that may not exist, and names it", async () => {
    const run = await keys("create", "--timeout", "0.3");
    expect([run.exitCode, run.stdout]).toEqual([4, ""]);
    expect(run.stderr).toMatch(/connection refused/u);
    expect(run.stderr).toMatch(/keys list shows [0-9a-f]{32}, revoke it/u);
    expect(run.stderr).not.toContain("ank_");
  });

  test("asks the given nodes with a given certificate, away from any cluster folder", async () => {
    const run = await runAnchorctl("/", ["keys", "list", "--json", "--timeout", "0.3", ...given()]);
    expect([run.exitCode, JSON.parse(run.stdout)]).toMatchObject([4, { failure: "outcome_unknown" }]);
  });

  test("makes certificates only where the CA's key is", async () => {
    const elsewhere = join(home, "elsewhere");
    mkdirSync(elsewhere, { recursive: true });
    writeFileSync(join(elsewhere, "cluster.json"), JSON.stringify({ state: "running", nodes: [] }));
    const run = await keys("list", "--json", "--cluster", elsewhere, "--trust-root", join(folder, "trust-root.txt"));
    expect([run.exitCode, JSON.parse(run.stdout)]).toMatchObject([2, { failure: "no_node" }]);
    const named = await keys("list", "--json", "--cluster", elsewhere, ...given().slice(6));
    expect([named.exitCode, JSON.parse(named.stdout)]).toMatchObject([2, { failure: "cannot_read" }]);
  });

  test.each([
    ["a certificate of a node", () => join(folder, "nodes", "n1", "identity", "tls.crt"), "certificate_invalid"],
    ["a certificate that is none", () => join(folder, "cluster.json"), "certificate_invalid"],
    ["no certificate", () => join(home, "missing.crt"), "cannot_read"],
  ])("refuses %s", async (_title, path, failure) => {
    const run = await keys("list", "--json", ...given().with(1, path()));
    expect([run.exitCode, JSON.parse(run.stdout)]).toMatchObject([2, { failure }]);
  });

  test("refuses a private key that others can read", async () => {
    const open = join(home, "open.key");
    writeFileSync(open, "");
    chmodSync(open, 0o644);
    const run = await keys("list", "--json", ...given().with(3, open));
    expect([run.exitCode, JSON.parse(run.stdout)]).toMatchObject([2, { failure: "cannot_read" }]);
  });

  test("refuses a certificate of another cluster", async () => {
    const other = join(home, "other");
    const nodes = [{ nodeId: "n1", controlHost: "127.0.0.1", controlPort: 9 }];
    await createCluster({ clusterName: "other.test", nodes, quorum: 1, outDir: other });
    const run = await keys("list", "--json", ...given().with(9, join(other, "trust-root.txt")));
    expect([run.exitCode, JSON.parse(run.stdout)]).toMatchObject([2, { failure: "certificate_of_another_cluster" }]);
  });
});
