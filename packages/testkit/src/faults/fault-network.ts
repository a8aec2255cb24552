import type { NetworkAddress } from "@event-anchoring/dev-cluster";
import { LinkProxy } from "./link-proxy.ts";
import type { LinkListener } from "./link-proxy.ts";
import { NO_FAULTS } from "./one-way.ts";
import type { OneWayFaults } from "./one-way.ts";

/** Listens to what nodes send to each other. Null: no listener. */
export type NetworkTap = ((dialler: string, listener: string) => LinkListener) | null;

const DEAF: LinkListener = { dialler: () => undefined, listener: () => undefined };

/**
 * The network between the control planes of a cluster: one proxy for each node that dials another. Faults are those of
 * a direction: what is held from n1 to n2 is held on the connections of both.
 */
export class FaultNetwork {
  readonly nodeIds: readonly string[];
  readonly #proxies: ReadonlyMap<string, LinkProxy>;

  private constructor(nodeIds: readonly string[], proxies: ReadonlyMap<string, LinkProxy>) {
    this.nodeIds = nodeIds;
    this.#proxies = proxies;
  }

  static async between(nodeIds: readonly string[], tap: NetworkTap = null): Promise<FaultNetwork> {
    const proxies = new Map<string, LinkProxy>();
    for (const [from, to] of pairsOf(nodeIds)) {
      proxies.set(keyOf(from, to), await LinkProxy.listen(() => tap?.(from, to) ?? DEAF));
    }
    return new FaultNetwork(nodeIds, proxies);
  }

  /** What a cluster's `faultHooks` ask. */
  dialledAddress(from: string, to: string, listening: NetworkAddress): NetworkAddress {
    const proxy = this.#proxy(from, to);
    proxy.leadTo(listening);
    return proxy.address;
  }

  /** Faults of all that `from` sends to `to`, in place of those before. */
  set(from: string, to: string, faults: Partial<OneWayFaults>): void {
    const all = { ...NO_FAULTS, ...faults };
    this.#proxy(from, to).onward = all;
    this.#proxy(to, from).back = all;
  }

  /** Nothing that `from` sends arrives at `to`; the other way is open. */
  lose(from: string, to: string): void {
    this.set(from, to, { isHeld: true });
  }

  /** Nothing passes between the nodes of one side and all others. */
  partition(side: readonly string[]): void {
    for (const [from, to] of this.#acrossFrom(side)) this.lose(from, to);
  }

  /** As `partition`, by hosts that answer with resets. */
  cut(side: readonly string[]): void {
    for (const [from, to] of this.#acrossFrom(side)) this.#proxy(from, to).isCut = true;
  }

  /** Everything to and from a node is late and slow. */
  slow(nodeId: string, faults: { readonly delayMs: number; readonly bytesPerSecond: number }): void {
    for (const [from, to] of this.#acrossFrom([nodeId])) this.set(from, to, faults);
  }

  /** Ends every connection between nodes once. */
  reset(): void {
    for (const proxy of this.#proxies.values()) proxy.reset();
  }

  heal(): void {
    for (const [from, to] of pairsOf(this.nodeIds)) {
      this.#proxy(from, to).isCut = false;
      this.set(from, to, {});
    }
  }

  async close(): Promise<void> {
    await Promise.all([...this.#proxies.values()].map((proxy) => proxy.close()));
  }

  #acrossFrom(side: readonly string[]): readonly (readonly [string, string])[] {
    return pairsOf(this.nodeIds).filter(([from, to]) => side.includes(from) !== side.includes(to));
  }

  #proxy(from: string, to: string): LinkProxy {
    const proxy = this.#proxies.get(keyOf(from, to));
    if (proxy === undefined) throw new Error(`there is no link from ${from} to ${to}`);
    return proxy;
  }
}

function keyOf(from: string, to: string): string {
  return `${from} ${to}`;
}

function pairsOf(nodeIds: readonly string[]): readonly (readonly [string, string])[] {
  return nodeIds.flatMap((from) => nodeIds.filter((to) => to !== from).map((to) => [from, to] as const));
}
