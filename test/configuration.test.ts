import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { spawnSync } from "node:child_process";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, describe, expect, test } from "@jest/globals";
import { loadConfig as loadApi } from "@event-anchoring/api";
import {
  API_SETTINGS,
  CONTROL_PLANE_SETTINGS,
  type Setting,
  type SettingsShape,
  SettingsError,
  settingsOf,
} from "@event-anchoring/control-contract";
import { loadConfig as loadControlPlane } from "@event-anchoring/control-plane";

// The settings of a node's processes: documented one and all, and refused by name when they are wrong.

const ROOT = join(dirname(fileURLToPath(import.meta.url)), "..");
const PAGE = readFileSync(join(ROOT, "docs/operating/configuration.md"), "utf8");
const SECRET = "correct-horse";

type Values = Readonly<Record<string, unknown>>;
type Load = (path: string, environment?: Readonly<Record<string, string | undefined>>) => object;

interface Process {
  readonly title: string;
  readonly folder: string;
  readonly settings: SettingsShape;
  readonly load: Load;
  readonly good: Values;
}

const COMMON = {
  node_id: "n1",
  cluster_id: "ab".repeat(32),
  database_url: `postgresql://owner:${SECRET}@localhost/anchoring`,
  listen: { host: "127.0.0.1", port: 7001 },
};
const CONTROL_PLANE: Process = {
  title: "Control plane",
  folder: "control-plane",
  settings: CONTROL_PLANE_SETTINGS,
  load: loadControlPlane,
  good: {
    ...COMMON,
    identity_dir: "/identity",
    promise_file: "/promise/promise.bin",
    run_dir: "/run/n1",
    peers: [{ node_id: "n2", host: "127.0.0.1", port: 7002 }],
    api_socket: "/run/n1/control.sock",
  },
};
const API: Process = {
  title: "Api process",
  folder: "api",
  settings: API_SETTINGS,
  load: loadApi,
  good: {
    ...COMMON,
    origin_fingerprint: "cd".repeat(32),
    control_socket: "/run/n1/control.sock",
    metrics: { host: "127.0.0.1", port: 9100 },
  },
};
const PROCESSES = [CONTROL_PLANE, API] as const;

let folder: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "configuration-"));
});

afterEach(() => {
  rmSync(folder, { recursive: true });
});

function fileWith(text: string, mode = 0o600): string {
  const path = join(folder, "settings.json");
  writeFileSync(path, text);
  chmodSync(path, mode);
  return path;
}

function refusalOf(run: () => unknown): string {
  try {
    run();
  } catch (error) {
    if (error instanceof SettingsError) return error.message;
    throw error;
  }
  throw new Error("it was taken");
}

interface Row {
  readonly name: string;
  readonly unit: string;
  readonly fallback: string;
  readonly meaning: string;
}

