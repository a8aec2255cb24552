/** `anchorctl monitor` as a service: it goes on after an alarm, keeps evidence, answers scrapes, tells receivers. */
import { mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "@jest/globals";
import { LEAF_KIND, ZERO_32, hexToBytes, toAnchorId } from "@event-anchoring/protocol";
import { until } from "@event-anchoring/testkit";
import { anchorctl } from "../src/index.ts";
import { FileServer } from "./file-server.ts";
import { PaperCluster } from "./paper-cluster.ts";
import { publicFile } from "./public-file.ts";
import { runAnchorctl } from "./run-anchorctl.ts";
import { WebhookReceiver } from "./webhook-receiver.ts";

const CLAIM = {
  attributeType: 1,
  attributeHash: ZERO_32,
  issuedAt: 0,
  expiresAt: 0,
  subjectPublicKey: ZERO_32,
  subjectSignature: new Uint8Array(64).fill(7),
  issuerPublicKey: ZERO_32,
  issuerSignature: new Uint8Array(64).fill(7),
};
const REVOCATION = {
  reason: 1,
  suspectSince: 0,
  issuedAt: 0,
  authority: 1,
  revoker: ZERO_32,
  signature: new Uint8Array(64).fill(7),
};

let home: string;
let cluster: PaperCluster;
let receiver: WebhookReceiver;

beforeEach(async () => {
  home = mkdtempSync(join(tmpdir(), "anchorctl-service-"));
  cluster = await PaperCluster.start();
  receiver = await WebhookReceiver.start();
  writeFileSync(join(home, "trust-root.txt"), cluster.ceremony.document);
  writeFileSync(join(home, "keys"), `whsec_${Buffer.alloc(24, 7).toString("base64")}\n`);
  for (let byte = 1; byte <= 4; byte++) cluster.appendEvent(new Uint8Array(32).fill(byte));
});

afterEach(() => {
  cluster.stop();
  receiver.stop();
  rmSync(home, { recursive: true, force: true });
});

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}

const watch = (): readonly string[] => [
  "monitor",
  "--state",
  join(home, "state.json"),
  "--evidence",
  join(home, "evidence"),
  "--api-url",
  cluster.apiUrl,
  "--trust-root",
  join(home, "trust-root.txt"),
];

const told = (): { id: unknown; type: unknown }[] =>
  receiver.received.map(({ headers, body }) => {
    return { id: headers["webhook-id"], type: (JSON.parse(body) as { type: string }).type };
  });

test("an alarm is evidence, a metric and a webhook, once; the watch goes on", async () => {
  const port = await freePort();
  const controller = new AbortController();
  const silent = { isTTY: false, write: () => undefined };
  const args = [
    ...watch(),
    "--interval",
    "1s",
    "--listen",
    `127.0.0.1:${port}`,
    "--webhook",
    receiver.url,
    "--webhook-keys",
    join(home, "keys"),
  ];
  const done = anchorctl(args, {
    stdout: silent,
    stderr: silent,
    workingDir: home,
    environment: { ANCHORCTL_API_KEY: "ank_test" },
    signal: controller.signal,
  });
  const ask = async (path: string): Promise<{ status: number; text: string }> => {
    const response = await fetch(`http://127.0.0.1:${port}${path}`);
    return { status: response.status, text: await response.text() };
  };
  await until("a head is told", () => told().length > 0);
  expect(told()).toEqual([{ id: `head_${cluster.origin}_5`, type: "log.head" }]);
  expect(await ask("/healthz")).toEqual({ status: 200, text: '{"status":"ok"}' });
  expect((await ask("/nothing")).status).toBe(404);
  const before = (await ask("/metrics")).text;
  expect(before).toContain(`anchoring_monitor_tree_size{origin="${cluster.origin}"} 5`);
  expect(before).toContain("anchoring_monitor_evidence_files 0");

  cluster.leaves.splice(3);
  for (let byte = 20; byte < 25; byte++) cluster.appendEvent(new Uint8Array(32).fill(byte));
  await until("the alarm is told", () => told().some(({ type }) => type === "log.alarm"));
  const alarmsSeen = async (): Promise<number> =>
    Number(/looks_total\{outcome="alarm"\} (\d+)/u.exec((await ask("/metrics")).text)?.[1]);
  cluster.appendEvent(new Uint8Array(32).fill(30));
  const seen = await alarmsSeen();
  await until("it is seen again, of a larger tree", async () => (await alarmsSeen()) > seen + 1);
  const evidence = readdirSync(join(home, "evidence"));
  expect(evidence).toEqual([expect.stringMatching(/^inconsistent-[0-9a-f]{16}\.json$/u)]);
  const kept = JSON.parse(readFileSync(join(home, "evidence", evidence[0] ?? ""), "utf8")) as { notes: string[] };
  expect(kept).toMatchObject({ code: "inconsistent", origin_fingerprint: cluster.origin, api_url: cluster.apiUrl });
  expect(kept.notes).toHaveLength(2);
  expect((await ask("/metrics")).text).toContain("anchoring_monitor_evidence_files 1");
  expect(told().filter(({ type }) => type === "log.alarm")).toEqual([
    { id: `alarm_${evidence[0]?.replace(".json", "")}`, type: "log.alarm" },
  ]);
  controller.abort();
  expect(await done).toBe(0);
}, 60_000);

