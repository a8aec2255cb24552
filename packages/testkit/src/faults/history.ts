import { createHash, randomInt, randomUUID } from "node:crypto";
import { writeFileSync } from "node:fs";
import { setTimeout as delay } from "node:timers/promises";
import type { LoadAnswer } from "../clients/load-client.ts";
import { RetryingRequests } from "../clients/retrying-requests.ts";
import type { Try } from "../clients/retrying-requests.ts";
import type { TestCluster } from "../cluster/test-cluster.ts";
import { until } from "../until.ts";
import { HeadReader } from "./head-reader.ts";
import type { SeenHead } from "./recorder.ts";

const PAUSE_MS = 5;
/** One write in this many repeats an acknowledged event. */
const REPLAY_EVERY = 6;
/** One write in this many goes to another node without cause. */
const MOVE_EVERY = 8;

/**
 * What clients did to the logs of a cluster, and when, in the lines that the checker under `test/linearizability`
 * reads. A request without a good answer stays open: it may take effect at any time, or never.
 */
class History {
  readonly #lines: object[] = [];
  readonly refusals: LoadAnswer[] = [];
  /** When each acknowledgement came. */
  readonly acknowledgedMs: number[] = [];
  reads = 0;

  origin(origin: string, size: number): void {
    this.#lines.push({ type: "origin", origin, size });
  }

  fault(name: string): void {
    this.#lines.push({ type: "fault", at_us: Math.floor(performance.now() * 1000), name });
  }

  write(client: number, origin: string, id: string, { startedMs, endedMs, answer }: Try): void {
    const sent = { type: "write", client, origin, id, call_us: Math.floor(startedMs * 1000) };
    if (answer.status !== 200 && answer.status !== 201) {
      this.#lines.push(sent);
      return;
    }
    const { anchor } = JSON.parse(answer.text) as { readonly anchor: { readonly anchor_id: string; depth: number } };
    const { anchor_id, depth } = anchor;
    this.#lines.push({ ...sent, return_us: Math.ceil(endedMs * 1000), anchor_id, depth });
    this.acknowledgedMs.push(endedMs);
  }

  read(client: number, { originFingerprint: origin, treeSize: size, startedMs, endedMs }: SeenHead): void {
    const [call_us, return_us] = [Math.floor(startedMs * 1000), Math.ceil(endedMs * 1000)];
    this.#lines.push({ type: "read", client, origin, size, call_us, return_us });
    this.reads += 1;
  }

  save(path: string): void {
    writeFileSync(path, this.#lines.map((line) => `${JSON.stringify(line)}\n`).join(""));
  }
}

interface Sent {
  readonly id: string;
  readonly origin: string;
  readonly body: string;
}

/** Writes events to all origins through all nodes, and again and again one that was acknowledged before. */
class HistoryWriter {
  readonly #history: History;
  readonly #origins: readonly string[];
  readonly #requests: RetryingRequests;
  readonly #acknowledged: Sent[] = [];
  #sent: Sent | null = null;
  #isWanted = true;

  constructor(history: History, client: number, { cluster, apiKey }: TestCluster) {
    const { nodes } = cluster.file;
    this.#history = history;
    this.#origins = nodes.map(({ origin_fingerprint: origin }) => origin);
    const onTry = (_path: string, _body: string, tried: Try): void => {
      if (this.#sent !== null) history.write(client, this.#sent.origin, this.#sent.id, tried);
    };
    this.#requests = new RetryingRequests({ nodes, apiKey, firstNode: client, onTry });
  }

  async run(): Promise<void> {
    while (this.#isWanted) {
      const isReplay = this.#acknowledged.length > 0 && randomInt(REPLAY_EVERY) === 0;
      const sent = (isReplay ? this.#acknowledged[randomInt(this.#acknowledged.length)] : null) ?? this.#newEvent();
      this.#sent = sent;
      if (randomInt(MOVE_EVERY) === 0) this.#requests.node = randomInt(this.#origins.length);
      const outcome = await this.#requests.post("/v1/event-anchors", sent.body);
      if (outcome.result === "refused") this.#history.refusals.push(outcome.answer);
      if (outcome.result === "answered" && !isReplay) this.#acknowledged.push(sent);
      await delay(PAUSE_MS);
    }
    await this.#requests.close();
  }

  /** Also in the middle of an event, whose outcome then stays open. */
  stop(): void {
    this.#isWanted = false;
    this.#requests.abandon();
  }

  #newEvent(): Sent {
    const id = randomUUID();
    const origin = this.#origins[randomInt(this.#origins.length)] ?? "";
    const event_hash = createHash("sha256").update(id).digest("hex");
    return { id, origin, body: JSON.stringify({ origin_fingerprint: origin, event_hash, client_event_id: id }) };
  }
}

/** Clients whose every request is kept in a history: writers that move between nodes, and a reader at each node. */
export class HistoryLoad {
  readonly history: History;
  readonly #clients: readonly (HistoryWriter | HeadReader)[];
  readonly #runs: Promise<unknown>;

  private constructor(history: History, clients: readonly (HistoryWriter | HeadReader)[]) {
    this.history = history;
    this.#clients = clients;
    this.#runs = Promise.all(clients.map((client) => client.run()));
  }

  /** On a cluster without other writers, with an event in every origin. */
  static async start(setup: TestCluster, writers: number): Promise<HistoryLoad> {
    const history = new History();
    const { apiKey } = setup;
    const { nodes } = setup.cluster.file;
    const origins = nodes.map(({ origin_fingerprint: origin }) => origin);
    const onRefusal = history.refusals.push.bind(history.refusals);
    await Promise.all(origins.map((origin) => beginOrigin(setup, history, origin)));
    return new HistoryLoad(history, [
      ...Array.from({ length: writers }, (_, client) => new HistoryWriter(history, client, setup)),
      ...nodes.map((node, at) => {
        const onHead = (head: SeenHead): void => history.read(writers + at, head);
        return new HeadReader({ node, apiKey, origins, onHead, onRefusal });
      }),
    ]);
  }

  get acknowledgedMs(): readonly number[] {
    return this.history.acknowledgedMs;
  }

  /** Acknowledged writes and answered reads so far. */
  get operations(): number {
    return this.history.acknowledgedMs.length + this.history.reads;
  }

  /** Waits until so many more writes are acknowledged, and as many reads answered. */
  async more(count: number, timeoutMs = 120_000): Promise<void> {
    const [writesGoal, readsGoal] = [this.acknowledgedMs.length + count, this.history.reads + count];
    const isThere = (): boolean => this.acknowledgedMs.length >= writesGoal && this.history.reads >= readsGoal;
    await until(`${count} more writes and reads`, isThere, timeoutMs);
  }

  async stop(): Promise<void> {
    for (const client of this.#clients) client.stop();
    await this.#runs;
  }
}

/** Writes one event, so that there is a latest anchor, and notes how long the log is then. */
async function beginOrigin({ cluster, apiKey }: TestCluster, history: History, origin: string): Promise<void> {
  const { nodes } = cluster.file;
  const requests = new RetryingRequests({ nodes, apiKey, firstNode: 0 });
  const id = randomUUID();
  const event_hash = createHash("sha256").update(id).digest("hex");
  const body = { origin_fingerprint: origin, event_hash, client_event_id: id };
  const outcome = await requests.post("/v1/event-anchors", JSON.stringify(body));
  await requests.close();
  if (outcome.result !== "answered") throw new Error(`the first event of ${origin} was ${outcome.result}`);
  const { anchor } = JSON.parse(outcome.answer.text) as { readonly anchor: { readonly depth: number } };
  history.origin(origin, anchor.depth + 1);
}