/** The table below a heading of the page. */
function rowsOf(title: string): readonly Row[] {
  const section = PAGE.split(/^## /m).find((part) => part.startsWith(`${title}\n`)) ?? "";
  return [...section.matchAll(/^\| `([^`]+)` \| (.*?) \| (.*?) \|(.*)\|$/gm)].map(
    ([, name = "", unit = "", fallback = "", meaning = ""]) => ({ name, unit, fallback, meaning: meaning.trim() }),
  );
}

function documentedDefault(setting: Setting): string {
  if (setting.isRequired) return "required";
  if (setting.default === undefined || setting.default === null) return "none";
  const text = typeof setting.default === "string" ? setting.default : JSON.stringify(setting.default);
  return `\`${text}\``;
}

describe.each(PROCESSES)("the page on the $title", ({ title, settings }) => {
  test("lists every setting, in the order of the code, and none that is not there", () => {
    expect(rowsOf(title).map(({ name }) => name)).toEqual(settingsOf(settings).map(({ name }) => name));
  });

  test("says the defaults", () => {
    const documented = rowsOf(title).map(({ name, fallback }) => [name, fallback]);
    expect(documented).toEqual(settingsOf(settings).map((setting) => [setting.name, documentedDefault(setting)]));
  });

  test("has a unit for each, and a meaning for each but the ports that follow their hosts", () => {
    const bare = rowsOf(title).filter(({ unit, meaning }) => unit === "" || meaning === "");
    expect(bare.filter(({ name, unit }) => unit === "" || !name.endsWith(".port"))).toEqual([]);
  });

  test("names the prefix of its environment variables", () => {
    expect(PAGE).toContain(`## ${title}\n\n\`${settings.prefix}…\`\n`);
  });
});

describe.each(PROCESSES)("the settings of the $title", ({ folder: folderName, settings, load, good }) => {
  test("are taken when they are right", () => {
    expect(load(fileWith(JSON.stringify(good)))).toBeDefined();
  });

  test.each(settingsOf(settings).filter(({ isRequired }) => isRequired))(
    "lack $name: refused by name, until the environment has it",
    ({ path: [first = "", ...rest], name, variable }) => {
      const inner = rest.length === 0 ? undefined : { ...(good[first] as Values), [String(rest[0])]: undefined };
      const path = fileWith(JSON.stringify({ ...good, [first]: inner }));
      expect(refusalOf(() => load(path))).toContain(`${name}: `);
      const value = rest.length === 0 ? good[first] : (good[first] as Values)[String(rest[0])];
      const text = typeof value === "string" ? value : JSON.stringify(value);
      expect(load(path, { [variable]: text })).toEqual(load(fileWith(JSON.stringify(good))));
    },
  );

  test.each<[what: string, change: Values, named: string]>([
    ["a name that is none", { databse_url: "x" }, "databse_url"],
    ["a name that is none, further in", { listen: { host: "x", port: 1, tls: true } }, "listen.tls: "],
    ["a number as text", { listen: { host: "x", port: "7001" } }, "listen.port: "],
    ["a port above all", { listen: { host: "x", port: 65_536 } }, "listen.port: "],
    ["half a port", { listen: { host: "x", port: 7001.5 } }, "listen.port: "],
    ["no host", { listen: { host: "", port: 1 } }, "listen.host: "],
    ["an address as text", { listen: "127.0.0.1:7001" }, "listen: "],
    ["null", { node_id: null }, "node_id: "],
    ["a node id in capitals", { node_id: "N1" }, "node_id: "],
    ["a cluster id in capitals", { cluster_id: "AB".repeat(32) }, "cluster_id: "],
    ["a cluster id that is too short", { cluster_id: "ab" }, "cluster_id: "],
    ["a database that is none of ours", { database_url: `mysql://root:${SECRET}@x/y` }, "database_url: "],
    ["a database without a scheme", { database_url: `host=x password=${SECRET}` }, "database_url: "],
    ["a level that is none", { log_level: "verbose" }, "log_level: "],
  ])("are refused by name, and without a secret: %s", (_what, change, named) => {
    const message = refusalOf(() => load(fileWith(JSON.stringify({ ...good, ...change }))));
    expect(message).toContain(named);
    expect(message).not.toContain(SECRET);
  });

  test("that are wrong in three places are told at once", () => {
    const message = refusalOf(() => load(fileWith(JSON.stringify({ ...good, node_id: 1, cluster_id: 2, more: 3 }))));
    expect(["node_id", "cluster_id", "more"].filter((name) => !message.includes(name))).toEqual([]);
  });

  test.each<[what: string, text: string, mode: number, told: string]>([
    ["no JSON", `{"database_url": "postgresql://o:${SECRET}@x/y",}`, 0o600, "not JSON"],
    ["nothing", "", 0o600, "not JSON"],
    ["a list", "[]", 0o600, "one JSON object"],
    ["a name twice", JSON.stringify(good).replace("{", '{"node_id": "n3", '), 0o600, "node_id stands there twice"],
    ["a name twice, once escaped", JSON.stringify(good).replace("{", '{"node\\u005fid": "n3", '), 0o600, "twice"],
    ["what its group can read", JSON.stringify(good), 0o640, "readable by others"],
    ["what everybody can read", JSON.stringify(good), 0o604, "readable by others"],
  ])("in a bad file are refused: %s", (_what, text, mode, told) => {
    const message = refusalOf(() => load(fileWith(text, mode)));
    expect(message).toContain(told);
    expect(message).not.toContain(SECRET);
  });

  test("without a file are refused", () => {
    expect(refusalOf(() => load(join(folder, "none.json")))).toContain("none.json");
  });

  test.each<[what: string, name: string, value: string, told: string]>([
    ["a variable that is none", "DATABSE_URL", "x", "DATABSE_URL"],
    ["one underscore too few", "LISTEN_PORT", "1", "LISTEN_PORT"],
    ["an object at once", "LISTEN", "{}", "LISTEN"],
    ["no number", "LISTEN__PORT", "seven", "LISTEN__PORT"],
    ["a number out of its bounds", "LISTEN__PORT", "70000", "LISTEN__PORT"],
    ["an empty text", "LISTEN__HOST", "", "LISTEN__HOST"],
    ["a wrong id", "NODE_ID", "N1", "NODE_ID"],
  ])("in the environment are refused: %s", (_what, name, value, told) => {
    const path = fileWith(JSON.stringify(good));
    expect(refusalOf(() => load(path, { [settings.prefix + name]: value }))).toContain(settings.prefix + told);
  });

  test("in the environment stand over the file; other variables mean nothing", () => {
    const path = fileWith(JSON.stringify(good));
    const others = { PATH: "/bin", ANCHORING_API_KEY: "x", [settings.prefix.toLowerCase()]: "x" };
    const { listen } = load(path, { ...others, [`${settings.prefix}LISTEN__PORT`]: "7009" }) as { listen: object };
    expect(listen).toEqual({ host: "127.0.0.1", port: 7009 });
  });

  test("that are wrong end the process with 2, and it says which", () => {
    const main = join(ROOT, "packages", folderName, "dist/main.js");
    const path = fileWith(JSON.stringify({ ...good, surprise: true }));
    const env = { PATH: process.env["PATH"], [`${settings.prefix}LOG_LEVEL`]: "loud" };
    const { status, stderr } = spawnSync(process.execPath, [main, "--config", path], { env, encoding: "utf8" });
    expect(status).toBe(2);
    expect(stderr).toContain("surprise");
    expect(stderr).toContain(`${settings.prefix}LOG_LEVEL`);
    expect(stderr).not.toContain(SECRET);
  }, 120_000);
});

describe("the settings of one process only", () => {
  test.each<[what: string, process: Process, change: Values, named: string]>([
    ["a log that keeps too little", CONTROL_PLANE, { log_entries_kept: 999 }, "log_entries_kept: "],
    ["port 0 for peers", CONTROL_PLANE, { listen: { host: "x", port: 0 } }, "listen.port: "],
    ["a socket's path that is too long", CONTROL_PLANE, { api_socket: "x".repeat(108) }, "api_socket: "],
    ["this node among its peers", CONTROL_PLANE, { peers: [{ node_id: "n1", host: "x", port: 1 }] }, "peers: n1"],
    ["peers that are no list", CONTROL_PLANE, { peers: {} }, "peers: "],
    [
      "a peer twice",
      CONTROL_PLANE,
      { peers: ["x", "y"].map((host) => ({ node_id: "n2", host, port: 1 })) },
      "peers.1.node_id: ",
    ],
    ["a peer without a name", CONTROL_PLANE, { peers: [{ host: "x", port: 1 }] }, "peers.0.node_id: "],
    ["a fingerprint in capitals", API, { origin_fingerprint: "CD".repeat(32) }, "origin_fingerprint: "],
    ["a folder without a pin", API, { identity_dir: "/nowhere" }, "/nowhere/root-thk.txt"],
    ["no private listener", API, { metrics: null }, "metrics: "],
    ["a rate of nothing", API, { limits: { key_requests_per_second: 0 } }, "limits.key_requests_per_second: "],
    ["a part of a token", API, { limits: { key_requests_per_second: 0.5 } }, "limits.key_requests_per_second: "],
    ["a limit that is none", API, { limits: { body_bytes: 1 } }, "limits.body_bytes: "],
    ["a socket's path that is too long", API, { control_socket: "x".repeat(108) }, "control_socket: "],
  ])("are refused by name: %s", (_what, { load, good }, change, named) => {
    expect(refusalOf(() => load(fileWith(JSON.stringify({ ...good, ...change }))))).toContain(named);
  });

  test("peers may come from the environment", () => {
    const peers = [{ node_id: "n3", host: "n3.control.internal", port: 7400 }];
    const path = fileWith(JSON.stringify(CONTROL_PLANE.good));
    const environment = { ANCHORING_CONTROL_PLANE__PEERS: JSON.stringify(peers) };
    expect(loadControlPlane(path, environment).peers).toEqual(peers);
  });

  test("metrics that are off can be turned on from the environment", () => {
    const path = fileWith(JSON.stringify({ ...CONTROL_PLANE.good, metrics: null }));
    const host = { ANCHORING_CONTROL_PLANE__METRICS__HOST: "127.0.0.1" };
    const both = { ...host, ANCHORING_CONTROL_PLANE__METRICS__PORT: "9200" };
    expect(loadControlPlane(path, both).metrics).toEqual({ host: "127.0.0.1", port: 9200 });
    expect(refusalOf(() => loadControlPlane(path, host))).toContain("metrics.port: ");
  });
});
