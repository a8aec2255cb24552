import { dirname, join } from "node:path";
import type { Anchor } from "../anchors.ts";
import type { Receipt } from "../receipt.ts";
import type { EventRefused } from "./errors.ts";
import { codeOf, parentsOf, syncParents } from "./files.ts";
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

type FileToWrite = readonly [path: string, content: Uint8Array | string];

/** Where envelopes, contents and receipts stay: docs/recorder.md, "The folder". */
export class KeptFolder {
  readonly #kept: string;
  readonly #refused: string;
  readonly #files: RecorderFiles;
  /** Folders that were there when something was last written to them. */
  readonly #made = new Set<string>();
  /** Folders above those that are not synced since. */
  #unsynced = new Set<string>();

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
    const folder = join(this.#kept, day);
    const payloadPath = join(folder, `${clientEventId}.json`);
    const receiptPath = `${payloadPath}.tlog-proof`;
    const contentPath = content === null ? null : join(folder, `${clientEventId}.content`);
    await this.#write(folder, [
      ...(contentPath === null || content === null ? [] : ([[contentPath, content]] as const)),
      [payloadPath, envelope],
      [receiptPath, proved.receipt.toProofText()],
    ]);
    return { clientEventId, eventHash, ...proved, payloadPath, receiptPath, contentPath };
  }

  /** @returns the files that were written */
  async refuse({ envelope, content }: SpooledEvent, error: EventRefused): Promise<readonly string[]> {
    const payload = join(this.#refused, `${error.clientEventId}.json`);
    const { code, message: detail, status } = error;
    const written: readonly FileToWrite[] = [
      ...(content === null ? [] : ([[join(this.#refused, `${error.clientEventId}.content`), content]] as const)),
      [payload, envelope],
      [`${payload}.problem`, `${JSON.stringify({ code, detail, status })}\n`],
    ];
    await this.#write(this.#refused, written);
    return written.map(([path]) => path);
  }

  /** Runs for each event, some at a time. */
  forEach<Item>(items: readonly Item[], run: (item: Item) => Promise<void>): Promise<void> {
    return each(items, run);
  }

  /**
   * The files, and then the folders that name them, survive the loss of power. Folders of other files may be gone.
   * One call at a time.
   */
  readonly syncAll = async (paths: readonly string[]): Promise<void> => {
    await each(paths, (path) => this.#files.syncPath(path));
    await each([...new Set(paths.map((path) => dirname(path)))], (folder) => this.#syncFolder(folder));
    const unsynced = this.#unsynced;
    this.#unsynced = new Set();
    try {
      await syncParents(this.#files, unsynced);
    } catch (error) {
      for (const folder of unsynced) this.#unsynced.add(folder);
      throw error;
    }
  };

  async #syncFolder(folder: string): Promise<void> {
    try {
      await this.#files.syncPath(folder);
    } catch (error) {
      // It was moved away, after the files in it were synced.
      if (codeOf(error) !== "ENOENT") throw error;
      this.#made.delete(folder);
    }
  }

  async #write(folder: string, files: readonly FileToWrite[]): Promise<void> {
    const isKnown = this.#made.has(folder);
    try {
      if (!isKnown) await this.#make(folder);
      for (const [path, content] of files) await this.#files.writeFile(path, content);
    } catch (error) {
      if (!isKnown || codeOf(error) !== "ENOENT") throw error;
      // It was moved away meanwhile, with what was written there before.
      this.#made.delete(folder);
      await this.#write(folder, files);
    }
  }

  /** Two may make it at once, which does no harm. */
  async #make(folder: string): Promise<void> {
    const first = await this.#files.makeFolder(folder);
    for (const parent of parentsOf(folder, first)) this.#unsynced.add(parent);
    this.#made.add(folder);
  }
}
