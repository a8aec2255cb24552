import { setTimeout as delay } from "node:timers/promises";
import { LoadClient } from "./load-client.ts";
import type { LoadAnswer } from "./load-client.ts";

/** One request to one node, and what came of it. */
export interface Try {
  readonly nodeId: string;
  /** Milliseconds of this process's monotonic clock. */
  readonly startedMs: number;
  readonly endedMs: number;
  /** Status 0: no answer. The request may have been carried out, or may still be. */
  readonly answer: LoadAnswer;
}

export interface RetryingRequestsOptions {
  readonly nodes: readonly { readonly id: string; readonly api_url: string }[];
  readonly apiKey: string;
  /** The node that is asked first. */
  readonly firstNode: number;
  /** Called for every try as it ends. */
  readonly onTry?: (path: string, body: string, tried: Try) => void;
}

/** The outcome of a request. `refused`: an answer that a retry cannot cure. `abandoned`: not waited for any more. */
export type Outcome =
  | { readonly result: "answered"; readonly answer: LoadAnswer; readonly tries: number; readonly startedMs: number }
  | { readonly result: "refused"; readonly answer: LoadAnswer }
  | { readonly result: "abandoned" };

const TRY_TIMEOUT_MS = 3000;
const PAUSE_MS = 25;

/** Requests as a client should make them: the same request again, to the next node, until there is a good answer. */
export class RetryingRequests {
  readonly #options: RetryingRequestsOptions;
  readonly #clients: readonly LoadClient[];
  #node: number;
  #isAbandoned = false;

  constructor(options: RetryingRequestsOptions) {
    this.#options = options;
    this.#clients = options.nodes.map(
      ({ api_url: apiUrl }) => new LoadClient({ apiUrl, apiKey: options.apiKey, connections: 1 }),
    );
    this.#node = options.firstNode;
  }

  /** @param isGood whether an answer of status 200 or 201 says all that was wanted; else it is asked again */
  async post(path: string, body: string, isGood: (answer: LoadAnswer) => boolean = () => true): Promise<Outcome> {
    const startedMs = performance.now();
    for (let tries = 1; !this.#isAbandoned; tries++) {
      const answer = await this.#try(path, body);
      const { status } = answer;
      const isAnswered = status === 200 || status === 201;
      if (isAnswered && isGood(answer)) return { result: "answered", answer, tries, startedMs };
      if (!isAnswered && status !== 0 && status !== 202 && status !== 503) return { result: "refused", answer };
      this.#node += 1;
      await delay(PAUSE_MS);
    }
    return { result: "abandoned" };
  }

  /** The node that is asked next. */
  get node(): number {
    return this.#node % this.#clients.length;
  }

  set node(node: number) {
    this.#node = node;
  }

  /** Stops all requests: their outcome stays unknown. */
  abandon(): void {
    this.#isAbandoned = true;
  }

  async close(): Promise<void> {
    await Promise.all(this.#clients.map((client) => client.close()));
  }

  async #try(path: string, body: string): Promise<LoadAnswer> {
    const { nodes, onTry } = this.#options;
    const [client, node] = [this.#clients[this.node], nodes[this.node]];
    if (client === undefined || node === undefined) throw new Error("somebody must be asked");
    const startedMs = performance.now();
    let answer: LoadAnswer;
    try {
      answer = await client.post(path, body, TRY_TIMEOUT_MS);
    } catch (error) {
      // No answer: the node died, or takes too long. What became of the request is unknown, hence the same one again.
      answer = { status: 0, text: String(error) };
    }
    onTry?.(path, body, { nodeId: node.id, startedMs, endedMs: performance.now(), answer });
    return answer;
  }
}
