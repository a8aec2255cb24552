import type { TestCluster } from "../cluster/test-cluster.ts";
import { until } from "../until.ts";
import { HeadReader } from "./head-reader.ts";
import { RecordWriter } from "./record-writer.ts";
import type { Recorder } from "./recorder.ts";

export interface MixedLoadOptions {
  /** They begin at different nodes. */
  readonly writers: number;
  /** Events of one batch. */
  readonly batchEvents: number;
}

/** Clients that write records of all kinds, and one reader at each node, until they are stopped. */
export class MixedLoad {
  readonly recorder: Recorder;
  readonly #writers: readonly RecordWriter[];
  readonly #readers: readonly HeadReader[];
  readonly #runs: Promise<unknown>;

  private constructor(recorder: Recorder, writers: readonly RecordWriter[], readers: readonly HeadReader[]) {
    this.recorder = recorder;
    this.#writers = writers;
    this.#readers = readers;
    this.#runs = Promise.all([...writers, ...readers].map((client) => client.run()));
  }

  /** @param name no other load of the cluster may have it */
  static start(setup: TestCluster, recorder: Recorder, name: string, options: MixedLoadOptions): MixedLoad {
    const { nodes } = setup.cluster.file;
    const { apiKey } = setup;
    const { writers, batchEvents } = options;
    const origins = nodes.map(({ origin_fingerprint: origin }) => origin);
    return new MixedLoad(
      recorder,
      Array.from({ length: writers }, (_, firstNode) => {
        return new RecordWriter({ nodes, apiKey, firstNode, name: `${name} ${firstNode}`, batchEvents, recorder });
      }),
      nodes.map((node) => {
        const onRefusal = recorder.refusals.push.bind(recorder.refusals);
        return new HeadReader({ node, apiKey, origins, onHead: (head) => recorder.heads.push(head), onRefusal });
      }),
    );
  }

  get acknowledgedMs(): readonly number[] {
    return this.recorder.anchored.map(({ endedMs }) => endedMs);
  }

  /** Waits until so many more records are acknowledged. */
  async more(count: number, timeoutMs = 60_000): Promise<void> {
    const goal = this.recorder.anchored.length + count;
    await until(`${count} more records are acknowledged`, () => this.recorder.anchored.length >= goal, timeoutMs);
  }

  /** Ends with the acknowledgement of the request that each writer has under way. */
  async stop(): Promise<void> {
    for (const client of [...this.#writers, ...this.#readers]) client.stop();
    await this.#runs;
  }

  /** For the end of a test that may have failed: no writer goes on, acknowledged or not. */
  async abandon(): Promise<void> {
    for (const writer of this.#writers) writer.abandon();
    for (const reader of this.#readers) reader.stop();
    await this.#runs;
  }
}
