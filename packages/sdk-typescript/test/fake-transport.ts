import type { Timing } from "../src/exchange.ts";
import { Client, TransportFailure } from "../src/index.ts";
import type { ClientOptions, Transport, TransportFailureKind, TransportRequest } from "../src/index.ts";

/** What a fake endpoint does with one request. */
export type Reaction =
  | {
      readonly status: number;
      readonly json?: unknown;
      readonly text?: string;
      readonly headers?: Record<string, string>;
    }
  | { readonly fails: TransportFailureKind; readonly wasSent: boolean }
  | ((path: string, body: Readonly<Record<string, unknown>>) => Reaction);

/** Answers in order; the last one again and again. Remembers what was asked. */
export class FakeTransport {
  readonly requests: TransportRequest[] = [];
  readonly #reactions: readonly Reaction[];

  constructor(...reactions: readonly Reaction[]) {
    this.#reactions = reactions;
  }

  readonly send: Transport = (request) => {
    const scripted = this.#reactions[Math.min(this.requests.length, this.#reactions.length - 1)];
    this.requests.push(request);
    if (scripted === undefined) return Promise.reject(new Error("no reaction"));
    const reaction = this.#react(scripted, request);
    if ("fails" in reaction) {
      return Promise.reject(new TransportFailure(reaction.fails, reaction.fails, { wasSent: reaction.wasSent }));
    }
    const text = reaction.text ?? JSON.stringify(reaction.json);
    const headers = { "x-request-id": request.headers["x-request-id"], ...reaction.headers };
    return Promise.resolve({ status: reaction.status, headers, body: new TextEncoder().encode(text) });
  };

  #react(scripted: Reaction, request: TransportRequest): Exclude<Reaction, (...args: never) => unknown> {
    if (typeof scripted !== "function") return scripted;
    const body = JSON.parse(request.body ?? "{}") as Record<string, unknown>;
    return this.#react(scripted(new URL(request.url).pathname, body), request);
  }

  get hosts(): string[] {
    return this.requests.map(({ url }) => new URL(url).host);
  }

  /** The body of a request, parsed. */
  body(at = 0): Record<string, unknown> {
    return JSON.parse(this.requests[at]?.body ?? "null") as Record<string, unknown>;
  }
}

/** A clock that stands still but for waiting, which takes no time. */
export class FakeTiming implements Timing {
  readonly waits: number[] = [];
  #nowMs = 0;

  now(): number {
    return this.#nowMs;
  }

  wallClock(): number {
    return Date.parse("2026-01-01T00:00:00Z") + this.#nowMs;
  }

  chance(): number {
    return 1;
  }

  wait(ms: number): Promise<void> {
    this.waits.push(ms);
    this.#nowMs += ms;
    return Promise.resolve();
  }
}

export const ORIGIN = "0a".repeat(32);

/** A client that speaks to a fake endpoint. */
export function clientOf(
  transport: FakeTransport,
  options: Partial<ClientOptions> = {},
): { client: Client; timing: FakeTiming } {
  const timing = new FakeTiming();
  const client = new Client({
    endpoints: ["https://a.example", "https://b.example/base/", "https://c.example"],
    apiKey: "ea_key",
    originFingerprint: ORIGIN,
    transport: transport.send,
    timing: {
      now: () => timing.now(),
      wallClock: () => timing.wallClock(),
      chance: () => timing.chance(),
      wait: (ms) => timing.wait(ms),
    },
    ...options,
  });
  return { client, timing };
}
