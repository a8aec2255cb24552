import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import type { TestCluster } from "@event-anchoring/testkit/cluster";
import { sharedCluster } from "../shared-cluster.ts";
import { findRustProgram } from "@event-anchoring/testkit/sdks";

// The Rust SDK against a real cluster. Building it takes minutes, so that is not done here: packages/sdk-rust/ci.sh
// builds its tests, and the ones that need a cluster are given one.

const PACKAGE = join(dirname(fileURLToPath(import.meta.url)), "..", "..", "packages", "sdk-rust");

/** The test program of tests/cluster.rs that was built last, if it was since the sources were changed. */
const program = findRustProgram(["debug/deps"], /^cluster-[0-9a-f]+$/, ["src", "examples", "tests/cluster.rs"]);
if (program === null) {
  process.stderr.write("test/sdk/rust.ts is skipped: packages/sdk-rust/ci.sh builds what it runs\n");
}
const describeWithTests = program === null ? describe.skip : describe;

describeWithTests("the Rust SDK on a cluster", () => {
  const folder = mkdtempSync(join(tmpdir(), "anchoring-sdk-rust-"));
  const clusterFile = join(folder, "cluster.json");
  let setup: TestCluster;

  beforeAll(async () => {
    setup = await sharedCluster();
    writeFileSync(clusterFile, JSON.stringify(setup.cluster.file), { mode: 0o600 });
  }, 300_000);

  afterAll(async () => {
    rmSync(folder, { recursive: true });
  }, 240_000);

  test("passes its end-to-end tests, and runs its examples", () => {
    const output = execFileSync(program ?? "", ["--test-threads=2", "--nocapture"], {
      cwd: PACKAGE,
      encoding: "utf8",
      env: { ...process.env, EVENT_ANCHORING_CLUSTER: clusterFile },
    });
    const counts = /(\d+) passed; 0 failed/.exec(output);
    expect(Number(counts?.[1] ?? 0)).toBeGreaterThanOrEqual(7);
    expect(output).not.toContain("skipped");
  }, 600_000);
});
