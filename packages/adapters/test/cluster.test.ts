import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { Client, sha256, verifyReceipt, verifyTrustRoot } from "@event-anchoring/sdk";
import type { TrustRootChain } from "@event-anchoring/sdk";
import { startTestCluster } from "@event-anchoring/testkit/cluster";
import type { TestCluster } from "@event-anchoring/testkit/cluster";
import { Job } from "./action-runs.ts";
import { FRAMEWORKS, runReadme } from "./readme-programs.ts";

// The lines of the README on a real cluster, which traces what they have recorded.

const RELEASE = join(import.meta.dirname, "../../release/bin/release.js");

let setup: TestCluster;
let endpoint: string;
let trustRoot: TrustRootChain;

beforeAll(async () => {
  setup = await startTestCluster();
  endpoint = (await setup.leader()).api_url;
  const { document, root_thk } = setup.cluster.file.trust_root;
  trustRoot = verifyTrustRoot({ documents: [document], pinnedRootThk: root_thk });
}, 300_000);

afterAll(() => setup.erase(), 240_000);

test.each(FRAMEWORKS)(
  "%s: the receipt is found again by the trace",
  async (framework) => {
    const { payload, receipt } = await runReadme(framework, endpoint, setup.apiKey);
    const eventHash = sha256(payload);
    const { anchorId } = verifyReceipt(receipt, { trustRoot, eventHash });
    const client = new Client({ endpoint, apiKey: setup.apiKey, trustRoot });
    const { anchor } = await client.trace(anchorId);
    expect(anchor).toMatchObject({ anchorId, eventHash: Buffer.from(eventHash).toString("hex") });
  },
  120_000,
);

/** @returns the program that a workflow's step runs, made as for a release: action.yml names it */
function shippedAction(folder: string): string {
  const args = [RELEASE, "--dry", "--only", "github-action", "--out", join(folder, "release")];
  execFileSync(process.execPath, args, { stdio: "pipe" });
  const action = join(folder, "release", "github-action");
  const [, main = ""] = /^ +main: (\S+)$/mu.exec(readFileSync(join(action, "action.yml"), "utf8")) ?? [];
  return join(action, main);
}

test("the step of GitHub Actions, as shipped: the trace finds the receipts of artefacts and of the build", async () => {
  // Outside the checkout: it must have all that it needs.
  const folder = mkdtempSync(join(tmpdir(), "anchoring-action-made-"));
  const job = new Job(shippedAction(folder));
  try {
    const step = await job.run({ endpoint, "api-key": setup.apiKey, files: "dist" });
    expect(step).toMatchObject({ code: 0 });
    const client = new Client({ endpoint, apiKey: setup.apiKey, trustRoot });
    for (const file of ["dist/app.tar.gz", "dist/sub/notes.txt", "build-record.json"]) {
      const eventHash = sha256(Buffer.from(job.read(file)));
      const { anchorId } = verifyReceipt(job.read(`${file}.tlog-proof`), { trustRoot, eventHash });
      const { anchor } = await client.trace(anchorId);
      expect(anchor).toMatchObject({ anchorId, eventHash: Buffer.from(eventHash).toString("hex") });
    }
  } finally {
    job.end();
    rmSync(folder, { recursive: true });
  }
}, 120_000);
