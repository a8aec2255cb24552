import { existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "@jest/globals";
import { bytesToHex } from "@event-anchoring/protocol";
import {
  Conflict,
  ConnectionFailed,
  FileMonitorStore,
  MemoryMonitorStore,
  Monitor,
  NotFound,
  Rollback,
  SplitView,
  Unauthorized,
  VerificationError,
  verifyTrustRoot,
} from "../src/index.ts";
import type { LatestAnchor, MonitorStore, MonitoredService } from "../src/index.ts";
import { ORIGIN_HEX, ceremony, checkpointOf, leafHashes, proofOf, strangers } from "./fake-log.ts";

/** A service that shows a history, or whatever a test makes it show. */
class FakeService {
  hashes: Uint8Array[] = [];
  cosigners = 2;
  documents: string[] = [ceremony.document];
  /** Instead of the proof that is right. */
  proof: readonly Uint8Array[] | null = null;
  proofInLatest = true;
  isRollbackAdmitted = false;
  /** Instead of any answer. */
  fails: Error | null = null;
  /** Instead of the newest checkpoint. */
  contradicts: Error | null = null;

  get monitored(): MonitoredService {
    return {
      trustRoot: () => {
        if (this.fails !== null) return Promise.reject(this.fails);
        const chain = this.documents.map((document) => ({ version: 1, rootThk: "00".repeat(32), document }));
        return Promise.resolve({ version: 1, rootThk: "00".repeat(32), document: "", chain, requestId: "r" });
      },
      latest: (question) => this.#latest(question.originFingerprint, question.fromSize),
      consistency: ({ fromSize }) =>
        Promise.resolve({
          originFingerprint: ORIGIN_HEX,
          from: { treeSize: fromSize, rootHash: "" },
          to: { treeSize: this.hashes.length, rootHash: "", checkpoint: null },
          proof: this.proof ?? proofOf(this.hashes, fromSize),
          requestId: "r",
        }),
      getCheckpoint: () => Promise.resolve(checkpointOf(this.hashes)),
    };
  }

  async #latest(originFingerprint: string, fromSize: number | undefined) {
    await Promise.resolve();
    if (this.contradicts !== null && originFingerprint === ORIGIN_HEX) throw this.contradicts;
    const context = { status: 404 };
    if (originFingerprint !== ORIGIN_HEX || this.hashes.length < 2) throw new NotFound("no_anchor_yet", "", context);
    const treeSize = this.hashes.length;
    if (this.isRollbackAdmitted && fromSize !== undefined && fromSize > treeSize) {
      throw new Conflict("from_size_ahead", "", { status: 409 });
    }
    const isShown = this.proofInLatest && fromSize !== undefined && fromSize <= treeSize;
    const proof = isShown ? (this.proof ?? proofOf(this.hashes, fromSize)) : [];
    const latest = {
      originFingerprint,
      treeSize,
      checkpoint: checkpointOf(this.hashes, this.cosigners),
      consistency: isShown ? { fromSize, treeSize, proof } : null,
    };
    return { ...latest, requestId: "r" } as LatestAnchor & { requestId: string };
  }
}

function setup(store: MonitorStore = new MemoryMonitorStore()): { service: FakeService; monitor: Monitor } {
  const service = new FakeService();
  service.hashes = leafHashes(5);
  const monitor = new Monitor({ client: service.monitored, store, pinnedRootThk: ceremony.rootThk });
  return { service, monitor };
}

async function errorOf(call: Promise<unknown>): Promise<VerificationError> {
  try {
    await call;
  } catch (error) {
    if (error instanceof VerificationError) return error;
    throw error;
  }
  throw new Error("it did not fail");
}

