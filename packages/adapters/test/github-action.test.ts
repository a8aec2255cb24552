import { existsSync, readFileSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, afterEach, expect, test } from "@jest/globals";
import { Ajv } from "ajv";
import { parse } from "yaml";
import { sha256, verifyReceipt, verifyTrustRoot } from "@event-anchoring/sdk";
import { EventService } from "@event-anchoring/testkit/receipts";
import { Job } from "./action-runs.ts";

// The step of GitHub Actions as a runner starts it, against a service on paper; cluster.test.ts has a real one.

const ACTION = join(import.meta.dirname, "..", "github-action");
const action = parse(readFileSync(join(ACTION, "action.yml"), "utf8")) as {
  readonly inputs: Readonly<Record<string, unknown>>;
};

let service: EventService;
let job: Job;
beforeAll(async () => {
  service = await EventService.start();
});
afterAll(() => service.stop());
beforeEach(() => {
  job = new Job();
});
afterEach(() => job.end());

const inputs = () => ({ endpoint: service.endpoint, "api-key": "secret-key", files: "dist\ndist/app.tar.gz\n" });

test("action.yml keeps to the published schema of GitHub's", () => {
  const schema = JSON.parse(readFileSync(join(import.meta.dirname, "github-action.schema.json"), "utf8")) as object;
  const validate = new Ajv({ strict: false }).compile(schema);
  expect(validate(action) ? [] : validate.errors).toEqual([]);
  expect(validate({ ...action, runs: { using: "node24" } })).toBe(false);
});

test("each artefact has a receipt that verifies, once; the record names commit, run and files", async () => {
  const { document, rootThk } = service.trustRoot;
  writeFileSync(join(job.workspace, "trust-root.txt"), document);
  const trust = { "trust-root": "trust-root.txt", "root-thk": Buffer.from(rootThk).toString("hex") };
  const before = service.eventHashes.size;
  const first = await job.run({ ...inputs(), ...trust });
  expect(first).toMatchObject({ code: 0, stdout: "::add-mask::secret-key\n" });
  const trustRoot = verifyTrustRoot({ documents: [document], pinnedRootThk: rootThk });
  const files = ["dist/app.tar.gz", "dist/sub/notes.txt", "build-record.json"];
  for (const file of files) {
    verifyReceipt(job.read(`${file}.tlog-proof`), { trustRoot, eventHash: sha256(Buffer.from(job.read(file))) });
  }
  expect(JSON.parse(job.read("build-record.json"))).toMatchObject({
    what: "build",
    who: "ada",
    content: { repository: "example/app", commit: "ffac537e6cbbf934b08745a378932722df287a53", run_id: "4711" },
    attachments: [
      { name: "dist/app.tar.gz", size: 11, hash: Buffer.from(sha256(Buffer.from("the program"))).toString("hex") },
      { name: "dist/sub/notes.txt" },
    ],
  });
  const receipts = files.slice(0, 2).map((file) => join(job.workspace, `${file}.tlog-proof`));
  expect(first.outputs).toMatch(
    /^receipts<<(end-[^\n]+)\n[^]*\n\1\nrecord<<(end-[^\n]+)\n[^]*build-record\.json\n\2\n$/u,
  );
  expect(first.outputs).toContain(`\n${receipts.join("\n")}\n`);
  expect(first.summary).toMatch(/^\| dist\/sub\/notes\.txt \| `[0-9a-f]{64}` \| `[0-9a-f]{64}` \|$/mu);
  expect(readdirSync(join(job.folder, "temp"))).toEqual([]);

  // Another try: the receipts are no artefacts, and the files are those that are anchored. The record is a new one.
  expect((await job.run({ ...inputs(), ...trust })).code).toBe(0);
  expect(service.eventHashes.size - before).toBe(4);
});

test("what is wrong is told to the runner, and nothing is anchored", async () => {
  const before = service.eventHashes.size;
  const faults: readonly (readonly [Readonly<Record<string, string>>, string])[] = [
    [{ ...inputs(), files: " " }, "the input files is missing"],
    [{ ...inputs(), files: "dist\nnowhere" }, "nowhere is not there"],
    [{ ...inputs(), "root-thk": "00".repeat(32) }, "trust-root and root-thk go together"],
    [{ files: "dist", endpoint: service.endpoint }, "the input api-key is missing"],
  ];
  for (const [given, message] of faults) {
    const { code, stdout } = await job.run(given);
    expect({ code, stdout }).toEqual({ code: 1, stdout: expect.stringContaining(`::error::${message}\n`) });
  }
  expect(service.eventHashes.size).toBe(before);
  expect(existsSync(join(job.workspace, "dist", "app.tar.gz.tlog-proof"))).toBe(false);
});

test("the README names every input", () => {
  const readme = readFileSync(join(ACTION, "README.md"), "utf8");
  expect(Object.keys(action.inputs).filter((name) => !readme.includes(`\`${name}\``))).toEqual([]);
});
