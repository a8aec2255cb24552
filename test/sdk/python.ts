import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import type { TestCluster } from "@event-anchoring/testkit/cluster";
import { sharedCluster } from "../shared-cluster.ts";
import { PYTHON_PACKAGE, findPython } from "./find-python.ts";

// The Python SDK against a real cluster. Its own tests run wherever Python is; here they are given one to talk to.

const REQUIREMENTS = "import sys, cryptography, pytest; sys.version_info >= (3, 9) or sys.exit(1)";
const HTTP = "\ntry:\n import httpx2\nexcept ModuleNotFoundError:\n import httpx";

/** It has what the SDK and its tests need. */
const python = findPython(REQUIREMENTS + HTTP);
const reason = "no Python 3.9 with the SDK's dependencies: packages/sdk-python/ci.sh sets one up";
if (python === null) process.stderr.write(`test/sdk/python.ts is skipped: ${reason}\n`);
const describeWithPython = python === null ? describe.skip : describe;

describeWithPython("the Python SDK on a cluster", () => {
  const folder = mkdtempSync(join(tmpdir(), "anchoring-sdk-python-"));
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
    const { status, stdout, stderr } = spawnSync(
      python ?? "",
      ["-m", "pytest", "-q", "-p", "no:cacheprovider", "tests/test_cluster.py"],
      {
        cwd: PYTHON_PACKAGE,
        encoding: "utf8",
        env: {
          ...process.env,
          EVENT_ANCHORING_CLUSTER: clusterFile,
          PYTHONPATH: join(PYTHON_PACKAGE, "src"),
          PYTHONDONTWRITEBYTECODE: "1",
        },
      },
    );
    if (status !== 0) throw new Error(`pytest ended with ${status}:\n${stdout}${stderr}`);
    const counts = /(\d+) passed/.exec(stdout);
    expect(Number(counts?.[1] ?? 0)).toBeGreaterThanOrEqual(14);
    expect(stdout).not.toMatch(/skipped|failed/);
  }, 600_000);
});
