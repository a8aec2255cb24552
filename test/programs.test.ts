import { spawnSync } from "node:child_process";
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { createCluster } from "@event-anchoring/provision";
import type { ProvisionedCluster } from "@event-anchoring/provision";

// What every program answers, and what the programs that read settings find wrong without starting.

const ROOT = join(dirname(fileURLToPath(import.meta.url)), "..");
const { version: VERSION } = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8")) as { version: string };
const SECRET = "correct-horse";
const TIMEOUT_MS = 120_000;

const CONTROL_PLANE = "packages/control-plane/dist/main.js";
const API = "packages/api/dist/main.js";
const ANCHORCTL = "packages/cli/bin/anchorctl.js";
const PROGRAMS = [
  CONTROL_PLANE,
  API,
  ANCHORCTL,
  "packages/dev-cluster/bin/start.js",
  "packages/release/bin/release.js",
  "packages/bench/bin/bench.js",
  "packages/bench/bin/profile.js",
  "packages/bench/bin/table.js",
  "packages/gates/bin/gates.js",
  "packages/simulator/bin/sim.js",
  "packages/site/bin/build-site.js",
  ...["authority", "ceremony", "configure", "install", "issue", "renew", "request", "show"].map(
    (name) => `certs/${name}.js`,
  ),
];

interface Ran {
  readonly status: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

type Variables = Readonly<Record<string, string>>;

function run(program: string, args: readonly string[], variables: Variables = {}): Ran {
  const env = { PATH: process.env["PATH"], ...variables };
  return spawnSync(process.execPath, [join(ROOT, program), ...args], { cwd: ROOT, env, encoding: "utf8" });
}

describe.each(PROGRAMS)("%s", (program) => {
  test(
    "prints the version of this release",
    () => {
      const { status, stdout } = run(program, ["--version"]);
      expect([status, stdout]).toEqual([0, expect.stringMatching(new RegExp(`(^| )${VERSION}\n$`, "u"))]);
    },
    TIMEOUT_MS,
  );

  test(
    "explains itself when it is asked to",
    () => {
      const { status, stdout, stderr } = run(program, ["--help"]);
      expect([status, stderr]).toEqual([0, ""]);
      expect(stdout).toMatch(/^(Usage: |npm run (sim|gates))/u);
      for (const option of ["--version", "--help"]) expect(stdout).toContain(option);
    },
    TIMEOUT_MS,
  );
});

test.each(PROGRAMS)(
  "%s refuses an option that it does not have, in a sentence",
  (program) => {
    const { status, stderr } = run(program, ["--no-such"]);
    expect(status).toBeGreaterThan(0);
    expect(stderr).toContain("--no-such");
    expect(stderr).not.toMatch(/^ {4}at /mu);
  },
  TIMEOUT_MS,
);

let folder: string;
let cluster: ProvisionedCluster;
let good: { readonly controlPlane: object; readonly api: object };

const DAY_MS = 86_400_000;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "programs-"));
  const outDir = join(folder, "cluster");
  const nodes = ["n1", "n2", "n3"].map((nodeId) => ({ nodeId, controlHost: nodeId, controlPort: 7400 }));
  const nowMs = Date.now() - DAY_MS;
  cluster = await createCluster({ clusterName: "programs.test", nodes, quorum: 2, outDir, nowMs });
  const [own] = cluster.nodes;
  if (own === undefined) throw new Error("a cluster has nodes");
  const common = { node_id: "n1", cluster_id: cluster.clusterId, identity_dir: own.identityDir };
  const socket = join(folder, "control.sock");
  mkdirSync(join(folder, "promise"));
  good = {
    controlPlane: {
      ...common,
      promise_file: join(folder, "promise", "promise.bin"),
      run_dir: join(folder, "run"),
      database_url: `postgresql://owner:${SECRET}@localhost/anchoring`,
      listen: { host: "n1.control", port: 7400 },
      peers: ["n2", "n3"].map((nodeId) => ({ node_id: nodeId, host: nodeId, port: 7400 })),
      api_socket: socket,
    },
    api: {
      ...common,
      origin_fingerprint: own.originFingerprint,
      database_url: `postgresql://reader:${SECRET}@localhost/anchoring`,
      control_socket: socket,
      listen: { host: "127.0.0.1", port: 7001 },
      tls: { certificate: join(own.identityDir, "tls.crt"), key: join(own.identityDir, "tls.key") },
      metrics: { host: "127.0.0.1", port: 9100 },
    },
  };
});

afterAll(() => rmSync(folder, { recursive: true }));

function fileOf(settings: object): string {
  const path = join(folder, "settings.json");
  writeFileSync(path, JSON.stringify(settings), { mode: 0o600 });
  return path;
}

/** The lines of a check that has found something, without the program's name and the path before each. */
function faultsOf(program: string, settings: object, variables: Variables = {}): readonly string[] {
  const path = fileOf(settings);
  const { status, stdout, stderr } = run(program, ["--config", path, "--check"], variables);
  expect([status, stdout]).toEqual([2, ""]);
  expect(stderr).not.toContain(SECRET);
  const name = program === API ? "anchoring-api" : "anchoring-control-plane";
  const lines = stderr.trimEnd().split("\n");
  expect(lines.filter((line) => !line.startsWith(`${name}: `))).toEqual([]);
  return lines.map((line) => line.slice(name.length + 2).replace(`${path}: `, ""));
}

