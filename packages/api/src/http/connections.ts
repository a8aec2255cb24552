/** Limits of connections to the public listener. */
import { BlockList, isIP } from "node:net";
import type { Server, Socket } from "node:net";

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

/** A network of `10.0.0.0/8`, `fd00::/8`, or one address; null: the text is neither. */
export function parseNetwork(text: string): { address: string; prefix: number; family: "ipv4" | "ipv6" } | null {
  const [address = "", digits] = text.split("/");
  const version = isIP(address);
  if (version === 0) return null;
  const bits = version === 4 ? 32 : 128;
  if (digits !== undefined && !/^\d{1,3}$/.test(digits)) return null;
  const prefix = digits === undefined ? bits : Number(digits);
  return prefix > bits ? null : { address, prefix, family: version === 4 ? "ipv4" : "ipv6" };
}

/** An IPv4 address on an IPv6 socket is the same address. */
function plainAddress(address: string): string {
  return address.toLowerCase().startsWith("::ffff:") && isIP(address.slice(7)) === 4 ? address.slice(7) : address;
}

/** One client of IPv6 has a network of 64 bits at least. */
function countedAs(address: string): string {
  if (isIP(address) !== 6) return address;
  const [before = "", after = ""] = address.split("%")[0]?.split("::") ?? [];
  const head = before === "" ? [] : before.split(":");
  const tail = after === "" ? [] : after.split(":");
  const zeros = Array.from({ length: Math.max(0, 8 - head.length - tail.length) }, () => "0");
  return [...head, ...zeros, ...tail].slice(0, 4).join(":");
}

/**
 * Counts connections by address, and closes one above the limit before a byte of it is read. So a client that holds
 * many connections open keeps out no other client and no health check.
 */
export class Connections {
  readonly #perAddressMax: number;
  readonly #exempt = new BlockList();
  readonly #byAddress = new Map<string, number>();
  readonly #onRefused: (reason: ConnectionRefusal) => void;
  #open = 0;

  /** @throws Error for a proxy that is neither an address nor a network: the settings are checked before */
  constructor(rules: ConnectionRules, onRefused: (reason: ConnectionRefusal) => void) {
    this.#perAddressMax = rules.perAddressMax;
    this.#onRefused = onRefused;
    for (const text of ["127.0.0.0/8", "::1", ...rules.proxies]) {
      const network = parseNetwork(text);
      if (network === null) throw new Error(`${text} is no address`);
      this.#exempt.addSubnet(network.address, network.prefix, network.family);
    }
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
    const version = isIP(address);
    if (version !== 0 && this.#exempt.check(address, version === 4 ? "ipv4" : "ipv6")) return null;
    if (this.#open >= CONNECTIONS_MAX - RESERVE) return "total";
    return (this.#byAddress.get(countedAs(address)) ?? 0) >= this.#perAddressMax ? "address" : null;
  }
}
