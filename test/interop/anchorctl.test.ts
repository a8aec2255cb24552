import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import {
  VKEY_TYPE,
  bytesToBase64,
  bytesToHex,
  formatPolicy,
  formatVkey,
  makeVkey,
  parseSignedTrustRoot,
  parseVkey,
  tlogPolicyOf,
} from "@event-anchoring/protocol";
import { runAnchorctl } from "../../packages/cli/test/run-anchorctl.ts";
import { changed } from "../vector-builders/json.ts";
import { Cluster } from "../../packages/bundle/test/vector-builders/bundle-cluster.ts";
import { BundleWorld } from "../../packages/bundle/test/vector-builders/bundle-world.ts";
import type { Json } from "../vector-builders/json.ts";
import { fixedKey, sha256 } from "../vector-builders/keys.ts";
import {
  flippedAfter,
  foundIn,
  replaced,
  signatureFlipped,
  timeFlipped,
  withLine,
  withLines,
  withoutLines,
} from "./alter.ts";
import type { Alter } from "./alter.ts";
import { writeFreshLog } from "./fresh-log.ts";
import { whatGoLacks } from "./go-program.ts";
import { GoVerifier, VERIFIER } from "./go-verifier.ts";
import type { Verdict } from "./go-verifier.ts";

// A receipt, a bundle and a policy as anchorctl writes them, judged by libraries of others; then each altered.

const lacking = whatGoLacks(VERIFIER);
const describeWithGo = lacking === null ? describe : describe.skip;
if (lacking !== null) process.stderr.write(`test/interop/anchorctl.test.ts is skipped: ${lacking}\n`);

const log = writeFreshLog();
let home: string;
let go: GoVerifier;
let receipt: string;
let policy: string;
let sigsumPolicy: string;

/** What it prints. @throws Error unless it is pleased */
async function anchorctl(...args: readonly string[]): Promise<string> {
  const run = await runAnchorctl(home, args, { ANCHORCTL_API_KEY: "ank_test", HOME: home });
  if (run.exitCode !== 0) throw new Error(`anchorctl ended with ${run.exitCode}: ${run.stderr}${run.stdout}`);
  return run.stdout;
}

const trustRootPath = (): string => join(home, "trust-root.txt");
const trust = (): readonly string[] => ["--trust-root", trustRootPath(), "--root-thk", log.rootThk];

beforeAll(async () => {
  if (lacking !== null) return;
  go = new GoVerifier();
  home = mkdtempSync(join(tmpdir(), "anchoring-interop-"));
  writeFileSync(trustRootPath(), log.document);
  const { apiUrl, server } = await log.serve();
  const path = join(home, "act.tlog-proof");
  await anchorctl("receipt", log.actId, "--out", path, "--api-url", apiUrl, ...trust());
  server.close();
  server.closeAllConnections();
  receipt = readFileSync(path, "utf8");
  policy = await anchorctl("policy", "--format", "tlog", ...trust());
  sigsumPolicy = await anchorctl("policy", "--format", "sigsum", ...trust());
}, 300_000);

afterAll(() => {
  if (lacking !== null) return;
  go.end();
  rmSync(home, { recursive: true });
});

/** The policy of another cluster with the same names. */
function strangersPolicy(): Promise<string> {
  const stranger = new BundleWorld(new Cluster("anchor.example/demo", 0xc3));
  const path = join(home, "stranger.txt");
  writeFileSync(path, stranger.documents[0] ?? "");
  return anchorctl("policy", "--trust-root", path);
}

const nameOf = (vkey: string): string => vkey.slice(0, vkey.indexOf("+"));

/** A key of the same name and type that is somebody else's. */
function strangersKey(vkey: string, type: 0x01 | 0x04): string {
  return formatVkey(makeVkey(nameOf(vkey), type, fixedKey(0x77).publicKey, sha256));
}

const CHECKPOINT_ORIGIN = /^(anchor\S+)\n\d+$/mu;

/** The checkpoint is said to be of another log of the policy, which has not signed it. */
function ofAnotherLog(text: string): string {
  const own = foundIn(text, CHECKPOINT_ORIGIN);
  const names = [...policy.matchAll(/^log (\S+)/gmu)].map(([, vkey = ""]) => nameOf(vkey));
  return replaced(`\n${own}\n`, `\n${names.find((name) => name !== own) ?? ""}\n`)(text);
}

