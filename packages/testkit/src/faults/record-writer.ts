import { setTimeout as delay } from "node:timers/promises";
import type { LoadAnswer } from "../clients/load-client.ts";
import { RetryingRequests } from "../clients/retrying-requests.ts";
import type { Outcome, Try } from "../clients/retrying-requests.ts";
import { RecordMaker } from "./record-maker.ts";
import type { Anchored, WantedRequest } from "./record-maker.ts";
import type { AnchoredRecord, Recorder } from "./recorder.ts";

export interface RecordWriterOptions {
  readonly nodes: readonly { readonly id: string; readonly api_url: string; readonly origin_fingerprint: string }[];
  readonly apiKey: string;
  readonly firstNode: number;
  /** No other writer of the cluster may have it. */
  readonly name: string;
  readonly batchEvents: number;
  readonly recorder: Recorder;
  /** Asked before each request: milliseconds from its beginning to that of the next one, at least. Default: 0. */
  readonly everyMs?: () => number;
  /** Called for every try as it ends. */
  readonly onTry?: (path: string, body: string, tried: Try) => void;
}

interface WireAnchored {
  readonly status?: number;
  readonly anchor?: {
    readonly anchor_id: string;
    readonly origin_fingerprint: string;
    readonly sequence: number;
    readonly depth: number;
  };
  readonly receipt?: unknown;
}

/** A client that records things of all kinds, one after another, each until it is anchored. */
export class RecordWriter {
  readonly #options: RecordWriterOptions;
  readonly #requests: RetryingRequests;
  readonly #maker: RecordMaker;
  #isWanted = true;

  constructor(options: RecordWriterOptions) {
    this.#options = options;
    this.#requests = new RetryingRequests(options);
    this.#maker = new RecordMaker(options.name, options.batchEvents);
  }

  /** Writes until `stop`; the request under way is written to its end. */
  async run(): Promise<void> {
    while (this.#isWanted) await this.#round();
    await this.#requests.close();
  }

  stop(): void {
    this.#isWanted = false;
  }

  /** Ends even in the middle of a request, whose outcome then stays unknown. */
  abandon(): void {
    this.#isWanted = false;
    this.#requests.abandon();
  }

  async #round(): Promise<void> {
    const { nodes, recorder, firstNode, everyMs = () => 0 } = this.#options;
    // Otherwise all writers would end up at the node that never failed.
    this.#requests.node = firstNode;
    const round: Anchored[] = [];
    while (this.#isWanted && round.length < RecordMaker.roundRequests) {
      const nextMs = performance.now() + everyMs();
      const wanted = this.#maker.next(nodes[this.#requests.node]?.origin_fingerprint ?? "", round);
      for (const { content, kind } of wanted.records) recorder.attempted.add(`${kind} ${content}`);
      const outcome = await this.#requests.post(wanted.path, wanted.body, (answer) => isAllAnchored(answer, wanted));
      if (outcome.result === "refused") recorder.refusals.push(outcome.answer);
      if (outcome.result !== "answered") return;
      const anchored = anchoredBy(wanted, outcome);
      recorder.anchored.push(...anchored);
      const [first] = anchored;
      if (first !== undefined) round.push(first);
      const pauseMs = nextMs - performance.now();
      if (pauseMs > 0) await delay(pauseMs);
    }
  }
}

/** Every item of a batch must be certified; else the whole batch is sent again, and is replayed. */
function isAllAnchored(answer: LoadAnswer, { records }: WantedRequest): boolean {
  if (records.length === 1) return true;
  const { results } = JSON.parse(answer.text) as { readonly results: readonly WireAnchored[] };
  return results.length === records.length && results.every(({ status }) => status === 201 || status === 200);
}

function anchoredBy(
  { records }: WantedRequest,
  { answer, tries, startedMs }: Extract<Outcome, { result: "answered" }>,
): readonly AnchoredRecord[] {
  const endedMs = performance.now();
  const body = JSON.parse(answer.text) as WireAnchored & { readonly results?: readonly WireAnchored[] };
  const told = body.results ?? [body];
  return records.map((wanted, at) => {
    const { anchor, receipt: wire } = told[at] ?? {};
    if (anchor === undefined) throw new Error(`the answer holds no anchor: ${answer.text.slice(0, 300)}`);
    const { anchor_id: anchorId, origin_fingerprint: originFingerprint, sequence, depth } = anchor;
    const receipt = wire === undefined ? null : Buffer.from(JSON.stringify(wire));
    return { ...wanted, anchorId, originFingerprint, sequence, depth, receipt, startedMs, endedMs, tries };
  });
}
