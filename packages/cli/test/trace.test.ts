import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "@jest/globals";
import { runAnchorctl } from "./run-anchorctl.ts";
import type { Run } from "./run-anchorctl.ts";

type Json = Readonly<Record<string, unknown>>;

const idOf = (digit: string): string => digit.repeat(64);
const EVENT = idOf("e");
const AT = "2026-11-21T02:43:41.734Z";

function record(kind: string, anchorId: string, sequence: number, more: Json = {}): Json {
  return { anchor_id: anchorId, kind, sequence, accepted_at: AT, ...more };
}

/** Hop `n` of a chain, 1 being the root grant: claim n − 1 grants to claim n. */
function hop(n: number, state = "active"): Json {
  const claim = (at: number): Json => record("claim", `c${at}`.padEnd(64, "0"), at, { state: "active" });
  return {
    grant: record("grant", `f${n}`.padEnd(64, "0"), 100 + n, { state, delegation_depth: 20 - n }),
    grantor_claim: claim(n - 1),
    grantee_claim: claim(n),
    witness_public_key: idOf("9"),
    witness_is_grantee: n % 2 === 0,
  };
}

const actorOf = (claim: Json | null, signature = "pass"): Json => ({
  claim,
  state: claim === null ? null : "active",
  actor_signature: signature,
});

const BOUNDARY = {
  scope_hash: idOf("5"),
  depth: { granted: 19, used: 1, left: 18 },
  window: { not_before: 1_795_000_000_000, expires_at: 0 },
};

function trace(change: Json = {}): Json {
  return {
    anchor: record("signed_event", EVENT, 200),
    actor_proven: true,
    authorised_at_action: true,
    authorised_now: true,
    reasons: [],
    actor: actorOf(hop(2).grantee_claim as Json),
    delegation: [hop(2), hop(1)],
    delegation_omitted: 0,
    delegation_next_cursor: null,
    boundary: BOUNDARY,
    root_authority: "not_checked",
    possible_parents: [],
    suspect: false,
    revocations: [],
    violations: [],
    references: [],
    parents: { items: [], next_cursor: null },
    as_of: { sequence: 300, time_ms: 1, time: AT },
    ...change,
  };
}

let server: Server;
let apiUrl: string;
let answer: { readonly status: number; readonly body: object };
/** By the target, where one answer for all is not enough. */
let answerTo: ((target: string) => typeof answer) | null = null;
let asked: string;

