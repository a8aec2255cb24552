import {
  type CallAnswer,
  type CallOptions,
  PeerCallError,
  type PeerNetwork,
  type PeerNetworkOptions,
} from "@event-anchoring/control-plane";
import {
  type Hello,
  type HelloRefusal,
  type Lane,
  type PeerFrame,
  decodePeerFrame,
  encodePeerFrame,
} from "@event-anchoring/control-contract";
import {
  type Dialling,
  type Link,
  PATIENCE,
  QUIET,
  REDIAL_MS,
  type SimulatedNetworkOptions,
  type Wire,
  openWire,
} from "./link.ts";
import { SimulatedCalls } from "./simulated-calls.ts";
import { WrongFrames } from "../planted/planted-in-network.ts";
import type { SimulatedProcess } from "../world/simulated-process.ts";

/** All wires between the machines of a world, and who listens at their ends. */
export class SimulatedNetwork {
  readonly #options: SimulatedNetworkOptions;
  readonly #links = new Map<string, Link>();
  /** By machine: the process that listens there. */
  readonly #listeners = new Map<string, Endpoint>();

  constructor(options: SimulatedNetworkOptions) {
    this.#options = options;
  }

  get options(): SimulatedNetworkOptions {
    return this.#options;
  }

  link(from: string, to: string): Link {
    const key = `${from}>${to}`;
    let link = this.#links.get(key);
    if (link === undefined) {
      link = { isCut: false, ...QUIET };
      this.#links.set(key, link);
    }
    return link;
  }

