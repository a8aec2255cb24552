/** Real networks on loopback, with certificates and keys of their own. */
import { randomBytes } from "node:crypto";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type {
  Hello,
  HelloRefusal,
  HelloVerdict,
  Lane,
  OwnWord,
  PeerFrame,
  SignedProgress,
} from "@event-anchoring/control-contract";
import { createSigner, generateSeed, nodeCrypto } from "@event-anchoring/node-crypto";
import type { Signer } from "@event-anchoring/node-crypto";
import { createCertificateAuthority, issueCertificate } from "@event-anchoring/provision";
import type { CertificateAuthority, IssuedCertificate } from "@event-anchoring/provision";
import type { Environment } from "../../src/ports/environment.ts";
import { createPeerNetwork } from "../../src/transport/index.ts";
import type { PeerDown, PeerNetwork, TlsFiles, UnaryHandler } from "../../src/transport/index.ts";

export const DAY_MS = 86_400_000;

export interface LogLine {
  readonly event: string;
  readonly fields: Record<string, unknown>;
}

/** Resolves once `condition` holds; fails with what was awaited. Looks after every turn that may change it. */
export async function until(what: string, condition: () => boolean, timeoutMs = 10_000): Promise<void> {
  const deadline = performance.now() + timeoutMs;
  while (!condition()) {
    if (performance.now() > deadline) throw new Error(`waited ${timeoutMs} ms for: ${what}`);
    // A turn of the loop, not the wait itself: that is for the condition.
    await new Promise((resolve) => setTimeout(resolve, 2));
  }
}

/** Machine time, with a wall clock that a test can move. */
export class TestEnvironment implements Environment {
  readonly log: LogLine[] = [];
  wallOffsetMs = 0;
  monotonicOffsetMs = 0;
  readonly clock: Environment["clock"] = {
    wallMs: () => Date.now() + this.wallOffsetMs,
    monotonicMs: () => Math.floor(performance.now()) + this.monotonicOffsetMs,
    startTimer: (delayMs, action) => {
      const timer = setTimeout(action, delayMs);
      return { cancel: () => clearTimeout(timer) };
    },
    afterTurn: (action) => void setImmediate(action),
  };
  readonly random = { fill: (bytes: Uint8Array): void => bytes.set(randomBytes(bytes.length)) };
  readonly verify: Environment["verify"] = async (job) =>
    job.map((signed) => nodeCrypto.ed25519Verify(signed.publicKey, signed.message, signed.signature));
  readonly logger = {
    debug: (event: string, fields = {}): void => void this.log.push({ event, fields }),
    info: (event: string, fields = {}): void => void this.log.push({ event, fields }),
    warn: (event: string, fields = {}): void => void this.log.push({ event, fields }),
    error: (event: string, fields = {}): void => void this.log.push({ event, fields }),
  };
}

/** One cluster's secrets: an authority, an auth key per node, folders for TLS files. */
export class TestCluster {
  readonly clusterId: Uint8Array;
  readonly authority: CertificateAuthority;
  readonly dir: string;
  readonly signers = new Map<string, Signer>();
  readonly #open: { close(): Promise<void> }[] = [];

  private constructor(clusterId: Uint8Array, authority: CertificateAuthority, dir: string) {
    this.clusterId = clusterId;
    this.authority = authority;
    this.dir = dir;
  }

  static async create(authority?: CertificateAuthority): Promise<TestCluster> {
    const dir = await mkdtemp(join(tmpdir(), "transport-"));
    const made = authority ?? (await createCertificateAuthority("test", Date.now()));
    return new TestCluster(Uint8Array.from(randomBytes(32)), made, dir);
  }

  signerOf(nodeId: string): Signer {
    const known = this.signers.get(nodeId);
    if (known !== undefined) return known;
    const signer = createSigner(generateSeed());
    this.signers.set(nodeId, signer);
    return signer;
  }

  async issue(role: "node" | "api" | "operator", id: string, lifetimeMs = DAY_MS): Promise<IssuedCertificate> {
    return issueCertificate(this.authority, { role, clusterId: this.clusterId, id }, lifetimeMs, Date.now());
  }

  async writeTls(name: string, certificate: IssuedCertificate): Promise<TlsFiles> {
    const files = {
      caFile: join(this.dir, `${name}.ca`),
      certificateFile: join(this.dir, `${name}.crt`),
      keyFile: join(this.dir, `${name}.key`),
    };
    await writeFile(files.caFile, this.authority.certificatePem, { mode: 0o600 });
    await writeFile(files.certificateFile, certificate.certificatePem, { mode: 0o600 });
    await writeFile(files.keyFile, certificate.privateKeyPem, { mode: 0o600 });
    return files;
  }

  /** Closed with the cluster, whatever becomes of the test. */
  keep<T extends { close(): Promise<void> }>(opened: T): T {
    this.#open.push(opened);
    return opened;
  }

