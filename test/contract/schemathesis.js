#!/usr/bin/env node
/**
 * Has an independent tool, Schemathesis, judge a running cluster by the OpenAPI document that it serves, and
 * openapi-spec-validator the document by the specification's own schema. Both are Python's; they are installed into a
 * virtual environment that is removed in the end. Where that cannot be done, it says so and is skipped.
 *
 *   npm run build && node test/contract/schemathesis.js [--required] [--examples <n>] [--seed <n>]
 *
 * Exit code: 0 conforms, or skipped; 1 does not conform, or skipped although it is required.
 */
import { spawn, spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));
const DOCUMENT = join(ROOT, "docs/openapi.json");
const PACKAGES = ["schemathesis==4.32.5", "openapi-spec-validator==0.9.0"];
/** Not among them: that all its schemas allow is taken. Some rules, like those on `as_of`, they say in words only. */
const CHECKS = [
  "not_a_server_error",
  "status_code_conformance",
  "content_type_conformance",
  "response_schema_conformance",
  "response_headers_conformance",
  "negative_data_rejection",
  "missing_required_header",
  "unsupported_method",
  "allow_header_conformance",
  "ignored_auth",
];
const INSTALL_TIMEOUT_MS = 300_000;
const RUN_TIMEOUT_MS = 900_000;

const { values: options } = parseArgs({
  options: {
    required: { type: "boolean", default: false },
    examples: { type: "string", default: "25" },
    seed: { type: "string", default: "42" },
  },
});

/** Ends the program: what could not be done is said, and fails only if it was asked for. */
class Skipped extends Error {}

function findPython() {
  for (const command of ["python3", "python"]) {
    const script = "import sys, venv, ensurepip; print(sys.version_info >= (3, 9))";
    const found = spawnSync(command, ["-c", script], { encoding: "utf8" });
    if (found.status === 0 && found.stdout.trim() === "True") return command;
  }
  throw new Skipped("there is no Python 3.9 or newer with venv and pip");
}

function install(python, folder) {
  const made = spawnSync(python, ["-m", "venv", folder], { encoding: "utf8" });
  if (made.status !== 0) throw new Skipped(`no virtual environment: ${made.stderr.trim()}`);
  const pip = [join(folder, "bin/python"), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"];
  const installed = spawnSync(pip[0], [...pip.slice(1), ...PACKAGES], {
    encoding: "utf8",
    timeout: INSTALL_TIMEOUT_MS,
  });
  if (installed.status !== 0)
    throw new Skipped(`${PACKAGES.join(" and ")} cannot be installed: ${installed.stderr.trim()}`);
}

/** @returns the exit code; 1 if it does not end in time */
function run(command, args, environment = {}) {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, { stdio: "inherit", cwd: ROOT, env: { ...process.env, ...environment } });
    const timer = setTimeout(() => child.kill("SIGKILL"), RUN_TIMEOUT_MS);
    child.once("error", reject);
    child.once("exit", (code) => {
      clearTimeout(timer);
      resolve(code ?? 1);
    });
  });
}

/** The key stays out of the command line, which every user of the machine can read. */
function writeSettings(folder) {
  const path = join(folder, "schemathesis.toml");
  writeFileSync(path, '[headers]\nAuthorization = "Bearer ${ANCHORING_API_KEY}"\n');
  return path;
}

/**
 * Requests for a path without parameters are looked up by their target, as the bytes are; the router serves all others.
 * The second way sends these by the router, too: to a proxy, here the node itself, a client sends the whole URL.
 */
const WAYS = {
  "as clients send them": () => [],
  "by the router": (url) => ["--proxy", url, "--include-path-regex", "^[^{]+$"],
};

async function judgeCluster(venv, { setup, apiKey }, way) {
  const [node] = setup.cluster.file.nodes;
  const settings = writeSettings(venv);
  const where = ["--config-file", settings, "run", `${node.api_url}/openapi.json`, "--url", node.api_url];
  const what = ["--phases", "examples,coverage,fuzzing", "--checks", CHECKS.join(","), "--continue-on-failure"];
  // A stream has no end.
  const streams = ["--exclude-operation-id", "getFeed"];
  const how = ["--max-examples", options.examples, "--seed", options.seed, "--generation-database", ":memory:"];
  const quiet = ["--suppress-health-check", "all", "--warnings", "off", "--no-color"];
  const args = [...where, ...WAYS[way](node.api_url), ...streams, ...what, ...how, ...quiet];
  process.stdout.write(`\nRequests ${way}:\n`);
  return run(join(venv, "bin/schemathesis"), args, { ANCHORING_API_KEY: apiKey });
}

async function startCluster() {
  const { TestOperator, startTestCluster } = await import("@event-anchoring/testkit/cluster");
  const setup = await startTestCluster();
  const operator = await TestOperator.of(setup);
  const { apiKey } = await operator.createKey({ label: "judge", scopes: ["read", "write", "revoke", "admin"] });
  return { setup, apiKey };
}

async function main() {
  if (!existsSync(join(ROOT, "packages/testkit/dist/index.js"))) throw new Error("there is no build: npm run build");
  const venv = mkdtempSync(join(tmpdir(), "anchoring-schemathesis-"));
  let started = null;
  try {
    install(findPython(), venv);
    const validity = await run(join(venv, "bin/openapi-spec-validator"), [DOCUMENT]);
    started = await startCluster();
    const codes = [validity];
    for (const way of Object.keys(WAYS)) codes.push(await judgeCluster(venv, started, way));
    return codes.every((code) => code === 0) ? 0 : 1;
  } finally {
    if (started !== null) await started.setup.erase();
    rmSync(venv, { recursive: true, force: true });
  }
}

try {
  process.exitCode = await main();
} catch (error) {
  if (!(error instanceof Skipped)) throw error;
  process.stderr.write(`SKIPPED: Schemathesis has judged nothing, because ${error.message}\n`);
  process.exitCode = options.required ? 1 : 0;
}
