import { createHash, randomUUID } from "node:crypto";
import { setTimeout as delay } from "node:timers/promises";
import type { LoadAnswer } from "./load-client.ts";
import { RetryingRequests } from "./retrying-requests.ts";

/** An event that was acknowledged to its writer. */
export interface Acknowledged {
  readonly clientEventId: string;
  /** 64 hex digits. */
  readonly eventHash: string;
  readonly originFingerprint: string;
  readonly anchorId: string;
  readonly sequence: number;
  readonly depth: number;
  /** The receipt's JSON, as it came. */
  readonly receipt: unknown;
  /** From the first try to the good answer. */
  readonly tookMs: number;
  readonly tries: number;
}

export interface RetryingWriterOptions {
  readonly nodes: readonly { readonly id: string; readonly api_url: string; readonly origin_fingerprint: string }[];
  readonly apiKey: string;
  /** Where this writer begins, so that several writers do not all begin at one node. */
  readonly firstNode: number;
  /** Between an acknowledgement and the next event. Default: none. */
  readonly pauseMs?: number;
}

/**
 * A client that behaves as documented: an id for every event, the same event again to the next node after 503 or a lost
 * connection, until it is acknowledged; then the next event.
 */
export class RetryingWriter {
  readonly acknowledged: Acknowledged[] = [];
  /** Answers that a retry cannot cure: none is expected. */
  readonly refusals: LoadAnswer[] = [];
  readonly #options: RetryingWriterOptions;
  readonly #requests: RetryingRequests;
  #isWanted = true;

  constructor(options: RetryingWriterOptions) {
    this.#options = options;
    this.#requests = new RetryingRequests(options);
  }

  /** Writes until `stop`; the event under way is written to its end. */
  async run(): Promise<void> {
    const { pauseMs = 0 } = this.#options;
    while (this.#isWanted) {
      await this.#writeOne();
      if (pauseMs > 0) await delay(pauseMs);
    }
    await this.#requests.close();
  }

  stop(): void {
    this.#isWanted = false;
  }

  /** Ends even in the middle of an event, whose outcome then stays unknown. */
  abandon(): void {
    this.#isWanted = false;
    this.#requests.abandon();
  }

  async #writeOne(): Promise<void> {
    const clientEventId = randomUUID();
    const eventHash = createHash("sha256").update(clientEventId).digest("hex");
    const originFingerprint = this.#options.nodes[this.#requests.node]?.origin_fingerprint ?? "";
    const body = JSON.stringify({
      origin_fingerprint: originFingerprint,
      event_hash: eventHash,
      client_event_id: clientEventId,
    });
    const outcome = await this.#requests.post("/v1/event-anchors", body);
    if (outcome.result === "refused") this.refusals.push(outcome.answer);
    if (outcome.result !== "answered") return;
    const { answer, tries, startedMs } = outcome;
    const { anchor, receipt } = readCreated(answer.text);
    const asked = { clientEventId, eventHash, originFingerprint };
    this.acknowledged.push({ ...asked, ...anchor, receipt, tookMs: performance.now() - startedMs, tries });
  }
}

interface Created {
  readonly anchor: { readonly anchorId: string; readonly sequence: number; readonly depth: number };
  readonly receipt: unknown;
}

function readCreated(text: string): Created {
  const body: unknown = JSON.parse(text);
  if (typeof body === "object" && body !== null && "anchor" in body && "receipt" in body) {
    const { anchor, receipt } = body;
    if (typeof anchor === "object" && anchor !== null && "anchor_id" in anchor) {
      const { anchor_id: anchorId, sequence, depth } = anchor as Record<string, unknown>;
      if (typeof anchorId === "string" && typeof sequence === "number" && typeof depth === "number") {
        return { anchor: { anchorId, sequence, depth }, receipt };
      }
    }
  }
  throw new Error(`the answer holds no anchor: ${text.slice(0, 300)}`);
}
