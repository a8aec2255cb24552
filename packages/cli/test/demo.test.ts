import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "@jest/globals";
import { bytesToHex } from "@event-anchoring/protocol";
import { createReceiptMaker } from "@event-anchoring/testkit/receipts";
import { FakeService } from "./fake-service.ts";
import { runAnchorctl } from "./run-anchorctl.ts";

const maker = createReceiptMaker();
const PROBLEM = { code: "origin_closed", detail: "the origin is closed" };
let home: string;
let service: FakeService;

beforeEach(async () => {
  home = mkdtempSync(join(tmpdir(), "anchorctl-demo-"));
  service = await FakeService.start(maker);
  mkdirSync(join(home, ".anchoring"));
  writeFileSync(join(home, ".anchoring", "trust-root.txt"), maker.trustRootDocument);
  writeFileSync(join(home, ".anchoring", "root-thk.txt"), bytesToHex(maker.rootThk));
  const nodes = [{ id: "n1", api_url: service.apiUrl }];
  const cluster = { state: "running", api_key: "ank_test", nodes };
  writeFileSync(join(home, ".anchoring", "cluster.json"), JSON.stringify(cluster));
});

afterEach(() => {
  service.stop();
  rmSync(home, { recursive: true, force: true });
});

/** The id that a record was shown with, as its first digits. */
function idsOf(kind: string): readonly string[] {
  return [...service.anchors.values()].filter((it) => it.kind === kind).map((it) => String(it.anchor_id));
}

