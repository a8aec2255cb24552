import { spawn } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { issueOperatorCertificate } from "@event-anchoring/provision";
import { until } from "@event-anchoring/testkit";
import { startTestCluster } from "@event-anchoring/testkit/cluster";
import type { TestCluster } from "@event-anchoring/testkit/cluster";
import { installAnchorctl } from "./installed-anchorctl.ts";

const REVOKED_EVERYWHERE_MS = 1000;
/** What a read of an anchor that nobody has is answered, with a key that is taken and with one that is not. */
const TAKEN = 404;
const REFUSED = 401;
const NO_ANCHOR = "0".repeat(64);

let setup: TestCluster;
let home: string;
let program: string;

beforeAll(async () => {
  home = mkdtempSync(join(tmpdir(), "anchoring-demo-"));
  program = installAnchorctl(join(home, "installed"));
  setup = await startTestCluster();
}, 240_000);

afterAll(async () => {
  rmSync(home, { recursive: true, force: true });
  await setup.erase();
}, 240_000);

interface Run {
  readonly status: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** The program as it is installed, in a folder that has no cluster. */
async function run(...args: readonly string[]): Promise<Run> {
  const child = spawn(process.execPath, [program, ...args], { cwd: home, stdio: ["ignore", "pipe", "pipe"] });
  let stdout = "";
  let stderr = "";
  child.stdout.on("data", (chunk: Buffer) => (stdout += chunk.toString("utf8")));
  child.stderr.on("data", (chunk: Buffer) => (stderr += chunk.toString("utf8")));
  return new Promise((resolve, reject) => {
    child.once("error", reject);
    child.once("close", (status) => resolve({ status, stdout, stderr }));
  });
}

const anchorctl = (...args: readonly string[]): Promise<Run> => run(...args, "--cluster", setup.cluster.root);

const PROGRESS = /^(?:read|anchored) \d+ of \d+ files\n/gmu;

/** What a command that must succeed says to programs. */
async function answerOf<Answer>(...args: readonly string[]): Promise<Answer> {
  const { status, stdout, stderr } = await anchorctl(...args, "--json");
  // What went wrong is on stdout, too. A command that takes more than a moment says how far it is.
  expect([status, stderr.replaceAll(PROGRESS, ""), status === 0 ? "" : stdout]).toEqual([0, "", ""]);
  return JSON.parse(stdout) as Answer;
}

interface Verdicts {
  readonly anchor_id: string;
  readonly authorised_at_action: boolean;
  readonly authorised_now: boolean;
  readonly reasons: readonly { readonly code: string; readonly anchor_id: string; readonly sequence: number }[];
}

interface Demo {
  readonly grant_anchor_id: string;
  readonly first_act: Verdicts;
  readonly second_act: Verdicts;
}

describe("anchorctl demo on a real cluster", () => {
  let demo: Demo;

  test("ends as the protocol says, with a receipt that verifies offline", async () => {
    demo = await answerOf<Demo>("demo");
    expect(demo).toMatchObject({
      as_expected: true,
      surprises: [],
      first_act: { authorised_at_action: true, authorised_now: false, actor_signature: "pass" },
      second_act: { authorised_at_action: false, authorised_now: false, actor_signature: "pass" },
      verified: { deployer: true, agent: true, grant: true, first_act: true, grant_after_revocation: { valid: false } },
      receipt: { verified: true },
    });
    const [reason] = demo.first_act.reasons;
    expect(reason).toMatchObject({ verdict: "now", code: "grant_revoked", anchor_id: demo.grant_anchor_id });
  });

  test("leaves acts that can be traced again, as of any position", async () => {
    const revokedAt = demo.first_act.reasons[0]?.sequence ?? 0;
    const act = demo.first_act.anchor_id;
    expect(await answerOf("trace", act, "--as-of", `${revokedAt - 1}`)).toMatchObject({ authorised_now: true });
    expect(await answerOf("trace", act, "--as-of", `${revokedAt}`)).toMatchObject({ authorised_now: false });
    const { status, stdout } = await anchorctl("trace", demo.second_act.anchor_id);
    expect([status, stdout]).toEqual([0, expect.stringContaining("authorised: no, the grant is revoked")]);
    expect(stdout).toMatch(/^ {2}✓ claim .*\n {2}└─ ✗ grant .*\n {5}└─ ✓ claim .*\n {8}└─ ✗ event /u);
  });

  test("can be played again and read by a person", async () => {
    const { status, stdout, stderr } = await anchorctl("demo");
    expect([status, stderr]).toEqual([0, ""]);
    expect(stdout).toMatch(/first act +✓ yes +✗ no/u);
    expect(stdout).toMatch(/second act +✗ no +✗ no/u);
    expect(stdout).toContain("✓ cosignatures");
  });

  test.each([
    ["an id that nothing has", NO_ANCHOR, "newest", "anchor_not_found"],
    ["a position that is not there yet", "", "9007199254740991", "as_of_future"],
  ])("refuses to trace %s", async (_title, anchorId, asOf, failure) => {
    const position = asOf === "newest" ? [] : ["--as-of", asOf];
    const traced = await anchorctl("trace", anchorId || demo.first_act.anchor_id, ...position, "--json");
    expect([traced.status, JSON.parse(traced.stdout)]).toMatchObject([3, { failure }]);
  });
});

describe("records on a real cluster", () => {
  const file = (name: string): string => join(home, name);
  const hash = "5e".repeat(32);

  test("are signed here, or in two places, and their receipts verify", async () => {
    for (const name of ["subject", "issuer"]) expect((await run("keygen", file(name))).status).toBe(0);
    const about = ["--entity", hash, "--attribute-type", "7", "--attribute-hash", hash];
    const keys = ["--subject-key", file("subject"), "--issuer-key", file("issuer")];
    const claim = await answerOf<{ anchor_id: string; origin_fingerprint: string }>("claim", ...about, ...keys);
    expect(claim).toMatchObject({ replayed: false, receipt_verified: true });
    const target = ["--target", claim.anchor_id, "--target-kind", "claim", "--origin", claim.origin_fingerprint];
    const request = file("revocation.json");
    await answerOf("prepare", "revocation", ...target, "--revoker", file("issuer.pub"), "--out", request);
    expect((await run("sign", request, "--key", file("issuer"))).status).toBe(0);
    expect(await answerOf("submit", request)).toMatchObject({ replayed: false, receipt_verified: true });
    expect(await answerOf("submit", request)).toMatchObject({ replayed: true });
    const receipt = file("claim.tlog-proof");
    await answerOf("receipt", claim.anchor_id, "--out", receipt);
    expect(await answerOf("receipt", "--renew", receipt)).toMatchObject({ renewed: true, receipt_verified: true });
  });

  test("of many files are anchored once, whatever is run twice", async () => {
    const names = Array.from({ length: 30 }, (_, at) => file(`many-${at}.txt`));
    for (const name of names) writeFileSync(name, name);
    const many = ["anchor", ...names, "--report", file("report.jsonl")];
    expect(await answerOf(...many)).toMatchObject({ anchored: 30, receipts_verified: true });
    rmSync(`${names[3]}.tlog-proof`);
    expect(await answerOf(...many)).toMatchObject({ anchored: 1, replayed: 1, skipped: 29 });
  });

  test("are watched, and every node is seen", async () => {
    expect(await answerOf("latest")).toMatchObject({ receipt_verified: true });
    const state = ["monitor", "--state", file("monitor.json")];
    const first = await anchorctl(...state);
    expect([first.status, first.stderr]).toEqual([0, ""]);
    await answerOf("anchor", file("many-0.txt"), "--out", file("again.tlog-proof"));
    const { status, stdout } = await anchorctl(...state);
    expect([status, stdout]).toEqual([0, expect.stringContaining("every tree continues the one seen")]);
    const { nodes, root_thks: thks } = await answerOf<{ nodes: readonly object[]; root_thks: readonly string[] }>(
      "status",
    );
    expect(thks).toHaveLength(1);
    for (const node of nodes) {
      expect(node).toMatchObject({ ready: true, certificate_expires_at: expect.stringMatching(/^20\d\d-/u) });
    }
  });
});

interface ListedKey {
  readonly key_id: string;
  readonly api_client_id: string;
  readonly label: string;
  readonly state: string;
  readonly created_by: { readonly operator: string; readonly counter: number };
  readonly requests_per_second: number | null;
  readonly expires_at: string | null;
}

interface MadeKey extends ListedKey {
  readonly api_key: string;
}

async function listed(keyId: string): Promise<ListedKey | undefined> {
  const { keys } = await answerOf<{ keys: readonly ListedKey[] }>("keys", "list");
  return keys.find((key) => key.key_id === keyId);
}

/** Whole days, to the nearest. */
function daysFrom(fromMs: number, time: string | null | undefined): number {
  return Math.round((Date.parse(time ?? "") - fromMs) / 86_400_000);
}

/** What each node answers to a read with this key. */
async function statuses(apiKey: string): Promise<readonly number[]> {
  return Promise.all(setup.cluster.file.nodes.map((node) => statusAt(node.api_url, apiKey)));
}

async function statusAt(apiUrl: string, apiKey: string, body?: object): Promise<number> {
  const headers = { authorization: `Bearer ${apiKey}`, "content-type": "application/json" };
  const path = body === undefined ? `/v1/event-anchors/${NO_ANCHOR}` : "/v1/event-anchors";
  const request = body === undefined ? { headers } : { headers, method: "POST", body: JSON.stringify(body) };
  const response = await fetch(apiUrl + path, request);
  await response.arrayBuffer();
  return response.status;
}

const everywhere = async (apiKey: string, status: number): Promise<boolean> =>
  (await statuses(apiKey)).every((got) => got === status);

describe("anchorctl keys on a real cluster", () => {
  test("list the first key, which an operator's call has made like any other", async () => {
    const { keys } = await answerOf<{ keys: readonly ListedKey[] }>("keys", "list");
    const first = keys.find(({ label }) => label === "embedded default");
    expect(first).toMatchObject({
      created_by: { operator: "operator" },
      state: "live",
      expires_at: null,
      requests_per_second: null,
    });
    const { status, stdout } = await anchorctl("keys", "list");
    expect([status, stdout]).toEqual([
      0,
      expect.stringMatching(/^ID +CLIENT +LABEL +SCOPES +CREATED +EXPIRES +STATE/u),
    ]);
    expect(stdout).toContain(first?.key_id);
    expect(stdout).not.toContain("ank_");
  });

  test("create a key whose secret alone is on stdout, and which every node takes", async () => {
    const made = await anchorctl("keys", "create", "--label", "for reading", "--scopes", "read", "--expires", "1h");
    expect([made.status, made.stdout]).toEqual([0, expect.stringMatching(/^ank_[0-9A-Za-z]{49}\n$/u)]);
    expect(made.stderr).toContain("for reading");
    expect(made.stderr).not.toContain("ank_");
    const apiKey = made.stdout.trim();
    await until("every node takes the key", () => everywhere(apiKey, TAKEN));
    const [node] = setup.cluster.file.nodes;
    const event = { origin_fingerprint: node?.origin_fingerprint, event_hash: "ab".repeat(32) };
    expect(await statusAt(node?.api_url ?? "", apiKey, event)).toBe(403);
  });

  test("rotate a key: both are good, a third is one too many", async () => {
    const old = await answerOf<MadeKey>("keys", "create", "--label", "rotated", "--rate", "500");
    const rotated = await answerOf<MadeKey>("keys", "rotate", old.key_id, "--overlap", "1h");
    expect(rotated).toMatchObject({ api_client_id: old.api_client_id, label: "rotated", replaces: old.key_id });
    await until("every node takes both keys", async () => {
      return (await everywhere(old.api_key, TAKEN)) && (await everywhere(rotated.api_key, TAKEN));
    });
    expect(await listed(rotated.key_id)).toMatchObject({ requests_per_second: 500, state: "live" });
    const third = await anchorctl("keys", "create", "--client", old.api_client_id, "--json");
    expect([third.status, JSON.parse(third.stdout)]).toMatchObject([3, { failure: "api_key_limit" }]);
  }, 240_000);

  test("rotate a key: the new one ends after 90 days unless told otherwise", async () => {
    const old = await answerOf<MadeKey>("keys", "create", "--expires", "never");
    const askedMs = Date.now();
    const rotated = await answerOf<MadeKey>("keys", "rotate", old.key_id);
    expect(daysFrom(askedMs, rotated.expires_at)).toBe(90);
    expect((await listed(rotated.key_id))?.expires_at).toBe(rotated.expires_at);
    expect(daysFrom(askedMs, (await listed(old.key_id))?.expires_at)).toBe(1);
    const again = ["--expires", "never", "--overlap", "0s"];
    const lasting = await answerOf<MadeKey>("keys", "rotate", rotated.key_id, ...again);
    expect(lasting.expires_at).toBeNull();
    await until("the rotated key has ended", () => everywhere(rotated.api_key, REFUSED));
  });

  test("revoke a key: within a second no node takes it", async () => {
    const made = await answerOf<MadeKey>("keys", "create");
    await until("every node takes the key", () => everywhere(made.api_key, TAKEN));
    expect(await answerOf("keys", "revoke", made.key_id)).toMatchObject({ revoked: true, changed: true });
    await until("no node takes the key", () => everywhere(made.api_key, REFUSED), REVOKED_EVERYWHERE_MS);
    expect(await answerOf("keys", "revoke", made.key_id)).toMatchObject({ revoked: true, changed: false });
    expect(await listed(made.key_id)).toMatchObject({ state: "revoked" });
    const rotated = await anchorctl("keys", "rotate", made.key_id, "--json");
    expect([rotated.status, JSON.parse(rotated.stdout)]).toMatchObject([3, { failure: "api_key_invalid" }]);
  }, 240_000);

  test("hold a key to its rate", async () => {
    const usual = await answerOf<MadeKey>("keys", "create");
    expect(await listed(usual.key_id)).toMatchObject({ requests_per_second: 500 });
    const unbound = await answerOf<MadeKey>("keys", "create", "--rate", "node");
    expect(await listed(unbound.key_id)).toMatchObject({ requests_per_second: null });
    const made = await answerOf<MadeKey>("keys", "create", "--rate", "1");
    const [node] = setup.cluster.file.nodes;
    await until(
      "a node refuses the key for its rate",
      async () => (await statusAt(node?.api_url ?? "", made.api_key)) === 429,
    );
    expect(await listed(made.key_id)).toMatchObject({ requests_per_second: 1 });
  });

  test.each([["revoke"], ["rotate"]])("%s refuses an id that no key has", async (verb) => {
    const { status, stdout } = await anchorctl("keys", verb, "0".repeat(32), "--json");
    expect([status, JSON.parse(stdout)]).toMatchObject([3, { failure: "api_key_unknown" }]);
  });

  test("take an operator's own certificate, away from the cluster's folder", async () => {
    const { root, file } = setup.cluster;
    const credential = await issueOperatorCertificate({ outDir: root, operatorId: "alice" });
    writeFileSync(join(home, "alice.crt"), credential.certificatePem);
    writeFileSync(join(home, "alice.key"), credential.privateKeyPem, { mode: 0o600 });
    const nodes = file.nodes.flatMap((node) => ["--node", `${node.id}@${node.control_address}`]);
    const files = ["--operator-cert", "alice.crt", "--operator-key", "alice.key", "--ca", join(root, "ca", "ca.crt")];
    const signKey = ["--sign-key", join(root, "operators", "operator.key")];
    const given = [...files, ...signKey, ...nodes, "--trust-root", join(root, "trust-root.txt")];
    const made = await run("keys", "create", "--json", ...given);
    expect([made.status, made.stderr]).toEqual([0, ""]);
    const { key_id: keyId } = JSON.parse(made.stdout) as MadeKey;
    expect(await listed(keyId)).toMatchObject({ created_by: { operator: "operator" }, state: "live" });
  });
});
