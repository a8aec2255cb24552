import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createHash } from "node:crypto";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "@jest/globals";
import { EMPTY_SEMANTIC_ANCHOR, LEAF_KIND, bytesToHex, decodeLeaf } from "@event-anchoring/protocol";
import { PaperCluster } from "./paper-cluster.ts";
import type { LeafContent } from "./paper-cluster.ts";
import { runAnchorctl } from "./run-anchorctl.ts";
import type { Run } from "./run-anchorctl.ts";

let home: string;
let cluster: PaperCluster;
let actor: string;

beforeEach(async () => {
  home = mkdtempSync(join(tmpdir(), "anchorctl-acts-"));
  cluster = await PaperCluster.start();
  writeFileSync(join(home, "trust-root.txt"), cluster.ceremony.document);
  writeFileSync(join(home, "root-thk.txt"), bytesToHex(cluster.ceremony.rootThk));
  writeFiles("a.txt", "b.txt");
  actor = join(home, "actor");
  await runAnchorctl(home, ["keygen", actor]);
});

afterEach(() => {
  cluster.stop();
  rmSync(home, { recursive: true, force: true });
});

/** The paper cluster refuses hashes that begin with ff. */
function writeFiles(...names: readonly string[]): void {
  for (const name of names) {
    let text = name;
    while (createHash("sha256").update(text).digest()[0] === 0xff) text += " ";
    writeFileSync(join(home, name), text);
  }
}

const IRIS = "1a".repeat(32);
const GRANT = "2b".repeat(32);
const REFERENCES = ["--iris-ref", IRIS.toUpperCase(), "--grant-ref", GRANT];

const anchor = (...args: readonly string[]): Promise<Run> => {
  const service = ["--api-url", cluster.apiUrl, "--trust-root", join(home, "trust-root.txt"), "--json"];
  const own = args.map((arg) => (arg.endsWith(".txt") ? join(home, arg) : arg));
  return runAnchorctl(home, ["anchor", ...own, ...service], { ANCHORCTL_API_KEY: "ank_test" });
};

const publicKey = (): string => readFileSync(`${actor}.pub`, "utf8").trim();

/** What the newest leaf says. */
function newest() {
  const leaf = decodeLeaf(cluster.leaves.at(-1) ?? new Uint8Array(0));
  if (leaf.kind !== LEAF_KIND.event && leaf.kind !== LEAF_KIND.signedEvent) throw new Error("no event");
  return leaf;
}