describe("a monitor", () => {
  test.each([true, false])("follows a log that grows (proof in the answer: %p)", async (proofInLatest) => {
    const { service, monitor } = setup();
    service.proofInLatest = proofInLatest;
    expect(await monitor.update()).toMatchObject([{ originFingerprint: ORIGIN_HEX, previousTreeSize: null }]);
    for (const size of [5, 6, 8, 13]) {
      service.hashes = leafHashes(size);
      const [seen] = await monitor.update();
      expect(seen?.checkpoint.treeSize).toBe(size);
    }
  });

  test("an origin without an anchor is not there yet", async () => {
    const { service, monitor } = setup();
    service.hashes = [];
    expect(await monitor.update()).toEqual([]);
  });

  test.each([
    ["a smaller tree", (service: FakeService) => (service.hashes = leafHashes(4))],
    ["an empty log", (service: FakeService) => (service.hashes = [])],
    [
      "a smaller tree, admitted",
      (service: FakeService) => {
        service.hashes = leafHashes(4);
        service.isRollbackAdmitted = true;
      },
    ],
  ] as [string, (service: FakeService) => void][])("raises on %s", async (_, change) => {
    const { service, monitor } = setup();
    await monitor.update();
    change(service);
    const error = await errorOf(monitor.update());
    expect(error).toBeInstanceOf(Rollback);
    expect(error.result).toMatchObject({ originFingerprint: ORIGIN_HEX, held: checkpointOf(leafHashes(5)) });
  });

  test.each([
    ["another tree of the same size", 5, 3],
    ["a tree that grew from another one", 9, 3],
    ["a tree whose first leaf is another", 9, 0],
  ])("raises on %s, with both as evidence, and keeps what it saw", async (_, size, forkAt) => {
    const { service, monitor } = setup();
    await monitor.update();
    service.hashes = leafHashes(size, "other", forkAt);
    const error = await errorOf(monitor.update());
    expect(error).toBeInstanceOf(SplitView);
    expect(error.result).toMatchObject({ held: checkpointOf(leafHashes(5)), latest: checkpointOf(service.hashes) });
    service.hashes = leafHashes(9);
    expect(await monitor.update()).toMatchObject([{ previousTreeSize: 5 }]);
  });

  test("raises on a proof that does not lead from one to the other", async () => {
    const { service, monitor } = setup();
    await monitor.update();
    service.hashes = leafHashes(9);
    service.proof = [new Uint8Array(32)];
    expect(await errorOf(monitor.update())).toBeInstanceOf(SplitView);
  });

  test("raises on a checkpoint without a quorum", async () => {
    const { service, monitor } = setup();
    service.cosigners = 1;
    expect((await errorOf(monitor.update())).code).toBe("quorum_not_met");
  });

  test("raises on the trust root of another cluster", async () => {
    const { service, monitor } = setup();
    service.documents = [strangers.document];
    expect((await errorOf(monitor.update())).code).toBe("pin_mismatch");
  });

  test("raises when the trust root that it saw is gone", async () => {
    const store = new MemoryMonitorStore();
    const { monitor } = setup(store);
    const clusterId = bytesToHex(ceremony.clusterId);
    await store.save({ clusterId, trustRoot: { version: 2, rootThk: "77".repeat(32) }, checkpoints: {} });
    expect(await errorOf(monitor.update())).toBeInstanceOf(Rollback);
    expect((await monitor.look()).alarms).toMatchObject([{ code: "trust_root_rollback", originFingerprint: null }]);
    await store.save({ clusterId, trustRoot: { version: 1, rootThk: "77".repeat(32) }, checkpoints: {} });
    expect(await errorOf(monitor.update())).toBeInstanceOf(SplitView);
  });

  test("judges an EEA that came some other way", async () => {
    const { service, monitor } = setup();
    await monitor.update();
    service.hashes = leafHashes(7);
    const latest = await service.monitored.latest({ originFingerprint: ORIGIN_HEX });
    expect(await monitor.accept(latest)).toMatchObject({ previousTreeSize: 5, checkpoint: { treeSize: 7 } });
    service.hashes = leafHashes(6);
    const older = await service.monitored.latest({ originFingerprint: ORIGIN_HEX });
    expect(await errorOf(monitor.accept(older))).toBeInstanceOf(Rollback);
  });
});

