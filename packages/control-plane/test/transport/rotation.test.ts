import { afterEach, beforeEach, describe, expect, test } from "@jest/globals";
import { writeFile } from "node:fs/promises";
import { createCertificateAuthority, issueCertificate } from "@event-anchoring/provision";
import type { CertificateAuthority } from "@event-anchoring/provision";
import type { PeerFrame } from "@event-anchoring/control-contract";
import type { TlsFiles } from "../../src/transport/index.ts";
import { DAY_MS, TestCluster, TestNode, until, untilConnected } from "./harness.ts";

// Certificates and authorities change under networks that are in use. Nothing that was sent is lost by it.

let cluster: TestCluster;
let next: CertificateAuthority;
let a: TestNode;
let b: TestNode;
/** What both trust roots pin; the drills change it. */
let pinned: CertificateAuthority[];

const numbered = (value: number): PeerFrame => ({ type: "clock", wallMs: value, appliedIndex: 0, monotonicMs: 0 });

beforeEach(async () => {
  cluster = await TestCluster.create();
  next = await createCertificateAuthority("test, the next", Date.now());
  pinned = [cluster.authority, next];
  const pins = (): Uint8Array[] => pinned.map(({ spkiSha256 }) => spkiSha256);
  cluster.signerOf("a");
  cluster.signerOf("b");
  a = await TestNode.start(cluster, "a", { pins });
  b = await TestNode.start(cluster, "b", { pins });
  a.network.setPeers([b.address]);
  b.network.setPeers([a.address]);
  await untilConnected(a, b);
});
afterEach(() => cluster.close());

/** Numbers sent to b, one in each turn, until it is stopped, which says how many. @throws if one was not taken */
function sendWithoutPause(): { stop(): Promise<number> } {
  let sent = 0;
  let refused = 0;
  const stopped = new AbortController();
  const done = (async (): Promise<void> => {
    while (!stopped.signal.aborted) {
      if (!a.network.send("b", "control", numbered(sent))) refused++;
      sent++;
      await new Promise((resolve) => setImmediate(resolve));
    }
  })();
  return {
    stop: async () => {
      stopped.abort();
      await done;
      if (refused > 0) throw new Error(`${refused} of ${sent} frames were not taken`);
      return sent;
    },
  };
}

async function writeFor(
  node: TestNode,
  issuer: CertificateAuthority,
  trusted: readonly CertificateAuthority[],
): Promise<TlsFiles> {
  const identity = { role: "node", clusterId: cluster.clusterId, id: node.nodeId } as const;
  const files = await cluster.writeTls(node.nodeId, await issueCertificate(issuer, identity, DAY_MS, Date.now()));
  await writeFile(files.caFile, trusted.map(({ certificatePem }) => certificatePem).join(""));
  return files;
}

/** Both nodes open new connections: these show and judge what is in use now. */
async function reconnect(): Promise<void> {
  const before = [a, b].map((node) => node.count("session_opened", "control_in"));
  a.network.disconnect("b", "the test wants new sessions");
  b.network.disconnect("a", "the test wants new sessions");
  await until("new sessions", () =>
    [a, b].every((node, at) => node.count("session_opened", "control_in") > (before[at] ?? 0)),
  );
  await until("connected", () => a.network.isConnected("b") && b.network.isConnected("a"));
}

describe("new certificates", () => {
  test("taken up five times by both while frames flow: all arrive, in order, over the same sessions", async () => {
    const opened = b.count("session_opened", "control_in");
    const flow = sendWithoutPause();
    for (let round = 0; round < 5; round++) {
      for (const node of [a, b]) {
        await writeFor(node, cluster.authority, [cluster.authority]);
        await node.network.reloadTls();
      }
    }
    const sent = await flow.stop();
    await until("all frames", () => b.frames.length === sent);
    expect(b.frames.map(({ frame }) => (frame.type === "clock" ? frame.wallMs : -1))).toEqual(
      Array.from({ length: sent }, (_, value) => value),
    );
    expect([...a.downs, ...b.downs]).toEqual([]);
    expect(b.count("session_opened", "control_in")).toBe(opened);
  });

  test("the time of expiry that is told is that of the certificate in use", async () => {
    const before = a.network.tlsExpiresMs();
    await cluster.writeTls("a", await cluster.issue("node", "a", 3 * DAY_MS));
    expect(a.network.tlsExpiresMs()).toBe(before);
    await a.network.reloadTls();
    expect(a.network.tlsExpiresMs()).toBeGreaterThan((before ?? 0) + DAY_MS);
  });

  test("a certificate that has expired is refused, and the old one stays", async () => {
    const before = a.network.tlsExpiresMs();
    await cluster.writeTls("a", await cluster.issue("node", "a", 60_000));
    a.environment.wallOffsetMs = 61_000;
    await expect(a.network.reloadTls()).rejects.toMatchObject({ code: "expired" });
    expect(a.network.tlsExpiresMs()).toBe(before);
  });
});

describe("another authority", () => {
  test("follows the first while frames flow: both trusted, the new one issues, the old one forgotten", async () => {
    const flow = sendWithoutPause();
    const steps: [issuer: CertificateAuthority, trusted: CertificateAuthority[]][] = [
      [cluster.authority, [cluster.authority, next]],
      [next, [cluster.authority, next]],
      [next, [next]],
    ];
    for (const [issuer, trusted] of steps) {
      for (const node of [a, b]) {
        await writeFor(node, issuer, trusted);
        await node.network.reloadTls();
      }
    }
    const sent = await flow.stop();
    await until("all frames", () => b.frames.length === sent);
    expect([...a.downs, ...b.downs]).toEqual([]);
    pinned = [next];
    await reconnect();
    expect(a.network.send("b", "control", numbered(0))).toBe(true);
    await until("a frame of the new authority", () => b.frames.length === sent + 1);
  });

  test("each step works with only one of two nodes there: new sessions come up in between", async () => {
    await writeFor(a, cluster.authority, [cluster.authority, next]);
    await a.network.reloadTls();
    await reconnect();
    await writeFor(b, cluster.authority, [cluster.authority, next]);
    await b.network.reloadTls();
    await writeFor(b, next, [cluster.authority, next]);
    await b.network.reloadTls();
    await reconnect();
    expect(a.network.isConnected("b")).toBe(true);
  });

  test("is nothing while the trust root does not pin it", async () => {
    pinned = [cluster.authority];
    await writeFor(a, next, [cluster.authority, next]);
    await expect(a.network.reloadTls()).rejects.toMatchObject({ code: "not_issued_by_ca" });
    await writeFor(a, next, [next]);
    await expect(a.network.reloadTls()).rejects.toMatchObject({ code: "ca_not_pinned" });
    await reconnect();
  });

  test("issued too early, its certificates are refused by a peer that does not have it yet", async () => {
    await writeFor(a, next, [cluster.authority, next]);
    await a.network.reloadTls();
    a.network.disconnect("b", "the test wants a new session");
    await until("b refuses", () => b.count("inbound_refused") > 0 || a.count("dial_failed") > 0);
    await until("not connected", () => !a.network.isConnected("b"));
    await writeFor(b, cluster.authority, [cluster.authority, next]);
    await b.network.reloadTls();
    await until("connected again", () => a.network.isConnected("b"));
    expect(a.network.send("b", "control", numbered(0))).toBe(true);
  });
});
