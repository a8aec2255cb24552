import { setTimeout as delay } from "node:timers/promises";
import { LoadClient } from "@event-anchoring/testkit/clients";
import { HeadReader, RecordWriter } from "@event-anchoring/testkit/faults";
import type { LoadAnswer } from "@event-anchoring/testkit/clients";
import type { TestCluster } from "@event-anchoring/testkit/cluster";
import type { Recorder } from "@event-anchoring/testkit/faults";
import { around } from "./pauses.ts";

/**
 * How many clients write at each node, how often, and how long readers pause, on average. That of the day is part of
 * what its figures are of. Two clusters that share a machine ask of it together what one asks of it in the day.
 */
const PACES = {
  warmUp: { writersOfNode: 8, everyMs: 0, readPauseMs: 250, verifyPauseMs: 500 },
  day: { writersOfNode: 1, everyMs: 250, readPauseMs: 250, verifyPauseMs: 500 },
  shared: { writersOfNode: 1, everyMs: 500, readPauseMs: 500, verifyPauseMs: 1000 },
} as const;
export type Pace = keyof typeof PACES;
const BATCH_EVENTS = 8;
const TRY_TIMEOUT_MS = 3000;
/** Verified are the newest: a read of what lies on the disk is no matter of the load. */
const NEWEST = 50;
const SHOWN_MAX = 300;

export interface DayLoadOptions {
  readonly setup: TestCluster;
  readonly apiKey: string;
  readonly recorder: Recorder;
  /** No other load of the cluster may have it. */
  readonly name: string;
  readonly pace: Pace;
  /** Every answer, by the kind of its request; status 0: there was none. */
  readonly onAnswer: (kind: string, answer: LoadAnswer, tookMs: number) => void;
}

/**
 * Steady clients of an ordinary day: at each node one that writes records of all kinds and small batches, one that asks
 * for the latest anchors, and one that verifies events. In a warm-up more of them write, without a pause.
 */
export class DayLoad {
  readonly #writers: readonly RecordWriter[];
  readonly #readers: readonly (HeadReader | VerifyingReader)[];
  readonly #runs: Promise<unknown>;

  private constructor({ setup, apiKey, recorder, name, pace, onAnswer }: DayLoadOptions) {
    const { nodes } = setup.cluster.file;
    const origins = nodes.map(({ origin_fingerprint: origin }) => origin);
    const { writersOfNode, everyMs, readPauseMs, verifyPauseMs } = PACES[pace];
    this.#writers = Array.from({ length: writersOfNode * nodes.length }, (_, at) => {
      return new RecordWriter({
        nodes,
        apiKey,
        recorder,
        batchEvents: BATCH_EVENTS,
        everyMs: around(everyMs),
        firstNode: at % nodes.length,
        name: `${name} ${at}`,
        onTry: (path, _body, { answer, startedMs, endedMs }) => onAnswer(kindOf(path), answer, endedMs - startedMs),
      });
    });
    const onRefusal = (answer: LoadAnswer): void => void recorder.refusals.push(answer);
    this.#readers = nodes.flatMap((node) => [
      new HeadReader({
        node,
        apiKey,
        origins,
        pauseMs: around(readPauseMs),
        onHead: (head) => recorder.heads.push(head),
        onRefusal,
        onRead: (answer, startedMs, endedMs) => onAnswer("latest", answer, endedMs - startedMs),
      }),
      new VerifyingReader({
        apiUrl: node.api_url,
        apiKey,
        recorder,
        pauseMs: around(verifyPauseMs),
        onRefusal,
        onAnswer,
      }),
    ]);
    this.#runs = Promise.all([...this.#writers, ...this.#readers].map((client) => client.run()));
    // `stop` rejects with it.
    this.#runs.catch(() => {});
  }

  static start(options: DayLoadOptions): DayLoad {
    return new DayLoad(options);
  }

  /** Ends with the acknowledgement of the request that each writer has under way. */
  async stop(): Promise<void> {
    for (const client of [...this.#writers, ...this.#readers]) client.stop();
    await this.#runs;
  }

  /** However it is with the cluster: what is under way stays unknown. */
  async abandon(): Promise<void> {
    for (const writer of this.#writers) writer.abandon();
    for (const reader of this.#readers) reader.stop();
    await this.#runs;
  }
}

/** @returns what is wrong with an answer to a request that was in order; null: good, or to be asked again */
export function complaintAbout(kind: string, { status, text }: LoadAnswer): string | null {
  const isPlanned = status < 500 || (status === 503 && /"code":"\w+"/.test(text));
  return isPlanned ? null : `${kind}: answered ${status}: ${text.slice(0, SHOWN_MAX)}`;
}

function kindOf(path: string): string {
  if (path.endsWith("/revoke")) return "revocation";
  if (path.endsWith("/batch")) return "batch";
  return path.split("/").at(-1)?.replace("-anchors", "") ?? path;
}

type VerifyingOptions = Pick<DayLoadOptions, "apiKey" | "recorder" | "onAnswer"> & {
  readonly apiUrl: string;
  readonly pauseMs: () => number;
  readonly onRefusal: (answer: LoadAnswer) => void;
};

/** Has one node verify events that were acknowledged a moment ago, by whatever node. */
class VerifyingReader {
  readonly #options: VerifyingOptions;
  readonly #client: LoadClient;
  #isWanted = true;

  constructor(options: VerifyingOptions) {
    this.#options = options;
    this.#client = new LoadClient({ ...options, connections: 1 });
  }

  async run(): Promise<void> {
    let round = 0;
    while (this.#isWanted) {
      const events = this.#options.recorder.anchored.slice(-NEWEST).filter(({ kind }) => kind === "event");
      const event = events[round++ % Math.max(1, events.length)];
      if (event !== undefined) await this.#verify(event.anchorId, event.content);
      await delay(this.#options.pauseMs());
    }
    await this.#client.close();
  }

  stop(): void {
    this.#isWanted = false;
  }

  async #verify(anchorId: string, eventHash: string): Promise<void> {
    const { onAnswer, onRefusal } = this.#options;
    const startedMs = performance.now();
    const answer = await this.#ask(JSON.stringify({ anchor_id: anchorId, event_hash: eventHash }));
    onAnswer("verify", answer, performance.now() - startedMs);
    const isGood = answer.status === 200 && answer.text.includes('"valid":true');
    if (!isGood && answer.status !== 0 && answer.status !== 503) onRefusal(answer);
  }

  async #ask(body: string): Promise<LoadAnswer> {
    try {
      return await this.#client.post("/v1/event-anchors:verify", body, TRY_TIMEOUT_MS);
    } catch (error) {
      // The node is away, or takes too long.
      return { status: 0, text: String(error) };
    }
  }
}