describe("a look at several nodes", () => {
  function several(count: number, store: MonitorStore = new MemoryMonitorStore()) {
    const nodes = Array.from({ length: count }, () => {
      const node = new FakeService();
      node.hashes = leafHashes(5);
      return node;
    });
    const trustRoot = verifyTrustRoot({ documents: [ceremony.document], pinnedRootThk: ceremony.rootThk });
    const monitor = new Monitor({ client: nodes.map(({ monitored }) => monitored), store, trustRoot });
    return { nodes, monitor, store };
  }

  test("holds each against what any has shown, and says who contradicts", async () => {
    const { nodes, monitor, store } = several(3);
    const grown = { originFingerprint: ORIGIN_HEX, treeSize: 5, previousTreeSize: null };
    expect(await monitor.look()).toMatchObject({ alarms: [], unanswered: [], origins: [grown], trustRootVersion: 1 });
    const before = await store.load();
    nodes.forEach((node, at) => (node.hashes = at === 1 ? leafHashes(8, "other", 6) : leafHashes(8)));
    const look = await monitor.look();
    expect(look.alarms).toMatchObject([{ code: "split_view", node: 1, originFingerprint: ORIGIN_HEX }]);
    expect(look.alarms[0]?.evidence).toEqual([checkpointOf(leafHashes(8)), checkpointOf(nodes[1]?.hashes ?? [])]);
    expect(look.alarms[0]?.error).toBeInstanceOf(SplitView);
    expect(await store.load()).toEqual(before);
  });

  test.each([
    ["rollback", (node: FakeService) => (node.hashes = leafHashes(4))],
    ["inconsistent", (node: FakeService) => (node.hashes = leafHashes(9, "other", 3))],
    ["checkpoint_invalid", (node: FakeService) => (node.cosigners = 1)],
  ] as [string, (node: FakeService) => void][])("calls it %s, and goes on", async (code, betray) => {
    const { nodes, monitor } = several(2);
    await monitor.look();
    betray(nodes[0] ?? new FakeService());
    const { alarms, origins } = await monitor.look();
    expect(alarms).toMatchObject([{ code, node: 0 }]);
    expect(alarms[0]?.evidence).toHaveLength(2);
    expect(origins).toMatchObject([{ treeSize: 5, previousTreeSize: 5 }]);
  });

  test("a node that cannot be asked is named, and the others are watched", async () => {
    const { nodes, monitor } = several(2);
    const error = new ConnectionFailed("no endpoint answered");
    for (const node of nodes.slice(0, 1)) node.fails = error;
    expect(await monitor.look()).toMatchObject({ unanswered: [{ node: 0, error }], origins: [{ treeSize: 5 }] });
    expect(await monitor.update()).toHaveLength(1);
    for (const node of nodes) node.fails = error;
    await expect(monitor.update()).rejects.toBe(error);
  });

  test("an answer that its client does not believe raises an alarm, and the others are watched", async () => {
    const { nodes, monitor } = several(2);
    const error = new VerificationError("origin_differs", "the answer is about another origin");
    for (const node of nodes.slice(0, 1)) node.contradicts = error;
    expect(await monitor.look()).toMatchObject({
      alarms: [{ code: "checkpoint_invalid", node: 0, evidence: [], error }],
      origins: [{ treeSize: 5 }],
    });
  });

  test("a refusal is no silence", async () => {
    const { nodes, monitor } = several(2);
    for (const node of nodes) node.fails = new Unauthorized("api_key_invalid", "", { status: 401 });
    await expect(monitor.look()).rejects.toMatchObject({ code: "api_key_invalid" });
  });

  test("what was seen of another cluster is never compared", async () => {
    const store = new MemoryMonitorStore();
    await store.save({
      clusterId: "77".repeat(32),
      trustRoot: { version: 1, rootThk: "77".repeat(32) },
      checkpoints: {},
    });
    const { monitor } = several(1, store);
    expect((await errorOf(monitor.look())).code).toBe("monitor_state_of_another_cluster");
  });

  test("the trust root that is held decides whose the nodes are", async () => {
    const { nodes, monitor } = several(1);
    for (const node of nodes) node.documents = [strangers.document];
    expect((await errorOf(monitor.look())).code).toBe("pin_mismatch");
  });

  test("without a node, or without a trust root, there is no monitor", () => {
    const [store, client] = [new MemoryMonitorStore(), new FakeService().monitored];
    expect(() => new Monitor({ client: [], store, pinnedRootThk: ceremony.rootThk })).toThrow("client");
    expect(() => new Monitor({ client, store })).toThrow("pinnedRootThk");
  });
});

describe("a file store", () => {
  const folder = mkdtempSync(join(tmpdir(), "anchoring-monitor-"));
  afterAll(() => rmSync(folder, { recursive: true }));

  test("remembers over processes, privately", async () => {
    const path = join(folder, "state.json");
    const first = setup(new FileMonitorStore(path));
    await first.monitor.update();
    expect(statSync(path).mode & 0o777).toBe(0o600);
    const second = setup(new FileMonitorStore(path));
    second.service.hashes = leafHashes(6);
    expect(await second.monitor.update()).toMatchObject([{ previousTreeSize: 5 }]);
    const state = await new FileMonitorStore(path).load();
    expect(state?.trustRoot).toEqual({ version: 1, rootThk: bytesToHex(ceremony.rootThk) });
  });

  test.each(["", "{", "[]", '{"trustRoot":{},"checkpoints":{}}', '{"trustRoot":null,"checkpoints":{}}'])(
    "a damaged memory (%p) is never an empty one",
    async (text) => {
      const path = join(folder, "damaged.json");
      writeFileSync(path, text);
      expect((await errorOf(setup(new FileMonitorStore(path)).monitor.update())).code).toBe("monitor_state_malformed");
    },
  );

  test("keeps evidence beside the state, which stays as it was", async () => {
    const store = new FileMonitorStore(join(folder, "new", "watched.json"));
    const { service, monitor } = setup(store);
    await monitor.update();
    const before = await store.load();
    service.hashes = leafHashes(5, "other", 3);
    await monitor.look();
    const notes = [checkpointOf(leafHashes(5)), checkpointOf(service.hashes)];
    expect(readFileSync(store.evidencePath, "utf8")).toBe(notes.join("\n"));
    expect(await store.load()).toEqual(before);
  });

  test("nothing was seen yet", async () => {
    const path = join(folder, "none.json");
    expect(await new FileMonitorStore(path).load()).toBeNull();
    expect(existsSync(path)).toBe(false);
  });
});
