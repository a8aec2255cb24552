import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import type { AddressInfo } from "node:net";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { createCertificateAuthority, issueCertificate, loadCertificateAuthority } from "@event-anchoring/provision";
import { encodePromises, encodeSlot, slotBytesOf } from "@event-anchoring/control-contract";
import { hexToBytes } from "@event-anchoring/protocol";
import { doctorCommand } from "../src/commands/doctor.ts";
import { MISTAKES } from "../src/doctor/mistakes.ts";
import type { MistakeCode } from "../src/doctor/mistakes.ts";
import { thisHost } from "../src/doctor/this-host.ts";
import { Printer } from "../src/terminal/printer.ts";
import { anchorsOf } from "./anchors-of.ts";
import { NOW_MS, goodHost, healthOf, makeNodeOnDisk, notReady } from "./fake-host.ts";
import type { FakeHost, NodeOnDisk } from "./fake-host.ts";
import { runAnchorctl } from "./run-anchorctl.ts";

const PAGES = fileURLToPath(new URL("../../../docs/operating", import.meta.url));
const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const OTHER = "https://n2.api:8080";

let node: NodeOnDisk;
/** Made once: certificates take a moment each. */
let wrong: { readonly ofN2: string; readonly ofOtherCa: string; readonly otherCa: string; readonly operator: string };

beforeAll(async () => {
  node = await makeNodeOnDisk();
  const clusterId = hexToBytes(node.cluster.clusterId, 32);
  const own = await loadCertificateAuthority(node.cluster.outDir);
  const other = await createCertificateAuthority("other.test", NOW_MS);
  const n1 = { role: "node", clusterId, id: "n1" } as const;
  const operator = { role: "operator", clusterId, id: "olga" } as const;
  wrong = {
    ofN2: readFileSync(join(node.cluster.outDir, "nodes", "n2", "identity", "tls.crt"), "utf8"),
    ofOtherCa: (await issueCertificate(other, n1, DAY_MS * 30, NOW_MS)).certificatePem,
    otherCa: other.certificatePem,
    operator: (await issueCertificate(own, operator, DAY_MS, NOW_MS)).certificatePem,
  };
});

afterAll(() => node.remove());

interface Told {
  readonly exitCode: number;
  readonly lines: readonly string[];
}

async function told(host: FakeHost, isJson = false): Promise<Told> {
  const { controlPlaneFile, apiFile, databaseDir, backupDir } = node.paths;
  let text = "";
  const examination = {
    controlPlaneFile,
    apiFile,
    folders: { database: databaseDir, backups: backupDir },
    backupAgeMsMax: 25 * HOUR_MS,
    others: [OTHER],
  };
  const printer = new Printer({ isTTY: false, write: (written) => (text += written) }, {});
  const exitCode = await doctorCommand(examination, host, isJson, printer);
  return { exitCode, lines: text.trimEnd().split("\n") };
}

const at = (name: string): string => join(node.paths.identityDir, name);
const seedOf = (nodeId: string, name: string): string =>
  readFileSync(join(node.cluster.outDir, "nodes", nodeId, "identity", name), "utf8");

type Seed = (host: FakeHost) => void;

/** In the place of the good host's backup, as `backup keep` makes one. */
function keepBackup(host: FakeHost, time: string, notedBytes = 8): void {
  const path = join(node.paths.backupDir, `${time}-n1.backup.zst.age`);
  const note = { sha256: "ab".repeat(32), bytes: notedBytes, backup_sha256: "cd".repeat(32), backup_bytes: 9 };
  host.write(path, "a backup");
  host.write(`${path}.json`, JSON.stringify(note));
  if (notedBytes === 8) host.files.delete(join(node.paths.backupDir, "today.backup"));
}

/** A promise file as the control plane of a node makes it. */
function promisesOf(nodeId: string): Uint8Array {
  const body = encodePromises({
    clusterId: hexToBytes(node.cluster.clusterId, 32),
    nodeId,
    pairId: new Uint8Array(16),
    incarnation: 1,
    term: 1,
    vote: 0n,
    signedHeads: new Map(),
    stateHead: null,
    postgres: { systemIdentifier: "7461234567890123456", timeline: 1, walPosition: 1n },
    lastAppend: { index: 1, term: 1 },
    reached: { index: 1, term: 1 },
    peers: new Map(),
    mayLackNewest: false,
  });
  const slotBytes = slotBytesOf(0);
  return Buffer.concat([encodeSlot(1, body, slotBytes), new Uint8Array(slotBytes)]);
}