describe("--check of a process", () => {
  test(
    "finds nothing wrong with a node that is set up, and starts nothing",
    () => {
      for (const [program, settings] of [
        [CONTROL_PLANE, good.controlPlane],
        [API, good.api],
      ] as const) {
        const path = fileOf(settings);
        const { status, stdout, stderr } = run(program, ["--config", path, "--check"]);
        expect([status, stderr]).toEqual([0, ""]);
        expect(stdout).toMatch(/^anchoring-(api|control-plane): .*settings\.json: nothing is wrong\n$/u);
      }
    },
    TIMEOUT_MS,
  );

  test(
    "names each wrong setting on a line of its own, and what may have been meant",
    () => {
      const prefix = "ANCHORING_CONTROL_PLANE__";
      const faults = faultsOf(
        CONTROL_PLANE,
        {
          ...good.controlPlane,
          node_id: undefined,
          cluser_id: "x",
          listen: { hots: "x", host: "n1", port: "7400" },
          listen_port: 7400,
          peers: [{ node_id: "n2", host: "n2", prot: 7400, port: 7400 }],
          surprise: 1,
          log_level: "wran",
        },
        { [`${prefix}LISTEN_PORT`]: "1", [`${prefix}METRICS__PORT`]: "seven" },
      );
      expect(faults.toSorted()).toEqual([
        "cluser_id: there is no such setting; did you mean cluster_id?",
        `environment: ${prefix}LISTEN_PORT: there is no such setting; did you mean ${prefix}LISTEN__PORT?`,
        "environment: ANCHORING_CONTROL_PLANE__METRICS__PORT must be a number, null or other JSON",
        "listen.hots: there is no such setting; did you mean listen.host?",
        "listen.port: a number is expected",
        "listen_port: there is no such setting; did you mean listen.port?",
        "log_level: one of debug, info, warn, error is expected; did you mean warn?",
        "node_id: is required",
        "peers.0.prot: there is no such setting; did you mean peers.0.port?",
        "surprise: there is no such setting",
      ]);
    },
    TIMEOUT_MS,
  );

  test(
    "names each file that cannot be used",
    () => {
      const own = (good.controlPlane as { readonly identity_dir: string }).identity_dir;
      const broken = join(folder, "broken");
      mkdirSync(broken);
      writeFileSync(join(broken, "auth.key"), "half a key", { mode: 0o600 });
      writeFileSync(join(broken, "cosigner.key"), readFileSync(join(own, "cosigner.key")), { mode: 0o644 });
      chmodSync(join(broken, "cosigner.key"), 0o644);
      const promise = join(folder, "nowhere", "promise.bin");
      expect(faultsOf(CONTROL_PLANE, { ...good.controlPlane, identity_dir: broken, promise_file: promise })).toEqual([
        `${broken}/auth.key does not hold 64 hex digits`,
        `${broken}/cosigner.key is readable by others; chmod 600 it`,
        `cannot read ${broken}/log.seed`,
        `cannot read ${broken}/root-thk.txt`,
        `cannot read ${broken}/trust-root.txt`,
        `promise_file: there is no folder ${folder}/nowhere`,
      ]);
      const tls = { certificate: join(own, "ca.crt"), key: join(own, "tls.key") };
      const witness = { logs: join(folder, "logs.txt") };
      expect(faultsOf(API, { ...good.api, identity_dir: broken, tls, witness })).toEqual([
        `cannot read ${folder}/logs.txt`,
        `cannot read ${broken}/root-thk.txt`,
        `${tls.certificate} and ${tls.key} are no certificate and its key`,
      ]);
    },
    TIMEOUT_MS,
  );

  test(
    "compares the files with each other, and with the settings",
    () => {
      const other = cluster.nodes[1]?.identityDir ?? "";
      expect(faultsOf(CONTROL_PLANE, { ...good.controlPlane, identity_dir: other })).toEqual([
        "auth.key is not the key the trust root gives this node",
      ]);
      expect(faultsOf(CONTROL_PLANE, { ...good.controlPlane, cluster_id: "ab".repeat(32) })).toEqual([
        "cluster_id is not that of the trust root",
      ]);
      const promise = join(folder, "promise", "other.bin");
      writeFileSync(promise, "no promises", { mode: 0o600 });
      const witness = { logs: join(folder, "logs.txt"), promise_file: join(folder, "witness") };
      const faults = faultsOf(CONTROL_PLANE, { ...good.controlPlane, promise_file: promise, witness });
      expect(faults).toHaveLength(2);
      expect(faults[0]).toContain(promise);
      expect(faults[1]).toContain(witness.logs);
    },
    TIMEOUT_MS,
  );
});

