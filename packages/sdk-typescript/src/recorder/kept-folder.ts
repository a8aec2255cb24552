import { dirname, join } from "node:path";
import type { Anchor } from "../anchors.ts";
import type { Receipt } from "../receipt.ts";
import type { EventRefused } from "./errors.ts";
import type { RecorderFiles } from "./files.ts";
import type { KeptEvent } from "./recorded-event.ts";
import type { SpooledEvent } from "./spool-frame.ts";
import type { WaitingEvent } from "./waiting-event.ts";

/** Files that are written or synced at once: as many as Node has threads for them. */
const CONCURRENCY = 4;

/** Runs them all, some at a time. */
async function each<Item>(items: readonly Item[], run: (item: Item) => Promise<void>): Promise<void> {
  const queue = items.values();
  const worker = async (): Promise<void> => {
    for (const item of queue) await run(item);
  };
  await Promise.all(Array.from({ length: CONCURRENCY }, worker));
}

/** Where envelopes, contents and receipts stay: docs/recorder.md, "The folder". */
export class KeptFolder {
  readonly #kept: string;
  readonly #refused: string;
  readonly #files: RecorderFiles;
  /** Folders that are there, and those that name them. */
  readonly #made = new Set<string>();

  constructor(kept: string, refused: string, files: RecorderFiles) {
    this.#kept = kept;
    this.#refused = refused;
    this.#files = files;
  }

  /** Its receipt is written last: where one is, the rest is too. */
  async keep(
    { handle, day }: WaitingEvent,
    { envelope, content }: SpooledEvent,
    proved: { readonly anchor: Anchor; readonly receipt: Receipt },
  ): Promise<KeptEvent> {
    const { clientEventId, eventHash } = handle;
    const folder = await this.#folder(join(this.#kept, day));
    const payloadPath = join(folder, `${clientEventId}.json`);
    const receiptPath = `${payloadPath}.tlog-proof`;
    const contentPath = content === null ? null : join(folder, `${clientEventId}.content`);
    if (contentPath !== null && content !== null) await this.#files.writeFile(contentPath, content);
    await this.#files.writeFile(payloadPath, envelope);
    await this.#files.writeFile(receiptPath, proved.receipt.toProofText());
    return { clientEventId, eventHash, ...proved, payloadPath, receiptPath, contentPath };
  }

  /** @returns the files that were written */
  async refuse({ envelope, content }: SpooledEvent, error: EventRefused): Promise<readonly string[]> {
    const folder = await this.#folder(this.#refused);
    const payload = join(folder, `${error.clientEventId}.json`);
    const { code, message: detail, status } = error;
    const written: readonly (readonly [string, Uint8Array | string])[] = [
      ...(content === null ? [] : ([[join(folder, `${error.clientEventId}.content`), content]] as const)),
      [payload, envelope],
      [`${payload}.problem`, `${JSON.stringify({ code, detail, status })}\n`],
    ];
    for (const [path, bytes] of written) await this.#files.writeFile(path, bytes);
    return written.map(([path]) => path);
  }

  /** Runs for each event, some at a time. */
  forEach<Item>(items: readonly Item[], run: (item: Item) => Promise<void>): Promise<void> {
    return each(items, run);
  }

  /** The files, and then the folders that name them, survive the loss of power. */
  readonly syncAll = async (paths: readonly string[]): Promise<void> => {
    await each(paths, (path) => this.#files.syncPath(path));
    await each([...this.#made], (path) => this.#files.syncPath(path));
  };

  async #folder(path: string): Promise<string> {
    if (!this.#made.has(path)) {
      // Two may make it at once, which does no harm.
      await this.#files.makeFolder(path);
      for (const made of [path, dirname(path), dirname(dirname(path))]) this.#made.add(made);
    }
    return path;
  }
}
