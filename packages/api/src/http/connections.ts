/** Limits of connections to the public listener. */
import type { Server, Socket } from "node:net";
import { Proxies, countedAs, plainAddress } from "../access/addresses.ts";

/** All connections together. */
const CONNECTIONS_MAX = 4096;
/** Reserved for loopback and proxies: a health check gets through while strangers hold all the others. */
const RESERVE = 64;

export interface ConnectionRules {
  /** Connections of one address at a time; of IPv6, of one network of 64 bits. */
  readonly perAddressMax: number;
  /** Addresses and networks (`10.0.0.0/8`) that many clients are behind: of them, only the total counts. */
  readonly proxies: readonly string[];
}

export const DEFAULT_CONNECTION_RULES: ConnectionRules = { perAddressMax: 256, proxies: [] };

/** Why a connection was closed immediately. */
export type ConnectionRefusal = "address" | "total";

/**
 * Counts connections by address, and closes one above the limit before a byte of it is read. So a client that holds
 * many connections open keeps out no other client and no health check.
 */
export class Connections {
  readonly #perAddressMax: number;
  readonly #exempt: Proxies;
  readonly #byAddress = new Map<string, number>();
  readonly #onRefused: (reason: ConnectionRefusal) => void;
  #open = 0;

  /** @throws Error for a proxy that is neither an address nor a network: the settings are checked before */
  constructor(rules: ConnectionRules, onRefused: (reason: ConnectionRefusal) => void) {
    this.#perAddressMax = rules.perAddressMax;
    this.#onRefused = onRefused;
    this.#exempt = new Proxies(rules.proxies);
  }

  /** Counts the connections of this server from now on. */
  watch(server: Server): void {
    server.maxConnections = CONNECTIONS_MAX;
    server.on("drop", () => this.#onRefused("total"));
    server.on("connection", (socket: Socket) => this.take(socket, socket.remoteAddress ?? ""));
  }

  /** @param remoteAddress "" if the peer is gone already */
  take(socket: Pick<Socket, "destroy" | "once">, remoteAddress: string): void {
    const address = plainAddress(remoteAddress);
    const refusal = this.#refusalOf(address);
    if (refusal !== null) {
      this.#onRefused(refusal);
      socket.destroy();
      return;
    }
    const name = countedAs(address);
    this.#open += 1;
    this.#byAddress.set(name, (this.#byAddress.get(name) ?? 0) + 1);
    socket.once("close", () => {
      this.#open -= 1;
      const left = (this.#byAddress.get(name) ?? 1) - 1;
      if (left === 0) this.#byAddress.delete(name);
      else this.#byAddress.set(name, left);
    });
  }

  #refusalOf(address: string): ConnectionRefusal | null {
    if (this.#exempt.has(address)) return null;
    if (this.#open >= CONNECTIONS_MAX - RESERVE) return "total";
    return (this.#byAddress.get(countedAs(address)) ?? 0) >= this.#perAddressMax ? "address" : null;
  }
}
