import { Agent } from "node:https";
import type { Duplex } from "node:stream";
import {
  BULK_FRAME_BYTES_MAX,
  CONTROL_FRAME_BYTES_MAX,
  encodePeerFrame,
  formatIdentity,
} from "@event-anchoring/control-contract";
import type { Hello, Lane, PeerFrame } from "@event-anchoring/control-contract";
import type { Timer } from "../ports/environment.ts";
import { SWEEP_MS } from "./hello-timeouts.ts";
import { InboundLane } from "./inbound-lane.ts";
import { Listener } from "./listener.ts";
import { PeerCallError, TLS_RELOAD_MS } from "./network-types.ts";
import type {
  CallAnswer,
  CallOptions,
  PeerAddress,
  PeerNetwork,
  PeerNetworkOptions,
  ConnectionEnd,
  TransportCounter,
} from "./network-types.ts";
import { PeerAddresses } from "./peer-addresses.ts";
import { PeerDialer } from "./peer-dialer.ts";
import { loadTlsMaterial, tlsFileVersion } from "./tls-material.ts";
import type { TlsMaterial } from "./tls-material.ts";
import { createTransportContext } from "./transport-context.ts";
import type { TransportContext } from "./transport-context.ts";
import { callPeer, streamFromPeer } from "./unary-client.ts";
import type { OutgoingCall } from "./unary-client.ts";

const LANES: readonly Lane[] = ["control", "bulk"];

/** The real network: mutual TLS 1.3, Cluster-auth, two lanes to each peer. */
export function createPeerNetwork(options: PeerNetworkOptions): PeerNetwork {
  return new MutualTlsNetwork(options);
}

/** What is kept for one configured peer: its address, its Agent and the dialers of its two lanes. */
interface Peer {
  readonly address: PeerAddress;
  agent: Agent;
  readonly dialers: Readonly<Record<Lane, PeerDialer>>;
}

class MutualTlsNetwork implements PeerNetwork {
  readonly #options: PeerNetworkOptions;
  readonly #context: TransportContext;
  readonly #addresses: PeerAddresses;
  readonly #peers = new Map<string, Peer>();
  readonly #inbound = new Set<InboundLane>();
  readonly #calls = new AbortController();
  #material: TlsMaterial | null = null;
  #listener: Listener | null = null;
  #sweep: Timer | null = null;
  #reload: Timer | null = null;
  #isClosed = false;

