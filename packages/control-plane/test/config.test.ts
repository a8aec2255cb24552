import { afterEach, beforeEach, describe, expect, test } from "@jest/globals";
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { bytesToHex } from "@event-anchoring/protocol";
import { holdCeremony } from "@event-anchoring/provision";
import { ConfigError, loadConfig } from "../src/node/config.ts";
import { IdentityError, loadIdentity } from "../src/process/load-identity.ts";

let folder: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "config-"));
});

afterEach(() => {
  rmSync(folder, { recursive: true });
});

function write(name: string, content: string, mode = 0o600): string {
  const path = join(folder, name);
  writeFileSync(path, content);
  chmodSync(path, mode);
  return path;
}

const GOOD = {
  node_id: "a",
  cluster_id: "ab".repeat(32),
  identity_dir: "/identity",
  promise_file: "/promise/promise.bin",
  run_dir: "/run",
  database_url: "postgres://localhost/x",
  listen: { host: "127.0.0.1", port: 7001 },
  peers: [{ node_id: "b", host: "127.0.0.1", port: 7002 }],
  api_socket: "/run/control.sock",
};

describe("settings", () => {
  test("are read, with defaults for what may be left out", () => {
    const config = loadConfig(write("config.json", JSON.stringify(GOOD)));
    expect(config).toMatchObject({ ...GOOD, metrics: null, log_level: "info", log_entries_kept: 200_000 });
    expect(config).toMatchObject({ log_bytes_kept: 2 ** 30, certificates_kept: 1000, rules_max: null });
  });

  test.each<[string, object]>([
    ["node_id", { node_id: "A b" }],
    ["cluster_id", { cluster_id: "AB".repeat(32) }],
    ["cluster_id", { cluster_id: "ab" }],
    ["listen.port", { listen: { host: "x", port: 0 } }],
    ["listen.port", { listen: { host: "x", port: 65_536 } }],
    ["listen.host", { listen: { host: "", port: 1 } }],
    ["peers.0", { peers: [{ host: "x", port: 1 }] }],
    ["api_socket", { api_socket: "x".repeat(108) }],
    ["log_level", { log_level: "loud" }],
    ["log_entries_kept", { log_entries_kept: 10 }],
    ["log_bytes_kept", { log_bytes_kept: 2 ** 21 - 1 }],
    ["certificates_kept", { certificates_kept: 9 }],
    ["rules_max", { rules_max: 0 }],
    ["rules_max", { rules_max: 1.5 }],
    ["surprise", { surprise: 1 }],
    ["promise_file", { promise_file: undefined }],
  ])("that are wrong are refused by name: %s", (name, change) => {
    const path = write("config.json", JSON.stringify({ ...GOOD, ...change }));
    expect(() => loadConfig(path)).toThrow(ConfigError);
    expect(() => loadConfig(path)).toThrow(name);
  });

  test.each<[string, () => string]>([
    ["readable by others", () => write("config.json", JSON.stringify(GOOD), 0o640)],
    ["cannot read", () => join(folder, "nothing.json")],
    ["not JSON", () => write("config.json", "{")],
  ])("in a bad file are refused: %s", (reason, make) => {
    const path = make();
    expect(() => loadConfig(path)).toThrow(reason);
  });
});

describe("an identity", () => {
  const ceremony = holdCeremony({
    clusterName: "test.example/identity",
    nodeIds: ["a", "b", "c"],
    quorum: 2,
    rootKeys: 1,
    rootThreshold: 1,
    caSpkiSha256: new Uint8Array(32).fill(7),
    issuedS: 1_700_000_000,
    expiresS: 1_800_000_000,
  });
  const [own, other] = ceremony.nodes as [(typeof ceremony.nodes)[number], (typeof ceremony.nodes)[number]];

  beforeEach(() => {
    write("trust-root.txt", ceremony.document);
    write("root-thk.txt", `${bytesToHex(ceremony.rootThk)}\n`);
    write("auth.key", `${bytesToHex(own.authSeed)}\n`);
    write("cosigner.key", `${bytesToHex(own.cosignerSeed)}\n`);
    write("log.seed", `${bytesToHex(ceremony.logSeed)}\n`);
  });

  test("is loaded from its files, and prints no secret", () => {
    const identity = loadIdentity(folder, "a");
    expect(identity.nodeId).toBe("a");
    expect(bytesToHex(identity.originFingerprint)).toBe(bytesToHex(own.originFingerprint));
    expect(
      JSON.stringify(identity, (_key, value: unknown) => (typeof value === "bigint" ? `${value}` : value)),
    ).not.toMatch(new RegExp([own.authSeed, own.cosignerSeed, ceremony.logSeed].map(bytesToHex).join("|")));
  });

  test.each<[string, () => void, string]>([
    ["a pin of another trust root", () => void write("root-thk.txt", "00".repeat(32)), "trust-root.txt is refused"],
    ["a pin that is no hash", () => void write("root-thk.txt", "zz".repeat(32)), "64 hex digits"],
    [
      "a trust root that was changed",
      () => void write("trust-root.txt", ceremony.document.replace("quorum 2", "quorum 3")),
      "refused",
    ],
    ["another node's auth key", () => void write("auth.key", bytesToHex(other.authSeed)), "auth.key is not the key"],
    [
      "another node's cosigner key",
      () => void write("cosigner.key", bytesToHex(other.cosignerSeed)),
      "cosigner.key is not",
    ],
    [
      "auth and cosigner key exchanged",
      () => void write("cosigner.key", bytesToHex(own.authSeed)),
      "cosigner.key is not",
    ],
    ["a short log seed", () => void write("log.seed", "abcd"), "64 hex digits"],
    ["a key that others can read", () => void write("auth.key", bytesToHex(own.authSeed), 0o644), "readable by others"],
    ["no cosigner key", () => rmSync(join(folder, "cosigner.key")), "cannot read"],
  ])("is refused with %s", (_what, spoil, reason) => {
    spoil();
    expect(() => loadIdentity(folder, "a")).toThrow(IdentityError);
    expect(() => loadIdentity(folder, "a")).toThrow(reason);
  });

  test("is refused for a node of another name than its keys have in the trust root", () => {
    expect(() => loadIdentity(folder, "z")).toThrow("the keys are those of node a");
  });
});