beforeAll(async () => {
  server = createServer((request, response) => {
    asked = request.url ?? "";
    const { status, body } = answerTo?.(asked) ?? answer;
    response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  apiUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});

afterAll(() => {
  server.close();
  server.closeAllConnections();
});

beforeEach(() => {
  answer = { status: 200, body: trace() };
  asked = "";
});

async function traced(...args: readonly string[]): Promise<Run> {
  return runAnchorctl(tmpdir(), ["trace", EVENT, "--api-url", apiUrl, ...args], { ANCHORING_API_KEY: "ank_test" });
}

async function shown(change: Json): Promise<string> {
  answer = { status: 200, body: trace(change) };
  return (await traced()).stdout;
}

describe("anchorctl trace", () => {
  test("draws the chain from the root grantor down to the act", async () => {
    const { exitCode, stdout, stderr } = await traced();
    expect([exitCode, stderr]).toEqual([0, ""]);
    expect(stdout.split("\n").slice(0, 6)).toEqual([
      "  ✓ claim c00000000000…  active",
      "  └─ ✓ grant f10000000000…  active, 19 further hops, witness 999999999999…",
      "     └─ ✓ claim c10000000000…  active",
      "        └─ ✓ grant f20000000000…  active, 18 further hops, witnessed by the grantee",
      "           └─ ✓ claim c20000000000…  active",
      `              └─ ✓ event eeeeeeeeeeee…  ${AT}, sequence 200, signed by the actor`,
    ]);
    expect(stdout).toContain("hops: 19 granted, 1 used, 18 left");
    expect(stdout).toContain(`- as of          ${AT}, sequence 300`);
  });

  test("shows names beside hashes: a claim's own before its entity's, and before its key's", async () => {
    const folder = mkdtempSync(join(tmpdir(), "anchorctl-trace-"));
    const file = join(folder, "names.txt");
    const called = [`c1${"0".repeat(62)} deployer`, `${idOf("7")} billing agent`, `${idOf("8")} a key`];
    const others = [`${idOf("9")} witness of all`, `${idOf("5")} refunds`, `${EVENT} the refund`];
    writeFileSync(file, ["# names", ...called, ...others, "attribute 1 a role", ""].join("\n"));
    const parties = { entity_fingerprint: idOf("7"), subject_public_key: idOf("8") };
    const [last, first] = [hop(2), hop(1)];
    answer = {
      status: 200,
      body: trace({
        delegation: [
          { ...last, grantee_claim: { ...(last["grantee_claim"] as Json), ...parties } },
          { ...first, grantor_claim: { ...(first["grantor_claim"] as Json), subject_public_key: idOf("8") } },
        ],
      }),
    };
    const { exitCode, stdout, stderr } = await traced("--names", file);
    expect([exitCode, stderr]).toEqual([0, ""]);
    expect(stdout.split("\n").slice(0, 6)).toEqual([
      "  ✓ a key c00000000000…  active",
      "  └─ ✓ grant f10000000000…  active, 19 further hops, witness witness of all 999999999999…",
      "     └─ ✓ deployer c10000000000…  active",
      "        └─ ✓ grant f20000000000…  active, 18 further hops, witnessed by the grantee",
      "           └─ ✓ billing agent c20000000000…  active",
      `              └─ ✓ the refund eeeeeeeeeeee…  ${AT}, sequence 200, signed by the actor`,
    ]);
    expect(stdout).toContain("scope refunds 555555555555…");
    writeFileSync(file, `# names\n${EVENT}\n`);
    const refused = await traced("--names", file, "--json");
    expect([refused.exitCode, JSON.parse(refused.stdout)]).toEqual([
      2,
      { failure: "names_malformed", detail: expect.stringContaining("names.txt: line 2: ") },
    ]);
    rmSync(folder, { recursive: true });
  });

  test("asks for a position and for trusted roots", async () => {
    await traced("--as-of", "17", "--trusted-root", idOf("A"), "--trusted-root", idOf("b"));
    expect(decodeURIComponent(asked)).toBe(
      `/v1/event-anchors/${EVENT}/trace?as_of=17&trusted_roots=${idOf("A")},${idOf("b")}`,
    );
  });

  test("prints the service's answer as it is to programs", async () => {
    const { exitCode, stdout } = await traced("--json");
    expect([exitCode, JSON.parse(stdout)]).toEqual([0, trace()]);
  });

  test("has the hops of all its pages, for people and for programs", async () => {
    const pages = [
      trace({ delegation: [hop(3)], delegation_omitted: 2, delegation_next_cursor: "1.300.1" }),
      trace({ delegation: [hop(2), hop(1)] }),
    ];
    answerTo = (target) => ({ status: 200, body: pages[target.includes("delegation_cursor=1.300.1") ? 1 : 0] ?? {} });
    const printed = JSON.parse((await traced("--json")).stdout) as { readonly delegation: readonly object[] };
    const { stdout } = await traced();
    answerTo = null;
    expect(printed).toEqual(trace({ delegation: [hop(3), hop(2), hop(1)] }));
    for (const grant of ["f1", "f2", "f3"]) expect(stdout).toContain(`grant ${grant}`);
    expect(stdout).not.toContain("grants above");
  });

  test("says both verdicts with each reason", async () => {
    const stdout = await shown({
      authorised_at_action: false,
      authorised_now: "unknown",
      reasons: [
        { verdict: "at_action", code: "grant_revoked", anchor_id: idOf("f"), sequence: 150 },
        { verdict: "at_action", code: "grant_expired", anchor_id: idOf("f"), sequence: null },
        { verdict: "now", code: "a_code_of_tomorrow", anchor_id: null, sequence: null },
      ],
    });
    expect(stdout).toContain("✗ at action      authorised: no, the grant is revoked: ffffffffffff…, sequence 150");
    expect(stdout).toContain("the grant's window has ended: ffffffffffff… (grant_expired)");
    expect(stdout).toContain("- now            authorised: unknown, a_code_of_tomorrow (a_code_of_tomorrow)");
  });

  test.each([
    ["nobody has signed", "not_checked", "the event is unsigned"],
    ["somebody else has signed", "fail", "the signature is not the actor's"],
  ])("an act that %s is never shown as one that was authorised and proven", async (_title, signature, why) => {
    const actor = actorOf(hop(2).grantee_claim as Json, signature);
    const stdout = await shown({ anchor: record("event", EVENT, 200), actor_proven: false, actor });
    expect(stdout).toContain(`! actor          not proven: ${why}`);
    expect(stdout).toContain("! at action      authorised, not signed");
    expect(stdout).toContain("! now            authorised, not signed");
    expect(stdout).not.toContain("authorised: yes");
  });

  test("an act whose actor has signed says so first", async () => {
    const stdout = await shown({});
    expect(stdout).toContain("✓ actor          proven: signed with the key of the actor's claim\n  ✓ at action");
    expect(stdout).toContain("authorised: yes");
  });

  test("shows both ends of a long chain, and how much lies between", async () => {
    const delegation = Array.from({ length: 12 }, (_, i) => hop(12 - i));
    const stdout = await shown({ delegation, delegation_omitted: 5 });
    expect(stdout).toContain("- … 5 grants above");
    expect(stdout).toContain("- … 6 grants\n");
    expect(stdout.match(/└─ . grant /gu)).toHaveLength(6);
    expect(Math.max(...stdout.split("\n").map((line) => line.length))).toBeLessThan(160);
  });

  test("draws an act that names no grant under its actor alone", async () => {
    const claim = record("claim", idOf("c"), 4, { state: "active" });
    const act = {
      anchor: record("event", EVENT, 200),
      delegation: [],
      boundary: null,
      authorised_at_action: "unknown",
    };
    const stdout = await shown({ ...act, actor: actorOf(claim, "not_checked") });
    expect(stdout.split("\n").slice(0, 2)).toEqual([
      "  ✓ claim cccccccccccc…  active, the actor",
      `  └─ - event eeeeeeeeeeee…  ${AT}, sequence 200, not signed`,
    ]);
  });

  test("draws an act without references, and a record that is no act, by itself", async () => {
    const alone = {
      delegation: [],
      boundary: null,
      authorised_at_action: "unknown",
      actor: actorOf(null, "not_checked"),
    };
    expect(await shown({ ...alone, anchor: record("event", EVENT, 200) })).toMatch(/^ {2}- event .* not signed\n/u);
    expect(await shown({ ...alone, anchor: record("trust_root", EVENT, 9) })).toMatch(
      /^ {2}- trust root .* sequence 9\n/u,
    );
  });

  test("draws a grant that is itself traced once", async () => {
    const stdout = await shown({
      anchor: hop(2).grant,
      actor: actorOf(null, "not_checked"),
      authorised_at_action: "unknown",
    });
    expect(stdout.match(/ f20000000000…/gu)).toHaveLength(1);
    expect(stdout).not.toContain("authorised");
  });

  test("draws an actor who is not the grantee below the grantee", async () => {
    const stranger = record("claim", idOf("d"), 9, { state: "active" });
    expect(await shown({ actor: actorOf(stranger) })).toContain("└─ ✓ claim dddddddddddd…  active, the actor");
  });

  test.each(["superseded", "revoked", "expired"])("marks a grant that is %s", async (state) => {
    expect(await shown({ delegation: [hop(1, state)] })).toContain(`✗ grant f10000000000…  ${state}`);
  });

  test.each([
    ["pass", "✓ root           the root grant is by a trusted claim"],
    ["fail", "✗ root           the root grant is by none of the trusted claims"],
  ])("says that root authority is %s", async (result, line) => {
    expect(await shown({ root_authority: result })).toContain(line);
  });

  test("shows what was revoked, and that it makes the act suspect", async () => {
    const anchor = record("revocation", idOf("1"), 250, { reason: "key_compromise", authority: "issuer" });
    const revocation = { anchor, target_anchor_id: idOf("c"), before_action: false };
    const stdout = await shown({ revocations: [revocation], suspect: true });
    expect(stdout).toContain(`cccccccccccc… by issuer, key_compromise, ${AT}, sequence 250, after the act`);
    expect(stdout).toContain("! suspect");
  });

  test("ends with 1 if the records contradict one another", async () => {
    const violation = { code: "parent_link_broken", anchor_id: EVENT, detail: "the leaf before it is missing" };
    answer = { status: 200, body: trace({ violations: [violation] }) };
    const run = await traced();
    expect([run.exitCode, run.stdout]).toEqual([
      1,
      expect.stringContaining("✗ violation      eeeeeeeeeeee…: the leaf"),
    ]);
    expect((await traced("--json")).exitCode).toBe(1);
  });

  test.each([
    ["an unknown anchor", { status: 404, body: { code: "anchor_not_found", detail: "" } }, 3, "anchor_not_found"],
    ["a future position", { status: 400, body: { code: "as_of_future", detail: "" } }, 3, "as_of_future"],
    ["an answer without a verdict", { status: 200, body: trace({ authorised_now: "maybe" }) }, 4, "answer_malformed"],
    [
      "a sequence that is text",
      { status: 200, body: trace({ as_of: { sequence: "3", time: AT } }) },
      4,
      "answer_malformed",
    ],
    ["a delegation that is none", { status: 200, body: trace({ delegation: [7] }) }, 4, "answer_malformed"],
    ["reasons that are none", { status: 200, body: trace({ reasons: {} }) }, 4, "answer_malformed"],
    [
      "a reason of neither verdict",
      { status: 200, body: trace({ reasons: [{ verdict: "ever" }] }) },
      4,
      "answer_malformed",
    ],
    ["no answer at all", { status: 200, body: [] }, 4, "unavailable"],
  ])("refuses %s", async (_title, given, exitCode, failure) => {
    answer = given;
    const run = await traced("--json", "--timeout", "1");
    expect([run.exitCode, JSON.parse(run.stdout)]).toMatchObject([exitCode, { failure }]);
  });

  test.each([
    [["trace", "17"], "anchor_id_invalid"],
    [["trace", `${EVENT}0`], "anchor_id_invalid"],
    [["trace", EVENT, "--trusted-root", "root"], "anchor_id_invalid"],
    [["trace", EVENT, "--timeout", "0"], "timeout_invalid"],
  ])("%j is wrong usage", async (args, failure) => {
    const run = await runAnchorctl(tmpdir(), [...args, "--api-url", apiUrl, "--json"], {
      ANCHORING_API_KEY: "ank_test",
    });
    expect([run.exitCode, JSON.parse(run.stdout), asked]).toMatchObject([2, { failure }, ""]);
  });
});