/** The settings of the control plane, with one more peer. */
function addPeer(host: FakeHost, nodeId: string): void {
  const { peers } = JSON.parse(host.text(node.paths.controlPlaneFile)) as { peers: object[] };
  const peer = { node_id: nodeId, host: `${nodeId}.control`, port: 7400 };
  host.edit(node.paths.controlPlaneFile, { peers: [...peers, peer] });
}

const FAILED_DRILL = JSON.stringify({
  at: "2026-11-01T03:00:00.000Z",
  failure: "altered",
  success_at: null,
  file: null,
});

/** A mistake, what seeds it, what the line must say, and what else follows from it. */
const SEEDED: readonly (readonly [MistakeCode, string, Seed, says: string, also?: readonly MistakeCode[]])[] = [
  ["settings_unreadable", "no settings", (h) => h.files.delete(node.paths.controlPlaneFile), "there is no such file"],
  ["settings_open", "settings that others can read", (h) => h.open(node.paths.apiFile), "chmod 600"],
  ["settings_wrong", "a misspelt setting", (h) => h.edit(node.paths.apiFile, { acess_log: "all" }), "acess_log"],
  ["settings_wrong", "no JSON", (h) => h.write(node.paths.apiFile, "{,}"), "not JSON"],
  [
    "settings_wrong",
    "a misspelt variable",
    (h) => (h.environment["ANCHORING_API__LISTEN__PROT"] = "1"),
    "ANCHORING_API__LISTEN__PROT",
  ],
  ["settings_differ", "the api process of n2", (h) => h.edit(node.paths.apiFile, { node_id: "n2" }), "node_id"],
  ["socket_differs", "another socket", (h) => h.edit(node.paths.apiFile, { control_socket: "/x" }), "/x"],
  [
    "api_owns_tables",
    "the owner's role for the api process",
    (h) => h.edit(node.paths.apiFile, { database_url: "postgresql://owner:x@localhost/anchoring" }),
    "the role owner",
  ],
  [
    "peer_missing",
    "a peer that is left out",
    (h) => h.edit(node.paths.controlPlaneFile, { peers: [{ node_id: "n2", host: "n2.control", port: 7400 }] }),
    "n3",
  ],
  ["peer_is_itself", "itself among its peers", (h) => addPeer(h, "n1"), "n1, which is this node"],
  ["peer_unlisted", "a peer of no trust root", (h) => addPeer(h, "n4"), "peers names n4", ["peer_is_another"]],
  [
    "listens_everywhere",
    "a listener on every address",
    (h) => h.edit(node.paths.controlPlaneFile, { listen: { host: "0.0.0.0", port: 7400 } }),
    "listen.host",
  ],
  ["identity_missing", "no log seed", (h) => h.files.delete(at("log.seed")), "log.seed"],
  ["identity_open", "a key that others can read", (h) => h.open(at("cosigner.key")), "cosigner.key"],
  ["owner_wrong", "a key of root's", (h) => h.change(at("auth.key"), { owner: 0 }), "auth.key belongs to user 0"],
  ["identity_malformed", "half a key", (h) => h.write(at("auth.key"), "ab".repeat(16)), "64 hex digits"],
  ["pin_stale", "the pin of an earlier ceremony", (h) => h.write(at("root-thk.txt"), "ab".repeat(32)), "root-thk.txt"],
  [
    "trust_root_refused",
    "a later trust root without signatures",
    (h) => h.write(at("trust-root-2.txt"), h.text(at("trust-root.txt"))),
    "trust-root-2.txt",
  ],
  [
    "trust_root_expires",
    "a trust root that ends soon",
    (h) => (h.clockMs = NOW_MS + 3630 * DAY_MS),
    "expires in",
    ["certificate_expired", "certificate_expired", "clock_differs", "backup_old"],
  ],
  [
    "trust_root_expired",
    "a trust root that has ended",
    (h) => (h.clockMs = NOW_MS + 3651 * DAY_MS),
    "trust root 1 expired on",
    ["certificate_expired", "certificate_expired", "clock_differs", "backup_old"],
  ],
  [
    "node_unlisted",
    "a name that no trust root lists",
    (h) => [node.paths.controlPlaneFile, node.paths.apiFile].forEach((path) => h.edit(path, { node_id: "n9" })),
    "does not list n9",
    ["certificate_of_another", "certificate_of_another", "peer_missing"],
  ],
  [
    "cluster_differs",
    "settings of another cluster",
    (h) => h.edit(node.paths.controlPlaneFile, { cluster_id: "ab".repeat(32) }),
    "cluster_id",
  ],
  ["keys_swapped", "the key of another node", (h) => h.write(at("auth.key"), seedOf("n2", "auth.key")), "a key of n2"],
  [
    "keys_swapped",
    "two keys in each other's place",
    (h) => h.write(at("auth.key"), h.text(at("cosigner.key"))),
    "auth.key is a key of n1",
  ],
  ["log_seed_wrong", "the log seed of another cluster", (h) => h.write(at("log.seed"), "ab".repeat(32)), "log.seed"],
  [
    "api_pin_differs",
    "another pin for the api process",
    (h) => h.write(join(node.paths.root, "api", "root-thk.txt"), "ab".repeat(32)),
    "root-thk.txt",
  ],
  [
    "origin_differs",
    "the origin of another node",
    (h) => h.edit(node.paths.apiFile, { origin_fingerprint: "ab".repeat(32) }),
    "origin_fingerprint",
  ],
  [
    "certificate_expires",
    "a certificate that ends in days",
    (h) => (h.clockMs = NOW_MS + 86 * DAY_MS),
    "expires in",
    ["clock_differs", "backup_old"],
  ],
  [
    "certificate_expired",
    "a certificate that has ended",
    (h) => (h.clockMs = NOW_MS + 100 * DAY_MS),
    "tls.crt expired at",
    ["clock_differs", "backup_old"],
  ],
  [
    "certificate_key_differs",
    "the TLS key of another node",
    (h) => h.write(at("tls.key"), seedOf("n2", "tls.key")),
    "another key",
  ],
  [
    "certificate_of_another",
    "the certificate of another node",
    (h) => h.write(at("tls.crt"), wrong.ofN2),
    "not for",
    ["certificate_key_differs"],
  ],
  [
    "certificate_not_issued",
    "a certificate of another CA",
    (h) => h.write(at("tls.crt"), wrong.ofOtherCa),
    "no CA",
    ["certificate_key_differs"],
  ],
  ["authority_not_pinned", "a CA that is not pinned", (h) => h.write(at("ca.crt"), wrong.otherCa), "pins no CA"],
  [
    "promise_with_database",
    "promise file and database on one disk",
    (h) => h.devices.set(dirname(node.paths.promiseFile), 1),
    "disk of the database",
  ],
  [
    "promise_folder_missing",
    "a disk that is not mounted",
    (h) => h.folders.delete(dirname(node.paths.promiseFile)),
    "there is no folder",
  ],
  ["promise_damaged", "a promise file of nothing", (h) => h.write(node.paths.promiseFile, ""), "promise file is empty"],
  [
    "promise_open",
    "a promise file that others can read",
    (h) => h.write(node.paths.promiseFile, promisesOf("n1"), 0o644),
    "chmod 600",
  ],
  [
    "promise_of_another",
    "the promise file of another node",
    (h) => h.write(node.paths.promiseFile, promisesOf("n2")),
    "the promise file of n2",
  ],
  ["disk_full", "a full disk", (h) => h.free.set(node.paths.databaseDir, 0.04), "96 % full"],
  [
    "peer_unknown_name",
    "a name without an address",
    (h) => h.closed.set("n2.control:7400", "unknown_name"),
    "n2 at n2.control:7400",
  ],
  ["peer_refused", "a closed port", (h) => h.closed.set("n3.control:7400", "refused"), "refused"],
  ["peer_silent", "a firewall", (h) => h.closed.set("n3.control:7400", "silent"), "firewall"],
  [
    "peer_silent",
    "a peer that hangs",
    (h) => h.closed.set("TLS of n3.control:7400", "silent"),
    "it takes the connection, and then says nothing",
  ],
  [
    "peer_is_another",
    "addresses in each other's place",
    (h) => h.certificates.set("n3.control:7400", wrong.ofN2),
    "the node n2, not n3",
  ],
  [
    "database_down",
    "Postgres that does not run",
    (h) => h.closed.set("/run/pg/.s.PGSQL.5432", "missing"),
    ".s.PGSQL.5432",
  ],
  [
    "database_down",
    "Postgres that does not run, without which the node does not",
    (h) => {
      h.closed.set("/run/pg/.s.PGSQL.5432", "missing");
      h.closed.set("n1.control:7400", "refused");
      h.answers.set("https://n1.api:8080/readyz", notReady("storage", "the database does not answer"));
    },
    ".s.PGSQL.5432",
  ],
  [
    "control_plane_down",
    "a control plane that does not run",
    (h) => h.closed.set("n1.control:7400", "refused"),
    "n1.control:7400",
  ],
  [
    "api_down",
    "an api process that does not run",
    (h) => h.answers.delete("https://n1.api:8080/readyz"),
    "does not answer",
  ],
  [
    "not_ready",
    "a fenced node",
    (h) => h.answers.set("https://n1.api:8080/readyz", notReady("fenced", "a promise is missing")),
    "fenced: a promise is missing",
  ],
  [
    "not_ready",
    "a fenced node that has ended",
    (h) => {
      h.closed.set("n1.control:7400", "refused");
      h.answers.set("https://n1.api:8080/readyz", notReady("fenced", "a promise is missing"));
    },
    "fenced: a promise is missing",
  ],
  ["clock_not_kept", "no time server", (h) => (h.isKept = false), "time server"],
  [
    "clock_differs",
    "a clock that is ahead",
    (h) => h.answers.set(`${OTHER}/healthz`, healthOf("4.2.0", NOW_MS - 60_000)),
    "ahead of",
  ],
  [
    "clock_differs",
    "a clock that is behind",
    (h) => h.answers.set(`${OTHER}/healthz`, healthOf("4.2.0", NOW_MS + 60_000)),
    "behind",
  ],
  ["backup_missing", "no backup", (h) => h.files.delete(join(node.paths.backupDir, "today.backup")), "no backup"],
  [
    "backup_old",
    "an old backup",
    (h) => h.change(join(node.paths.backupDir, "today.backup"), { changedMs: NOW_MS - 3 * DAY_MS }),
    "72 hours old",
  ],
  ["backup_old", "a kept backup that was copied today", (h) => keepBackup(h, "2026-11-20T120000Z"), "72 hours old"],
  ["backup_cut", "a kept backup that is cut short", (h) => keepBackup(h, "2026-11-23T110000Z", 7), "does not count"],
  [
    "drill_failed",
    "a kept backup that could not be restored",
    (h) => h.write(join(node.paths.backupDir, "last-drill.json"), FAILED_DRILL),
    "failed with altered",
  ],
  [
    "backup_open",
    "a backup that others can read",
    (h) => h.open(join(node.paths.backupDir, "today.backup")),
    "chmod 600",
  ],
  [
    "backup_with_database",
    "backups on the disk of the database",
    (h) => h.devices.set(node.paths.backupDir, 1),
    "disk of the database",
  ],
  ["node_js_old", "an old Node.js", (h) => (h.nodeVersion = "18.20.8"), "20.19 or newer"],
  [
    "release_differs",
    "another release beside this one",
    (h) => h.answers.set(`${OTHER}/healthz`, healthOf("4.1.0", NOW_MS)),
    "4.1.0",
  ],
];