  /** Every link is whole and quick again. */
  heal(): void {
    for (const link of this.#links.values()) Object.assign(link, { isCut: false, ...QUIET });
  }

  /** Connections between the two break off at once, as if a switch had restarted. */
  reset(left: string, right: string): void {
    this.listenerAt(left)?.breakOff(right);
    this.listenerAt(right)?.breakOff(left);
  }

  endpoint(machine: string, process: SimulatedProcess, options: PeerNetworkOptions): PeerNetwork {
    return new Endpoint(this, machine, process, options);
  }

  listenerAt(machine: string): Endpoint | null {
    const found = this.#listeners.get(machine);
    return found !== undefined && found.isListening ? found : null;
  }

  listen(machine: string, endpoint: Endpoint): void {
    this.#listeners.set(machine, endpoint);
  }

  /** The process is gone: peers see their connections closed. */
  processGone(machine: string): void {
    const endpoint = this.#listeners.get(machine);
    this.#listeners.delete(machine);
    endpoint?.vanish();
  }

  /** Where the listener of a node's name is: a clone has the name and another machine. */
  machinesOf(nodeId: string): readonly string[] {
    return [...this.#listeners].filter(([, { nodeId: name }]) => name === nodeId).map(([machine]) => machine);
  }

  /** The newest incarnation of a node that a peer which runs now has let in; 0: none. */
  newestHeardOf(nodeId: string): number {
    const running = [...this.#listeners.values()].filter(({ isListening }) => isListening);
    return Math.max(0, ...running.map(({ incarnations }) => incarnations.get(nodeId) ?? 0));
  }
}

/** One process's place in the network. Both lanes of a peer are one connection here: frames are small. */
class Endpoint implements PeerNetwork {
  readonly #net: SimulatedNetwork;
  readonly #machine: string;
  readonly #process: SimulatedProcess;
  readonly #options: PeerNetworkOptions;
  readonly calls: SimulatedCalls;
  readonly #dialling = new Map<string, Dialling<Endpoint>>();
  /** The newest of each peer that was let in. */
  readonly incarnations = new Map<string, number>();
  /** Who dialled us. */
  readonly #inbound = new Map<string, { readonly from: Endpoint; readonly wire: Wire<Endpoint> }>();
  /** null: nothing is planted. */
  readonly #wrong: WrongFrames | null;
  #isListening = false;
  #isClosed = false;
  #proposals = 0;

  constructor(net: SimulatedNetwork, machine: string, process: SimulatedProcess, options: PeerNetworkOptions) {
    this.#net = net;
    this.#machine = machine;
    this.#process = process;
    this.#options = options;
    const { bugs } = net.options;
    this.calls = new SimulatedCalls({
      machine,
      process,
      nodeId: options.self.nodeId,
      unary: options.unary,
      world: net.options.world,
      link: (from, to) => net.link(from, to),
      callsAt: (other) => net.listenerAt(other)?.calls ?? null,
    });
    this.#wrong = bugs.size === 0 ? null : new WrongFrames(bugs);
  }

  get nodeId(): string {
    return this.#options.self.nodeId;
  }

  get machine(): string {
    return this.#machine;
  }

  get isListening(): boolean {
    return this.#isListening && this.#process.isAlive && !this.#isClosed;
  }

  async start(): Promise<void> {
    this.#isListening = true;
    this.#net.listen(this.#machine, this);
    for (const { nodeId } of this.#options.peers) {
      this.#dialling.set(nodeId, { tries: 0, attempt: 0, refusedSinceMs: null, isUnderWay: false, wire: null });
      this.#dial(nodeId);
    }
    this.#sweep();
  }

  /** Frames that have left arrive before the peers see the connections closed. */
  async close(): Promise<void> {
    this.#isClosed = true;
    const { world } = this.#net.options;
    for (const dialling of this.#dialling.values()) {
      const { wire } = dialling;
      dialling.wire = null;
      if (wire === null) continue;
      world.after(Math.max(0, wire.lastArrivalMs - world.nowMs), () => {
        wire.isOpen = false;
        wire.peer.inboundGone(this);
      });
    }
    this.vanish();
  }

  address(): { readonly host: string; readonly port: number } {
    return { host: this.#machine, port: 1 };
  }

  isConnected(nodeId: string): boolean {
    return this.#dialling.get(nodeId)?.wire?.isOpen === true;
  }

  counters(): [] {
    return [];
  }

  setPeers(): void {}

  async reloadTls(): Promise<void> {}

  tlsExpiresMs(): null {
    return null;
  }

  disconnect(nodeId: string): void {
    this.#endOutbound(nodeId, "disconnected");
    this.#inbound.get(nodeId)?.from.wireClosed(this.nodeId, this);
  }

  send(to: string, _lane: Lane, frame: PeerFrame): boolean {
    const wire = this.#dialling.get(to)?.wire;
    if (wire === undefined || wire === null || !wire.isOpen || this.#isClosed) return false;
    const { bugs, watcher } = this.#net.options;
    const said = this.#wrong === null ? frame : this.#wrong.meant(to, frame);
    if (said === null) return true;
    watcher.onSent(this.nodeId, this.#machine, to, said);
    const sent = this.#wrong?.sent(said) ?? said;
    this.#transmit(wire, sent, encodePeerFrame(sent));
    if (frame.type !== "proposals" || !bugs.has("unreached_although_sent")) return true;
    this.#proposals += 1;
    return this.#proposals % 2 !== 0;
  }

  /** Every frame has left already. */
  flush(): void {}

  #transmit(wire: Wire<Endpoint>, frame: PeerFrame, bytes: Uint8Array): void {
    const { random, delaysOf } = this.#net.options;
    const scripted = delaysOf?.(this.#machine, wire.peer.machine, frame) ?? null;
    if (scripted !== null) {
      for (const delayMs of scripted) this.#arrive(wire, delayMs, frame, bytes);
      return;
    }
    const link = this.#net.link(this.#machine, wire.peer.machine);
    if (link.isCut || random.chance(link.loss)) return;
    if (link.losesCosignatures && frame.type === "cosignatures") return;
    const isLoose = frame.type === "raft" || frame.type === "cosignatures" || frame.type === "clock";
    const copies = isLoose && random.chance(link.duplication) ? 2 : 1;
    for (let copy = 0; copy < copies; copy++) {
      let delayMs = random.between(link.minMs, link.maxMs);
      if (!isLoose || !link.reorders) {
        const { nowMs } = this.#net.options.world;
        wire.lastArrivalMs = Math.max(wire.lastArrivalMs, nowMs + delayMs);
        delayMs = wire.lastArrivalMs - nowMs;
      }
      this.#arrive(wire, delayMs, frame, bytes);
    }
  }

  #arrive(wire: Wire<Endpoint>, delayMs: number, frame: PeerFrame, bytes: Uint8Array): void {
    const { world } = this.#net.options;
    world.after(delayMs, () => {
      const link = this.#net.link(this.#machine, wire.peer.machine);
      if (!wire.isOpen || link.isCut) return;
      const isHeld = link.isClogged || (link.holdsProposals && frame.type === "proposals");
      if (isHeld) this.#arrive(wire, PATIENCE.blockedMs, frame, bytes);
      else wire.peer.receive(this, frame, bytes);
    });
  }

  receive(from: Endpoint, frame: PeerFrame, bytes: Uint8Array): void {
    this.#process.turn(() => {
      const inbound = this.#inbound.get(from.nodeId);
      if (inbound === undefined || inbound.from !== from || this.#isClosed) return;
      inbound.wire.lastHeardMs = this.#net.options.world.nowMs;
      this.#net.options.watcher.onDelivered(from.nodeId, this.nodeId, frame, bytes);
      this.#wrong?.received(frame);
      this.#options.onFrame(from.nodeId, "control", decodePeerFrame(bytes));
    });
  }

  #dial(nodeId: string): void {
    const dialling = this.#dialling.get(nodeId);
    if (dialling === undefined || dialling.isUnderWay || dialling.wire !== null || this.#isClosed) return;
    const { random, world } = this.#net.options;
    dialling.isUnderWay = true;
    const wait = REDIAL_MS[Math.min(dialling.tries, REDIAL_MS.length - 1)] ?? 1000;
    const startMs = dialling.tries === 0 ? 0 : wait * random.between(0.75, 1);
    dialling.tries += 1;
    dialling.attempt += 1;
    const { attempt } = dialling;
    const isCurrent = (): boolean => !this.#isClosed && dialling.isUnderWay && dialling.attempt === attempt;
    this.#process.clock.startTimer(startMs, () => {
      if (!isCurrent()) return;
      this.#process.later(PATIENCE.dialMs, () => {
        if (isCurrent()) this.#redial(nodeId, false);
      });
      const own = this.#options.hello();
      const machine = random.pick([nodeId, ...this.#net.machinesOf(nodeId)]);
      const there = this.#net.link(this.#machine, machine);
      const back = this.#net.link(machine, this.#machine);
      const blocked = [there, back].some((link) => link.isCut || link.isClogged || random.chance(link.loss));
      if (own === null) this.#redial(nodeId, false);
      else if (!blocked) {
        const delayMs = random.between(there.minMs, there.maxMs) * 2;
        world.after(delayMs, () => this.#knock(nodeId, machine, own, isCurrent));
      }
    });
  }

  /** Our hello arrives at the machine. */
  #knock(nodeId: string, machine: string, own: Hello, isCurrent: () => boolean): void {
    const listener = this.#net.listenerAt(machine);
    if (listener === null || listener.nodeId !== nodeId) {
      this.#process.turn(() => {
        if (isCurrent()) this.#redial(nodeId, true);
      });
      return;
    }
    listener.answer(this, own, (hello, refusal) => {
      const back = this.#net.link(machine, this.#machine);
      if (back.isCut || back.isClogged) return;
      const delayMs = this.#net.options.random.between(back.minMs, back.maxMs);
      this.#process.later(delayMs, () => {
        if (isCurrent()) this.#onAnswer(nodeId, listener, hello, refusal);
      });
    });
  }

  /** Judges a peer that dials us. */
  answer(from: Endpoint, hello: Hello, reply: (own: Hello | null, refusal: HelloRefusal | null) => void): void {
    this.#process.turn(() => {
      if (this.#isClosed) return;
      const own = this.#options.hello();
      if (own === null) return reply(null, { accepted: false, code: "not_ready", detail: "starting" });
      const judged = this.#judge(hello);
      if (judged !== null) return reply(null, judged);
      this.#noteIncarnation(hello);
      const wire: Wire<Endpoint> = openWire(from, hello.progress.incarnation, this.#net.options.world.nowMs);
      this.#inbound.get(from.nodeId)?.from.wireClosed(this.nodeId, this);
      this.#inbound.set(from.nodeId, { from, wire });
      reply(own, null);
      const back = this.#dialling.get(from.nodeId);
      if (back !== undefined && back.wire === null) back.tries = Math.min(back.tries, 1);
    });
  }

  #judge(hello: Hello): HelloRefusal | null {
    const { bugs } = this.#net.options;
    const isIgnored = bugs.has("incarnation_ignored");
    const known = this.incarnations.get(hello.nodeId) ?? 0;
    if (!isIgnored && hello.progress.incarnation < known) {
      const ownWord = this.#options.ownWordOf(hello.nodeId);
      const refusal = {
        accepted: false,
        code: "stale_incarnation",
        detail: `incarnation ${known} has spoken`,
      } as const;
      return ownWord === null ? refusal : { ...refusal, ownWord };
    }
    const verdict = this.#options.judgeHello(hello);
    if (verdict.accepted || bugs.has("hello_always_accepted")) return null;
    return isIgnored && verdict.code === "stale_incarnation" ? null : verdict;
  }

  #onAnswer(nodeId: string, listener: Endpoint, hello: Hello | null, refusal: HelloRefusal | null): void {
    const dialling = this.#dialling.get(nodeId);
    if (dialling === undefined || this.#isClosed) return;
    if (refusal !== null) {
      this.#net.options.watcher.onHelloRefused(this.nodeId, nodeId, refusal);
      this.#options.onHelloRefused(nodeId, refusal);
      this.#redial(nodeId, false);
      return;
    }
    if (hello === null || this.#judge(hello) !== null) return this.#redial(nodeId, false);
    this.#noteIncarnation(hello);
    if (!listener.accepts(this)) return this.#redial(nodeId, false);
    dialling.isUnderWay = false;
    dialling.tries = 0;
    dialling.refusedSinceMs = null;
    dialling.wire = openWire(listener, hello.progress.incarnation, this.#net.options.world.nowMs);
    this.#options.onPeerUp(nodeId, hello);
  }

  accepts(from: Endpoint): boolean {
    return this.isListening && this.#inbound.get(from.nodeId)?.from === from;
  }

  #redial(nodeId: string, isRefused: boolean): void {
    const dialling = this.#dialling.get(nodeId);
    if (dialling === undefined || this.#isClosed) return;
    dialling.isUnderWay = false;
    const { nowMs } = this.#net.options.world;
    if (!isRefused) dialling.refusedSinceMs = null;
    else if (dialling.refusedSinceMs === null) dialling.refusedSinceMs = nowMs;
    else if (nowMs - dialling.refusedSinceMs >= PATIENCE.refusedMs && Number.isFinite(dialling.refusedSinceMs)) {
      dialling.refusedSinceMs = Number.POSITIVE_INFINITY;
      this.#options.onPeerDown(nodeId, { reason: "connection_error", refusedReconnects: true });
    }
    this.#dial(nodeId);
  }

  /** A newer start of a node ends the sessions of an older one. */
  #noteIncarnation({ nodeId, progress: { incarnation } }: Hello): void {
    if (incarnation <= (this.incarnations.get(nodeId) ?? 0)) return;
    this.incarnations.set(nodeId, incarnation);
    if (this.#net.options.bugs.has("incarnation_ignored")) return;
    const inbound = this.#inbound.get(nodeId);
    if (inbound !== undefined && inbound.wire.peerIncarnation < incarnation) {
      inbound.from.wireClosed(this.nodeId, this);
      this.#inbound.delete(nodeId);
    }
    const wire = this.#dialling.get(nodeId)?.wire;
    if (wire !== null && wire !== undefined && wire.peerIncarnation < incarnation) {
      this.#endOutbound(nodeId, "newer_incarnation");
    }
  }

  /** The other side has ended a connection that we dialled. */
  wireClosed(nodeId: string, peer: Endpoint): void {
    const wire = this.#dialling.get(nodeId)?.wire;
    if (wire?.peer !== peer) return;
    wire.isOpen = false;
    this.#process.later(0.3, () => {
      if (this.#dialling.get(nodeId)?.wire === wire) this.#endOutbound(nodeId, "closed_by_peer");
    });
  }

  breakOff(machine: string): void {
    for (const [nodeId, { wire }] of this.#dialling) {
      if (wire?.peer.machine === machine) this.wireClosed(nodeId, wire.peer);
    }
  }

  #endOutbound(nodeId: string, reason: "closed_by_peer" | "silent" | "disconnected" | "newer_incarnation"): void {
    const dialling = this.#dialling.get(nodeId);
    if (dialling === undefined || dialling.wire === null) return;
    dialling.wire.isOpen = false;
    dialling.wire = null;
    if (this.#isClosed) return;
    this.#options.onPeerDown(nodeId, { reason, refusedReconnects: false });
    this.#dial(nodeId);
  }

  /** The process has ended, or was killed: the system closes its sockets, as far as the wires carry the news. */
  vanish(): void {
    this.#isListening = false;
    for (const dialling of this.#dialling.values()) {
      const { wire } = dialling;
      if (wire !== null) wire.isOpen = false;
      dialling.wire = null;
      wire?.peer.inboundGone(this);
    }
    for (const { from } of this.#inbound.values()) from.wireClosed(this.nodeId, this);
    this.#inbound.clear();
  }

  inboundGone(from: Endpoint): void {
    if (this.#inbound.get(from.nodeId)?.from === from) this.#inbound.delete(from.nodeId);
  }

  /** A silent connection is given up, on both sides. */
  #sweep(): void {
    this.#process.clock.startTimer(1000, () => {
      if (this.#isClosed) return;
      const { nowMs } = this.#net.options.world;
      for (const [nodeId, { wire }] of this.#dialling) {
        if (wire === null) continue;
        const links = [
          this.#net.link(this.#machine, wire.peer.machine),
          this.#net.link(wire.peer.machine, this.#machine),
        ];
        if (wire.peer.isListening && links.every((link) => !link.isCut && !link.isClogged)) wire.lastHeardMs = nowMs;
        else if (nowMs - wire.lastHeardMs > PATIENCE.silenceMs) this.#endOutbound(nodeId, "silent");
      }
      this.#sweep();
    });
  }

  call(to: string, path: string, body: Uint8Array | null, options: CallOptions): Promise<CallAnswer> {
    return this.calls.call(to, path, body, options);
  }

  callStream(): Promise<never> {
    return Promise.reject(new PeerCallError("closed", "no call of the control plane is a stream"));
  }
}