describe("anchorctl demo", () => {
  test("plays the recommended flow, every body signed by whom it names", async () => {
    const { exitCode, stdout, stderr } = await runAnchorctl(home, ["demo"]);
    expect([exitCode, stderr]).toEqual([0, ""]);
    const ids = (line: string): string => line.replaceAll(/[0-9a-f]{64}/g, "{id}").replace(/\?.*/u, "?");
    expect(service.asked.map(ids)).toEqual([
      "GET /healthz",
      "POST /v1/claim-anchors",
      "POST /v1/claim-anchors",
      "GET /v1/claim-anchors?",
      "GET /v1/claim-anchors?",
      "POST /v1/grant-anchors",
      "GET /v1/grant-anchors?",
      "POST /v1/event-anchors",
      "GET /v1/event-anchors/{id}/trace",
      "POST /v1/claim-anchors:verify",
      "POST /v1/claim-anchors:verify",
      "POST /v1/grant-anchors:verify",
      "POST /v1/event-anchors:verify",
      "POST /v1/grant-anchors/{id}/revoke",
      "GET /v1/grant-anchors?",
      "POST /v1/grant-anchors:verify",
      "POST /v1/event-anchors",
      "GET /v1/event-anchors/{id}/trace",
      "GET /v1/event-anchors/{id}/trace",
    ]);
    expect(stdout).not.toContain("\u001b");
  });

  test("draws the delegation, and reads the same without colours", async () => {
    const { stdout } = await runAnchorctl(home, ["demo"]);
    const [deployer = "", agent = ""] = idsOf("claim");
    const [grant = ""] = idsOf("grant");
    const [first = "", second = ""] = idsOf("signed_event");
    const tree = [
      `  ✓ deployer ${deployer.slice(0, 12)}…  active`,
      `  └─ ✓ grant ${grant.slice(0, 12)}…  active, no further hop`,
      `     └─ ✓ agent ${agent.slice(0, 12)}…  active`,
      `        └─ ✓ first act ${first.slice(0, 12)}…`,
    ];
    const shown = stdout.split("\n");
    const at = shown.findIndex((line) => line.startsWith(tree[0] ?? ""));
    expect(shown.slice(at, at + 4).map((line, row) => line.slice(0, tree[row]?.length))).toEqual(tree);
    expect(stdout).toMatch(/first act +✓ yes +✗ no/u);
    expect(stdout).toMatch(/second act +✗ no +✗ no/u);
    expect(stdout).toContain(`✗ second act ${second.slice(0, 12)}…`);
    expect(stdout).toContain("(grant_revoked)");
    expect(stdout).toContain("✓ cosignatures");
    expect(stdout).toContain(`anchorctl trace ${first}`);
  });

  test("says ids and verdicts to programs", async () => {
    const { exitCode, stdout } = await runAnchorctl(home, ["demo", "--json"]);
    const [first, second] = idsOf("signed_event");
    expect(exitCode).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject({
      as_expected: true,
      surprises: [],
      grant_anchor_id: idsOf("grant")[0],
      revocation_anchor_id: idsOf("revocation")[0],
      first_act: {
        anchor_id: first,
        actor_proven: true,
        authorised_at_action: true,
        authorised_now: false,
        before_revocation: { authorised_at_action: true, authorised_now: true, reasons: [] },
      },
      second_act: { anchor_id: second, authorised_at_action: false, reasons: [{ code: "grant_revoked" }, {}] },
      verified: { grant: true, grant_after_revocation: { valid: false, failed: ["revocation"] } },
      receipt: { verified: true },
    });
  });

  test("never shows or sends a private key", async () => {
    const { stdout } = await runAnchorctl(home, ["demo", "--json"]);
    expect(stdout).not.toMatch(/secret|private|seed/iu);
    for (const anchor of service.anchors.values()) expect(Object.keys(anchor).join()).not.toMatch(/private|seed/u);
  });

  test.each([
    ["a service that finds a revoked grant valid", "POST /v1/grant-anchors:verify", { valid: true, checks: [] }],
    ["a service that keeps a revoked grant as the current one", "GET /v1/grant-anchors?", null],
  ])("says so of %s", async (_title, asked, body) => {
    const path = [...service.asked].find((line) => line.startsWith(asked)) ?? asked;
    if (body !== null) service.instead.set(path, { status: 200, body });
    else {
      const anchor = { anchor_id: "ab".repeat(32) };
      service.insteadOfCurrentGrant({ status: 200, body: { anchor, receipt: {}, state: "active", others: 0 } });
    }
    const { exitCode, stdout } = await runAnchorctl(home, ["demo"]);
    expect(exitCode).toBe(1);
    expect(stdout).toContain("✗ unexpected");
    expect(stdout).toContain("NOT VALID");
  });

  test.each([
    ["a refusal", "POST /v1/grant-anchors", { status: 409, body: PROBLEM }, 3, "origin_closed"],
    [
      "an unknown route",
      "POST /v1/claim-anchors",
      { status: 404, body: { code: "route_not_found" } },
      3,
      "route_not_found",
    ],
    ["an answer without an anchor", "POST /v1/event-anchors", { status: 201, body: {} }, 4, "answer_malformed"],
    ["a trace of another shape", "GET /v1/event-anchors/{id}/trace", { status: 200, body: {} }, 4, "answer_malformed"],
    ["a node without an origin", "GET /healthz", { status: 200, body: { status: "ok" } }, 4, "answer_malformed"],
    [
      "an origin that is none",
      "GET /healthz",
      { status: 200, body: { origin_fingerprint: "x" } },
      4,
      "answer_malformed",
    ],
  ])("ends with %s", async (_title, asked, answer, exitCode, failure) => {
    service.instead.set(asked, answer);
    const run = await runAnchorctl(home, ["demo", "--json"]);
    expect(run.exitCode).toBe(exitCode);
    expect(JSON.parse(run.stdout)).toMatchObject({ failure });
  });

  test("ends with a receipt of something else", async () => {
    service.isReceiptSwapped = true;
    const run = await runAnchorctl(home, ["demo", "--json"]);
    expect([run.exitCode, JSON.parse(run.stdout)]).toMatchObject([1, { failure: "content_differs" }]);
  });

  test("without a trust root says that the receipt is unchecked", async () => {
    const run = await runAnchorctl(home, ["demo", "--api-url", service.apiUrl], { ANCHORING_API_KEY: "ank_mine" });
    expect([run.exitCode, run.stdout]).toEqual([0, expect.stringContaining("! receipt        not checked")]);
  });
});