describe("anchorctl doctor", () => {
  test("finds nothing wrong on a host that is as it should be", async () => {
    const { exitCode, lines } = await told(goodHost(node));
    expect(lines.at(-1)).toBe("Nothing is wrong.");
    expect(exitCode).toBe(0);
  });

  test.each(SEEDED)("names %s: %s", async (code, _title, seed, says, also = []) => {
    const host = goodHost(node);
    seed(host);
    const { lines } = await told(host);
    const { level, page } = MISTAKES[code];
    const named = lines.filter((line) => line.includes(says) && line.endsWith(`(docs/operating/${page})`));
    expect(named.length).toBeGreaterThan(0);
    expect(named.every((line) => /^ {2}[✗!] /u.test(line))).toBe(true);
    const { exitCode, lines: json } = await told(host, true);
    const { checks } = JSON.parse(json.join("\n")) as { checks: { findings: { code: MistakeCode }[] }[] };
    const codes = checks.flatMap(({ findings }) => findings.map((found) => found.code));
    expect(codes.toSorted()).toEqual([code, ...also].toSorted());
    const isFailure = level === "fail" || also.some((each) => MISTAKES[each].level === "fail");
    expect(exitCode).toBe(isFailure ? 1 : 0);
    // No password is in a line.
    expect(lines.join("\n")).not.toContain("correct-horse");
  });

  test("has every mistake seeded, twenty-five at least", () => {
    const seeded = new Set(SEEDED.map(([code]) => code));
    expect(Object.keys(MISTAKES).filter((code) => !seeded.has(code as MistakeCode))).toEqual([]);
    expect(seeded.size).toBeGreaterThanOrEqual(25);
  });

  test("has a page for every mistake", () => {
    for (const { page } of Object.values(MISTAKES)) {
      const [file = "", anchor] = page.split("#");
      expect([page, existsSync(join(PAGES, file))]).toEqual([page, true]);
      if (anchor === undefined) continue;
      const anchors = anchorsOf(readFileSync(join(PAGES, file), "utf8"));
      expect([page, anchors.includes(anchor)]).toEqual([page, true]);
    }
  });
});

