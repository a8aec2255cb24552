import type { HeadEvent } from "@event-anchoring/api-contract";
import { FeedReader } from "../clients/feed-reader.ts";
import { until } from "../until.ts";
import type { TestCluster } from "./test-cluster.ts";

/** Whoever follows an origin for good: at another node as soon as one ends or refuses, from where it was. */
export class LastingFollower {
  readonly heads: HeadEvent[] = [];
  connections = 0;
  readonly #setup: TestCluster;
  #reader: FeedReader | null = null;
  #isStopped = false;
  readonly #done: Promise<void>;

  /** @param firstNode place of the node that is asked first */
  constructor(setup: TestCluster, origin: string, firstNode: number) {
    this.#setup = setup;
    this.#done = this.#run(`/v1/origins/${origin}/feed`, firstNode);
    // Whoever stops it hears of it.
    this.#done.catch(() => {});
  }

  get size(): number {
    return this.#all().at(-1)?.tree_size ?? 0;
  }

  /** @throws if a node knew less than another one had shown */
  async stop(): Promise<void> {
    this.#isStopped = true;
    this.#reader?.close();
    await this.#done;
  }

  #all(): readonly HeadEvent[] {
    return [...this.heads, ...(this.#reader?.heads ?? [])];
  }

  async #run(path: string, firstNode: number): Promise<void> {
    for (let at = firstNode; !this.#isStopped; at += 1) {
      const { nodes, api_key: key } = this.#setup.cluster.file;
      const port = Number(new URL(nodes[at % nodes.length]?.api_url ?? "").port);
      const headers = { "x-api-key": key ?? "", ...(this.size === 0 ? {} : { "last-event-id": String(this.size) }) };
      this.#reader = await FeedReader.open(port, path, headers);
      if (this.#reader.status !== 0) {
        if (this.#reader.status === 409) throw new Error("a node knows less than another one has shown");
        this.connections += 1;
        await until("the feed ends", () => this.#reader?.isEnded === true || this.#isStopped, Infinity);
        this.heads.push(...this.#reader.heads);
      }
      // A stop while it was being opened has closed another one.
      this.#reader.close();
      this.#reader = null;
    }
  }
}
