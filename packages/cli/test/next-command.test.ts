import { execFile } from "node:child_process";
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "@jest/globals";
import { bytesToHex } from "@event-anchoring/protocol";
import { PaperCluster } from "./paper-cluster.ts";
import { runAnchorctl } from "./run-anchorctl.ts";
import type { Run } from "./run-anchorctl.ts";

// What anchorctl prints as the next command is pasted into a shell, as it is. The files are in folders whose names a
// shell would take apart.

const BIN = fileURLToPath(new URL("../bin/anchorctl.js", import.meta.url));
const KEY = { ANCHORCTL_API_KEY: "ank_test" };
const run = promisify(execFile);
const before = process.cwd();

const home = mkdtempSync(join(tmpdir(), "anchorctl-next-"));
const folder = join(home, "it's a folder; with $words");
let cluster: PaperCluster;

beforeAll(() => {
  if (!existsSync(join(BIN, "../../dist/index.js"))) throw new Error("npm run build comes first");
  mkdirSync(join(home, "bin"));
  // npx of a checkout, without npm.
  writeFileSync(join(home, "bin", "npx"), `#!/bin/sh\nshift 2\nexec '${process.execPath}' '${BIN}' "$@"\n`);
  chmodSync(join(home, "bin", "npx"), 0o755);
});

beforeEach(async () => {
  cluster = await PaperCluster.start();
  mkdirSync(folder);
  writeFileSync(join(folder, "trust root.txt"), cluster.ceremony.document);
  writeFileSync(join(folder, "a letter.txt"), "to whom it may concern\n");
  process.chdir(folder);
});

afterEach(() => {
  cluster.stop();
  process.chdir(before);
  rmSync(folder, { recursive: true });
});

afterAll(() => rmSync(home, { recursive: true, force: true }));

const TRUST = (): readonly string[] => [
  "--trust-root",
  "trust root.txt",
  "--root-thk",
  bytesToHex(cluster.ceremony.rootThk),
];
const anchorctl = (...args: readonly string[]): Promise<Run> =>
  runAnchorctl(folder, [...args, "--api-url", cluster.apiUrl, ...TRUST()], KEY);

/** The one command that is printed, but for what ends the sentence. */
function printed(output: string): string {
  const [, command = ""] = /(npx --no anchorctl .*?)(?: fetches its receipt)?\.?$/mu.exec(output) ?? [];
  return command;
}

async function paste(command: string): Promise<string> {
  const env = { ...KEY, PATH: `${join(home, "bin")}:${process.env["PATH"] ?? ""}`, HOME: home };
  const { stdout } = await run("/bin/sh", ["-c", command], { cwd: folder, env });
  return stdout;
}

describe("the next command that is printed", () => {
  test("after anchor verifies the receipt, by the same trust root", async () => {
    const { exitCode, stdout } = await anchorctl("anchor", "a letter.txt", "--out", "the receipt");
    expect(exitCode).toBe(0);
    expect(await paste(printed(stdout))).toMatch(/^VALID: a letter\.txt/mu);
  });

  test("after prepare and sign goes on with the request, and fetches the receipt of what was sent", async () => {
    for (const name of ["agent key", "issuer key"]) await runAnchorctl(folder, ["keygen", name]);
    const hashes = ["--entity", "11".repeat(32), "--attribute-type", "1", "--attribute-hash", "22".repeat(32)];
    const keys = ["--subject", "agent key.pub", "--issuer", "issuer key.pub", "--origin", cluster.origin];
    const prepared = await runAnchorctl(folder, ["prepare", "claim", ...hashes, ...keys, "--out", "a claim.json"]);
    const signed = printed(prepared.stdout).replace("<file>", "'agent key'");
    const again = printed(await paste(signed)).replace("<file>", "'issuer key'");
    expect(await paste(again)).toContain("is complete");
    const sent = await anchorctl("submit", "a claim.json");
    expect(sent.exitCode).toBe(0);
    expect(await paste(printed(sent.stdout))).toMatch(/^c2sp\.org\/tlog-proof@v1\n/u);
  });

  test("after an unknown outcome sends the same request to the same service", async () => {
    for (const name of ["agent key", "issuer key"]) await runAnchorctl(folder, ["keygen", name]);
    const hashes = ["--entity", "11".repeat(32), "--attribute-type", "1", "--attribute-hash", "22".repeat(32)];
    const keys = ["--subject-key", "agent key", "--issuer-key", "issuer key", "--timeout", "1"];
    const lost = { status: 503, body: { code: "unavailable", detail: "not now" }, headers: { "retry-after": "60" } };
    cluster.once.set("POST /v1/claim-anchors", lost);
    const { exitCode, stderr } = await anchorctl("claim", ...hashes, ...keys);
    expect(exitCode).toBe(4);
    expect(await paste(printed(stderr))).toContain("recorded: ");
  });

  test("of a ceremony names every file, and leaves to the person what only the person knows", async () => {
    const { stdout } = await runAnchorctl(folder, ["root", "begin", "new cluster", "--cluster-name", "next.test"]);
    const command = printed(stdout).replace("<id>", "n1").replace("<folder>", "'n1 identity'");
    expect(await paste(command)).toContain("n1.card");
    expect(readFileSync(join(folder, "n1.card"), "utf8")).toContain("n1");
  });
});
