import { setTimeout as delay } from "node:timers/promises";
import { HttpConnection } from "@event-anchoring/testkit/clients";
import type { HttpAnswer, HttpRequest } from "@event-anchoring/testkit/clients";

/** What is asked for, again and again. */
export interface Workload {
  /** How many anchors, puts … a good answer counts for. */
  readonly unitsPerRequest: number;
  /** @returns null when everything that was prepared for this server is used up */
  next(url: string): HttpRequest | null;
  isGood(answer: HttpAnswer): boolean;
  /** Requests that are made in advance, because making them takes long. */
  readonly stock?: Stock;
}

export interface Stock {
  /** Makes more until so many are at hand for each server. */
  fill(perServer: number, onMade: (count: number) => void): Promise<void>;
  /** What is left at the server that has fewest. */
  readonly perServer: number;
}

export interface GeneratedLoad {
  readonly workload: Workload;
  /** Each has one request under way and sends the next when the answer arrives. They are spread over the servers. */
  readonly clients: number;
  readonly urls: readonly string[];
  readonly headers: Readonly<Record<string, string>>;
  /** Takes some of the good answers, as JSON text. */
  readonly onSample?: (answer: string) => void;
}

const SAMPLE_EVERY = 97;
const TIMEOUT_MS = 20_000;
/** A server that refuses connections is not asked thousands of times a second. */
const PAUSE_AFTER_NO_ANSWER_MS = 25;

/** Clients at work, from the moment it is made until `stop`. What was recorded can be taken at any time. */
export class LoadGenerator {
  /** Resolves when every client has ended: by `stop`, or because the stock is used up. */
  readonly ended: Promise<unknown>;
  readonly #load: GeneratedLoad;
  readonly #connections: readonly HttpConnection[];
  #isWanted = true;
  #latenciesMs: number[] = [];
  #taken = 0;
  #failures: Record<string, number> = {};

  constructor(load: GeneratedLoad) {
    const { clients, urls, headers } = load;
    this.#load = load;
    this.#connections = Array.from({ length: clients }, (_, i) => {
      const url = urls[i % urls.length];
      if (url === undefined) throw new Error("a load needs a server");
      return new HttpConnection({ url, headers, timeoutMs: TIMEOUT_MS });
    });
    this.ended = Promise.all(this.#connections.map((connection) => this.#run(connection)));
  }

  /** Good answers since the newest `take`. */
  get answered(): number {
    return this.#latenciesMs.length;
  }

  /** Good answers since it began. */
  get answeredInAll(): number {
    return this.#taken + this.#latenciesMs.length;
  }

  /** What was recorded since the last time, which is forgotten. */
  take(): { readonly latenciesMs: readonly number[]; readonly failures: Readonly<Record<string, number>> } {
    const taken = { latenciesMs: this.#latenciesMs, failures: this.#failures };
    this.#taken += this.#latenciesMs.length;
    this.#latenciesMs = [];
    this.#failures = {};
    return taken;
  }

  /** Waits for the answers that are under way. */
  async stop(): Promise<void> {
    this.#isWanted = false;
    await this.ended;
    for (const connection of this.#connections) connection.close();
  }

  async #run(connection: HttpConnection): Promise<void> {
    const { workload, onSample } = this.#load;
    while (this.#isWanted) {
      const request = workload.next(connection.url);
      if (request === null) return;
      const askedAt = performance.now();
      const answer = await ask(connection, request);
      if (workload.isGood(answer)) {
        this.#latenciesMs.push(performance.now() - askedAt);
        if (this.answeredInAll % SAMPLE_EVERY === 1) onSample?.(answer.body.toString("utf8"));
      } else {
        const status = String(answer.status);
        this.#failures[status] = (this.#failures[status] ?? 0) + 1;
        if (answer.status === 0) await delay(PAUSE_AFTER_NO_ANSWER_MS);
      }
    }
  }
}

async function ask(connection: HttpConnection, request: HttpRequest): Promise<HttpAnswer> {
  try {
    return await connection.send(request);
  } catch (error) {
    // No answer is a failure of the row, counted under the status 0.
    return { status: 0, body: Buffer.from(String(error)) };
  }
}
