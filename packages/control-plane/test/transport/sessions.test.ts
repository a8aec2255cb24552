import { afterEach, beforeEach, describe, expect, test } from "@jest/globals";
import type { PeerFrame } from "@event-anchoring/control-contract";
import { REFUSED_AFTER_MS } from "../../src/transport/network-types.ts";
import { TestCluster, TestNode, startPair, until, untilConnected } from "./harness.ts";

let cluster: TestCluster;
beforeEach(async () => {
  cluster = await TestCluster.create();
});
afterEach(async () => {
  await cluster.close();
});

function raft(length: number, fill = 0): PeerFrame {
  return { type: "raft", message: new Uint8Array(length).fill(fill) };
}

/** A frame that carries a number, so that order can be seen. */
function numbered(value: number): PeerFrame {
  return { type: "clock", wallMs: value, appliedIndex: 0, monotonicMs: 0 };
}

function numbersOf(node: TestNode): number[] {
  return node.frames.flatMap(({ frame }) => (frame.type === "clock" ? [frame.wallMs] : []));
}

describe("lanes", () => {
  test("open both ways, and every kind of frame arrives as it was sent", async () => {
    const [a, b] = await startPair(cluster);
    await untilConnected(a, b);
    await until("up", () => a.network.isConnected("b") && b.network.isConnected("a"));
    expect(a.ups).toEqual(["b"]);
    const frames: PeerFrame[] = [
      raft(300, 7),
      { type: "proposals", groups: [Uint8Array.of(1, 2)], remainingMs: 5, traces: [] },
      { type: "proposals_refused", ids: [{ node: 5n, incarnation: 1, counter: 2 }], code: "overloaded", detail: "x" },
      numbered(5),
    ];
    for (const frame of frames) expect(a.network.send("b", "control", frame)).toBe(true);
    await until("frames", () => b.frames.length === frames.length);
    expect(b.frames.map(({ frame }) => frame)).toEqual(frames);
    expect(b.frames.every(({ from, lane }) => from === "a" && lane === "control")).toBe(true);
  });

  test("keep the order of each lane over many turns", async () => {
    const [a, b] = await startPair(cluster);
    await untilConnected(a, b);
    await until("up", () => a.network.isConnected("b"));
    for (let value = 0; value < 3000; value++) {
      expect(a.network.send("b", value % 2 === 0 ? "control" : "bulk", numbered(value))).toBe(true);
      if (value % 100 === 0) await new Promise(setImmediate);
    }
    await until("frames", () => b.frames.length === 3000);
    const byLane = (wanted: string): number[] =>
      b.frames.flatMap(({ lane, frame }) => (lane === wanted && frame.type === "clock" ? [frame.wallMs] : []));
    for (const lane of ["control", "bulk"]) expect(byLane(lane)).toEqual(byLane(lane).toSorted((x, y) => x - y));
    expect(numbersOf(b)).toHaveLength(3000);
  });

  test("frames wait for the end of their turn, or for a flush", async () => {
    const [a, b] = await startPair(cluster);
    await untilConnected(a, b);
    await until("up", () => a.network.isConnected("b"));
    const sent = (): number =>
      a.network
        .counters()
        .filter(({ event }) => event === "bytes_sent")
        .reduce((sum, { value }) => sum + value, 0);
    const before = sent();
    a.network.send("b", "control", numbered(1));
    a.network.send("b", "control", numbered(2));
    expect(sent()).toBe(before);
    a.network.flush();
    expect(sent()).toBeGreaterThan(before);
    await until("frames", () => b.frames.length === 2);
  });

  test("a frame above 64 KiB takes the bulk lane whatever was asked for, and is whole", async () => {
    const [a, b] = await startPair(cluster);
    await untilConnected(a, b);
    expect(a.network.send("b", "control", raft(3 * 1024 * 1024, 9))).toBe(true);
    await until("frame", () => b.frames.length === 1);
    expect(b.frames[0]?.lane).toBe("bulk");
    const { frame } = b.frames[0] ?? {};
    const message = frame?.type === "raft" ? frame.message : new Uint8Array(0);
    expect(Buffer.alloc(3 * 1024 * 1024, 9).equals(message)).toBe(true);
  });

  test("a frame above the limit is refused and counted, and the session lives", async () => {
    const [a, b] = await startPair(cluster);
    await untilConnected(a, b);
    expect(a.network.send("b", "bulk", raft(4 * 1024 * 1024))).toBe(false);
    expect(a.count("frame_dropped", "too_large")).toBe(1);
    expect(a.network.send("b", "control", numbered(1))).toBe(true);
    await until("frame", () => b.frames.length === 1);
  });

  test("large frames do not delay the control lane", async () => {
    const [a, b] = await startPair(cluster);
    await untilConnected(a, b);
    for (let count = 0; count < 8; count++) expect(a.network.send("b", "bulk", raft(3 * 1024 * 1024))).toBe(true);
    expect(a.network.send("b", "control", numbered(1))).toBe(true);
    await until("all frames", () => b.frames.length === 9, 20_000);
    const position = b.frames.findIndex(({ frame }) => frame.type === "clock");
    expect(position).toBeLessThan(4);
  });

  test("a full outbox refuses what does not fit, counts it, and recovers", async () => {
    const [a, b] = await startPair(cluster);
    await untilConnected(a, b);
    const taken = Array.from({ length: 20 }, () => a.network.send("b", "bulk", raft(3 * 1024 * 1024)));
    const accepted = taken.filter(Boolean).length;
    expect(accepted).toBe(10);
    expect(a.count("frame_dropped", "outbox_full")).toBe(10);
    await until("what was taken", () => b.frames.length === accepted, 20_000);
    expect(a.network.send("b", "bulk", raft(1))).toBe(true);
    await until("one more", () => b.frames.length === accepted + 1);
  });

  test("sending to an unknown or unconnected peer is false and counted", async () => {
    const [a] = await startPair(cluster);
    expect(a.network.send("nobody", "control", numbered(1))).toBe(false);
    expect(a.network.isConnected("nobody")).toBe(false);
    expect(a.count("frame_dropped", "not_connected")).toBe(1);
  });
});