/** The policy with another line for the log that the receipt is of. */
function withLog(change: (vkey: string) => string): Alter {
  return (text) => {
    const own = foundIn(receipt, CHECKPOINT_ORIGIN);
    return replaced(new RegExp(`(?<=^log )${own}\\S+`, "mu"), change)(text);
  };
}

/** What is altered, and the step that must refuse it. */
const SPOILED_RECEIPTS: readonly (readonly [title: string, alter: Alter, step: string])[] = [
  ["another version of the format", replaced("tlog-proof@v1", "tlog-proof@v2"), "proof"],
  ["no index", replaced(/^index \d+\n/mu, ""), "proof"],
  ["a hash of 31 bytes", replaced(/(?<=^index \d+\n).{44}$/mu, bytesToBase64(new Uint8Array(31))), "proof"],
  ["a hash in hex", replaced(/(?<=^index \d+\n).{44}$/mu, "00".repeat(32)), "proof"],
  ["something after it", (text) => `${text} `, "proof"],
  ["no leaf", replaced(/^extra .*\n/mu, ""), "inclusion"],
  ["a bit of the leaf", flippedAfter(/^extra /u, 200), "inclusion"],
  ["the index one up", replaced(/(?<=^index )\d+$/mu, (index) => `${Number(index) + 1}`), "inclusion"],
  ["an index beyond the tree", replaced(/(?<=^index )\d+$/mu, "4000"), "inclusion"],
  ["a bit of the first hash", flippedAfter(/^index \d+\n/u, 0), "inclusion"],
  ["no first hash", replaced(/(?<=^index \d+\n).*\n/mu, ""), "inclusion"],
  ["no last hash", replaced(/\n[^\n]*\n\n/u, "\n\n"), "inclusion"],
  ["a hash twice", replaced(/(?<=^index \d+\n).*\n/mu, (hash) => hash + hash), "inclusion"],
  ["two hashes swapped", replaced(/(?<=^index \d+\n)(.*\n)(.*\n)/mu, "$2$1"), "inclusion"],
  ["a bit of the root", flippedAfter(/^\d+\n/u, 3), "checkpoint"],
  ["a larger tree", replaced(/(?<=^anchor.*\n)\d+$/mu, "9999"), "checkpoint"],
  ["a log that nobody knows", replaced(/^anchor\S+(?=\n\d+$)/mu, "anchor.example/other"), "origin"],
  ["another log", ofAnotherLog, "checkpoint"],
  ["an extension line", replaced(/(?<=^\d+\n.{44}\n)\n/mu, "more\n\n"), "checkpoint"],
  ["a bit of the log's signature", withLine(0, signatureFlipped), "checkpoint"],
  ["a bit of a node's signature", withLine(1, signatureFlipped), "checkpoint"],
  ["another time of a cosignature", withLine(2, timeFlipped), "checkpoint"],
  ["no line of the log", withoutLines(0), "checkpoint"],
  ["no line of a node", withoutLines(1, 2), "quorum"],
  ["one node of the two that are needed", withoutLines(2), "quorum"],
  ["one node twice", withLines(([own, a]) => [own, a, a].flatMap((line) => line ?? [])), "quorum"],
  ["a node under another name", withLine(1, (line) => ({ ...line, name: `${line.name}x` })), "quorum"],
  ["a node under another key id", withLine(1, (line) => ({ ...line, keyId: line.keyId ^ 1 })), "quorum"],
];

