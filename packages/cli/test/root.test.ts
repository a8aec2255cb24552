import {
  chmodSync,
  copyFileSync,
  existsSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Readable } from "node:stream";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "@jest/globals";
import { createSigner, nodeCrypto } from "@event-anchoring/node-crypto";
import { VKEY_TYPE, formatVkey, makeVkey } from "@event-anchoring/protocol";
import { createCluster } from "@event-anchoring/provision";
import { anchorctl } from "../src/index.ts";
import type { Run } from "./run-anchorctl.ts";
import { runAnchorctl } from "./run-anchorctl.ts";

/** Sealing is meant to be slow. */
const SCRYPT_TIMEOUT_MS = 120_000;
let home: string;
let folder: string;
let work: string;

beforeAll(async () => {
  home = mkdtempSync(join(tmpdir(), "anchorctl-root-"));
  folder = join(home, ".anchoring");
  const nodes = ["n1", "n2", "n3"].map((nodeId) => ({ nodeId, controlHost: "127.0.0.1", controlPort: 9 }));
  await createCluster({ clusterName: "root.test", nodes, quorum: 2, rootKeys: 3, rootThreshold: 2, outDir: folder });
  const file = { state: "running", api_key: null, nodes: [{ id: "n1", api_url: "x", control_address: "127.0.0.1:9" }] };
  writeFileSync(join(folder, "cluster.json"), JSON.stringify(file));
});

afterAll(() => {
  rmSync(home, { recursive: true, force: true });
});

beforeEach(() => {
  work = mkdtempSync(join(home, "work-"));
});

const at = (name: string): string => join(work, name);
const rootKey = (number: number): string => join(folder, "root-keys", `root-${number}.seed`);
const root = (...args: readonly string[]): Promise<Run> => runAnchorctl(home, ["root", ...args]);
const member = (...args: readonly string[]): Promise<Run> => runAnchorctl(home, ["member", ...args]);

async function json(run: Promise<Run>, exitCode = 0): Promise<Record<string, unknown>> {
  const { exitCode: actual, stdout, stderr } = await run;
  expect([actual, actual === exitCode ? "" : stdout + stderr]).toEqual([exitCode, ""]);
  return JSON.parse(stdout) as Record<string, unknown>;
}

async function proposal(...changes: readonly string[]): Promise<string> {
  const { root_thk: thk } = await json(root("propose", "--out", at("next"), "--json", ...changes));
  return String(thk);
}

const sign = (key: number, thk: string, ...more: readonly string[]): Promise<Run> =>
  root("sign", at("next"), "--key", rootKey(key), "--expect", thk, ...more);

async function newNode(nodeId = "n4"): Promise<string> {
  const { card } = await json(
    member(
      "prepare",
      nodeId,
      "--identity",
      at(nodeId),
      "--log-seed",
      join(folder, "nodes", "n1", "identity", "log.seed"),
      "--card",
      at(`${nodeId}.card`),
      "--json",
    ),
  );
  return String(card);
}

describe("anchorctl root init", () => {
  test(
    "seals a key with a passphrase, keeps it private, and never overwrites one",
    async () => {
      writeFileSync(at("passphrase"), "correct horse\nsecond line\n");
      const args = ["init", at("alice"), "--label", "alice", "--passphrase-file", at("passphrase"), "--json"];
      expect(await json(root(...args))).toMatchObject({ name: "root.test/root/alice", sealed: true });
      expect(statSync(at("alice")).mode & 0o777).toBe(0o600);
      expect(readFileSync(at("alice.pub"), "utf8")).toMatch(/^root\.test\/root\/alice\+[0-9a-f]{8}\+\S+\n$/u);
      expect(await json(root(...args), 2)).toMatchObject({ failure: "file_exists" });
      const thk = await proposal("--add-root-key", at("alice.pub"));
      const open = ["sign", at("next"), "--key", at("alice"), "--expect", thk];
      expect((await root(...open, "--passphrase-file", at("passphrase"))).exitCode).toBe(0);
      writeFileSync(at("passphrase"), "battery staple\n");
      const wrong = root(...open, "--passphrase-file", at("passphrase"), "--json");
      expect(await json(wrong, 2)).toMatchObject({ failure: "file_malformed" });
    },
    SCRYPT_TIMEOUT_MS,
  );

  test.each<[string, readonly string[], string]>([
    ["a label of other characters", ["--label", "Alice", "--plain"], "value_invalid"],
    ["nobody to ask for a passphrase", ["--label", "alice"], "nobody_to_ask"],
    ["no passphrase file", ["--label", "alice", "--passphrase-file", "/missing"], "cannot_read"],
  ])("is refused with %s", async (_what, args, failure) => {
    expect(await json(root("init", at("alice"), ...args, "--json"), 2)).toMatchObject({ failure });
    expect(existsSync(at("alice"))).toBe(false);
  });

  test("is refused with a passphrase that is short", async () => {
    writeFileSync(at("passphrase"), "short\n");
    const run = root("init", at("eve"), "--label", "eve", "--passphrase-file", at("passphrase"), "--json");
    expect(await json(run, 2)).toMatchObject({ failure: "value_invalid" });
  });
});