test.each([
  ["postgresql://owner:x@[::1]:5433/anchoring", "::1:5433"],
  ["postgresql://owner:x@%2Frun%2Fother/anchoring", "/run/other/.s.PGSQL.5432"],
  ["postgresql://owner:x@db.local/anchoring", "db.local:5432"],
])("the database of %s is looked for at %s", async (databaseUrl, address) => {
  const host = goodHost(node);
  host.edit(node.paths.controlPlaneFile, { database_url: databaseUrl });
  host.closed.set(address, "refused");
  expect((await told(host)).lines.join("\n")).toContain(`Postgres at ${address}: refused`);
});

describe("anchorctl doctor on this machine", () => {
  test("names what is wrong with real files and ports", async () => {
    const { controlPlaneFile, databaseDir, backupDir } = node.paths;
    // Nobody listens on port 1 of this machine.
    const settings = join(node.paths.root, "here.json");
    const here = readFileSync(controlPlaneFile, "utf8").replaceAll(
      /n[123]\.control","port":7400/gu,
      '127.0.0.1","port":1',
    );
    writeFileSync(settings, here, { mode: 0o600 });
    const options = ["--control-plane", settings, "--database-dir", databaseDir, "--backups", backupDir];
    const { exitCode, stdout } = await runAnchorctl(node.paths.root, ["doctor", ...options, "--json"]);
    expect(exitCode).toBe(1);
    const { checks } = JSON.parse(stdout) as { checks: { check: string; findings: { code: MistakeCode }[] }[] };
    const codesOf = (name: string): readonly MistakeCode[] =>
      checks.filter(({ check }) => check === name).flatMap(({ findings }) => findings.map(({ code }) => code));
    expect(codesOf("disks")).toContain("promise_with_database");
    expect(codesOf("peers")).toEqual(["peer_refused", "peer_refused"]);
    expect(codesOf("processes")).toEqual(["database_down"]);
    expect(codesOf("settings")).toEqual([]);
    expect(codesOf("identity")).toEqual([]);
  });

  test("tells ports and sockets apart", async () => {
    const host = thisHost({});
    const server = createServer((socket) => socket.destroy());
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const { port } = server.address() as AddressInfo;
    expect(await host.connect({ host: "127.0.0.1", port })).toBe("open");
    expect(await host.certificateOf("127.0.0.1", port)).toBe("none");
    expect(await host.get(`http://127.0.0.1:${port}/readyz`)).toBeNull();
    await new Promise((resolve) => server.close(resolve));
    expect(await host.connect({ host: "127.0.0.1", port })).toBe("refused");
    expect(await host.connect({ socket: join(node.paths.root, "none.sock") })).toBe("missing");
  });

  test("needs a file of settings, and says so", async () => {
    const run = await runAnchorctl(node.paths.root, ["doctor", "--control-plane", "/nowhere.json"]);
    expect(run.exitCode).toBe(1);
    expect(run.stdout).toContain("cannot read /nowhere.json: there is no such file (docs/operating/configuration.md)");
    const folder = await runAnchorctl(node.paths.root, ["doctor", "--control-plane", "/etc"]);
    expect(folder.exitCode).toBe(1);
    expect(folder.stdout).toContain("cannot read /etc: it is a folder (docs/operating/configuration.md)");
  });
});
