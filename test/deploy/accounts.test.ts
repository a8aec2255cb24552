import { spawn, spawnSync } from "node:child_process";
import type { ChildProcess } from "node:child_process";
import {
  chmodSync,
  chownSync,
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { until } from "@event-anchoring/testkit";

// The accounts of a node under systemd. deploy/systemd/accounts.sh makes them, on a copy of /etc that only this test's
// mount namespace has; then each account tries what it may not read.

const CHECKOUT = fileURLToPath(new URL("../..", import.meta.url));
const read = (path: string): string => readFileSync(join(CHECKOUT, path), "utf8");
const isRoot = process.getuid?.() === 0;
const canUnshare =
  isRoot && spawnSync("unshare", ["--mount", "sh", "-c", "command -v adduser && command -v setpriv"]).status === 0;
const describeAccounts = canUnshare ? describe : describe.skip;
const NOTE = canUnshare ? "" : " (skipped: takes root, a mount namespace, adduser and setpriv)";
const API_FILES = ["api.json", "root-thk.txt", "tls.crt", "tls.key"];
/** What stands in /etc/anchoring when the script has run. */
const FILES = [
  ...["control-plane.json", "identity/auth.key", "identity/log.seed", "identity/root-thk.txt"].map(
    (name) => `control-plane/${name}`,
  ),
  ...API_FILES.map((name) => `api/${name}`),
  ...["api.json", "root-thk.txt", "trust-root.txt"].map((name) => `backup/${name}`),
];

/** A value of a unit's [Service] section. */
function unitValue(unit: string, name: string): string {
  const [, value = ""] =
    new RegExp(`^${name}=(.*)$`, "mu").exec(read(`deploy/systemd/anchoring-${unit}.service`)) ?? [];
  return value;
}

let folder: string;

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "anchoring-accounts-"));
  mkdirSync(join(folder, "node/identity"), { recursive: true });
  for (const name of ["auth.key", "log.seed", "root-thk.txt", "trust-root.txt"])
    writeFileSync(join(folder, "node/identity", name), "key");
  mkdirSync(join(folder, "node/api"));
  for (const name of API_FILES.slice(1)) writeFileSync(join(folder, "node/api", name), "pin or key");
  for (const unit of ["control-plane", "api"])
    copyFileSync(join(CHECKOUT, `deploy/systemd/${unit}.json`), join(folder, `node/${unit}.json`));
});

afterAll(() => {
  rmSync(folder, { recursive: true, force: true });
});

describeAccounts(`the accounts that accounts.sh makes${NOTE}`, () => {
  test("let each read its own files, and nothing of another's", () => {
    const readers = (["control-plane", "api", "backup"] as const).map((unit) => {
      const [user, group, more] = [
        unitValue(unit, "User"),
        unitValue(unit, "Group"),
        unitValue(unit, "SupplementaryGroups"),
      ];
      const groups = more === "" ? "--clear-groups" : `--groups "$(getent group ${more} | cut -d: -f3)"`;
      return { unit, as: `setpriv --reuid ${user} --regid ${group} ${groups}` };
    });
    const tries = FILES.flatMap((name) =>
      readers.map(({ unit, as }) => `${as} cat /etc/anchoring/${name} >/dev/null 2>&1; echo "${unit} $? ${name}"`),
    );
    const script = [
      "set -e",
      `cp -a /etc ${folder}/etc`,
      `mount --bind ${folder}/etc /etc`,
      `cd ${folder}/node`,
      "umask 022",
      `sh ${CHECKOUT}deploy/systemd/accounts.sh`,
      "set +e",
      ...tries,
    ].join("\n");
    const ran = spawnSync("unshare", ["--mount", "bash", "-c", script], { encoding: "utf8" });
    expect([ran.status, ran.stderr]).toEqual([0, ""]);
    const mayRead = ran.stdout.split("\n").flatMap((line) => /^(\S+) 0 (.*)$/u.exec(line)?.slice(1).join(" ") ?? []);
    // Each reads its own folder and no other.
    expect(mayRead).toEqual(FILES.map((name) => `${name.split("/")[0]} ${name}`));
  }, 60_000);
});

const describeAsRoot = isRoot ? describe : describe.skip;
const NOT_ROOT = isRoot ? "" : " (skipped: takes root)";
/** Ids of no account that exists here. */
const [CONTROL_ID, API_ID, STRANGER_ID] = [64_101, 64_102, 64_103];

