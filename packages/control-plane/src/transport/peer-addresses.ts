import { lookup } from "node:dns/promises";
import { isIP } from "node:net";
import type { Clock } from "@event-anchoring/telemetry";

/** Names are looked up again this often: a peer that moved is found before it has to be. */
const LOOKUP_EVERY_MS = 30_000;
/** Addresses from which a node has spoken: enough for a large group whose nodes move now and then. */
const PROVEN_MAX = 64;

/** All addresses of a host name. */
export type LookUp = (host: string) => Promise<readonly string[]>;

const lookUpAll: LookUp = async (host) => (await lookup(host, { all: true })).map(({ address }) => address);

/**
 * From where peers call: the addresses of the hosts that they are dialled at, and those from which a node has proved
 * itself. Behind an address translation the two differ.
 */
export class PeerAddresses {
  readonly #clock: Clock;
  readonly #lookUp: LookUp;
  /** By host. */
  #configured = new Map<string, readonly string[]>();
  /** The newest last. */
  readonly #proven = new Set<string>();
  #lookedUpMs = Number.NEGATIVE_INFINITY;

  constructor(clock: Clock, lookUp: LookUp = lookUpAll) {
    this.#clock = clock;
    this.#lookUp = lookUp;
  }

  has(address: string): boolean {
    const plain = plainOf(address);
    return this.#proven.has(plain) || [...this.#configured.values()].some((addresses) => addresses.includes(plain));
  }

  /** A node has proved itself on a connection from there. */
  prove(address: string): void {
    const plain = plainOf(address);
    this.#proven.delete(plain);
    this.#proven.add(plain);
    const [oldest] = this.#proven;
    if (oldest !== undefined && this.#proven.size > PROVEN_MAX) this.#proven.delete(oldest);
  }

  /** Peers are dialled at these hosts from now on. */
  async setHosts(hosts: readonly string[]): Promise<void> {
    const before = this.#configured;
    this.#configured = new Map(hosts.map((host) => [host, before.get(host) ?? (isIP(host) > 0 ? [host] : [])]));
    this.#lookedUpMs = Number.NEGATIVE_INFINITY;
    await this.refresh();
  }

  /** Looks names up if it is time. A name that cannot be resolved now keeps its addresses. */
  async refresh(): Promise<void> {
    const now = this.#clock.monotonicMs();
    if (now - this.#lookedUpMs < LOOKUP_EVERY_MS) return;
    this.#lookedUpMs = now;
    const names = [...this.#configured.keys()].filter((host) => isIP(host) === 0);
    const found = await Promise.allSettled(names.map((name) => this.#lookUp(name)));
    for (const [at, result] of found.entries()) {
      const name = names[at];
      if (name === undefined || result.status === "rejected" || !this.#configured.has(name)) continue;
      this.#configured.set(name, result.value.map(plainOf));
    }
  }
}

/** An IPv4 address that a dual-stack listener shows as IPv6 is the same address. */
function plainOf(address: string): string {
  return address.startsWith("::ffff:") && isIP(address.slice(7)) === 4 ? address.slice(7) : address;
}