describe("when a peer goes", () => {
  test("its end is told, then that its host refuses, then that it is back", async () => {
    const [a, b] = await startPair(cluster);
    await untilConnected(a, b);
    await until("up", () => a.network.isConnected("b"));
    const { port } = b.address;
    const goneMs = performance.now();
    await b.network.close();
    await until("refused", () => a.downs.some((down) => down.refusedReconnects));
    const tookMs = performance.now() - goneMs;
    expect(a.downs.map((down) => down.refusedReconnects)).toEqual([false, true]);
    expect(tookMs).toBeGreaterThanOrEqual(REFUSED_AFTER_MS);
    expect(tookMs).toBeLessThan(5000);
    expect(a.network.isConnected("b")).toBe(false);

    const again = await TestNode.start(cluster, "b", { incarnation: 2, listenPort: port });
    const backMs = performance.now();
    again.network.setPeers([a.address]);
    await until("up again", () => a.network.isConnected("b") && again.network.isConnected("a"));
    expect(performance.now() - backMs).toBeLessThan(5000);
    expect(a.ups).toEqual(["b", "b"]);
  });

  test("what it sent in the turn in which it closed arrives", async () => {
    const [a, b] = await startPair(cluster);
    await untilConnected(a, b);
    await until("up", () => a.network.isConnected("b") && b.network.isConnected("a"));
    for (let value = 0; value < 50; value++) b.network.send("a", "control", numbered(value));
    b.network.send("a", "bulk", raft(200_000, 3));
    await b.network.close();
    await until("down", () => a.downs.length > 0);
    expect(numbersOf(a)).toEqual(Array.from({ length: 50 }, (_, value) => value));
    expect(a.frames.at(-1)?.frame.type).toBe("raft");
  });

  test("disconnect ends all its sessions, and it is dialled and judged again", async () => {
    const [a, b] = await startPair(cluster);
    await untilConnected(a, b);
    await until("up", () => a.network.isConnected("b"));
    a.network.disconnect("b", "its status changed");
    await until("up again", () => a.ups.length === 2);
    expect(a.downs[0]).toMatchObject({ nodeId: "b", reason: "disconnected", refusedReconnects: false });
    expect(b.count("session_ended", "closed_by_peer")).toBeGreaterThan(0);
  });

  test("a node that is no peer any more is not dialled, and its sessions end", async () => {
    const [a, b] = await startPair(cluster);
    await untilConnected(a, b);
    a.network.setPeers([]);
    await until("down", () => a.downs.length === 1);
    expect(a.network.isConnected("b")).toBe(false);
    expect(a.network.send("b", "control", numbered(1))).toBe(false);
  });

  test("a newer incarnation ends the sessions of the older, and the older is refused from then on", async () => {
    const [a, b] = await startPair(cluster);
    await untilConnected(a, b);
    const clone = await TestNode.start(cluster, "b", { incarnation: 2 });
    clone.network.setPeers([a.address]);
    await until("clone is in", () => clone.network.isConnected("a"));
    await until("older one ended", () => a.count("session_ended", "newer_incarnation") > 0);
    await until("older one refused", () => b.refusals.some(({ refusal }) => refusal.code === "stale_incarnation"));
    expect(a.count("inbound_refused", "stale_incarnation")).toBeGreaterThan(0);
  });

  test("a session ends when the peer's certificate expires", async () => {
    const [a, b] = await startPair(cluster, {}, { lifetimeMs: 60_000 });
    await untilConnected(a, b);
    a.environment.wallOffsetMs = 61_000;
    await until("expired", () => a.count("session_ended", "certificate_expired") > 0);
    expect(a.downs[0]?.reason).toBe("certificate_expired");
  });

  test("nothing is delivered of a session that its receiver has ended", async () => {
    let seen = 0;
    const [a, b] = await startPair(
      cluster,
      {},
      {
        onFrame: (from) => {
          seen++;
          b.network.disconnect(from, "enough");
        },
      },
    );
    await untilConnected(a, b);
    for (let value = 0; value < 50; value++) a.network.send("b", "control", numbered(value));
    await until("ended", () => b.count("session_ended", "disconnected") > 0);
    expect(seen).toBe(1);
  });
});

describe("a node that is loading", () => {
  test("is refused nothing but asked to wait, and is connected once it is ready", async () => {
    cluster.signerOf("a");
    cluster.signerOf("b");
    const a = await TestNode.start(cluster, "a");
    const b = await TestNode.start(cluster, "b");
    b.isReady = false;
    a.network.setPeers([b.address]);
    b.network.setPeers([a.address]);
    await until("told to wait", () => a.refusals.some(({ refusal }) => refusal.code === "not_ready"));
    expect(b.count("dial_failed", "not_ready")).toBeGreaterThan(0);
    b.isReady = true;
    await until("connected", () => a.network.isConnected("b") && b.network.isConnected("a"));
  });
});
