import { setTimeout as delay } from "node:timers/promises";
import { LoadClient } from "../clients/load-client.ts";
import type { LoadAnswer } from "../clients/load-client.ts";
import type { SeenHead } from "./recorder.ts";

export interface HeadReaderOptions {
  readonly node: { readonly id: string; readonly api_url: string };
  readonly apiKey: string;
  readonly origins: readonly string[];
  readonly onHead: (head: SeenHead) => void;
  /** An answer that a retry cannot cure. */
  readonly onRefusal: (answer: LoadAnswer) => void;
  /** Asked after each read: milliseconds to the next one. Default: 10. */
  readonly pauseMs?: () => number;
  /** Called for every read as it ends. Milliseconds of this process's monotonic clock; status 0: no answer. */
  readonly onRead?: (answer: LoadAnswer, startedMs: number, endedMs: number) => void;
}

const TRY_TIMEOUT_MS = 3000;
const PAUSE_MS = 10;

/** Asks one node for the latest anchor of one origin after another. */
export class HeadReader {
  readonly #options: HeadReaderOptions;
  readonly #client: LoadClient;
  #isWanted = true;

  constructor(options: HeadReaderOptions) {
    this.#options = options;
    this.#client = new LoadClient({ apiUrl: options.node.api_url, apiKey: options.apiKey, connections: 1 });
  }

  async run(): Promise<void> {
    const { origins, pauseMs = () => PAUSE_MS } = this.#options;
    let at = 0;
    while (this.#isWanted) {
      await this.#read(origins[at++ % origins.length] ?? "");
      await delay(pauseMs());
    }
    await this.#client.close();
  }

  stop(): void {
    this.#isWanted = false;
  }

  async #read(originFingerprint: string): Promise<void> {
    const { node, onHead, onRefusal, onRead } = this.#options;
    const startedMs = performance.now();
    const answer = await this.#get(`/v1/event-anchors/latest?origin_fingerprint=${originFingerprint}`);
    const endedMs = performance.now();
    onRead?.(answer, startedMs, endedMs);
    if (answer.status === 200) {
      const told = JSON.parse(answer.text) as {
        readonly tree_size: number;
        readonly root_hash: string;
        readonly checkpoint: string;
      };
      const { tree_size: treeSize, root_hash: rootHash, checkpoint } = told;
      onHead({ nodeId: node.id, originFingerprint, treeSize, rootHash, checkpoint, startedMs, endedMs });
      return;
    }
    const isNoneYet = answer.status === 404 && answer.text.includes('"no_anchor_yet"');
    if (answer.status !== 0 && answer.status !== 503 && !isNoneYet) onRefusal(answer);
  }

  async #get(path: string): Promise<LoadAnswer> {
    try {
      return await this.#client.get(path, TRY_TIMEOUT_MS);
    } catch (error) {
      // A missing answer shows nothing about the head.
      return { status: 0, text: String(error) };
    }
  }
}