/** Policies by which an unaltered receipt must not pass. */
const SPOILED_POLICIES: readonly (readonly [title: string, alter: Alter, step: string])[] = [
  ["that needs three nodes", replaced("group nodes 2 ", "group nodes 3 "), "quorum"],
  ["that counts one of its two nodes only", replaced("nodes 2 a b c", "nodes 2 b c"), "quorum"],
  [
    "with a stranger's key for that of a node",
    replaced(/(?<=^witness a )\S+/mu, (vkey) => strangersKey(vkey, VKEY_TYPE.cosignature)),
    "quorum",
  ],
  ["with a stranger's key for that of the log", withLog((vkey) => strangersKey(vkey, VKEY_TYPE.ed25519)), "checkpoint"],
  ["without its log", withLog((vkey) => vkey.replace(/^[^+]*/u, "other")), "policy"],
  ["without any log", replaced(/^log .*\n/gmu, ""), "origin"],
  ["with other key ids of logs", replaced(/(?<=^log [^+]*\+)[0-9a-f]{8}/gmu, "00000000"), "policy"],
  ["with a key of three bytes", replaced(/(?<=^witness a [^+]*\+[0-9a-f]{8}\+)\S+/mu, "AAAA"), "policy"],
  ["without a quorum", replaced(/^quorum .*\n/mu, ""), "policy"],
  ["with a quorum that is not defined", replaced("quorum nodes", "quorum others"), "policy"],
  ["that needs more nodes than there are", replaced("group nodes 2 ", "group nodes 4 "), "policy"],
  ["with a member that is not defined", replaced("a b c", "a b z"), "policy"],
  ["with a node twice", replaced(/^witness a .*\n/mu, (line) => line + line), "policy"],
  ["without addresses", replaced(/ https:\S+/gu, ""), "policy"],
  ["with a statement that nobody knows", replaced(/^quorum/mu, "trust all\nquorum"), "policy"],
];

describeWithGo("a receipt that anchorctl wrote", () => {
  const judge = (proof: string, by = policy): Promise<Verdict> => go.judge({ ask: "receipt", proof, policy: by });

  test("is accepted: proof, log signature, cosignatures, quorum and inclusion", async () => {
    const size = log.world.tree(0).length;
    expect(size).toBeGreaterThan(256);
    const origin = foundIn(receipt, CHECKPOINT_ORIGIN);
    const signers = [origin, "anchor.example/demo/node/a", "anchor.example/demo/node/b"];
    expect(await judge(receipt)).toEqual({ accepted: true, origin, size, signers });
  });

  test.each(SPOILED_RECEIPTS)("is refused: %s", async (_title, alter, step) => {
    expect(await judge(alter(receipt))).toMatchObject({ accepted: false, step });
  });

  test("is refused with the signature of one node under the key of another", async () => {
    const [, a] = /^— \S+node\/a (\S+)$/mu.exec(receipt) ?? [];
    const signature = Buffer.from(a ?? "", "base64").subarray(4);
    const forged = withLine(2, (line) => ({ ...line, signature }))(receipt);
    expect(await judge(forged)).toMatchObject({ accepted: false, step: "checkpoint" });
  });

  test.each(SPOILED_POLICIES)("is refused by a policy %s", async (_title, alter, step) => {
    expect(await judge(receipt, alter(policy))).toMatchObject({ accepted: false, step });
  });

  test("is refused by the policy of another cluster of that name", async () => {
    expect(await judge(receipt, await strangersPolicy())).toMatchObject({ accepted: false, step: "origin" });
  });
});

describeWithGo("a policy that anchorctl wrote", () => {
  test("is read as it was meant: two of three, each with an address that leads nowhere", async () => {
    const found = await go.judge({ ask: "policy", policy });
    expect(found).toMatchObject({ accepted: true, threshold: 2 });
    expect(found.signers).toEqual(["a", "b", "c"].map((id) => `anchor.example/demo/node/${id}`));
    expect(found.addresses).toEqual(["a", "b", "c"].map((id) => `https://${id}.invalid/add-checkpoint`));
  });

  test("is not read in the rendering for Sigsum, nor without addresses", async () => {
    const plain = formatPolicy(tlogPolicyOf(parseSignedTrustRoot(log.document, sha256).trustRoot));
    for (const other of [sigsumPolicy, plain]) {
      expect(await go.judge({ ask: "policy", policy: other })).toMatchObject({ accepted: false, step: "policy" });
    }
  });

  test("names the same keys in either rendering", () => {
    const vkeys = [...policy.matchAll(/^(?:log|witness \S+) (\S+)/gmu)].map(([, vkey = ""]) => parseVkey(vkey, sha256));
    const keys = [...sigsumPolicy.matchAll(/^(?:log|witness \S+) ([0-9a-f]{64})$/gmu)].map(([, hex]) => hex);
    expect(keys).toHaveLength(6);
    expect(keys).toEqual(vkeys.map(({ publicKey }) => bytesToHex(publicKey)));
  });
});

