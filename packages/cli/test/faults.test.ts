import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { PaperCluster } from "./paper-cluster.ts";
import { runAnchorctl } from "./run-anchorctl.ts";

// Whatever is wrong with a command line, a file or an answer is said on one line, and to programs as one object.

let home: string;
let cluster: PaperCluster;

beforeAll(async () => {
  home = mkdtempSync(join(tmpdir(), "anchorctl-faults-"));
  cluster = await PaperCluster.start();
  writeFileSync(join(home, "trust-root.txt"), cluster.ceremony.document);
  writeFileSync(join(home, "text"), "text\n");
  writeFileSync(join(home, "empty"), "");
  writeFileSync(join(home, "noise"), Buffer.from([0, 255, 10, 13, 27, 91, 51, 49, 109]));
  writeFileSync(join(home, "x.bundle.json"), "{}");
});

afterAll(() => {
  cluster.stop();
  rmSync(home, { recursive: true, force: true });
});

const ID = "ab".repeat(32);
const KEYS = ["--subject-key", "text", "--issuer-key", "text"];
const CLAIM = ["claim", "--entity", ID, "--attribute-type", "1", "--attribute-hash", ID, ...KEYS];
const TRUST = ["--trust-root", "trust-root.txt"];

const COMMAND_LINES: readonly (readonly string[])[] = [
  ["nothing"],
  ["--nothing"],
  ["anchor", "--nothing"],
  ["anchor"],
  ["anchor", "nobody"],
  ["anchor", "."],
  ["anchor", "text", "--event-id", "é"],
  ["anchor", "text", "--timeout", "soon"],
  ["anchor", "text", "--origin", "here"],
  ["anchor", "text", "--report"],
  ["verify"],
  ["verify", "nobody", ...TRUST],
  ["verify", "text", ...TRUST],
  ["verify", "text", "--proof", "noise", ...TRUST],
  ["verify", "text", "--proof", "empty", ...TRUST],
  ["verify", "text", "--trust-root", "noise"],
  ["verify", "text", "--cluster", "nowhere"],
  ["verify", "x.bundle.json", ...TRUST],
  ["verify", "--bundle", "noise", ...TRUST],
  ["verify", "--bundle", "empty", ...TRUST],
  ["receipt"],
  ["receipt", "x"],
  ["receipt", ID],
  ["receipt", "--renew", "noise"],
  ["bundle"],
  ["bundle", "x"],
  ["bundle", ID, "--out", "nowhere/b.json", ...TRUST],
  ["trace"],
  ["trace", ID, "--as-of", "yesterday"],
  ["trace", ID, "--trusted-root", "x"],
  ["latest", "--origin", "x"],
  ["history", "claims"],
  ["history", "claims", "--entity", "x"],
  ["history", "claims", "--entity", ID, "--attribute-type", "many"],
  ["history", "claims", "--entity", ID, "--limit", "0"],
  ["history", "grants"],
  ["history", "grants", "--grantor", "x"],
  ["monitor", "--interval", "often"],
  ["monitor", "--state", "text", ...TRUST],
  ["policy", "--format", "xml", ...TRUST],
  ["claim"],
  CLAIM,
  ["claim", "--entity", "x", ...CLAIM.slice(3)],
  ["grant", "--depth"],
  ["revoke", ID],
  ["revoke", ID, "--key", "noise"],
  ["keygen"],
  ["keygen", "nowhere/key"],
  ["keygen", "key", "--format", "jwk"],
  ["prepare", "nothing"],
  ["prepare", "claim"],
  ["sign", "noise", "--key", "text"],
  ["submit", "text"],
  ["submit", "nobody"],
  ["status", "--cluster", "nowhere"],
  ["completion"],
  ["completion", "cmd"],
];

const environment = (): Record<string, string> => ({
  ANCHORCTL_API_KEY: "ank_test",
  ANCHORCTL_API_URLS: cluster.apiUrl,
});

/** Paths are those of the folder of the test, whichever folder the process is in. */
const located = (args: readonly string[]): readonly string[] =>
  args.map((arg) =>
    /^(?:text|empty|noise|nobody|nowhere.*|x\.bundle\.json|trust-root\.txt|key)$/u.test(arg) ? join(home, arg) : arg,
  );

describe("a fault", () => {
  test.each(COMMAND_LINES.map((args) => [args.join(" "), args] as const))("anchorctl %s", async (_line, args) => {
    const run = await runAnchorctl(home, located(args), environment());
    expect([1, 2, 3, 4]).toContain(run.exitCode);
    expect(run.stdout).toBe("");
    expect(run.stderr).toMatch(/^(?:anchorctl: |NOT VALID: )[^\n]{8,}\n$/u);
    expect(run.stderr).not.toMatch(/\bat .+:\d+:\d+|undefined|\[object|Error:/u);
  });

  const withJson = COMMAND_LINES.filter(([name]) => name !== "completion" && name !== "--nothing");

  test.each(withJson.map((args) => [args.join(" "), args] as const))("anchorctl %s --json", async (_line, args) => {
    const isCutShort = ["--report", "--depth"].includes(args.at(-1) ?? "");
    const [first = "", ...rest] = located(args);
    const run = await runAnchorctl(
      home,
      isCutShort ? [first, "--json", ...rest] : [first, ...rest, "--json"],
      environment(),
    );
    expect(run.exitCode).toBeGreaterThan(0);
    expect(JSON.parse(run.stdout)).toMatchObject({
      failure: expect.stringMatching(/^[a-z][a-z0-9_]+$/u),
      detail: expect.stringMatching(/^.{8,}$/u),
    });
  });

  test("of a request says where it is, once", async () => {
    const errors = [{ parameter: "as_of", code: "wrong_format", detail: "a sequence number is expected" }];
    const pointed = [{ pointer: "/event_hash", code: "x", detail: "the same words" }];
    const asked = `GET /v1/event-anchors/${ID}/trace`;
    cluster.once.set(asked, { status: 400, body: { code: "invalid_request", detail: "`errors` says where.", errors } });
    const first = await runAnchorctl(home, ["trace", ID], environment());
    expect(first.stderr).toBe(
      `anchorctl: ${cluster.apiUrl} refused: invalid_request; as_of: a sequence number is expected\n`,
    );
    cluster.once.set(asked, { status: 422, body: { code: "other", detail: "the same words", errors: pointed } });
    const second = await runAnchorctl(home, ["trace", ID], environment());
    expect(second.stderr).toBe(`anchorctl: ${cluster.apiUrl} refused: other: the same words; at /event_hash\n`);
  });
});

test("verify and policy take the trust root of a cluster folder that is named", async () => {
  for (const named of [
    { flags: ["--cluster", home], variables: {} },
    { flags: [], variables: { ANCHORCTL_CLUSTER: home } },
  ]) {
    const run = await runAnchorctl(home, ["policy", ...named.flags], named.variables);
    expect([run.exitCode, run.stdout]).toEqual([0, expect.stringContaining("quorum nodes")]);
  }
});
