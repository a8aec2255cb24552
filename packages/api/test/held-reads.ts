import type { ControlPlane } from "@event-anchoring/api";
import type { FakeNode } from "./fake-node.ts";

/** A control plane whose reads of all origins wait until they are let go, while it holds them. */
export class HeldReads {
  #open = (): void => undefined;
  readonly #opened = new Promise<void>((resolve) => (this.#open = resolve));
  isHolding: boolean;
  waiting = 0;
  readonly controlPlane = (node: FakeNode): ControlPlane => ({
    submit: (command, options) => node.submit(command, options),
    read: async (origins) => {
      if (this.isHolding && origins === "all") {
        this.waiting += 1;
        await this.#opened;
      }
      return node.read(origins);
    },
    readLatest: (origin) => node.readLatest(origin),
    awaitHead: (...asked) => node.awaitHead(...asked),
    awaitWitnessed: (origin, afterSize) => node.awaitWitnessed(origin, afterSize),
    apiKeys: () => node.apiKeys(),
    status: () => node.status(),
    metrics: () => node.metrics(),
  });
  constructor({ isHolding } = { isHolding: true }) {
    this.isHolding = isHolding;
  }

  open(): void {
    this.#open();
  }
}

/** Turns of the event loop until the condition holds. */
export async function turns(condition: () => boolean): Promise<void> {
  while (!condition()) await new Promise((resolve) => setImmediate(resolve));
}
