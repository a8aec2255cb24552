import { connect, createServer } from "node:net";
import type { AddressInfo, Server, Socket } from "node:net";
import type { NetworkAddress } from "@event-anchoring/dev-cluster";
import { NO_FAULTS, OneWay, resetSocket } from "./one-way.ts";
import type { OneWayFaults } from "./one-way.ts";

const LOOPBACK = "127.0.0.1";
const PROBE_MS = 20;

/** Bytes as one side of a connection sent them, delivered or not. */
export interface LinkListener {
  readonly dialler: (chunk: Uint8Array) => void;
  readonly listener: (chunk: Uint8Array) => void;
}

/** One accepted connection, and its other half once there is something to deliver. */
class Connection {
  readonly #near: Socket;
  readonly #tap: LinkListener;
  readonly #onward: OneWay;
  readonly #on: { readonly refused: () => void; readonly gone: (connection: Connection) => void };
  readonly #target: NetworkAddress;
  #far: Socket | null = null;
  #back: OneWay | null = null;
  #backFaults: OneWayFaults;

  constructor(
    near: Socket,
    target: NetworkAddress,
    faults: { readonly onward: OneWayFaults; readonly back: OneWayFaults },
    tap: LinkListener,
    on: { readonly refused: () => void; readonly gone: (connection: Connection) => void },
  ) {
    this.#near = near;
    this.#target = target;
    this.#tap = tap;
    this.#on = on;
    this.#backFaults = faults.back;
    this.#onward = new OneWay(near, faults.onward, { bytes: tap.dialler, wanted: () => this.#reach() });
    near.once("close", () => this.#forgetWhenClosed(this.#far));
  }

  set onward(faults: OneWayFaults) {
    this.#onward.faults = faults;
    if (this.#onward.isWanting) this.#reach();
  }

  set back(faults: OneWayFaults) {
    this.#backFaults = faults;
    if (this.#back !== null) this.#back.faults = faults;
  }

  reset(): void {
    this.#forget();
    resetSocket(this.#near);
    if (this.#far !== null) resetSocket(this.#far);
  }

  #reach(): void {
    if (this.#far !== null) return;
    const far = connect({ ...this.#target, noDelay: true, allowHalfOpen: true });
    this.#far = far;
    const fail = (error: NodeJS.ErrnoException): void => {
      if (error.code === "ECONNREFUSED") this.#on.refused();
      this.reset();
    };
    far.once("error", fail);
    far.once("connect", () => {
      const back = new OneWay(far, this.#backFaults, { bytes: this.#tap.listener, wanted: () => undefined });
      far.off("error", fail);
      this.#back = back;
      back.deliverTo(this.#near);
      this.#onward.deliverTo(far);
    });
  }

  /** What the dialler's end has still to deliver is delivered before. */
  #forgetWhenClosed(far: Socket | null): void {
    if (far === null || far.destroyed) this.#forget();
    else far.once("close", () => this.#forget());
  }

  #forget(): void {
    this.#onward.destroy();
    this.#back?.destroy();
    this.#on.gone(this);
  }
}

/**
 * A proxy between a node and a peer that it dials. While its target does not listen, it does not listen either, so that
 * a dead node refuses connections.
 */
export class LinkProxy {
  readonly #server: Server;
  readonly #port: number;
  readonly #onConnection: () => LinkListener;
  readonly #connections = new Set<Connection>();
  #target: NetworkAddress | null = null;
  #onward: OneWayFaults = NO_FAULTS;
  #back: OneWayFaults = NO_FAULTS;
  #isCut = false;
  #isClosed = false;
  #probe: NodeJS.Timeout | null = null;

  private constructor(server: Server, onConnection: () => LinkListener) {
    this.#server = server;
    this.#onConnection = onConnection;
    this.#port = (server.address() as AddressInfo).port;
    server.on("connection", (socket) => this.#accept(socket));
  }

  /** @param onConnection asked for a listener at each connection */
  static async listen(onConnection: () => LinkListener): Promise<LinkProxy> {
    const server = createServer({ allowHalfOpen: true, noDelay: true });
    await new Promise<void>((resolve, reject) => {
      server.once("error", reject);
      server.listen(0, LOOPBACK, () => resolve());
    });
    server.removeAllListeners("error");
    return new LinkProxy(server, onConnection);
  }

  get address(): NetworkAddress {
    return { host: LOOPBACK, port: this.#port };
  }

  /** Where connections lead to. */
  leadTo(target: NetworkAddress): void {
    this.#target = target;
  }

  /** For bytes of the node that dials, on connections open and to come. */
  set onward(faults: OneWayFaults) {
    this.#onward = faults;
    for (const connection of this.#connections) connection.onward = faults;
  }

  /** For bytes of the node that listens. */
  set back(faults: OneWayFaults) {
    this.#back = faults;
    for (const connection of this.#connections) connection.back = faults;
  }

  /** Both ends see a reset. Later connections live. */
  reset(): void {
    for (const connection of this.#connections) connection.reset();
  }

  /** While it is cut, every connection is reset as it comes. */
  set isCut(isCut: boolean) {
    this.#isCut = isCut;
    if (isCut) this.reset();
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    if (this.#probe !== null) clearTimeout(this.#probe);
    this.reset();
    if (!this.#server.listening) return;
    await new Promise<void>((resolve) => this.#server.close(() => resolve()));
  }

  #accept(near: Socket): void {
    const target = this.#target;
    if (this.#isCut || this.#isClosed || target === null) {
      resetSocket(near);
      return;
    }
    const faults = { onward: this.#onward, back: this.#back };
    const on = { refused: () => this.#refuseToo(target), gone: (gone: Connection) => this.#connections.delete(gone) };
    this.#connections.add(new Connection(near, target, faults, this.#onConnection(), on));
  }

  /** Refuses connections until the target listens again. */
  #refuseToo(target: NetworkAddress): void {
    if (this.#isClosed || !this.#server.listening) return;
    this.#server.close();
    this.#awaitTarget(target);
  }

  #awaitTarget(target: NetworkAddress): void {
    const knock = connect(target);
    const again = (): void => this.#later(() => this.#awaitTarget(target));
    knock.once("error", again);
    knock.once("connect", () => {
      knock.off("error", again);
      // This connection carries nothing, and may end in any way.
      knock.on("error", () => undefined);
      knock.destroy();
      this.#listenAgain();
    });
  }

  #listenAgain(): void {
    if (this.#isClosed) return;
    const again = (): void => this.#later(() => this.#listenAgain());
    this.#server.once("error", again);
    this.#server.listen(this.#port, LOOPBACK, () => this.#server.off("error", again));
  }

  #later(then: () => void): void {
    if (!this.#isClosed) this.#probe = setTimeout(then, PROBE_MS);
  }
}
