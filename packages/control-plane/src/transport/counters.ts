import type { TransportCounter, TransportEvent } from "./network-types.ts";

/** Counts events of the transport. Labels come from closed sets and configured node ids, so it stays small. */
export class TransportCounters {
  readonly #values = new Map<string, { event: TransportEvent; peer: string; reason: string; value: number }>();
  readonly #isPeer: (nodeId: string) => boolean;

  constructor(isPeer: (nodeId: string) => boolean) {
    this.#isPeer = isPeer;
  }

  add(event: TransportEvent, peer: string, reason: string, amount = 1): void {
    const label = this.#isPeer(peer) ? peer : "";
    const key = `${event}|${label}|${reason}`;
    const known = this.#values.get(key);
    if (known === undefined) this.#values.set(key, { event, peer: label, reason, value: amount });
    else known.value += amount;
  }

  list(): readonly TransportCounter[] {
    return [...this.#values.values()].map((counter) => ({ ...counter }));
  }
}