describe("an act", () => {
  test("has its references, and the signature of who acts", async () => {
    const all = ["--scroll-ref", "3c".repeat(32), "--bond-ref", "4d".repeat(32), "--yield-ref", "5e".repeat(32)];
    const hash = ["--event-data-hash", "6f".repeat(32)];
    const run = await anchor("a.txt", ...REFERENCES, ...all, ...hash, "--actor-key", actor);
    expect([run.exitCode, JSON.parse(run.stdout)]).toMatchObject([
      0,
      {
        semantic_anchor: { iris_ref: IRIS, grant_ref: GRANT, scroll_ref: "3c".repeat(32) },
        actor_public_key: publicKey(),
        receipt_verified: true,
      },
    ]);
    const leaf = newest();
    expect(leaf.kind).toBe(LEAF_KIND.signedEvent);
    const words = Object.values(leaf.semanticAnchor).map(bytesToHex);
    expect(words.map((word) => word.slice(0, 2))).toEqual(["1a", "3c", "2b", "4d", "5e", "6f"]);
  });

  test("without a key it is not signed, and without references it has none", async () => {
    expect((await anchor("a.txt", ...REFERENCES)).exitCode).toBe(0);
    expect([newest().kind, bytesToHex(newest().semanticAnchor.irisRef)]).toEqual([LEAF_KIND.event, IRIS]);
    expect((await anchor("a.txt")).exitCode).toBe(0);
    expect(newest().semanticAnchor).toEqual(EMPTY_SEMANTIC_ANCHOR);
  });

  const forgetful: readonly (readonly [string, (event: LeafContent) => LeafContent])[] = [
    ["without its references", (event) => ({ ...event, semanticAnchor: EMPTY_SEMANTIC_ANCHOR }) as LeafContent],
    [
      "unsigned",
      (event) => {
        const { actorPublicKey: _key, actorSignature: _signature, ...rest } = event as Record<string, unknown>;
        return { ...rest, kind: LEAF_KIND.event } as LeafContent;
      },
    ],
    ["with another signature", (event) => ({ ...event, actorSignature: new Uint8Array(64).fill(1) }) as LeafContent],
    ["of another key", (event) => ({ ...event, actorPublicKey: new Uint8Array(32).fill(1) }) as LeafContent],
  ];

  test.each(forgetful)(
    "that the service records %s is not believed, and no receipt is written",
    async (_what, forget) => {
      cluster.forgets = forget;
      const one = await anchor("a.txt", ...REFERENCES, "--actor-key", actor);
      expect([one.exitCode, JSON.parse(one.stdout)]).toMatchObject([1, { valid: false, failure: "content_differs" }]);
      const many = await anchor("a.txt", "b.txt", ...REFERENCES, "--actor-key", actor);
      expect([many.exitCode, JSON.parse(many.stdout)]).toMatchObject([1, { failure: "content_differs" }]);
      expect(existsSync(join(home, "a.txt.tlog-proof"))).toBe(false);
    },
  );

  test.each([
    [["--iris-ref", "xyz"], "invalid_input"],
    [["--grant-ref", IRIS.slice(1)], "invalid_input"],
    [["--event-data-hash", `${IRIS} `], "invalid_input"],
    [["--actor-key", "nobody"], "cannot_read"],
    [["--actor-key", "a.txt"], "key_file_open"],
  ])("%j is refused before anything is asked", async (args, failure) => {
    const run = await anchor("a.txt", ...args);
    expect([run.exitCode, JSON.parse(run.stdout)]).toMatchObject([2, { failure }]);
    expect(cluster.asked).toEqual([]);
  });

  test("a public key is not taken for a private one, whose hex digits it could be", async () => {
    chmodSync(`${actor}.pub`, 0o600);
    const run = await anchor("a.txt", "--actor-key", `${actor}.pub`);
    expect([run.exitCode, JSON.parse(run.stdout)]).toMatchObject([2, { failure: "key_malformed" }]);
  });

  test("that has no place for its receipt is not anchored", async () => {
    for (const out of [join(home, "nowhere", "a.proof"), home]) {
      const run = await anchor("a.txt", "--out", out);
      expect([run.exitCode, JSON.parse(run.stdout)]).toMatchObject([2, { failure: "cannot_write" }]);
    }
    expect(cluster.asked).toEqual([]);
  });
});

describe("many acts", () => {
  const batches = (): readonly unknown[][] =>
    cluster.asked.flatMap(({ line, body }) => (line.endsWith("/batch") ? [body["events"] as unknown[]] : []));

  test("have the same references and actor, in batches that the service takes", async () => {
    const names = Array.from({ length: 258 }, (_, at) => `${at}.txt`);
    writeFiles(...names);
    const run = await anchor(...names, ...REFERENCES, "--actor-key", actor);
    expect([run.exitCode, JSON.parse(run.stdout)]).toMatchObject([0, { anchored: 258, receipts_verified: true }]);
    expect(batches().map((events) => events.length)).toEqual([256, 2]);
    expect(batches()[1]?.[0]).toMatchObject({ semantic_anchor: { iris_ref: IRIS }, actor_public_key: publicKey() });
  }, 120_000);

  test("a report goes on with what it began with, and nothing else", async () => {
    expect((await anchor("a.txt", "b.txt", ...REFERENCES)).exitCode).toBe(0);
    const again = await anchor("a.txt", "b.txt", ...REFERENCES);
    expect(JSON.parse(again.stdout)).toMatchObject({ anchored: 0, skipped: 2 });
    for (const other of [[], ["--iris-ref", IRIS], [...REFERENCES, "--actor-key", actor]]) {
      const run = await anchor("a.txt", "b.txt", ...other);
      expect([run.exitCode, JSON.parse(run.stdout)]).toMatchObject([2, { failure: "report_differs" }]);
    }
    expect(batches()).toHaveLength(1);
  });
});