describe("the image's entrypoint", () => {
  /** The image has the checkout in /app and the settings in /config. */
  function enter(args: readonly string[]): Ran {
    const script = readFileSync(join(ROOT, "deploy/container/entrypoint.sh"), "utf8");
    const here = join(folder, "entrypoint.sh");
    writeFileSync(here, script.replaceAll("/app/", `${ROOT}/`).replaceAll("/config/", `${folder}/`));
    return spawnSync("sh", [here, ...args], { encoding: "utf8" });
  }

  test(
    "tells its version and its commands",
    () => {
      expect(enter(["--version"])).toMatchObject({ status: 0, stdout: `event-anchoring ${VERSION}\n`, stderr: "" });
      const { status, stdout, stderr } = enter(["--help"]);
      expect([status, stderr]).toEqual([0, ""]);
      expect(stdout).toMatch(/^usage: control-plane \| api \| .*--version/u);
      expect(enter([])).toMatchObject({ status: 64, stdout: "", stderr: stdout });
    },
    TIMEOUT_MS,
  );

  test(
    "passes on what asks a process something instead of starting it",
    () => {
      writeFileSync(join(folder, "api.json"), JSON.stringify({ ...good.api, acess_log: "all" }), { mode: 0o600 });
      expect(enter(["api", "--version"])).toMatchObject({ status: 0, stdout: `anchoring-api ${VERSION}\n` });
      const { status, stderr } = enter(["api", "--check"]);
      expect([status, stderr]).toEqual([2, expect.stringContaining("did you mean access_log?")]);
    },
    TIMEOUT_MS,
  );
});

describe("--check of anchorctl", () => {
  const home = (): string => join(folder, "home");
  const check = (variables: Variables, args: readonly string[] = ["--check"]): Ran =>
    run(ANCHORCTL, args, { HOME: home(), ...variables });

  function configure(settings: object): string {
    const path = join(home(), ".config", "anchorctl", "config.json");
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, JSON.stringify(settings), { mode: 0o600 });
    return path;
  }

  test(
    "finds nothing wrong with settings that can be used",
    () => {
      const trustRoots = [join(cluster.nodes[0]?.identityDir ?? "", "trust-root.txt")];
      configure({ api_urls: ["https://n1.example"], trust_roots: trustRoots, timeout_seconds: 5 });
      const url = ["--api-url", "https://n2.example"];
      for (const args of [["--check"], ["monitor", "--check", ...url, "--interval", "30s"]]) {
        expect(check({}, args)).toMatchObject({ status: 0, stdout: "anchorctl: nothing is wrong\n", stderr: "" });
      }
    },
    TIMEOUT_MS,
  );

  test(
    "names every fault of the environment and the config file",
    () => {
      const path = configure({ api_url: ["https://n1.example"], trust_roots: "x", timeout_seconds: "5" });
      const { status, stdout, stderr } = check({ ANCHORCTL_API_URL: "https://n1.example", ANCHORCTL_TIMEOUT: "soon" });
      expect([status, stdout]).toEqual([2, ""]);
      expect(stderr.trimEnd().split("\n")).toEqual([
        "anchorctl: environment: ANCHORCTL_API_URL: there is no such setting; did you mean ANCHORCTL_API_URLS?",
        `anchorctl: ${path}: api_url: there is no such setting; did you mean api_urls?`,
        `anchorctl: ${path}: timeout_seconds: a number is expected`,
        `anchorctl: ${path}: trust_roots: a list of texts is expected`,
      ]);
      configure({ api_urls: ["ftp://n1"], origin_fingerprint: "x", trust_roots: ["gone.txt"] });
      const later = check({ ANCHORCTL_TIMEOUT: "soon" });
      expect(later.status).toBe(2);
      expect(later.stderr.trimEnd().split("\n")).toEqual([
        "anchorctl: environment: ANCHORCTL_TIMEOUT: --timeout must be a number of seconds from 1 to 3600",
        `anchorctl: ${path}: api_urls: a node's address begins with http:// or https://, not: ftp://n1`,
        `anchorctl: ${path}: origin_fingerprint: an origin fingerprint has 64 hex digits, not: x`,
        expect.stringContaining("gone.txt"),
      ]);
    },
    TIMEOUT_MS,
  );

  test(
    "names every fault of a monitor's options",
    () => {
      configure({});
      const [keys, state] = [join(folder, "keys.txt"), join(folder, "state.json")];
      writeFileSync(keys, "no key\n");
      writeFileSync(state, "{}");
      const trustRoot = join(cluster.nodes[0]?.identityDir ?? "", "trust-root.txt");
      const watch = ["monitor", "--check", "--api-url", "https://n1.example", "--trust-root", trustRoot];
      const flags = ["--listen", "nowhere", "--webhook", "ftp://x", "--webhook-keys", keys, "--state", state];
      const { status, stderr } = check({}, [...watch, ...flags]);
      expect(status).toBe(2);
      expect(stderr.trimEnd().split("\n")).toEqual([
        expect.stringContaining("--interval"),
        expect.stringContaining("--listen"),
        expect.stringContaining("--webhook"),
        expect.stringContaining("--webhook-keys: "),
        expect.stringContaining(state),
      ]);
    },
    TIMEOUT_MS,
  );
});