/** Serves the control plane's socket under an account, as the control plane opens it. */
const SERVE = `import { LocalLink } from "${CHECKOUT}packages/control-plane/dist/local/local-link.js";
  import { systemEnvironment } from "${CHECKOUT}packages/control-plane/dist/process/system-environment.js";
  const { clock, logger } = systemEnvironment("error", "n1");
  const [path, mode] = process.argv.slice(1);
  await new LocalLink({ path, mode: Number.parseInt(mode, 8), handle: () => {}, logger, clock }).listen();
  process.stdout.write("listens\\n");`;
const CONNECT = `import { connect } from "node:net";
  connect(process.argv[1], () => process.exit(0)).on("error", () => process.exit(1));`;

/** Leaves why it stopped, as the control plane does beside its socket. */
const STOP = `import { writeStopped } from "${CHECKOUT}packages/control-plane/dist/process/stopped-file.js";
  process.umask(0o077);
  const stop = { exitCode: 79, reason: "halted", code: "diverged", detail: "another tree" };
  writeStopped(process.argv[1], stop, { nowMs: 0, isForGroup: process.argv[2] === "0660" });`;
const READ = `import { readFileSync } from "node:fs";
  import { join } from "node:path";
  JSON.parse(readFileSync(join(process.argv[1], "stopped.json"), "utf8"));`;

describeAsRoot(`what a control plane leaves when it stops${NOT_ROOT}`, () => {
  test("is read by the api process's account, which is in the group, and by nobody else; it outlives the unit", () => {
    const { api_socket_mode: mode } = JSON.parse(read("deploy/systemd/control-plane.json")) as {
      api_socket_mode: string;
    };
    const run = join(folder, "stopped");
    mkdirSync(run);
    chownSync(run, CONTROL_ID, CONTROL_ID);
    chmodSync(run, Number.parseInt(unitValue("control-plane", "RuntimeDirectoryMode"), 8));
    chmodSync(folder, 0o755);
    const ends = (id: number, groups: string, script: string, ...args: string[]): number | null =>
      spawnSync(
        "setpriv",
        [
          "--reuid",
          String(id),
          "--regid",
          String(id),
          ...groups.split(" "),
          process.execPath,
          "--input-type=module",
          "--eval",
          script,
          run,
          ...args,
        ],
        { cwd: CHECKOUT },
      ).status;
    expect(ends(CONTROL_ID, "--clear-groups", STOP, mode)).toBe(0);
    expect(ends(API_ID, `--groups ${CONTROL_ID}`, READ)).toBe(0);
    expect(ends(API_ID, "--clear-groups", READ)).toBe(1);
    expect(ends(STRANGER_ID, "--clear-groups", READ)).toBe(1);
    // Without this the folder goes with the process, and the reason with it.
    expect(unitValue("control-plane", "RuntimeDirectoryPreserve")).toBe("yes");
    expect(JSON.parse(read("deploy/systemd/api.json"))).toMatchObject({
      control_socket: "/run/anchoring/control.sock",
    });
  });
});

describeAsRoot(`the control plane's socket${NOT_ROOT}`, () => {
  let child: ChildProcess | null = null;

  afterAll(() => {
    child?.kill("SIGKILL");
  });

  test("lets in the api process's account, which is in the group, and nobody else", async () => {
    const { api_socket_mode: mode } = JSON.parse(read("deploy/systemd/control-plane.json")) as {
      api_socket_mode: string;
    };
    const run = join(folder, "run");
    mkdirSync(run);
    chownSync(run, CONTROL_ID, CONTROL_ID);
    chmodSync(run, Number.parseInt(unitValue("control-plane", "RuntimeDirectoryMode"), 8));
    chmodSync(folder, 0o755);
    const path = join(run, "control.sock");
    const as = (id: number, groups: string, script: string, ...args: string[]): string[] => [
      "--reuid",
      String(id),
      "--regid",
      String(id),
      ...groups.split(" "),
      process.execPath,
      "--input-type=module",
      "--eval",
      script,
      path,
      ...args,
    ];
    let said = "";
    child = spawn("setpriv", as(CONTROL_ID, "--clear-groups", SERVE, mode), { cwd: CHECKOUT });
    child.stdout?.on("data", (chunk: Buffer) => void (said += chunk.toString()));
    child.stderr?.on("data", (chunk: Buffer) => void (said += chunk.toString()));
    await until("it listens", () => {
      if (child?.exitCode !== null) throw new Error(said);
      return said.includes("listens");
    });
    const connects = (id: number, groups: string): boolean =>
      spawnSync("setpriv", as(id, groups, CONNECT)).status === 0;
    expect(connects(CONTROL_ID, "--clear-groups")).toBe(true);
    expect(connects(API_ID, `--groups ${CONTROL_ID}`)).toBe(true);
    expect(connects(API_ID, "--clear-groups")).toBe(false);
    expect(connects(STRANGER_ID, "--clear-groups")).toBe(false);
  }, 60_000);
});