describe("anchorctl root propose, sign and show", () => {
  test("draw every difference, and who has signed", async () => {
    const card = await newNode();
    await proposal("--add-active", card, "--retire", "n3", "--expires", "365d", "--add-ca", "ab".repeat(32));
    const { stdout } = await root("show", at("next"));
    expect(stdout).toContain("Trust root of root.test, version 2");
    expect(stdout).toMatch(/RootTHK +([0-9a-f]{8} ){7}[0-9a-f]{8}\n/u);
    expect(stdout).toMatch(/~ expires: \S+Z → \S+Z\n/u);
    expect(stdout).toContain(`+ CA ${"ab".repeat(32)}`);
    expect(stdout).toMatch(/~ origin [0-9a-f]{16}: active → closed\n/u);
    expect(stdout).toMatch(/\+ origin [0-9a-f]{16}, active\n/u);
    expect(stdout).toContain("~ node n3: active → retired");
    expect(stdout).toMatch(/\+ node n4, active: cosigner [0-9a-f]{16}, auth [0-9a-f]{16}\n/u);
    expect(stdout).toMatch(/! it expires earlier than the version before\n/u);
    expect(stdout).toMatch(/0 of the 2 that version 1 asks for: root\.test\/root\/root-1 –/u);
  });

  test("warn of what weakens the cluster", async () => {
    await proposal("--retire", "n3");
    expect((await root("show", at("next"))).stdout).toMatch(/! all 2 active nodes must cosign/u);
    await proposal("--remove-root-key", "root-3");
    expect((await root("show", at("next"))).stdout).toMatch(/! all 2 root keys must sign/u);
    await proposal("--root-threshold", "1");
    expect((await root("show", at("next"))).stdout).toMatch(/! fewer root keys than before/u);
  });

  test("warn of a quorum that counts on nodes before they can cosign, and name the way in two steps", async () => {
    const [n4, n5] = [await newNode("n4"), await newNode("n5")];
    await proposal("--add-active", n4, "--add-active", n5, "--quorum", "3");
    expect((await root("show", at("next"))).stdout).toMatch(
      /! until n4, n5 can cosign no other node may be down: add learners first, and promote them by a second/u,
    );
    await proposal("--add-active", n4, "--add-active", n5, "--quorum", "4");
    expect((await root("show", at("next"))).stdout).toMatch(/! until n4, n5 can cosign nothing is certified/u);
    await proposal("--add-learner", n4, "--add-learner", n5);
    expect((await root("show", at("next"))).stdout).not.toMatch(/can cosign/u);
  });

  test("draw operators and witnesses that come and go", async () => {
    const init = ["operator", "init", at("dora.key"), "--label", "dora", "--plain", "--json"];
    const { vkey } = await json(runAnchorctl(home, init));
    expect(vkey).toMatch(/^root\.test\/operator\/dora\+/u);
    const seed = new Uint8Array(32).fill(7);
    const witness = makeVkey("w.example", VKEY_TYPE.cosignature, createSigner(seed).publicKey, nodeCrypto.sha256);
    const operators = ["--add-operator", at("dora.key.pub"), "--remove-operator", "operator"];
    await proposal(...operators, "--add-witness", `north ${formatVkey(witness)} https://w.example/log`);
    const { stdout } = await root("show", at("next"));
    expect(stdout).toMatch(/\+ operator dora \(/u);
    expect(stdout).toMatch(/− operator operator \(/u);
    expect(stdout).toMatch(/\+ witness north, w\.example \(.*https:\/\/w\.example\/log/u);
    expect(stdout).toContain("1 of 1 must cosign as well");
    const { exitCode, stderr } = await root("propose", "--out", at("bad"), "--add-witness", "north x");
    expect([exitCode, stderr]).toEqual([2, expect.stringContaining("<name> <vkey> <url>")]);
    const none = await root("propose", "--out", at("bad"), "--remove-operator", "operator");
    expect(none.stdout).toContain("no operator is left");
  });

  test("show the newest version where no proposal is given", async () => {
    expect(await json(root("show", "--json"))).toMatchObject({ version: 1, differences: null, root_threshold: 2 });
    expect((await root("show")).stdout).toContain("2 of 3 must sign");
  });

  test("add one signature after the other, until there are enough", async () => {
    const thk = await proposal("--expires", "400d");
    expect(await json(sign(1, thk, "--json"))).toMatchObject({ complete: false });
    const again = await sign(1, thk);
    expect(again.stdout).toContain("Still missing: 1 of root.test/root/root-2, root.test/root/root-3 for version 1");
    expect((await sign(3, thk)).stdout).toContain("signed enough");
    expect((await root("show", at("next"))).stdout).toMatch(/✓ version 2 +2 of the 2/u);
  });

  test("ask the person at the terminal, who types the version", async () => {
    const thk = await proposal();
    const asked = async (typed: string): Promise<{ exitCode: number; stderr: string }> => {
      let stderr = "";
      const exitCode = await anchorctl(["root", "sign", at("next"), "--key", rootKey(1)], {
        stdin: Readable.from([`${typed}\n`]),
        stdout: { isTTY: false, write: () => {} },
        stderr: { isTTY: true, write: (text) => (stderr += text) },
        workingDir: home,
        environment: { NO_COLOR: "1" },
      });
      return { exitCode, stderr };
    };
    const refused = await asked("yes");
    expect([refused.exitCode, readFileSync(at("next"), "utf8")]).toEqual([2, expect.not.stringContaining("\n\n")]);
    expect(refused.stderr).toContain("Type 2 to sign version 2: ");
    expect(refused.stderr.replaceAll(" ", "")).toContain(thk);
    expect((await asked("2")).exitCode).toBe(0);
    expect(readFileSync(at("next"), "utf8")).toContain("— root.test/root/root-1 ");
  });

  test.each<[string, (thk: string) => Promise<Run>, number, string]>([
    ["another document than the one expected", () => sign(1, "00".repeat(32), "--json"), 1, "root_thk_differs"],
    ["nobody to ask", () => root("sign", at("next"), "--key", rootKey(1), "--json"), 2, "nobody_to_ask"],
    [
      "a key that is no root key",
      (thk) =>
        root(
          "sign",
          at("next"),
          "--key",
          join(folder, "nodes", "n1", "identity", "auth.key"),
          "--expect",
          thk,
          "--json",
        ),
      2,
      "change_invalid",
    ],
    [
      "a key that is not there",
      (thk) => root("sign", at("next"), "--key", at("x"), "--expect", thk, "--json"),
      2,
      "file_missing",
    ],
  ])("do not sign with %s", async (_what, run, exitCode, failure) => {
    const thk = await proposal();
    const before = readFileSync(at("next"), "utf8");
    expect(await json(run(thk), exitCode)).toMatchObject({ failure });
    expect(readFileSync(at("next"), "utf8")).toBe(before);
  });

  test("do not read a key that others can read", async () => {
    const thk = await proposal();
    copyFileSync(rootKey(1), at("open"));
    chmodSync(at("open"), 0o640);
    const run = root("sign", at("next"), "--key", at("open"), "--expect", thk, "--json");
    expect(await json(run, 2)).toMatchObject({ failure: "file_mode_too_wide" });
  });

  test.each<[string, (text: string) => string, string]>([
    ["it was changed by hand", (text) => text.replace("quorum 2", "quorum 4"), "quorum_unsafe"],
    ["it is another cluster's", (text) => text.replaceAll("root.test", "rost.test"), "malformed"],
    ["it follows another version", (text) => text.replace("version 2 0 ", "version 3 0 "), "version_gap"],
    ["it is no document", () => "trust me\n", "malformed"],
  ])("refuse a proposal if %s", async (_what, spoil, failure) => {
    await proposal();
    writeFileSync(at("next"), spoil(readFileSync(at("next"), "utf8")));
    expect(await json(root("show", at("next"), "--json"), 1)).toMatchObject({ failure });
  });

  test.each<[string, readonly string[], string]>([
    ["a node that is not listed", ["--retire", "n9"], "change_invalid"],
    ["too few nodes for the quorum", ["--retire", "n2", "--retire", "n3"], "quorum_unsafe"],
    ["a card that is none", ["--add-learner", "/dev/null"], "card_invalid"],
    ["a key that is none", ["--add-root-key", "/dev/null"], "key_malformed"],
    ["an authority that is none", ["--add-ca", "/dev/null"], "certificate_invalid"],
    ["a quorum that is no number", ["--quorum", "two"], "count_invalid"],
    ["no end", ["--expires", "never"], "expiry_invalid"],
  ])("do not propose %s", async (_what, args, failure) => {
    const { exitCode, stdout } = await root("propose", "--out", at("next"), ...args, "--json");
    expect([exitCode > 0, JSON.parse(stdout)]).toMatchObject([true, { failure }]);
    expect(existsSync(at("next"))).toBe(false);
  });
});

describe("anchorctl root submit and fetch", () => {
  test("do not ask a cluster before there are enough signatures over one text", async () => {
    const thk = await proposal();
    await sign(1, thk);
    expect(await json(root("submit", at("next"), "--json"), 2)).toMatchObject({ failure: "signatures_missing" });
    copyFileSync(at("next"), at("copy"));
    const other = await proposal("--expires", "10d");
    await sign(2, other);
    const differ = root("submit", at("next"), at("copy"), "--json");
    expect(await json(differ, 2)).toMatchObject({ failure: "change_invalid" });
  });

  test("say that nobody has answered", async () => {
    const thk = await proposal();
    await sign(1, thk);
    await sign(2, thk);
    const quick = ["--timeout", "0.3", "--json"];
    expect(await json(root("submit", at("next"), ...quick), 4)).toMatchObject({ failure: "outcome_unknown" });
    expect(await json(root("fetch", ...quick), 4)).toMatchObject({ failure: "outcome_unknown" });
    expect(existsSync(join(folder, "trust-root-2.txt"))).toBe(false);
  });

  test("say that the place for the versions cannot be written to, before anybody is asked", async () => {
    const thk = await proposal();
    await sign(1, thk);
    await sign(2, thk);
    writeFileSync(at("file"), "");
    for (const out of ["missing", "file"].map(at)) {
      expect(await json(root("fetch", "--out", out, "--json"), 2)).toMatchObject({ failure: "cannot_write" });
      const submit = root("submit", at("next"), "--out", out, "--json");
      expect(await json(submit, 2)).toMatchObject({ failure: "cannot_write" });
    }
  });
});

describe("anchorctl help", () => {
  test("shows the command that is named, however deep", async () => {
    const help = (...names: readonly string[]): Promise<Run> => runAnchorctl(home, ["help", ...names]);
    expect(await help("root", "fetch")).toEqual(await root("fetch", "--help"));
    expect(await help("root")).toEqual(await root("--help"));
    expect(await help()).toEqual(await runAnchorctl(home, ["--help"]));
    expect(await help("root", "fetsh")).toEqual({
      exitCode: 2,
      stdout: "",
      stderr: expect.stringContaining("there is no command root fetsh"),
    });
  });
});

describe("anchorctl member", () => {
  test("prepares a node that is new, once", async () => {
    await newNode("n7");
    expect(existsSync(join(at("n7"), "trust-root.txt"))).toBe(true);
    const seed = join(folder, "nodes", "n1", "identity", "log.seed");
    const again = member("prepare", "n7", "--identity", at("n7"), "--log-seed", seed, "--json");
    expect(await json(again, 2)).toMatchObject({ failure: "file_exists" });
    const known = member("prepare", "n1", "--identity", at("n1"), "--log-seed", seed, "--json");
    expect(await json(known, 2)).toMatchObject({ failure: "value_invalid" });
  });

  test("draws other keys, settles what a trust root names, and discards the rest", async () => {
    const identity = ["--identity", join(folder, "nodes", "n2", "identity")];
    const rotate = ["rotate", "n2", ...identity, "--card", at("n2.card"), "--json"];
    await json(member(...rotate, "--keys", "auth,cosigner"));
    expect(await json(member(...rotate), 2)).toMatchObject({ failure: "file_exists" });
    await proposal("--new-keys", at("n2.card"));
    expect((await root("show", at("next"))).stdout).toMatch(/~ node n2: cosigner key [0-9a-f]{16} → [0-9a-f]{16}\n/u);
    const settled = await json(member("settle", "n2", ...identity, "--json"));
    expect(settled).toEqual({ version: 1, replaced: [], waiting: ["auth", "cosigner"] });
    expect(await json(member("discard", ...identity, "--json"))).toEqual({ discarded: ["auth", "cosigner"] });
    expect(await json(member(...rotate, "--keys", "tls"), 2)).toMatchObject({ failure: "keys_invalid" });
  });
});
