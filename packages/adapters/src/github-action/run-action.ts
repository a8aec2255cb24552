import { createHash } from "node:crypto";
import { appendFileSync } from "node:fs";
import { copyFile, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { Client, verifyTrustRoot } from "@event-anchoring/sdk";
import type { TrustRootChain } from "@event-anchoring/sdk";
import { Recorder } from "@event-anchoring/sdk/recorder";
import { RECEIPT_ENDING, artefactsOf } from "./artefacts.ts";
import type { Artefact } from "./artefacts.ts";
import { ActionError, inputOf, requiredInput, tellRunner, variableOf, writeOutput } from "./runner.ts";
import type { Variables } from "./runner.ts";

/** What a record of a build has of the run: by its names, the variables of the runner. */
const OF_THE_RUN = {
  server: "GITHUB_SERVER_URL",
  repository: "GITHUB_REPOSITORY",
  commit: "GITHUB_SHA",
  ref: "GITHUB_REF",
  workflow: "GITHUB_WORKFLOW_REF",
  event: "GITHUB_EVENT_NAME",
  run_id: "GITHUB_RUN_ID",
  run_attempt: "GITHUB_RUN_ATTEMPT",
  job: "GITHUB_JOB",
} as const;

/** An artefact that is anchored. */
interface Anchored {
  readonly artefact: Artefact;
  readonly anchorId: string;
  readonly receiptPath: string;
}

/**
 * Anchors the artefacts of a build, and the record of it, as the inputs say.
 * @param env the variables that a runner sets: `INPUT_*`, `GITHUB_*`, `RUNNER_TEMP`
 * @returns the exit code of the step; what was wrong is told to the runner
 */
export async function runAction(env: Variables): Promise<number> {
  try {
    await anchorBuild(env);
    return 0;
  } catch (error) {
    tellRunner("error", error instanceof Error ? error.message : String(error));
    return 1;
  }
}

async function anchorBuild(env: Variables): Promise<void> {
  const apiKey = requiredInput(env, "api-key");
  // It comes from a secret, which the runner masks; somebody may have written it down elsewhere.
  tellRunner("add-mask", apiKey);
  const workspace = variableOf(env, "GITHUB_WORKSPACE");
  const given = requiredInput(env, "files")
    .split("\n")
    .map((line) => line.trim());
  const client = new Client({
    endpoint: requiredInput(env, "endpoint"),
    apiKey,
    trustRoot: await trustRootOf(env, workspace),
  });
  const artefacts = await artefactsOf(
    given.filter((line) => line !== ""),
    workspace,
  );
  const anchored = await anchorAll(client, artefacts, env);
  const record = resolve(workspace, inputOf(env, "record") ?? "build-record.json");
  await recordBuild(client, artefacts, record, env);
  writeOutput(env, "receipts", anchored.map(({ receiptPath }) => receiptPath).join("\n"));
  writeOutput(env, "record", record);
  appendFileSync(variableOf(env, "GITHUB_STEP_SUMMARY"), summaryOf(anchored));
}

/** Undefined: receipts are not verified here. @throws ActionError, VerificationError */
async function trustRootOf(env: Variables, workspace: string): Promise<TrustRootChain | undefined> {
  const [path, pinnedRootThk] = [inputOf(env, "trust-root"), inputOf(env, "root-thk")];
  if (path === null && pinnedRootThk === null) return undefined;
  if (path === null || pinnedRootThk === null) throw new ActionError("trust-root and root-thk go together");
  return verifyTrustRoot({ documents: [await readFile(resolve(workspace, path), "utf8")], pinnedRootThk });
}

/** A receipt beside each. @throws ActionError if the service refuses one */
async function anchorAll(client: Client, artefacts: readonly Artefact[], env: Variables): Promise<readonly Anchored[]> {
  const run = runOf(env);
  const events = artefacts.map(({ name, hash }) => {
    // The same in every try of this step, so that none is anchored twice.
    const clientEventId = createHash("sha256")
      .update(JSON.stringify([run, name, hash]))
      .digest("hex");
    return { eventHash: hash, clientEventId };
  });
  const anchored: Anchored[] = [];
  const left = artefacts.values();
  for await (const { anchor, receipt, problem } of client.createMany(events)) {
    const { value: artefact } = left.next();
    if (artefact === undefined) throw new ActionError("the service has answered more than was asked");
    if (anchor === null) throw new ActionError(`${artefact.name}: ${problem?.detail ?? "it was not anchored"}`);
    const receiptPath = `${artefact.path}${RECEIPT_ENDING}`;
    const proof = receipt ?? (await client.getReceipt(anchor.anchorId));
    await writeFile(receiptPath, proof.toProofText());
    anchored.push({ artefact, anchorId: anchor.anchorId, receiptPath });
  }
  return anchored;
}

function runOf(env: Variables): Readonly<Record<string, string>> {
  return Object.fromEntries(Object.entries(OF_THE_RUN).map(([name, variable]) => [name, variableOf(env, variable)]));
}

/** Which run has made which files, as an envelope with its receipt. */
async function recordBuild(
  client: Client,
  artefacts: readonly Artefact[],
  path: string,
  env: Variables,
): Promise<void> {
  const directory = await mkdtemp(join(variableOf(env, "RUNNER_TEMP"), "event-anchoring-"));
  const recorder = await Recorder.open({ client, directory });
  try {
    const attachments = artefacts.map(({ name, size, hash }) => {
      return { name, contentType: "application/octet-stream", size, hash };
    });
    const who = variableOf(env, "GITHUB_ACTOR");
    const kept = await recorder.record(runOf(env), { what: "build", who, attachments }).anchored;
    await copyFile(kept.payloadPath, path);
    await copyFile(kept.receiptPath, `${path}${RECEIPT_ENDING}`);
  } finally {
    await recorder.close();
    await rm(directory, { recursive: true });
  }
}

function summaryOf(anchored: readonly Anchored[]): string {
  const rows = anchored.map(({ artefact, anchorId }) => {
    return `| ${artefact.name.replaceAll("|", "\\|")} | \`${artefact.hash}\` | \`${anchorId}\` |`;
  });
  return ["| anchored | SHA-256 | anchor id |", "|---|---|---|", ...rows, ""].join("\n");
}