test("a revocation that touches a named entity is told, at files without a key", async () => {
  const alice = "a1".repeat(32);
  const claim = cluster.append({ kind: LEAF_KIND.claim, ...CLAIM, entityFingerprint: hexToBytes(alice, 32) });
  const revocation = cluster.append({
    kind: LEAF_KIND.revocation,
    ...REVOCATION,
    targetAnchorId: toAnchorId(hexToBytes(claim, 32)),
  });
  writeFileSync(join(home, "entities"), `${alice}  Alice\n`);
  const files = await FileServer.start((path) => publicFile(cluster, path));
  const controller = new AbortController();
  const silent = { isTTY: false, write: () => undefined };
  const told = ["--webhook", receiver.url, "--webhook-keys", join(home, "keys"), "--entities", join(home, "entities")];
  const args = watch().map((each) => (each === cluster.apiUrl ? files.url : each));
  const io = { stdout: silent, stderr: silent, workingDir: home, environment: {}, signal: controller.signal };
  const done = anchorctl([...args, "--interval", "1s", ...told], io);
  const isRevocation = ({ body }: { readonly body: string }): boolean => body.includes('"log.revocation"');
  await until("the revocation is told", () => receiver.received.some(isRevocation));
  controller.abort();
  expect(await done).toBe(0);
  files.stop();
  const { headers, body = "" } = receiver.received.find(isRevocation) ?? {};
  expect(headers?.["webhook-id"]).toBe(`revocation_${revocation}`);
  expect((JSON.parse(body) as Readonly<Record<string, unknown>>)["data"]).toEqual({
    origin_fingerprint: cluster.origin,
    anchor_id: revocation,
    sequence: 6,
    accepted_at: expect.stringMatching(/^20\d\d-/u),
    target_anchor_id: claim,
    reason: "key_compromise",
    authority: "issuer",
    suspect_since: 0,
    entities_count: 1,
    entities: [{ entity_fingerprint: alice, records_count: 1, records: [claim] }],
  });
}, 60_000);

test.each([
  [["--interval", "1s", "--entities", "names"], "--entities needs --webhook"],
  [["--listen", "127.0.0.1:9110"], "need --interval"],
  [["--interval", "1s", "--listen", "9110"], "--listen takes host:port"],
  [["--interval", "1s", "--webhook", "https://a.example"], "needs --webhook-keys"],
  [["--interval", "1s", "--webhook", "http://a.example", "--webhook-keys", "keys"], "takes an https address"],
])("%j is refused", async (args, message) => {
  const environment = { ANCHORCTL_API_KEY: "ank_test" };
  const { exitCode, stderr } = await runAnchorctl(home, [...watch(), ...args], environment);
  expect([exitCode, stderr]).toEqual([2, expect.stringContaining(message)]);
});