function textAt(value: Json, at: string): string {
  const [, ...names] = at.split("/");
  const found = names.reduce<Json>((each, name) => (each as { readonly [name: string]: Json })[name] ?? null, value);
  if (typeof found !== "string") throw new Error(`no text at ${at}`);
  return found;
}

describeWithGo("a bundle", () => {
  const bundle = JSON.parse(log.bundle) as Json;
  const judge = (read: Json, by = policy, rootThk = log.rootThk): Promise<Verdict> =>
    go.judge({ ask: "bundle", bundle: read, root_thk: rootThk, policy: by });

  test("is accepted: trust root, checkpoints, single leaves, and the roots that ranges lead to", async () => {
    const path = join(home, "act.bundle.json");
    writeFileSync(path, log.bundle);
    expect(JSON.parse(await anchorctl("verify", path, "--json", ...trust()))).toMatchObject({ outcome: "valid" });
    const found = await judge(bundle);
    expect(found).toMatchObject({ accepted: true });
    expect(found.leaves).toBeGreaterThan(300);
  });

  test.each<[title: string, at: string, alter: Alter, step: string]>([
    ["a smaller quorum in the trust root", "/trust_roots/0", replaced("quorum 2", "quorum 1"), "trust root"],
    ["a bit of a root key's signature", "/trust_roots/0", withLine(0, signatureFlipped), "trust root"],
    ["too few root keys", "/trust_roots/0", withoutLines(1), "trust root"],
    ["a bit of a checkpoint's root", "/checkpoints/1", flippedAfter(/^\d+\n/u, 0), "checkpoint"],
    ["a larger tree", "/checkpoints/0", replaced(/^\d+$/mu, "9999"), "checkpoint"],
    ["another origin", "/checkpoints/0", replaced(/^\S+/u, "anchor.example/other"), "origin"],
    ["a bit of a node's signature", "/checkpoints/2", withLine(1, signatureFlipped), "checkpoint"],
    ["too few nodes", "/checkpoints/2", withoutLines(2), "quorum"],
    ["a bit of a leaf", "/leaves/0/leaf", flippedAfter(/^/u, 180), "inclusion"],
    ["another depth of a leaf", "/leaves/0/leaf", flippedAfter(/^/u, 66), "inclusion"],
    ["a leaf cut short", "/leaves/0/leaf", (leaf) => leaf.slice(0, 40), "leaf"],
    ["a bit of a path", "/leaves/0/inclusion/0", flippedAfter(/^/u, 31), "inclusion"],
    ["a bit of a frontier", "/ranges/0/frontier/0", flippedAfter(/^/u, 0), "range"],
    ["a bit of a leaf of a range", "/ranges/1/leaves/0", flippedAfter(/^/u, 100), "range"],
  ])("is refused: %s", async (_title, at, alter, step) => {
    const spoiled = changed(bundle, [at, alter(textAt(bundle, at))]);
    expect(await judge(spoiled)).toMatchObject({ accepted: false, step });
  });

  test.each<[title: string, at: string, to: Json, step: string]>([
    ["no trust root", "/trust_roots", [], "trust root"],
    ["a leaf in a tree that is not here", "/leaves/0/checkpoint", 3, "bundle"],
    ["no path", "/leaves/0/inclusion", [], "inclusion"],
    ["a range from another depth on", "/ranges/0/from", 0, "range"],
    ["a range without its frontier", "/ranges/0/frontier", [], "range"],
    ["a range without leaves", "/ranges/0/leaves", [], "range"],
    ["a text", "", "bundle", "bundle"],
  ])("is refused: %s", async (_title, at, to, step) => {
    expect(await judge(changed(bundle, [at, to]))).toMatchObject({ accepted: false, step });
  });

  test.each(["/leaves/0/checkpoint", "/ranges/0/checkpoint"])("is refused: another tree at %s", async (at) => {
    const verdicts = await Promise.all([0, 1, 2].map((tree) => judge(changed(bundle, [at, tree]))));
    expect(verdicts.filter(({ accepted }) => accepted)).toHaveLength(1);
  });

  test("is refused by another pin, and by the policy of another cluster", async () => {
    expect(await judge(bundle, policy, "00".repeat(32))).toMatchObject({ accepted: false, step: "trust root" });
    expect(await judge(bundle, await strangersPolicy())).toMatchObject({ accepted: false, step: "origin" });
  });
});
