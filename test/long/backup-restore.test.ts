/** Backups under load; one node restored from one; a whole cluster, with and without evidence of what was certified. */
import { createHash } from "node:crypto";
import { readFileSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import {
  changeTrustRoot,
  mustAnchorctl,
  prepareNode,
  runAnchorctl,
  settingsOf,
  takeBackup,
} from "@event-anchoring/gates/anchorctl";
import { nodeCrypto } from "@event-anchoring/node-crypto";
import { anchorIdOf, bytesToHex, hexToBytes, receiptFromJson, verifyReceipt } from "@event-anchoring/protocol";
import { BackupFile } from "@event-anchoring/store";
import { until } from "@event-anchoring/testkit";
import { AnchoringClient } from "@event-anchoring/testkit/clients";
import { ClusterLoad, nodeFiles, servedChain, startTestCluster } from "@event-anchoring/testkit/cluster";
import { claimBody, partyOf, signClaim } from "@event-anchoring/testkit/records";
import type { Acknowledged } from "@event-anchoring/testkit/clients";
import type { TestCluster } from "@event-anchoring/testkit/cluster";
import { differencesWhenCalm, offlineFailures } from "../cluster/trust-root-steps.ts";
import {
  STEP_TIMEOUT_MS,
  logOf,
  loseNode,
  readiness,
  signRoot,
  untilReady,
  withAllScopes,
} from "./restored-cluster.ts";

const WRITERS = 2;
/** Label of the key with which an embedded cluster begins. */
const KEY_LABEL = "embedded default";

async function anchorsIn(path: string): Promise<ReadonlySet<string>> {
  const file = await BackupFile.open(path);
  const ids = new Set<string>();
  try {
    for await (const record of file.records()) {
      if (record.type === "leaf") ids.add(bytesToHex(anchorIdOf(record.bytes, nodeCrypto.sha256)));
    }
  } finally {
    await file.close();
  }
  return ids;
}

function missingIn(anchors: ReadonlySet<string>, acknowledged: readonly Acknowledged[]): readonly string[] {
  return acknowledged.flatMap(({ anchorId }) => (anchors.has(anchorId) ? [] : [anchorId]));
}

/** Writes an event into the node's own origin, until it is taken. */
async function writeAt(setup: TestCluster, nodeId: string, text: string): Promise<string> {
  const { api_url: apiUrl, origin_fingerprint: origin } = setup.entry(nodeId);
  const client = new AnchoringClient({ apiUrl, apiKey: setup.apiKey });
  const eventHash = createHash("sha256").update(text).digest("hex");
  try {
    return await until(
      `${nodeId} takes an event`,
      async () => {
        const { status, body } = await client.createEvent({ origin_fingerprint: origin, event_hash: eventHash });
        return status === 201 && "anchor" in body ? body.anchor.anchor_id : null;
      },
      STEP_TIMEOUT_MS,
    );
  } finally {
    await client.load.close();
  }
}

/** What the node answers; asked again while it is busy. */
async function statusOf({ entry, apiKey }: TestCluster, nodeId: string, path: string): Promise<number> {
  const headers = { authorization: `Bearer ${apiKey}` };
  let busy = "";
  const ask = async (): Promise<number | null> => {
    const answer = await fetch(`${entry(nodeId).api_url}${path}`, { headers });
    if (answer.status !== 503) return answer.status;
    busy = await answer.text();
    return null;
  };
  return until(`${nodeId} answers ${path}`, ask, STEP_TIMEOUT_MS / 5).catch((cause: unknown) => {
    throw new Error(busy, { cause });
  });
}

describe("a cluster whose nodes are lost one by one", () => {
  let setup: TestCluster;
  let load: ClusterLoad;
  let first: string;
  let newest: string;
  let claimId: string;
  let acknowledged: readonly Acknowledged[];
  const promiseFiles = new Map<string, string>();

  beforeAll(async () => {
    setup = await startTestCluster();
    load = ClusterLoad.start(setup, WRITERS);
    await load.more(20, STEP_TIMEOUT_MS);
  }, STEP_TIMEOUT_MS);

  afterAll(async () => {
    await load?.abandon();
    await setup?.cluster.erase();
  }, STEP_TIMEOUT_MS);

  test(
    "a backup under load holds every anchor that was acknowledged before it, and is sound",
    async () => {
      const before = load.acknowledged;
      first = await takeBackup(setup, "n1", "first.backup");
      expect(missingIn(await anchorsIn(first), before)).toEqual([]);
      const verified = await mustAnchorctl(["backup", "verify", first, "--cluster", setup.cluster.root]);
      expect(verified).toMatchObject({ valid: true, pinned: true, node_id: "n1", epoch: 0, trust_root_version: 1 });
      expect(verified).toMatchObject({ state_signed: true });
      expect((verified["state_signers"] as readonly string[]).length).toBeGreaterThanOrEqual(2);
      expect(logOf(setup, "n1").match(/"state_held"/gu)).toHaveLength(1);
      // Sound in itself, of whatever cluster.
      expect(await runAnchorctl(["backup", "verify", first])).toMatchObject({ exitCode: 6, json: { pinned: false } });
      await load.more(10, STEP_TIMEOUT_MS);
    },
    STEP_TIMEOUT_MS,
  );

  test(
    "an altered, shortened or strange file is refused, and so is a name that is taken",
    async () => {
      const whole = readFileSync(first);
      const altered = (name: string, change: (bytes: Buffer) => Buffer): string => {
        const path = join(setup.cluster.root, name);
        writeFileSync(path, change(Buffer.from(whole)));
        return path;
      };
      const flip = (at: number) => (bytes: Buffer) => {
        bytes[at] = (bytes[at] ?? 0) ^ 1;
        return bytes;
      };
      const kinds = [
        [altered("mark", flip(3)), 2, "not_a_backup"],
        [altered("later", flip(24)), 2, "format_unknown"],
        [altered("header", flip(60)), 1, "altered"],
        [altered("middle", flip(Math.floor(whole.length / 2))), 1, "altered"],
        [altered("told", flip(whole.length - 60)), 1, "altered"],
        [altered("digest", flip(whole.length - 1)), 1, "altered"],
        [altered("short", (bytes) => bytes.subarray(0, bytes.length - 100)), 2, "not_a_backup"],
        [altered("empty", () => Buffer.alloc(0)), 2, "not_a_backup"],
        [join(setup.cluster.root, "nowhere"), 2, "cannot_read"],
      ] as const;
      for (const [path, exitCode, failure] of kinds) {
        const found = await runAnchorctl(["backup", "verify", path]);
        expect([path, found.exitCode, found.json["failure"]]).toEqual([path, exitCode, failure]);
      }
      expect(await runAnchorctl(["backup", "verify", withAllScopes(first, KEY_LABEL)])).toMatchObject({
        exitCode: 1,
        json: { failure: "snapshot_refused", detail: expect.stringContaining("differs from the state head") },
      });
      const again = await runAnchorctl(["backup", "create", "--database", settingsOf(setup, "n1"), "--out", first]);
      expect(again).toMatchObject({ exitCode: 2, json: { failure: "cannot_write" } });
      const used = await runAnchorctl(["restore", "node", "--backup", first, "--node", settingsOf(setup, "n2")]);
      expect(used).toMatchObject({ exitCode: 2, json: { failure: "identity_spent" } });
    },
    STEP_TIMEOUT_MS,
  );

  test(
    "a dead node's successor begins with a backup, and needs only the log after it",
    async () => {
      await setup.cluster.node("n3").killProcesses();
      await setup.cluster.dropNode("n3");
      await prepareNode(setup, "n4");
      const forged = withAllScopes(first, KEY_LABEL);
      for (const flags of [[], ["--unsigned"]]) {
        const refused = await runAnchorctl([
          "restore",
          "node",
          "--backup",
          forged,
          "--node",
          settingsOf(setup, "n4"),
          ...flags,
        ]);
        expect(refused).toMatchObject({ exitCode: 1, json: { failure: "snapshot_refused" } });
      }
      const restored = await mustAnchorctl(["restore", "node", "--backup", first, "--node", settingsOf(setup, "n4")]);
      expect(restored).toMatchObject({ scope: "node", node_id: "n4", state_signed: true });
      const again = await runAnchorctl(["restore", "node", "--backup", first, "--node", settingsOf(setup, "n4")]);
      expect(again).toMatchObject({ exitCode: 2, json: { failure: "not_empty" } });
      setup.cluster.node("n4").startProcesses();
      const changes = ["--retire", "n3", "--add-active", setup.cluster.cardPath("n4")];
      await changeTrustRoot(setup, changes, { wait: "5m" });
      await untilReady(setup, ["n4"]);
      expect(logOf(setup, "n4")).not.toContain("snapshot_fetching");
      await load.more(10, STEP_TIMEOUT_MS);
      expect(await differencesWhenCalm(setup, "n4", load.acknowledged)).toEqual([]);
    },
    2 * STEP_TIMEOUT_MS,
  );

  test(
    "all are lost: what their promise files bound is closed, and a new group goes on",
    async () => {
      const { api_url: apiUrl, origin_fingerprint: origin } = setup.entry("n1");
      const client = new AnchoringClient({ apiUrl, apiKey: setup.apiKey });
      const claim = signClaim(
        {
          originFingerprint: hexToBytes(origin, 32) as never,
          entityFingerprint: new Uint8Array(32).fill(1),
          attributeType: 7,
          attributeHash: new Uint8Array(32).fill(2),
          issuedAt: 0,
          expiresAt: 0,
        },
        partyOf("subject"),
        partyOf("issuer"),
      );
      claimId = await until("the claim is taken", async () => {
        const { status, body } = await client.createClaim(claimBody(claim));
        return "anchor" in body && status < 202 ? body.anchor.anchor_id : null;
      });
      await client.load.close();
      acknowledged = await load.stop();
      for (const nodeId of ["n2", "n4"]) promiseFiles.set(nodeId, await loseNode(setup, nodeId));
      const alone = ["backup", "create", "--database", settingsOf(setup, "n1"), "--out"];
      // While n1 runs alone, and when it is dead.
      for (const name of ["alone.backup", "dead.backup"]) {
        const refused = await runAnchorctl([...alone, join(setup.cluster.root, name)]);
        expect(refused).toMatchObject({ exitCode: 4, json: { failure: "state_not_signed" } });
        if (!promiseFiles.has("n1")) promiseFiles.set("n1", await loseNode(setup, "n1"));
      }
      newest = await takeBackup(setup, "n1", "newest.backup", ["--unsigned"]);
      const unsigned = await runAnchorctl(["backup", "verify", newest, "--cluster", setup.cluster.root]);
      // The operator is shown every key that a restore would bring to life.
      const liveKeys = expect.arrayContaining([expect.objectContaining({ scopes: expect.any(Array) })]);
      expect(unsigned).toMatchObject({ exitCode: 5, json: { state_signed: false, live_api_keys: liveKeys } });
      for (const nodeId of ["n5", "n6", "n7"]) await prepareNode(setup, nodeId);
      const next = join(setup.cluster.root, "next");
      const cards = ["n5", "n6", "n7"].flatMap((nodeId) => ["--add-active", setup.cluster.cardPath(nodeId)]);
      const evidence = ["n1", "n2"].flatMap((nodeId) => ["--promise-file", promiseFiles.get(nodeId) ?? ""]);
      const plan = ["restore", "plan", "--backup", newest, "--cluster", setup.cluster.root, ...cards, "--out", next];
      const tooFew = await mustAnchorctl([...plan, ...evidence.slice(0, 2)]);
      expect(statusesOf(tooFew)).toEqual(["lost", "lost", "lost", "lost"]);
      const planned = await mustAnchorctl([...plan, ...evidence]);
      expect(planned).toMatchObject({ version: 3, epoch: 1 });
      expect(statusesOf(planned)).toEqual(["closed", "closed", "closed", "closed"]);
      const restore = (nodeId: string, ...flags: readonly string[]): readonly string[] => {
        const rest = ["--backup", newest, "--trust-root", next, "--node", settingsOf(setup, nodeId)];
        return ["restore", "cluster", ...rest, ...flags];
      };
      expect(await runAnchorctl(restore("n5"))).toMatchObject({ exitCode: 5, json: { failure: "unsigned" } });
      const unsignedRoot = await runAnchorctl(restore("n5", "--unsigned"));
      expect(unsignedRoot).toMatchObject({ exitCode: 1, json: { failure: "root_quorum_missing" } });
      await signRoot(setup, next, planned["root_thk"]);
      for (const nodeId of ["n5", "n6", "n7"]) await mustAnchorctl(restore(nodeId, "--unsigned"));
      for (const nodeId of ["n5", "n6", "n7"]) setup.cluster.node(nodeId).startProcesses();
      await untilReady(setup, ["n5", "n6", "n7"]);
      const written = await writeAt(setup, "n6", "after the restore");
      expect(await statusOf(setup, "n7", `/v1/event-anchors/${written}`)).toBe(200);
    },
    3 * STEP_TIMEOUT_MS,
  );

  test(
    "every acknowledged anchor is there, its old receipt verifies, and a claim of a closed origin can be revoked",
    async () => {
      const chain = await servedChain(setup, "n5");
      expect([chain.newest.trustRoot.version, chain.newest.trustRoot.epoch]).toEqual([3, 1]);
      expect(await differencesWhenCalm(setup, "n5", acknowledged)).toEqual([]);
      expect(offlineFailures(chain, acknowledged)).toEqual([]);
      const client = new AnchoringClient({ apiUrl: setup.entry("n6").api_url, apiKey: setup.apiKey });
      expect((await client.revoke("claim", claimId)).status).toBe(201);
      const origin = setup.entry("n1").origin_fingerprint;
      const closed = await client.createEvent({ origin_fingerprint: origin, event_hash: "ab".repeat(32) });
      expect([closed.status, JSON.stringify(closed.body)]).toEqual([409, expect.stringContaining("origin_closed")]);
      await client.load.close();
    },
    STEP_TIMEOUT_MS,
  );

  test(
    "an old node that comes back takes no part; without its promise file it does not even start",
    async () => {
      const { promiseFile } = nodeFiles(setup.cluster, "n2");
      renameSync(promiseFiles.get("n2") ?? "", promiseFile);
      setup.cluster.node("n2").startProcesses();
      // Its trust root lists none of the new nodes: it waits for a leader that it will not hear of.
      const isWaiting = async (): Promise<boolean> => (await readiness(setup, "n2"))?.includes("no leader") === true;
      await until("n2 waits", isWaiting, STEP_TIMEOUT_MS);
      setup.cluster.node("n1").startProcesses();
      const without = await until("n1 stops", () => nodeFiles(setup.cluster, "n1").stopped(), STEP_TIMEOUT_MS);
      expect(without).toMatchObject({ code: 78, check: "promise_file_missing" });
      await writeAt(setup, "n5", "and the new group goes on");
    },
    STEP_TIMEOUT_MS,
  );
});

function statusesOf({ origins }: Readonly<Record<string, unknown>>): readonly string[] {
  return (origins as readonly { readonly status: string }[]).map(({ status }) => status);
}

describe("a cluster of which nothing is left but a backup that lags behind", () => {
  let setup: TestCluster;
  let load: ClusterLoad;
  let lagging: string;
  let later: string;
  let held: readonly Acknowledged[];
  let gone: Acknowledged;

  beforeAll(async () => {
    setup = await startTestCluster();
    load = ClusterLoad.start(setup, WRITERS);
    await load.more(20, STEP_TIMEOUT_MS);
  }, STEP_TIMEOUT_MS);

  afterAll(async () => {
    await load?.abandon();
    await setup?.cluster.erase();
  }, STEP_TIMEOUT_MS);

  test(
    "every origin is lost, and the nodes that began from one backup refuse the one that began from another",
    async () => {
      held = load.acknowledged;
      lagging = await takeBackup(setup, "n2", "lagging.backup");
      await load.more(20, STEP_TIMEOUT_MS);
      const last = (await load.stop()).at(-1);
      if (last === undefined) throw new Error("something was acknowledged");
      gone = last;
      later = await takeBackup(setup, "n2", "later.backup");
      for (const nodeId of ["n1", "n2", "n3"]) await loseNode(setup, nodeId);
      for (const nodeId of ["n4", "n5", "n6"]) await prepareNode(setup, nodeId);
      const next = join(setup.cluster.root, "next");
      const cards = ["n4", "n5", "n6"].flatMap((nodeId) => ["--add-active", setup.cluster.cardPath(nodeId)]);
      const plan = ["restore", "plan", "--backup", lagging, "--cluster", setup.cluster.root, ...cards, "--out", next];
      const planned = await mustAnchorctl(plan);
      expect(statusesOf(planned)).toEqual(["lost", "lost", "lost"]);
      await signRoot(setup, next, planned["root_thk"]);
      for (const [nodeId, backup] of [
        ["n4", lagging],
        ["n5", lagging],
        ["n6", later],
      ] as const) {
        const settings = settingsOf(setup, nodeId);
        await mustAnchorctl(["restore", "cluster", "--backup", backup, "--trust-root", next, "--node", settings]);
      }
      setup.cluster.node("n4").startProcesses();
      await until(
        "n4 says what it waits for",
        async () => (await readiness(setup, "n4"))?.includes("restore"),
        STEP_TIMEOUT_MS,
      );
      for (const nodeId of ["n6", "n5"]) setup.cluster.node(nodeId).startProcesses();
      await untilReady(setup, ["n4", "n5"]);
      await until("n6 is refused", () => logOf(setup, "n6").includes("other_backup"), STEP_TIMEOUT_MS);
      expect(await readiness(setup, "n6")).not.toBe("ready");
    },
    3 * STEP_TIMEOUT_MS,
  );

  test(
    "what the backup holds stays provable and shows that its origin is lost; what came after it is gone",
    async () => {
      const chain = await servedChain(setup, "n4");
      expect(chain.newest.trustRoot.epoch).toBe(1);
      const verdicts = held.map(({ receipt: value, eventHash, anchorId }) => {
        const { receipt } = receiptFromJson(value);
        const expected = { eventHash: hexToBytes(eventHash, 32), anchorId: hexToBytes(anchorId, 32) };
        const { verdict, originLost } = verifyReceipt({ receipt, trustRoots: chain, expect: expected }, nodeCrypto);
        return `${verdict} ${originLost}`;
      });
      expect([...new Set(verdicts)]).toEqual(["valid true"]);
      for (const { anchorId } of held.slice(0, 5)) {
        expect(await statusOf(setup, "n5", `/v1/event-anchors/${anchorId}/receipt`)).toBe(200);
      }
      expect(await statusOf(setup, "n5", `/v1/event-anchors/${gone.anchorId}`)).toBe(404);
      await writeAt(setup, "n4", "the new group has origins of its own");
      const client = new AnchoringClient({ apiUrl: setup.entry("n5").api_url, apiKey: setup.apiKey });
      const old = await client.createEvent({ origin_fingerprint: gone.originFingerprint, event_hash: "cd".repeat(32) });
      expect(old.status).toBe(409);
      await client.load.close();
    },
    STEP_TIMEOUT_MS,
  );
});
