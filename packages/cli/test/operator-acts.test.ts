/** What API clients may not take back of one another, and operators may: on a real cluster, by anchorctl. */
import { createHash } from "node:crypto";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { bytesToHex, operatorRevoker } from "@event-anchoring/protocol";
import { createSigner, nodeCrypto } from "@event-anchoring/node-crypto";
import { operatorKeyPath, readSeed } from "@event-anchoring/provision";
import { startTestCluster } from "@event-anchoring/testkit/cluster";
import type { TestCluster } from "@event-anchoring/testkit/cluster";
import { runAnchorctl } from "./run-anchorctl.ts";
import type { Run } from "./run-anchorctl.ts";

type Json = Readonly<Record<string, unknown>>;

let setup: TestCluster;
let home: string;
/** A key of another API client, with every scope that there is. */
let stranger: string;

const hashOf = (text: string): string => createHash("sha256").update(text).digest("hex");
const path = (name: string): string => join(home, name);

function online(args: readonly string[], apiKey = setup.apiKey): Promise<Run> {
  const everywhere = [...args, "--cluster", setup.cluster.root, "--timeout", "60", "--json"];
  return runAnchorctl(home, everywhere, { ANCHORCTL_API_KEY: apiKey });
}

async function answerOf(...args: readonly string[]): Promise<Json> {
  const { exitCode, stdout, stderr } = await online(args);
  if (exitCode !== 0) throw new Error(`${args.join(" ")} ended with ${exitCode}: ${stdout}${stderr}`);
  return JSON.parse(stdout) as Json;
}

/** Why the service has refused a command. */
async function refusalOf(apiKey: string, ...args: readonly string[]): Promise<unknown> {
  const { exitCode, stdout } = await online(args, apiKey);
  return [exitCode, (JSON.parse(stdout) as Json)["failure"]];
}

async function anchorOf(anchorId: string): Promise<Json> {
  const url = `${setup.cluster.file.nodes[0]?.api_url ?? ""}/v1/event-anchors/${anchorId}`;
  const response = await fetch(url, { headers: { "x-api-key": setup.apiKey } });
  return ((await response.json()) as { readonly anchor: Json }).anchor;
}

async function claimed(who: string): Promise<string> {
  const about = ["--entity", hashOf(who), "--attribute-type", "1", "--attribute-hash", hashOf("a")];
  const said = await answerOf("claim", ...about, "--subject-key", path("subject"), "--issuer-key", path("issuer"));
  return String(said["anchor_id"]);
}

beforeAll(async () => {
  home = mkdtempSync(join(tmpdir(), "anchorctl-operator-"));
  setup = await startTestCluster();
  for (const who of ["subject", "issuer"]) await runAnchorctl(home, ["keygen", path(who)]);
  stranger = String((await answerOf("keys", "create", "--scopes", "read,write,revoke,admin"))["api_key"]);
}, 180_000);

afterAll(async () => {
  rmSync(home, { recursive: true, force: true });
  await setup.cluster.erase();
}, 60_000);

describe("a claim", () => {
  test("is not revoked unsigned by another API client; by an operator it is, and shows whose act it was", async () => {
    const claim = await claimed("deployer");
    expect(await refusalOf(stranger, "revoke", claim, "--own")).toEqual([3, "not_own_record"]);
    expect(await anchorOf(claim)).toMatchObject({ state: "active" });
    const revoke = ["operator", "revoke", claim, "--reason", "key_compromise", "--issued-at", "2026-01-02T03:04:05Z"];
    const first = await answerOf(...revoke);
    expect(first).toMatchObject({ revoked_anchor_id: claim, operator: "operator", replayed: false });
    expect(await answerOf(...revoke)).toMatchObject({ anchor_id: first["anchor_id"], replayed: true });
    const { publicKey } = createSigner(await readSeed(operatorKeyPath(setup.cluster.root)));
    expect(await anchorOf(String(first["anchor_id"]))).toMatchObject({
      kind: "revocation",
      target_anchor_id: claim,
      reason: "key_compromise",
      authority: "operator",
      revoker: bytesToHex(operatorRevoker(publicKey, nodeCrypto.sha256)),
      signature: null,
    });
    expect(await anchorOf(claim)).toMatchObject({ state: "revoked" });
  }, 120_000);

  test("is revoked unsigned by the API client that recorded it, and by a party through any", async () => {
    const [own, signed] = [await claimed("agent"), await claimed("tool")];
    expect(await answerOf("revoke", own, "--own")).toMatchObject({ replayed: false });
    expect((await online(["revoke", signed, "--key", path("issuer")], stranger)).exitCode).toBe(0);
    for (const claim of [own, signed]) expect(await anchorOf(claim)).toMatchObject({ state: "revoked" });
  }, 120_000);
});

describe("a client event id", () => {
  test("is not erased by another API client; by an operator it is", async () => {
    writeFileSync(path("act.txt"), "an act\n");
    const said = await answerOf("anchor", path("act.txt"), "--event-id", "name@example.org");
    const event = String(said["anchor_id"]);
    const url = `${setup.cluster.file.nodes[0]?.api_url ?? ""}/v1/event-anchors/${event}/erase-client-event-id`;
    const refused = await fetch(url, { method: "POST", headers: { "x-api-key": stranger } });
    expect([refused.status, await refused.json()]).toMatchObject([403, { code: "not_own_record" }]);
    expect(await anchorOf(event)).toMatchObject({ client_event_id: "name@example.org" });
    expect(await answerOf("operator", "erase", event)).toEqual({
      anchor_id: event,
      operator: "operator",
      erased: true,
    });
    expect(await answerOf("operator", "erase", event)).toMatchObject({ erased: false });
    expect(await anchorOf(event)).toMatchObject({ client_event_id: null, client_event_erased: true });
  }, 120_000);
});

describe("an operator's command", () => {
  test("names what it is about, and says what it is not", async () => {
    writeFileSync(path("other.txt"), "another act\n");
    const event = String((await answerOf("anchor", path("other.txt")))["anchor_id"]);
    expect(await refusalOf(setup.apiKey, "operator", "revoke", event)).toEqual([2, "wrong_kind"]);
    expect(await refusalOf(setup.apiKey, "operator", "revoke", hashOf("nothing"))).toEqual([3, "anchor_not_found"]);
    expect(await refusalOf(setup.apiKey, "operator", "erase", hashOf("nothing"))).toEqual([3, "reference_not_found"]);
    expect(await refusalOf(setup.apiKey, "operator", "erase", "mine")).toEqual([2, "anchor_id_invalid"]);
    const bored = ["operator", "revoke", await claimed("bored"), "--reason", "boredom"];
    expect(await refusalOf(setup.apiKey, ...bored)).toEqual([2, "reason_invalid"]);
  }, 120_000);

  test("counts only by the key of an operator whom the trust root lists", async () => {
    const made = await runAnchorctl(
      home,
      ["operator", "init", path("mallory.key"), "--label", "mallory", "--plain"].concat(
        "--cluster-name",
        "dev.example",
      ),
    );
    expect(made.exitCode).toBe(0);
    const erase = ["operator", "erase", hashOf("nothing"), "--sign-key", path("mallory.key")];
    expect(await refusalOf(setup.apiKey, ...erase)).toEqual([2, "operator_unknown"]);
  });
});
