/** Backups kept in a folder: made on a real cluster, pruned, unpacked, restored from, drilled on a real Postgres. */
import {
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { prepareNode } from "@event-anchoring/gates/anchorctl";
import { until } from "@event-anchoring/testkit";
import { nodeFiles, startTestCluster } from "@event-anchoring/testkit/cluster";
import { SqlSession, startTestPostgres } from "@event-anchoring/testkit/postgres";
import type { TestCluster } from "@event-anchoring/testkit/cluster";
import type { TestPostgres } from "@event-anchoring/testkit/postgres";
import { anchorctl } from "../src/index.ts";
import { runAnchorctl } from "./run-anchorctl.ts";

const TIMEOUT_MS = 180_000;
const DAY_MS = 86_400_000;
const NAME = /^\d{4}-\d\d-\d\dT\d{6}Z-n1\.backup\.zst\.age$/u;
/** Nobody listens on port 1. */
const NOWHERE = "postgresql://nobody@127.0.0.1:1/nothing";

type Json = Readonly<Record<string, unknown>>;

let setup: TestCluster;
let scratch: TestPostgres;
let home: string;
let folder: string;
let recipient: string;
/** The first one that was kept. */
let first: string;

const path = (name: string): string => join(home, name);

beforeAll(async () => {
  home = mkdtempSync(join(tmpdir(), "anchoring-kept-"));
  folder = path("backups");
  mkdirSync(folder);
  [setup, scratch] = await Promise.all([startTestCluster(), startTestPostgres()]);
  for (const name of ["trust-root.txt", "root-thk.txt"]) copyFileSync(join(setup.cluster.root, name), path(name));
}, TIMEOUT_MS);

afterAll(async () => {
  await scratch?.close();
  await setup?.cluster.erase();
  rmSync(home, { recursive: true });
}, TIMEOUT_MS);

/** One command line: what it says to programs, and how it has ended. */
async function run(...args: readonly string[]): Promise<{ exitCode: number; json: Json }> {
  const { exitCode, stdout, stderr } = await runAnchorctl(home, [...args, "--json"]);
  if (stdout === "") throw new Error(`${args.join(" ")} ended with ${exitCode}: ${stderr}`);
  return { exitCode, json: JSON.parse(stdout) as Json };
}

async function mustRun(...args: readonly string[]): Promise<Json> {
  const { exitCode, json } = await run(...args);
  if (exitCode !== 0) throw new Error(`${args.join(" ")} ended with ${exitCode}: ${JSON.stringify(json)}`);
  return json;
}

const settings = (): string => join(setup.cluster.root, "nodes", "n1", "control-plane.json");
const keepArgs = (): string[] => ["backup", "keep", "--database", settings(), "--folder", folder];
const drill = (...flags: string[]): ReturnType<typeof run> => {
  const place = ["--folder", folder, "--identity", path("drill.key"), "--scratch", scratch.url()];
  return run("backup", "drill", ...place, ...flags);
};
const keptNames = (): readonly string[] => readdirSync(folder).filter((name) => name.endsWith(".age"));
const damage = (name: string): (() => void) => {
  const file = join(folder, name);
  const whole = readFileSync(file);
  const damaged = Buffer.from(whole);
  damaged[damaged.length - 1] = (damaged.at(-1) ?? 0) ^ 1;
  writeFileSync(file, damaged);
  return () => writeFileSync(file, whole);
};

/** As if the first one had been taken so many days before. */
function copyOfDaysAgo(days: number): string {
  const takenAt = first.slice(0, 18).replace(/T(\d\d)(\d\d)(\d\d)Z/u, "T$1:$2:$3Z");
  const earlier = new Date(Date.parse(takenAt) - days * DAY_MS).toISOString().replace(/\.\d{3}Z$/u, "Z");
  const name = earlier.replaceAll(":", "") + first.slice(18);
  for (const end of ["", ".json"]) copyFileSync(join(folder, first + end), join(folder, name + end));
  return name;
}

async function databasesLeft(): Promise<readonly unknown[]> {
  const session = await SqlSession.open(scratch.url());
  try {
    return await session.rows("SELECT datname FROM pg_database WHERE datname LIKE 'anchoring_drill%'");
  } finally {
    await session.close();
  }
}

describe("kept backups", () => {
  test("need a key, which is private and never overwritten", async () => {
    const made = await mustRun("backup", "key", path("drill.key"));
    recipient = String(made["recipient"]);
    expect(recipient).toMatch(/^age1[a-z0-9]{58}$/u);
    expect(statSync(path("drill.key")).mode & 0o777).toBe(0o600);
    const lines = readFileSync(path("drill.key"), "utf8").split("\n");
    expect(lines).toEqual([`# public key: ${recipient}`, expect.stringMatching(/^AGE-SECRET-KEY-1/u), ""]);
    expect(await run("backup", "key", path("drill.key"))).toMatchObject({ exitCode: 2 });
    await mustRun("backup", "key", path("other.key"));
  });

  test("are told what is missing before anything is made", async () => {
    const to = ["--recipient", recipient];
    const kinds = [
      [keepArgs(), "recipient_missing"],
      [[...keepArgs(), "--recipient", "age1nobody"], "recipient_invalid"],
      [[...keepArgs(), ...to, "--daily", "some"], "count_invalid"],
      [[...keepArgs(), ...to, "--listen", "127.0.0.1:0"], "interval_missing"],
      [["backup", "keep", "--database", NOWHERE, "--folder", folder, ...to], "no_control_plane"],
      [["backup", "keep", "--database", settings(), "--folder", path("none"), ...to], "cannot_read"],
    ] as const;
    for (const [args, failure] of kinds) {
      expect(await run(...args)).toMatchObject({ exitCode: 2, json: { failure } });
    }
    expect(readdirSync(folder)).toEqual([]);
    expect(await drill()).toMatchObject({ exitCode: 1, json: { failure: "no_backup" } });
  });

  test(
    "are made of a cluster, signed by its quorum, packed and noted",
    async () => {
      writeFileSync(path("recipients"), `# the host of the drill\n${recipient}\n`);
      const metrics = path("backup.prom");
      const made = await mustRun(...keepArgs(), "--recipients", path("recipients"), "--metrics", metrics);
      first = String(made["file"]);
      expect(first).toMatch(NAME);
      expect(made).toMatchObject({ state_signed: true, kept: [first], removed: [], not_whole: [] });
      expect(statSync(join(folder, first)).mode & 0o777).toBe(0o600);
      expect(readdirSync(folder)).toEqual([first, `${first}.json`, "last-drill.json", "last-keep.json"]);
      const text = readFileSync(metrics, "utf8");
      expect(text).toMatch(/^anchoring_backup_kept 1$/mu);
      expect(text).toMatch(/^anchoring_backup_failed 0$/mu);
      // The drill of an empty folder.
      expect(text).toMatch(/^anchoring_backup_drill_failed 1$/mu);
      const newest = Number(/^anchoring_backup_newest_timestamp_seconds (\d+)$/mu.exec(text)?.[1]);
      expect(Math.abs(newest - Date.now() / 1000)).toBeLessThan(TIMEOUT_MS / 1000);
    },
    TIMEOUT_MS,
  );

  test("that fail are noted, and take nothing away", async () => {
    const metrics = path("failed.prom");
    const args = ["backup", "keep", "--database", NOWHERE, "--unsigned", "--folder", folder, "--recipient", recipient];
    const failed = await run(...args, "--metrics", metrics, "--last", "0", "--daily", "0");
    expect(failed).toMatchObject({ exitCode: 4, json: { failure: "unavailable" } });
    expect(readFileSync(metrics, "utf8")).toMatch(/^anchoring_backup_failed 1$/mu);
    expect(keptNames()).toEqual([first]);
    expect(readdirSync(folder).filter((name) => name.endsWith(".partial"))).toEqual([]);
  });

  test("are drilled: unpacked, verified, restored into a database that is gone afterwards", async () => {
    const metrics = path("drill.prom");
    const pinned = await drill("--trust-root", path("trust-root.txt"), "--metrics", metrics);
    expect(pinned).toMatchObject({ exitCode: 0, json: { sound: true, file: first, pinned: true, state_signed: true } });
    expect(readFileSync(metrics, "utf8")).toMatch(/^anchoring_backup_drill_failed 0$/mu);
    expect(await drill()).toMatchObject({ exitCode: 6, json: { sound: true, pinned: false } });
    expect(await databasesLeft()).toEqual([]);
  });

  test("that are damaged, or not for this key, or of a server that is away, fail the drill", async () => {
    const repair = damage(first);
    expect(await drill()).toMatchObject({ exitCode: 1, json: { failure: "altered" } });
    repair();
    const metrics = path("drill.prom");
    const other = await drill("--identity", path("other.key"), "--metrics", metrics);
    expect(other).toMatchObject({ exitCode: 2, json: { failure: "not_for_this_key" } });
    const away = await drill("--scratch", NOWHERE, "--metrics", metrics);
    expect(away).toMatchObject({ exitCode: 4, json: { failure: "unavailable" } });
    const text = readFileSync(metrics, "utf8");
    expect(text).toMatch(/^anchoring_backup_drill_failed 1$/mu);
    // When it last went well is still told.
    expect(text).toMatch(/^anchoring_backup_drill_success_timestamp_seconds [1-9]/mu);
  });

  test("are restored from, as any backup", async () => {
    const plain = path("plain.backup");
    await mustRun("backup", "unpack", join(folder, first), "--identity", path("drill.key"), "--out", plain);
    expect(statSync(plain).mode & 0o777).toBe(0o600);
    const verified = await mustRun("backup", "verify", plain, "--trust-root", path("trust-root.txt"));
    expect(verified).toMatchObject({ valid: true, pinned: true, state_signed: true });
    const again = ["backup", "unpack", join(folder, first), "--identity", path("drill.key"), "--out", plain];
    expect(await run(...again)).toMatchObject({ exitCode: 2, json: { failure: "cannot_write" } });
    await prepareNode(setup, "n4");
    const node = join(setup.cluster.root, "nodes", "n4", "control-plane.json");
    expect(await mustRun("restore", "node", "--backup", plain, "--node", node)).toMatchObject({ node_id: "n4" });
    const { databaseUrl } = nodeFiles(setup.cluster, "n4");
    expect(await run("fsck", "--database", databaseUrl)).toMatchObject({ exitCode: 0, json: { sound: true } });
  }, 180_000);
});

describe("pruning", () => {
  const prune = (...flags: string[]): ReturnType<typeof run> => run("backup", "prune", "--folder", folder, ...flags);
  const NONE = ["--last", "0", "--daily", "0", "--weekly", "0", "--monthly", "0"];

  test("keeps what the retention says, and says so before", async () => {
    const names = Array.from({ length: 12 }, (_, days) => (days === 0 ? first : copyOfDaysAgo(days)));
    const wanted = ["--last", "2", "--daily", "4", "--weekly", "0", "--monthly", "0"];
    const removed = names.slice(4);
    const dry = await prune(...wanted, "--dry-run");
    expect(dry).toMatchObject({ exitCode: 0, json: { kept: names.slice(0, 4), removed, dry_run: true } });
    expect(keptNames()).toHaveLength(12);
    expect(await prune(...wanted)).toMatchObject({ json: { removed } });
    expect(keptNames()).toEqual(names.slice(0, 4).toReversed());
    expect(readdirSync(folder).filter((name) => name.endsWith(".age.json"))).toHaveLength(4);
  });

  test("never takes the newest good one, nor the newest that a drill has found good", async () => {
    const [oldest, older, old] = keptNames();
    const repair = damage(first);
    expect(await prune(...NONE)).toMatchObject({ json: { kept: [first, old], removed: [older, oldest] } });
    const repairOther = damage(String(old));
    const nothing = { exitCode: 1, json: { failure: "nothing_intact" } };
    expect(await prune(...NONE)).toMatchObject(nothing);
    expect(keptNames()).toEqual([old, first]);
    repair();
    repairOther();
  });

  test("leaves alone what is cut short, and what is no backup", async () => {
    const cut = copyOfDaysAgo(30);
    writeFileSync(join(folder, cut), readFileSync(join(folder, first)).subarray(0, 100));
    writeFileSync(join(folder, "notes.txt"), "a person's");
    const strange = first.replace("-n1.", "-n9.");
    renameSync(join(folder, String(keptNames()[1])), join(folder, strange));
    const { json } = await prune(...NONE);
    expect(json["not_whole"]).toEqual(expect.arrayContaining([cut, strange]));
    renameSync(join(folder, strange), join(folder, first));
    expect(await prune(...NONE)).toMatchObject({ json: { kept: [first], not_whole: [cut] } });
    expect(readdirSync(folder)).toContain("notes.txt");
    rmSync(join(folder, cut));
  });
});

describe("keep --interval", () => {
  test(
    "makes one when the newest is old enough, and serves metrics between",
    async () => {
      for (const name of keptNames()) rmSync(join(folder, name));
      const port = await freePort();
      const stop = new AbortController();
      let told = "";
      const args = [...keepArgs(), "--recipient", recipient, "--interval", "24h", "--listen", `127.0.0.1:${port}`];
      const running = anchorctl([...args, "--json"], {
        stdout: { isTTY: false, write: (text) => (told += text) },
        stderr: { isTTY: false, write: () => {} },
        workingDir: home,
        environment: {},
        signal: stop.signal,
      });
      await until("a backup is told", () => told.includes("\n"), TIMEOUT_MS);
      expect(JSON.parse(told)).toMatchObject({ file: expect.stringMatching(NAME), kept: keptNames() });
      const text = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text();
      expect(text).toMatch(/^anchoring_backup_kept 1$/mu);
      stop.abort();
      expect(await running).toBe(0);
      expect(keptNames()).toHaveLength(1);
    },
    TIMEOUT_MS,
  );
});

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}
