/** Addresses of clients, and which of them are proxies that many clients are behind. */
import { BlockList, isIP } from "node:net";

/** A network of `10.0.0.0/8`, `fd00::/8`, or one address; null: the text is neither. */
function parseNetwork(text: string): { address: string; prefix: number; family: "ipv4" | "ipv6" } | null {
  const [address = "", digits] = text.split("/");
  const version = isIP(address);
  if (version === 0) return null;
  const bits = version === 4 ? 32 : 128;
  if (digits !== undefined && !/^\d{1,3}$/.test(digits)) return null;
  const prefix = digits === undefined ? bits : Number(digits);
  return prefix > bits ? null : { address, prefix, family: version === 4 ? "ipv4" : "ipv6" };
}

/** An IPv4 address on an IPv6 socket is the same address. */
export function plainAddress(address: string): string {
  return address.toLowerCase().startsWith("::ffff:") && isIP(address.slice(7)) === 4 ? address.slice(7) : address;
}

/** One client of IPv6 has a network of 64 bits at least. */
export function countedAs(address: string): string {
  if (isIP(address) !== 6) return address;
  const [before = "", after = ""] = address.split("%")[0]?.split("::") ?? [];
  const head = before === "" ? [] : before.split(":");
  const tail = after === "" ? [] : after.split(":");
  const zeros = Array.from({ length: Math.max(0, 8 - head.length - tail.length) }, () => "0");
  return [...head, ...zeros, ...tail].slice(0, 4).join(":");
}

/** Gateways and load balancers: many clients have their address. Loopback is always one of them. */
export class Proxies {
  readonly #networks = new BlockList();

  /** @throws Error for a text that is neither an address nor a network: the settings are checked before */
  constructor(networks: readonly string[]) {
    for (const text of ["127.0.0.0/8", "::1", ...networks]) {
      const network = parseNetwork(text);
      if (network === null) throw new Error(`${text} is no address`);
      this.#networks.addSubnet(network.address, network.prefix, network.family);
    }
  }

  /** @param address plain */
  has(address: string): boolean {
    const version = isIP(address);
    return version !== 0 && this.#networks.check(address, version === 4 ? "ipv4" : "ipv6");
  }

  /**
   * What a client is counted as: the address of the connection or, behind a proxy, the last one in `X-Forwarded-For`
   * that is no proxy. What stands before that was said by the client.
   * @param forwardedFor attacker-controlled, except for what proxies have appended
   */
  clientOf(remoteAddress: string, forwardedFor: string | undefined): string {
    let client = plainAddress(remoteAddress);
    const hops = (forwardedFor ?? "").split(",");
    while (this.has(client)) {
      const before = plainAddress((hops.pop() ?? "").trim());
      if (isIP(before) === 0) break;
      client = before;
    }
    return countedAs(client);
  }
}