  async close(): Promise<void> {
    await Promise.all(this.#open.map((opened) => opened.close()));
    await rm(this.dir, { recursive: true });
  }
}

export interface NodeSettings {
  readonly incarnation?: number;
  readonly lifetimeMs?: number;
  readonly listenPort?: number;
  /** Nodes this one knows; default: all that have a key. */
  readonly knows?: (nodeId: string) => boolean;
  readonly judgeHello?: (hello: Hello) => HelloVerdict;
  readonly unary?: Record<string, UnaryHandler>;
  readonly onFrame?: (from: string, lane: Lane, frame: PeerFrame) => void;
  readonly signer?: Signer;
  readonly pins?: () => readonly Uint8Array[];
}

/** A node's network, and all that it was told. */
export class TestNode {
  readonly nodeId: string;
  readonly environment: TestEnvironment;
  readonly network: PeerNetwork;
  readonly frames: { from: string; lane: Lane; frame: PeerFrame }[] = [];
  readonly ups: string[] = [];
  readonly downs: ({ nodeId: string } & PeerDown)[] = [];
  readonly refusals: { peer: string; refusal: HelloRefusal }[] = [];
  isReady = true;

  private constructor(nodeId: string, environment: TestEnvironment, make: (node: TestNode) => PeerNetwork) {
    this.nodeId = nodeId;
    this.environment = environment;
    this.network = make(this);
  }

  static async start(cluster: TestCluster, nodeId: string, settings: NodeSettings = {}): Promise<TestNode> {
    const environment = new TestEnvironment();
    const tls = await cluster.writeTls(nodeId, await cluster.issue("node", nodeId, settings.lifetimeMs));
    const signer = settings.signer ?? cluster.signerOf(nodeId);
    const node = new TestNode(nodeId, environment, (self) =>
      createPeerNetwork({
        self: { nodeId, clusterId: cluster.clusterId, authSigner: signer, incarnation: settings.incarnation ?? 1 },
        tls,
        listen: { host: "127.0.0.1", port: settings.listenPort ?? 0 },
        peers: [],
        ownWordOf: () => OWN_WORD,
        hello: () => (self.isReady ? helloOf(cluster, nodeId, settings.incarnation ?? 1) : null),
        judgeHello: settings.judgeHello ?? (() => ({ accepted: true })),
        onHelloRefused: (peer, refusal) => void self.refusals.push({ peer, refusal }),
        authKeyOf: (id) => {
          if (settings.knows !== undefined && !settings.knows(id)) return null;
          return cluster.signers.get(id)?.publicKey ?? null;
        },
        trustRootsAfter: (version) => ["first document", "second document"].slice(version),
        trustRootVersion: () => 2,
        caSpkiPins: settings.pins ?? (() => [cluster.authority.spkiSha256]),
        onFrame: (from, lane, frame) => {
          self.frames.push({ from, lane, frame });
          settings.onFrame?.(from, lane, frame);
        },
        onPeerUp: (id) => void self.ups.push(id),
        onPeerDown: (id, down) => void self.downs.push({ nodeId: id, ...down }),
        unary: settings.unary ?? {},
        environment,
      }),
    );
    await cluster.keep(node.network).start();
    return node;
  }

  get address(): { nodeId: string; host: string; port: number } {
    return { nodeId: this.nodeId, ...this.network.address() };
  }

  /** Sum of a counter over peers; of one reason if it is given. */
  count(event: string, reason?: string): number {
    const matching = this.network
      .counters()
      .filter((counter) => counter.event === event && (reason === undefined || counter.reason === reason));
    return matching.reduce((sum, counter) => sum + counter.value, 0);
  }
}

/** What every node of these tests holds of every other. */
export const OWN_WORD: OwnWord = { kind: "progress", progress: progressOf(9) };

function progressOf(incarnation: number): SignedProgress {
  const lifeId = Uint8Array.from(randomBytes(16));
  return { epoch: 0, incarnation, lifeId, term: 3, index: 10, signature: new Uint8Array(64) };
}

export function helloOf(cluster: TestCluster, nodeId: string, incarnation: number): Hello {
  return {
    nodeId,
    clusterId: cluster.clusterId,
    progress: progressOf(incarnation),
    signed: [],
    trustRootVersion: 2,
    rulesMax: 1,
  };
}

/** Two nodes that know each other, connected both ways. */
export async function startPair(
  cluster: TestCluster,
  settingsA: NodeSettings = {},
  settingsB: NodeSettings = {},
): Promise<[TestNode, TestNode]> {
  cluster.signerOf("a");
  cluster.signerOf("b");
  const a = await TestNode.start(cluster, "a", settingsA);
  const b = await TestNode.start(cluster, "b", settingsB);
  a.network.setPeers([b.address]);
  b.network.setPeers([a.address]);
  return [a, b];
}

const ALL_LANES = ["control_in", "bulk_in", "control_out", "bulk_out"];

/** Waits until each node has both lanes of both directions open. */
export async function untilConnected(...nodes: readonly TestNode[]): Promise<void> {
  await until("all lanes open", () =>
    nodes.every((node) => ALL_LANES.every((lane) => node.count("session_opened", lane) > 0)),
  );
}
