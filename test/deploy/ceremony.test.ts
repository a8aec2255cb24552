import {
  chmodSync,
  copyFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { createHash } from "node:crypto";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "@jest/globals";
import { anchorctl } from "@event-anchoring/cli";
import { EmbeddedCluster } from "@event-anchoring/dev-cluster";
import { certsCommand } from "@event-anchoring/provision";
import type { CertsCommandName } from "@event-anchoring/provision";
import { LoadClient } from "@event-anchoring/testkit/clients";

// docs/operating/ceremony.md, done: a folder for each machine, and only what the page carries is carried from one to
// another. Then a cluster is started from what is on the three nodes.

const NAME = "ceremony.test";
const NODES = ["n1", "n2", "n3"] as const;
const HOLDERS = ["alice", "bob", "carol"] as const;

let home: string;
const machine = (name: string): string => join(home, name);
const at = (name: string, ...path: readonly string[]): string => join(machine(name), ...path);

/** Something that is taken from one machine to another. */
function carry(from: string, file: string, to: string, name = basename(file)): string {
  mkdirSync(machine(to), { recursive: true });
  const target = at(to, name);
  copyFileSync(at(from, file), target);
  return target;
}

interface Said {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

async function run(...args: readonly string[]): Promise<Said> {
  const said = { stdout: "", stderr: "" };
  const output = (name: "stdout" | "stderr") => ({ isTTY: false, write: (text: string) => void (said[name] += text) });
  const io = { stdout: output("stdout"), stderr: output("stderr"), workingDir: home, environment: {} };
  const code = await anchorctl([...args], io);
  return { code, ...said };
}

async function json(...args: readonly string[]): Promise<Record<string, unknown>> {
  const { code, stdout, stderr } = await run(...args, "--json");
  expect([code, code === 0 ? "" : stdout + stderr]).toEqual([0, ""]);
  return JSON.parse(stdout) as Record<string, unknown>;
}

async function certs(name: CertsCommandName, ...args: readonly string[]): Promise<Said> {
  const said = { stdout: "", stderr: "" };
  const code = await certsCommand(name, args, {
    write: (text) => void (said.stdout += text),
    error: (text) => void (said.stderr += text),
    workingDir: home,
    nowMs: Date.now(),
  });
  return { code, ...said };
}

/** Steps 1 to 3: what is drawn, where it stays, and what is carried to the desk where the version is drafted. */
async function drawAll(): Promise<void> {
  await json("root", "begin", machine("desk"), "--cluster-name", NAME);
  expect((await certs("authority", "create", "--name", NAME, "--out", machine("authority"))).code).toBe(0);
  for (const name of ["ca.crt", "next.crt"]) carry("authority", `ca/${name}`, "desk");
  for (const holder of HOLDERS) {
    mkdirSync(machine(holder));
    await json("root", "init", at(holder, "root.key"), "--label", holder, "--cluster-name", NAME, "--plain");
    carry(holder, "root.key.pub", "desk", `${holder}.pub`);
  }
  mkdirSync(machine("oscar"));
  await json("operator", "init", at("oscar", "operator.key"), "--label", "oscar", "--cluster-name", NAME, "--plain");
  carry("oscar", "operator.key.pub", "desk", "oscar.pub");
  for (const id of NODES) {
    const card = carry("desk", "cluster.card", id);
    const seed = carry("desk", "log.seed", id, "carried.seed");
    const to = ["--identity", at(id, "nodes", id, "identity"), "--card", at(id, `${id}.card`)];
    await json("member", "prepare", id, "--cluster-card", card, "--log-seed", seed, ...to);
    rmSync(seed);
    carry(id, `${id}.card`, "desk");
    carry(id, `nodes/${id}/identity/tls.csr`, "authority", `${id}.csr`);
  }
}

function draft(...more: readonly string[]): Promise<Said> {
  const args = ["root", "draft", "--out", at("desk", "version-1"), "--root-threshold", "2", "--quorum", "2"];
  for (const id of NODES) args.push("--node", at("desk", `${id}.card`));
  for (const holder of HOLDERS) args.push("--root-key", at("desk", `${holder}.pub`));
  for (const name of ["ca.crt", "next.crt"]) args.push("--ca", at("desk", name));
  args.push("--operator", at("desk", "oscar.pub"));
  return run(...args, ...more);
}

let rootThk: string;

beforeAll(async () => {
  home = mkdtempSync(join(tmpdir(), "anchoring-ceremony-"));
  await drawAll();
  const { stdout } = await draft("--json");
  rootThk = (JSON.parse(stdout) as { root_thk: string }).root_thk;
}, 60_000);

afterAll(() => {
  rmSync(home, { recursive: true, force: true });
});

const signAs = (holder: string, thk = rootThk): Promise<Said> =>
  run("root", "sign", at(holder, "version-1"), "--key", at(holder, "root.key"), "--expect", thk);

const finish = (...copies: readonly string[]): Promise<Said> =>
  run("root", "finish", ...copies, "--out", at("desk", "signed"));

const install = (id: string, more: Readonly<Record<string, string>> = {}): Promise<Said> => {
  const flags = {
    identity: at(id, "nodes", id, "identity"),
    document: at(id, "trust-root.txt"),
    "root-thk": rootThk,
    ca: at(id, "ca.crt"),
    certificate: at(id, "tls.crt"),
    ...more,
  };
  return run("member", "install", id, ...Object.entries(flags).flatMap(([name, value]) => [`--${name}`, value]));
};

describe("before the first version is signed", () => {
  test("it shows what it says, and that it follows nothing", async () => {
    const { stdout } = await run("root", "show", at("desk", "version-1"));
    expect(stdout).toContain(`Trust root of ${NAME}, version 1`);
    expect(stdout).toContain("nothing: the first version");
    expect(stdout).toContain("0 of the 2 that version 1 asks for");
    expect(stdout).toMatch(/operators +oscar/u);
    expect(stdout).toContain("2 of 3: goes on with 1 node down; detects one lying node, excludes none");
  });

  test.each<[string, readonly string[], RegExp]>([
    ["a node twice", ["--node", "n1"], /node id is there twice/u],
    ["a quorum that is no majority", ["--quorum", "1"], /quorum/u],
    ["more signatures than keys", ["--root-threshold", "4"], /4 of 3 root keys/u],
  ])("%s is refused", async (_what, [option = "", value = ""], message) => {
    const given = option === "--node" ? at("desk", `${value}.card`) : value;
    const { code, stderr } = await draft("--out", at("desk", "refused"), option, given);
    expect([code === 1 || code === 2, message.test(stderr)]).toEqual([true, true]);
    expect(existsSync(at("desk", "refused"))).toBe(false);
  });

  test("a card of another cluster is refused", async () => {
    await json("root", "begin", machine("elsewhere"), "--cluster-name", NAME);
    const from = ["--cluster-card", at("elsewhere", "cluster.card"), "--log-seed", at("elsewhere", "log.seed")];
    const to = ["--identity", at("elsewhere", "n4"), "--card", at("elsewhere", "n4.card")];
    await json("member", "prepare", "n4", ...from, ...to);
    const { code, stderr } = await draft("--out", at("desk", "refused"), "--node", at("elsewhere", "n4.card"));
    expect([code, stderr]).toEqual([2, expect.stringContaining("cards of different clusters")]);
  });

  test("a root key of another cluster is refused", async () => {
    await json("root", "init", at("elsewhere", "eve"), "--label", "eve", "--cluster-name", "other.test", "--plain");
    const { code, stderr } = await draft("--out", at("desk", "refused"), "--root-key", at("elsewhere", "eve.pub"));
    expect([code, stderr]).toEqual([2, expect.stringContaining("is no root key of ceremony.test")]);
  });

  test("neither a begun cluster nor a node's keys nor a CA are overwritten", async () => {
    expect((await run("root", "begin", machine("desk"), "--cluster-name", NAME)).code).toBe(2);
    const identity = at("n1", "nodes", "n1", "identity");
    const again = ["--cluster-card", at("desk", "cluster.card"), "--log-seed", at("desk", "log.seed")];
    const { code } = await run("member", "prepare", "n1", ...again, "--identity", identity, "--card", at("n1", "x"));
    expect(code).toBe(2);
    expect((await certs("authority", "create", "--name", NAME, "--out", machine("authority"))).code).toBe(1);
  });

  test("a key that is no holder's cannot sign, and a holder signs only the expected text", async () => {
    carry("desk", "version-1", "alice");
    const stranger = await run(
      "root",
      "sign",
      at("alice", "version-1"),
      "--key",
      at("elsewhere", "eve"),
      "--expect",
      rootThk,
    );
    expect([stranger.code, stranger.stderr]).toEqual([2, expect.stringContaining("no root key of version 1")]);
    expect((await signAs("alice", "00".repeat(32))).code).toBe(1);
  });
});

describe("when two of three have signed", () => {
  test("one signature is not enough; two make the document", async () => {
    for (const holder of ["alice", "carol"]) {
      carry("desk", "version-1", holder);
      expect((await signAs(holder)).code).toBe(0);
      carry(holder, "version-1", "desk", `version-1.${holder}`);
    }
    const early = await finish(at("desk", "version-1.alice"));
    expect([early.code, early.stderr]).toEqual([2, expect.stringContaining("not signed enough")]);
    const { code, stdout } = await finish(at("desk", "version-1.alice"), at("desk", "version-1.carol"));
    expect([code, stdout.replaceAll(" ", "")]).toEqual([0, expect.stringContaining(rootThk)]);
    expect(readFileSync(at("desk", "signed", "root-thk.txt"), "utf8").trim()).toBe(rootThk);
  });

  test("the CA issues for the nodes of the document, and for their own requests alone", async () => {
    carry("desk", "signed/trust-root.txt", "authority");
    const issue = (id: string, request: string, role = "node"): Promise<Said> => {
      const args = ["--request", at("authority", request), "--to", at("authority", `for-${id}`)];
      return certs("issue", role, id, ...args, "--out", machine("authority"));
    };
    for (const id of NODES) expect(await issue(id, `${id}.csr`)).toMatchObject({ code: 0, stderr: "" });
    expect(readdirSync(at("authority", "for-n1")).toSorted()).toEqual(["ca.crt", "tls.crt"]);
    expect(await issue("n4", "n1.csr")).toMatchObject({ code: 1, stderr: expect.stringContaining(":node:n1") });
    expect(await issue("n2", "n1.csr")).toMatchObject({ code: 1, stderr: expect.stringContaining(":node:n1") });
    expect((await issue("n1", "n1.csr", "operator")).code).toBe(1);
    writeFileSync(at("authority", "broken.csr"), "-----BEGIN CERTIFICATE REQUEST-----\n");
    expect((await issue("n1", "broken.csr")).code).toBe(1);
    expect((await issue("n2", "n2.csr")).code).toBe(0);
  });

  test("a node takes what is its own, and nothing else", async () => {
    for (const id of NODES) {
      carry("desk", "signed/trust-root.txt", id);
      carry("authority", "ca/ca.crt", id);
      carry("authority", `for-${id}/tls.crt`, id);
    }
    const cases: readonly [Readonly<Record<string, string>>, string][] = [
      [{ "root-thk": "00".repeat(32) }, "refused"],
      [{ "root-thk": "zz" }, "64 hex digits"],
      [{ certificate: at("n2", "tls.crt") }, "another key"],
      [{ identity: at("n2", "nodes", "n2", "identity") }, "another auth key"],
      [{ identity: at("elsewhere", "n4") }, "another auth key"],
      [{ ca: at("n1", "tls.crt") }, "pins another CA"],
      [{ document: at("desk", "version-1") }, ""],
    ];
    for (const [flags, why] of cases) {
      const { code, stderr } = await install("n1", flags);
      expect([flags, code, stderr]).toEqual([flags, 2, expect.stringContaining(why)]);
    }
    expect(existsSync(at("n1", "nodes/n1/identity/trust-root.txt"))).toBe(false);
    for (const id of NODES) expect(await install(id)).toMatchObject({ code: 0, stderr: "" });
  });

  test("a node that joins later asks and is given its certificate the same way", async () => {
    const identity = at("n4", "identity");
    mkdirSync(machine("n4"));
    const held = ["--trust-root", at("desk", "signed", "trust-root.txt"), "--log-seed", at("desk", "log.seed")];
    await json("member", "prepare", "n4", ...held, "--identity", identity, "--card", at("n4", "n4.card"));
    carry("authority", "ca/ca.crt", "n4/identity");
    chmodSync(join(identity, "ca.crt"), 0o600);
    expect((await certs("request", "n4", "--out", machine("authority"))).code).toBe(2);
    expect(await certs("request", "n4", "--identity", identity)).toMatchObject({ code: 0, stderr: "" });
    carry("n4", "identity/tls.csr", "authority", "n4.csr");
    const to = ["--to", at("authority", "for-n4"), "--out", machine("authority")];
    const issued = await certs("issue", "node", "n4", "--request", at("authority", "n4.csr"), ...to);
    expect(issued).toMatchObject({ code: 0, stderr: "" });
    expect((await certs("install", "n4", at("authority", "for-n1", "tls.crt"), "--identity", identity)).code).toBe(1);
    const installed = await certs("install", "n4", at("authority", "for-n4", "tls.crt"), "--identity", identity);
    expect(installed).toMatchObject({ code: 0, stderr: "" });
    rmSync(machine("n4"), { recursive: true });
  });

  test("no secret is in two places, but for the log seed", () => {
    const places = new Map<string, Set<string>>();
    for (const name of readdirSync(home)) {
      for (const path of readdirSync(machine(name), { recursive: true, encoding: "utf8" })) {
        if (!/(\.key|\.seed|\.key\.new)$/u.test(path)) continue;
        const hash = createHash("sha256")
          .update(readFileSync(at(name, path)))
          .digest("hex");
        places.set(hash, (places.get(hash) ?? new Set()).add(name));
      }
    }
    const shared = [...places.values()].filter((names) => names.size > 1).map((names) => [...names].toSorted());
    expect(shared).toEqual([["desk", "n1", "n2", "n3"]]);
    // Each holder has a root key, the CA two, each node three; two are log seeds (one of them elsewhere).
    expect(places.size).toBeGreaterThanOrEqual(3 + 2 + 3 * 3 + 2);
  });

  test("each host gets its containers' settings, once", async () => {
    for (const id of NODES) {
      const args = [id, "--out", machine(id), "--env", at(id, ".env")];
      expect((await certs("configure", ...args)).code).toBe(1);
      for (const name of ["trust-root.txt", "root-thk.txt"]) carry("desk", `signed/${name}`, id);
      expect(await certs("configure", ...args)).toMatchObject({ code: 0, stderr: "" });
      expect(readdirSync(at(id, "nodes", id)).toSorted()).toEqual(["api", "control-plane", "identity", "postgres"]);
      expect((await certs("configure", ...args)).code).toBe(1);
    }
    expect((await certs("configure", "n9", "--out", machine("n1"))).code).toBe(2);
  });
});

describe("a cluster of nodes that were made apart", () => {
  let cluster: EmbeddedCluster | null = null;

  afterEach(async () => {
    await cluster?.erase();
  }, 60_000);

  test("starts, and anchors", async () => {
    // One machine stands for all of them now.
    const folder = machine("cluster");
    mkdirSync(folder, { mode: 0o700 });
    for (const id of NODES) {
      cpSync(at(id, "nodes", id, "identity"), join(folder, "nodes", id, "identity"), { recursive: true });
      for (const name of ["promise", "run"]) mkdirSync(join(folder, "nodes", id, name), { mode: 0o700 });
    }
    cpSync(at("authority", "ca"), join(folder, "ca"), { recursive: true });
    mkdirSync(join(folder, "operators"), { mode: 0o700 });
    cpSync(at("oscar", "operator.key"), join(folder, "operators", "operator.key"));
    for (const name of ["trust-root.txt", "root-thk.txt"]) carry("desk", `signed/${name}`, "cluster");
    const reporter = { step: <Result>(_title: string, work: () => Promise<Result>) => work(), notice: () => undefined };
    cluster = await EmbeddedCluster.start({ folder, firstPort: 30_100 + (process.pid % 30) * 30, reporter });
    expect(cluster.file.trust_root.root_thk).toBe(rootThk);
    const [node] = cluster.file.nodes;
    const client = new LoadClient({ apiUrl: node?.api_url ?? "", apiKey: cluster.file.api_key ?? "", connections: 1 });
    const event = { origin_fingerprint: node?.origin_fingerprint, event_hash: "ab".repeat(32) };
    const { status } = await client.post("/v1/event-anchors", JSON.stringify(event));
    await client.close();
    expect(status).toBe(201);
  }, 120_000);
});
