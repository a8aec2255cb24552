import { createHash, randomUUID } from "node:crypto";
import { setTimeout as delay } from "node:timers/promises";
import { LoadClient } from "./load-client.ts";
import type { LoadAnswer } from "./load-client.ts";

/** An event whose writer was told that it is anchored. */
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
  readonly nodes: readonly { readonly api_url: string; readonly origin_fingerprint: string }[];
  readonly apiKey: string;
  /** Where this writer begins, so that several writers do not all begin at one node. */
  readonly firstNode: number;
}

const TRY_TIMEOUT_MS = 3000;
const PAUSE_MS = 25;

/**
 * A client that behaves as documented: an id for every event, the same event again to the next node after 503 or a lost
 * connection, until it is acknowledged; then the next event.
 */
export class RetryingWriter {
  readonly acknowledged: Acknowledged[] = [];
  /** Answers that a retry cannot cure: none is expected. */
  readonly refusals: LoadAnswer[] = [];
  readonly #options: RetryingWriterOptions;
  readonly #clients: readonly LoadClient[];
  #node: number;
  #isWanted = true;
  #isAbandoned = false;

  constructor(options: RetryingWriterOptions) {
    this.#options = options;
    this.#clients = options.nodes.map(
      ({ api_url: apiUrl }) => new LoadClient({ apiUrl, apiKey: options.apiKey, connections: 1 }),
    );
    this.#node = options.firstNode;
  }

  /** Writes until `stop`; the event under way is written to its end. */
  async run(): Promise<void> {
    while (this.#isWanted) await this.#writeOne();
    await Promise.all(this.#clients.map((client) => client.close()));
  }

  stop(): void {
    this.#isWanted = false;
  }

  /** Ends also in the middle of an event: what became of it is not asked for any more. */
  abandon(): void {
    this.#isWanted = false;
    this.#isAbandoned = true;
  }

  async #writeOne(): Promise<void> {
    const clientEventId = randomUUID();
    const eventHash = createHash("sha256").update(clientEventId).digest("hex");
    const { nodes } = this.#options;
    const originFingerprint = nodes[this.#node % nodes.length]?.origin_fingerprint ?? "";
    const body = JSON.stringify({
      origin_fingerprint: originFingerprint,
      event_hash: eventHash,
      client_event_id: clientEventId,
    });
    const startedAt = performance.now();
    for (let tries = 1; !this.#isAbandoned; tries++) {
      const answer = await this.#try(body);
      if (answer.status === 201 || answer.status === 200) {
        const tookMs = performance.now() - startedAt;
        const { anchor, receipt } = readCreated(answer.text);
        const asked = { clientEventId, eventHash, originFingerprint };
        this.acknowledged.push({ ...asked, ...anchor, receipt, tookMs, tries });
        return;
      }
      if (answer.status !== 0 && answer.status !== 202 && answer.status !== 503) {
        this.refusals.push(answer);
        return;
      }
      this.#node += 1;
      await delay(PAUSE_MS);
    }
  }

  async #try(body: string): Promise<LoadAnswer> {
    const client = this.#clients[this.#node % this.#clients.length];
    if (client === undefined) throw new Error("a writer needs a node");
    try {
      return await client.post("/v1/event-anchors", body, TRY_TIMEOUT_MS);
    } catch (error) {
      // No answer: the node died, or takes too long. What became of the write is unknown, hence the same id again.
      return { status: 0, text: String(error) };
    }
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
