import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "@jest/globals";
import { runAnchorctl } from "./run-anchorctl.ts";
import type { Run } from "./run-anchorctl.ts";

type Json = Readonly<Record<string, unknown>>;

interface History extends Json {
  readonly items: readonly { readonly anchor: Json; readonly ended: Json | null }[];
}

/** Real records: their ids are the hashes of what they say. */
const document = JSON.parse(
  readFileSync(fileURLToPath(new URL("../../../docs/openapi.json", import.meta.url)), "utf8"),
) as {
  paths: Record<string, { get: { responses: Record<string, { content: Record<string, { examples: Json }> }> } }>;
};

function exampleOf(path: string, name: string): unknown {
  const examples = document.paths[path]?.get.responses["200"]?.content["application/json"]?.examples ?? {};
  return (examples[name] as { value: unknown }).value;
}

const CLAIMS = exampleOf("/v1/claim-anchors", "history") as History;
const GRANTS = exampleOf("/v1/grant-anchors", "history") as History;
const claim = CLAIMS.items[0]?.anchor ?? {};
const grant = GRANTS.items[0]?.anchor ?? {};
const ENTITY = String(claim["entity_fingerprint"]);
const OTHER = "2c".repeat(32);

let server: Server;
let apiUrl: string;
let pages: { readonly status: number; readonly body: object }[];
let asked: string[];

beforeAll(async () => {
  server = createServer((request, response) => {
    asked.push(request.url ?? "");
    const { status, body } = pages.shift() ?? { status: 500, body: {} };
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
  asked = [];
});

const good = (body: object): { status: number; body: object } => ({ status: 200, body });
const run = (...args: string[]): Promise<Run> =>
  runAnchorctl(tmpdir(), ["history", ...args, "--api-url", apiUrl, "--timeout", "5"], { ANCHORCTL_API_KEY: "k" });

describe("anchorctl history", () => {
  test("claims: a line for each, with its state and what ended it", async () => {
    pages = [good(CLAIMS)];
    const { exitCode, stdout, stderr } = await run("claims", "--entity", ENTITY, "--attribute-type", "16");
    expect([exitCode, stderr]).toEqual([0, ""]);
    const by = String(CLAIMS.items[0]?.ended?.["ended_by"]).slice(0, 12);
    const lines = stdout.split("\n");
    expect(lines[0]).toMatch(/^SEQUENCE {2}ACCEPTED +TYPE +STATE +CLAIM +ENDED$/u);
    expect(lines[1]).toBe(
      `4         ${String(claim["accepted_at"])}  0x10 organisation  revoked  ${String(claim["anchor_id"])}  ` +
        `claim_revoked, by ${by}…, sequence 8`,
    );
    expect(lines[2]).toMatch(/^ {2}- as of +2026-01-01T00:00:01\.000Z, sequence 9: 1 claim$/u);
    expect(asked).toEqual([`/v1/claim-anchors?entity_fingerprint=${ENTITY}&attribute_type=16&history=true&limit=100`]);
  });

  test("claims with the names that a file has for them; a type may be given by its name", async () => {
    const folder = mkdtempSync(join(tmpdir(), "anchorctl-history-"));
    const file = join(folder, "names.txt");
    const [id, by] = [String(claim["anchor_id"]), String(CLAIMS.items[0]?.ended?.["ended_by"])];
    writeFileSync(file, `# names\nattribute 16 register of Berlin\n${id} the mill\n${by} the court\n`);
    pages = [good(CLAIMS)];
    const type = ["--attribute-type", "organisation"];
    const { stdout } = await run("claims", "--entity", ENTITY, ...type, "--names", file);
    rmSync(folder, { recursive: true });
    expect(stdout.split("\n")[1]).toBe(
      `4         ${String(claim["accepted_at"])}  0x10 register of Berlin  revoked  ${id} the mill  ` +
        `claim_revoked, by the court ${by.slice(0, 12)}…, sequence 8`,
    );
    expect(asked[0]).toContain("&attribute_type=16&");
  });

  test("grants, whichever party is named; what time or another record ended is said so", async () => {
    const ended = { code: "grantor_not_in_force", anchor_id: OTHER, sequence: null, ended_by: null };
    const list = { ...GRANTS, items: [{ anchor: { ...grant, state: "expired" }, ended }] };
    pages = [good(list), good({ ...GRANTS, items: [{ anchor: { ...grant, state: "active" }, ended: null }] })];
    const first = await run("grants", "--grantor", ENTITY);
    expect(first.stdout).toContain(`expired  ${String(grant["anchor_id"])}  grantor_not_in_force of 2c2c2c2c2c2c…\n`);
    const second = await run("grants", "--grantor", ENTITY, "--grantee", OTHER);
    expect(second.stdout).toMatch(/active {2}[0-9a-f]{64}\n/u);
    expect(asked.map((target) => target.replace(/^.*\?/u, ""))).toEqual([
      `grantor_fingerprint=${ENTITY}&history=true&limit=100`,
      `grantor_fingerprint=${ENTITY}&grantee_fingerprint=${OTHER}&history=true&limit=100`,
    ]);
  });

  test("all pages up to the limit, and then how to go on", async () => {
    pages = [good({ ...CLAIMS, next_cursor: "a" }), good({ ...CLAIMS, next_cursor: "b" })];
    const { stdout } = await run("claims", "--entity", ENTITY, "--limit", "2", "--cursor", "z");
    expect(asked.map((target) => target.replace(/^.*history=true&/u, ""))).toEqual([
      "cursor=z&limit=2",
      "cursor=a&limit=1",
    ]);
    expect(stdout).toContain("2 claims\n");
    expect(stdout).toContain("--cursor b\n");
  });

  test("nothing is an answer; a page of nothing ends the list", async () => {
    pages = [good({ ...CLAIMS, items: [], next_cursor: "again" })];
    const { exitCode, stdout } = await run("claims", "--entity", OTHER);
    expect([exitCode, asked.length]).toEqual([0, 1]);
    expect(stdout).toContain("0 claims");
    expect(stdout).not.toContain("SEQUENCE");
  });

  test("--json has the names of the API", async () => {
    pages = [good(CLAIMS)];
    const { exitCode, stdout } = await run("claims", "--entity", ENTITY, "--json");
    expect(exitCode).toBe(0);
    expect(JSON.parse(stdout)).toEqual(CLAIMS);
  });

  test.each([
    ["a claim of another entity", OTHER, CLAIMS],
    ["a grant among the claims", ENTITY, GRANTS],
    [
      "a claim that is not what its id is the hash of",
      ENTITY,
      { ...CLAIMS, items: [{ anchor: { ...claim, sequence: 5 } }] },
    ],
  ])("%s is not shown", async (_what, entity, list) => {
    pages = [good(list)];
    const { exitCode, stdout, stderr } = await run("claims", "--entity", entity);
    expect([1, 4]).toContain(exitCode);
    expect([stdout, stderr.split("\n")]).toEqual(["", [expect.any(String), ""]]);
  });

  test("a refusal says why", async () => {
    const errors = [{ parameter: "cursor", code: "wrong_format", detail: "this is no cursor of a list" }];
    const problem = { type: "about:blank", title: "t", status: 400, detail: "d", code: "invalid_request", errors };
    pages = [{ status: 400, body: problem }];
    const { exitCode, stderr } = await run("claims", "--entity", ENTITY, "--cursor", "next");
    expect(exitCode).toBe(3);
    expect(stderr).toContain("cursor: this is no cursor of a list");
  });
});