  constructor(options: PeerNetworkOptions) {
    this.#options = options;
    this.#addresses = new PeerAddresses(options.environment.clock);
    this.#context = createTransportContext(
      options,
      (nodeId) => this.#peers.has(nodeId),
      () => this.#materialInUse(),
    );
  }

  async start(): Promise<void> {
    this.#material = await this.#loadMaterial();
    this.#listener = new Listener({
      context: this.#context,
      addresses: this.#addresses,
      onLane: (lane, hello, socket, expiresMs) => this.#onInboundLane(lane, hello, socket, expiresMs),
    });
    await this.#listener.listen();
    this.setPeers(this.#options.peers);
    this.#scheduleSweep();
    this.#scheduleReload();
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#sweep?.cancel();
    this.#reload?.cancel();
    this.#calls.abort();
    // What a session sent before it ended may be all that its peers ever learn.
    const finished = [...this.#peers.values()].flatMap(({ dialers }) => LANES.map((lane) => dialers[lane].finish()));
    this.#peers.clear();
    for (const lane of this.#inbound) lane.end("shutdown", "");
    await Promise.all([...finished, this.#listener?.close()]);
  }

  address(): { readonly host: string; readonly port: number } {
    if (this.#listener === null) throw new Error("the network has not been started");
    return this.#listener.address();
  }

  send(to: string, lane: Lane, frame: PeerFrame): boolean {
    const { counters } = this.#context;
    const body = encodePeerFrame(frame);
    const taken = body.length > CONTROL_FRAME_BYTES_MAX ? "bulk" : lane;
    if (body.length > BULK_FRAME_BYTES_MAX) {
      counters.add("frame_dropped", to, "too_large");
      this.#options.environment.logger.error("frame_too_large", { peer: to, type: frame.type, bytes: body.length });
      return false;
    }
    const open = this.#peers.get(to)?.dialers[taken].lane ?? null;
    if (open === null) {
      counters.add("frame_dropped", to, "not_connected");
      return false;
    }
    const isTaken = open.send(body);
    counters.add(isTaken ? "frame_sent" : "frame_dropped", to, isTaken ? taken : "outbox_full");
    return isTaken;
  }

  flush(): void {
    for (const { dialers } of this.#peers.values()) for (const lane of LANES) dialers[lane].lane?.flush();
  }

  isConnected(nodeId: string): boolean {
    return (this.#peers.get(nodeId)?.dialers.control.lane ?? null) !== null;
  }

  async call(to: string, path: string, body: Uint8Array | null, options: CallOptions): Promise<CallAnswer> {
    return callPeer(this.#outgoingCall(to, path, body, options));
  }

  async callStream(
    to: string,
    path: string,
    body: Uint8Array | null,
    options: CallOptions,
  ): Promise<{ readonly status: number; readonly stream: AsyncIterable<Uint8Array> }> {
    return streamFromPeer(this.#outgoingCall(to, path, body, options));
  }

  disconnect(nodeId: string, reason: string): void {
    this.#options.environment.logger.info("peer_disconnected", { peer: nodeId, reason });
    this.#endConnections(nodeId, "disconnected", () => true);
  }

  setPeers(addresses: readonly PeerAddress[]): void {
    if (this.#isClosed) return;
    void this.#addresses.setHosts(addresses.map(({ host }) => host));
    const wanted = new Map(addresses.map((address) => [address.nodeId, address]));
    for (const [nodeId, { address }] of this.#peers) {
      const next = wanted.get(nodeId);
      const isSame = next !== undefined && next.host === address.host && next.port === address.port;
      if (!isSame) this.#removePeer(nodeId, "disconnected");
      if (next === undefined) this.#endConnections(nodeId, "disconnected", () => true);
    }
    for (const address of wanted.values()) if (!this.#peers.has(address.nodeId)) this.#addPeer(address);
  }

  async reloadTls(): Promise<void> {
    const material = await this.#loadMaterial();
    if (this.#isClosed) return;
    this.#material = material;
    this.#listener?.useNewMaterial();
    for (const peer of this.#peers.values()) peer.agent = this.#makeAgent(peer.address.nodeId);
    this.#options.environment.logger.info("tls_reloaded", { expiresMs: material.expiresMs });
  }

  tlsExpiresMs(): number | null {
    return this.#material?.expiresMs ?? null;
  }

  counters(): readonly TransportCounter[] {
    return this.#context.counters.list();
  }

  #materialInUse(): TlsMaterial {
    if (this.#material === null) throw new Error("the network has not been started");
    return this.#material;
  }

  async #loadMaterial(): Promise<TlsMaterial> {
    const { tls, self, caSpkiPins, environment } = this.#options;
    return loadTlsMaterial(tls, self, caSpkiPins(), environment.clock.wallMs());
  }

  #addPeer(address: PeerAddress): void {
    const { nodeId } = address;
    const dialer = (lane: Lane): PeerDialer =>
      new PeerDialer({
        context: this.#context,
        peer: address,
        lane,
        agent: () => peer.agent,
        onUp: (hello) => this.#onOutboundLane(nodeId, lane, hello),
        onDown: (reason, refusedReconnects) => {
          if (lane === "control") this.#options.onPeerDown(nodeId, { reason, refusedReconnects });
        },
      });
    const peer: Peer = {
      address,
      agent: this.#makeAgent(nodeId),
      dialers: { control: dialer("control"), bulk: dialer("bulk") },
    };
    this.#peers.set(nodeId, peer);
    for (const lane of LANES) peer.dialers[lane].start();
  }

  #removePeer(nodeId: string, reason: ConnectionEnd): void {
    const peer = this.#peers.get(nodeId);
    if (peer === undefined) return;
    for (const lane of LANES) peer.dialers[lane].stop(reason);
    this.#peers.delete(nodeId);
  }

  /**
   * The identity of a peer is its URN, checked here and nowhere per request: a check given per request is passed over
   * on a kept connection (CVE-2026-58040). No connection is kept, and no session is.
   */
  #makeAgent(nodeId: string): Agent {
    const urn = formatIdentity({ role: "node", clusterId: this.#options.self.clusterId, id: nodeId });
    return new Agent({
      secureContext: this.#materialInUse().dialContext,
      keepAlive: false,
      maxCachedSessions: 0,
      rejectUnauthorized: true,
      servername: "",
      noDelay: true,
      checkServerIdentity: (_host, certificate) =>
        certificate.subjectaltname === `URI:${urn}` ? undefined : new Error(`the certificate is not that of ${nodeId}`),
    });
  }

  #outgoingCall(to: string, path: string, body: Uint8Array | null, options: CallOptions): OutgoingCall {
    const peer = this.#peers.get(to);
    if (this.#isClosed) throw new PeerCallError("closed", "the network is closed");
    if (peer === undefined) throw new PeerCallError("not_a_peer", `${to} is not a peer`);
    return {
      context: this.#context,
      peer: peer.address,
      agent: peer.agent,
      path,
      body: body ?? new Uint8Array(0),
      timeoutMs: options.timeoutMs,
      signals: options.signal === undefined ? [this.#calls.signal] : [this.#calls.signal, options.signal],
    };
  }

  #onOutboundLane(nodeId: string, lane: Lane, hello: Hello): void {
    this.#noteIncarnation(nodeId, hello.progress.incarnation);
    if (lane === "control") this.#options.onPeerUp(nodeId, hello);
  }

  #onInboundLane(lane: Lane, hello: Hello, socket: Duplex, expiresMs: number): void {
    const { counters, options } = this.#context;
    const { nodeId } = hello;
    this.#noteIncarnation(nodeId, hello.progress.incarnation);
    for (const older of this.#inbound) {
      if (older.nodeId === nodeId && older.lane === lane) older.end("replaced", "");
    }
    const opened = new InboundLane({
      socket,
      nodeId,
      lane,
      clock: options.environment.clock,
      expiresMs,
      peerIncarnation: hello.progress.incarnation,
      onFrame: (frame, bytes) => {
        counters.add("frame_received", nodeId, lane);
        counters.add("bytes_received", nodeId, lane, bytes);
        options.onFrame(nodeId, lane, frame);
      },
      onEnd: (reason, detail) => {
        this.#inbound.delete(opened);
        counters.add("session_ended", nodeId, reason);
        options.environment.logger.info("inbound_session_ended", { peer: nodeId, lane, reason, detail });
      },
    });
    this.#inbound.add(opened);
    counters.add("session_opened", nodeId, `${lane}_in`);
    const dialers = this.#peers.get(nodeId)?.dialers;
    if (dialers !== undefined) for (const each of LANES) dialers[each].hurry();
  }

  /** A newer start of a node ends every session of an older one: two live starts would be a clone. */
  #noteIncarnation(nodeId: string, incarnation: number): void {
    if (!this.#context.incarnations.remember(nodeId, incarnation)) return;
    this.#endConnections(nodeId, "newer_incarnation", (ofSession) => ofSession < incarnation);
  }

  #endConnections(nodeId: string, reason: ConnectionEnd, matches: (incarnation: number) => boolean): void {
    for (const lane of this.#inbound) {
      if (lane.nodeId === nodeId && matches(lane.peerIncarnation)) lane.end(reason, "");
    }
    const peer = this.#peers.get(nodeId);
    if (peer === undefined) return;
    for (const each of LANES) {
      const { lane } = peer.dialers[each];
      if (lane !== null && matches(lane.peerIncarnation)) lane.end(reason);
    }
  }

  #scheduleSweep(): void {
    this.#sweep = this.#options.environment.clock.startTimer(SWEEP_MS, () => {
      this.#listener?.sweep();
      for (const lane of this.#inbound) lane.sweep();
      for (const { dialers } of this.#peers.values()) for (const lane of LANES) dialers[lane].sweep();
      if (!this.#isClosed) this.#scheduleSweep();
    });
  }

  #scheduleReload(): void {
    this.#reload = this.#options.environment.clock.startTimer(TLS_RELOAD_MS, () => {
      this.#reloadIfChanged()
        .catch((error: unknown) => {
          this.#context.counters.add("tls_reload_failed", "", "");
          this.#options.environment.logger.error("tls_reload_failed", { error });
        })
        .finally(() => {
          if (!this.#isClosed) this.#scheduleReload();
        });
    });
  }

  async #reloadIfChanged(): Promise<void> {
    await this.#addresses.refresh();
    const version = await tlsFileVersion(this.#options.tls);
    if (version !== this.#materialInUse().fileVersion) await this.reloadTls();
  }
}
