import { RetryingWriter } from "../clients/retrying-writer.ts";
import type { Acknowledged } from "../clients/retrying-writer.ts";
import type { LoadAnswer } from "../clients/load-client.ts";
import type { TestCluster } from "./test-cluster.ts";
import { until } from "../until.ts";

/** Writes are under way all the time, and the processors are there for what is tested. */
const PAUSE_MS = 10;

/** Clients that write one event after another to a cluster until they are stopped, and keep the acknowledgements. */
export class ClusterLoad {
  readonly #writers: readonly RetryingWriter[];
  readonly #runs: Promise<unknown>;

  private constructor(writers: readonly RetryingWriter[]) {
    this.#writers = writers;
    this.#runs = Promise.all(writers.map((writer) => writer.run()));
  }

  /**
   * @param writers how many clients; they begin at different nodes
   * @param pauseMs of each client, between two events
   */
  static start({ cluster, apiKey }: TestCluster, writers: number, pauseMs = PAUSE_MS): ClusterLoad {
    const { nodes } = cluster.file;
    return new ClusterLoad(
      Array.from({ length: writers }, (_, firstNode) => new RetryingWriter({ nodes, apiKey, firstNode, pauseMs })),
    );
  }

  get count(): number {
    return this.#writers.reduce((sum, writer) => sum + writer.acknowledged.length, 0);
  }

  get acknowledged(): readonly Acknowledged[] {
    return this.#writers.flatMap((writer) => writer.acknowledged);
  }

  /** Answers that a retry cannot cure: none is expected. */
  get refusals(): readonly LoadAnswer[] {
    return this.#writers.flatMap((writer) => writer.refusals);
  }

  /** Waits until so many more events are acknowledged. */
  async more(count: number, timeoutMs = 30_000): Promise<void> {
    const goal = this.count + count;
    await until(`${count} more events are acknowledged`, () => this.count >= goal, timeoutMs);
  }

  /** Ends with the last event's acknowledgement; returns all of them. */
  async stop(): Promise<readonly Acknowledged[]> {
    for (const writer of this.#writers) writer.stop();
    await this.#runs;
    return this.acknowledged;
  }

  /** For the end of a test that may have failed: no writer goes on, acknowledged or not. */
  async abandon(): Promise<void> {
    for (const writer of this.#writers) writer.abandon();
    await this.#runs;
  }
}
