/** From the spool to the service and into the kept folder. */
import { join } from "node:path";
import { AnchoringError } from "../errors.ts";
import { NotFlushed, SpoolFull } from "./errors.ts";
import { askService, isSigned } from "./ask-service.ts";
import type { ServiceOutcome } from "./ask-service.ts";
import { KeptFolder } from "./kept-folder.ts";
import type { RecorderSettings } from "./recorder-options.ts";
import { isBehind } from "./spool.ts";
import type { Spool, SpoolPlace } from "./spool.ts";
import type { WaitingEvent } from "./waiting-event.ts";

/** Batches under way: while one is kept, the next one is anchored. */
const BATCHES_AT_ONCE = 2;
/** A batch takes fewer events that carry a signature. */
const SIGNED_MAX = 256;
const PAUSE_MS = 500;
const PAUSE_MS_MAX = 60_000;
/** How full the spool may be when callers that wait for room go on. */
const ROOM = 0.75;

/** Somebody who waits for all events up to one. */
interface Flush {
  /** Null: nothing was recorded yet. */
  readonly last: SpoolPlace | null;
  left: number;
}

/** Events of a batch that are not settled. */
class Failed {
  readonly events: WaitingEvent[] = [];
  /** The first that there was. */
  error: Error | null = null;

  add(event: WaitingEvent, error: Error | null): void {
    this.events.push(event);
    this.error ??= error;
  }
}

/** How long is waited before something is tried again. */
function pauseMs(failures: number): number {
  return Math.min(PAUSE_MS * 2 ** failures, PAUSE_MS_MAX);
}

/**
 * Events wait in `#waiting` until a batch is full or the first has waited `batchMs`. A batch that fails as a whole (no
 * connection, say) goes back to the front, and everything pauses, longer each time, until one is answered. Single
 * events that are not settled wait in `#again`, with pauses of their own, and hold up nobody else.
 */
export class Delivery {
  readonly #settings: RecorderSettings;
  readonly #spool: Spool;
  readonly #folder: KeptFolder;
  readonly #stopped = new AbortController();
  /** Resolves when it is stopped. */
  readonly #end = new Promise<null>((resolve) => {
    this.#stopped.signal.addEventListener("abort", () => resolve(null));
  });
  #waiting: WaitingEvent[] = [];
  /** When they are looked at. */
  #dueMs = 0;
  /** Nothing is sent before: the service did not settle the last batch. */
  #pausedUntilMs = 0;
  #batches = 0;
  #failures = 0;
  #again: WaitingEvent[] = [];
  #againAtMs = 0;
  #againFailures = 0;
  readonly #flushes = new Set<Flush>();
  #waitForRoom = 0;
  #timer: ReturnType<typeof setTimeout> | null = null;
  #clearing: Promise<void> = Promise.resolve();
  /** Called when a batch has ended, and all is looked at again. */
  #onSettled: (() => void)[] = [];
  #last: SpoolPlace | null = null;
  #recorded = 0;
  /** Settled, and the batch has ended. */
  #ended = 0;
  #anchored = 0;
  #refused = 0;

  constructor(settings: RecorderSettings, spool: Spool) {
    this.#settings = settings;
    this.#spool = spool;
    this.#folder = new KeptFolder(settings.keep, join(settings.directory, "refused"), settings.files);
  }

  add(event: WaitingEvent): void {
    this.#waiting.push(event);
    this.#last = event.place;
    this.#recorded++;
    if (this.#waiting.length === 1) this.#wake(this.#settings.batchMs);
    else if (this.#waiting.length === this.#settings.batchEventsMax) this.#wake(0);
  }

  async room(): Promise<void> {
    const { spoolBytesMax } = this.#settings;
    const refused = this.#spool.bytesRefused;
    const isRoom = (): boolean => this.#spool.bytes <= spoolBytesMax * ROOM && this.#spool.hasRoom(refused);
    if (isRoom()) return;
    // Many may wait: the first one cuts the pause short.
    if (this.#waitForRoom++ === 0) this.#hurry();
    try {
      while (!isRoom()) {
        if (this.#stopped.signal.aborted) throw new SpoolFull(spoolBytesMax);
        this.#wake(0);
        await this.#settled();
      }
    } finally {
      this.#waitForRoom--;
    }
  }

  /** For what was recorded before the call. @throws NotFlushed */
  async flush(timeoutMs: number): Promise<void> {
    const flush = { last: this.#last, left: this.#recorded - this.#ended };
    this.#flushes.add(flush);
    let isLate = false;
    const timer = setTimeout(() => {
      isLate = true;
      this.#tell();
    }, timeoutMs);
    try {
      this.#hurry();
      while (flush.left > 0) {
        if (isLate || this.#stopped.signal.aborted) throw new NotFlushed(flush.left, timeoutMs);
        await this.#settled();
      }
    } finally {
      clearTimeout(timer);
      this.#flushes.delete(flush);
    }
  }

  /** Ends what is under way. What is not settled stays in the spool. */
  async stop(): Promise<void> {
    this.#stopped.abort();
    if (this.#timer !== null) clearTimeout(this.#timer);
    while (this.#batches > 0) await this.#settled();
    await this.#clearing;
    this.#tell();
    for (const { handle } of [...this.#again, ...this.#waiting]) handle.settle(new NotFlushed(this.left, 0));
  }

  /** An error of a callback is the program's own: it is not taken from it. */
  report(error: unknown): void {
    try {
      this.#settings.onError(error instanceof Error ? error : new Error("recording failed", { cause: error }));
    } catch (thrown) {
      queueMicrotask(() => {
        throw thrown;
      });
    }
  }

  /** Events that are neither kept nor refused. */
  get left(): number {
    return this.#recorded - this.#anchored - this.#refused;
  }

  #settled(): Promise<void> {
    return new Promise((resolve) => this.#onSettled.push(resolve));
  }

  #tell(): void {
    for (const resolve of this.#onSettled.splice(0)) resolve();
  }

  /** What waits for another try is tried now. */
  #hurry(): void {
    this.#failures = 0;
    this.#againFailures = 0;
    this.#pausedUntilMs = 0;
    this.#takeAgain();
    this.#wake(0);
  }

  #takeAgain(): void {
    this.#waiting = [...this.#again, ...this.#waiting];
    this.#again = [];
  }

  /** Looks at what waits after this time, or earlier if that was asked for already. */
  #wake(inMs: number): void {
    const nowMs = performance.now();
    const dueMs = Math.max(nowMs + inMs, this.#pausedUntilMs);
    if (this.#timer === null || dueMs < this.#dueMs) {
      if (this.#timer !== null) clearTimeout(this.#timer);
      this.#dueMs = dueMs;
      this.#timer = setTimeout(() => {
        this.#timer = null;
        this.#begin();
      }, dueMs - nowMs);
    }
    // A service that does not answer must not keep the program alive: its end flushes, within a limit.
    const isAwaited = this.#flushes.size > 0 || this.#waitForRoom > 0;
    if (!isAwaited && (this.#failures > 0 || this.#waiting.length === 0)) this.#timer.unref();
    else this.#timer.ref();
  }

  /** Looks at all that waits when it is due. */
  #wakeInTime(): void {
    if (this.#stopped.signal.aborted) return;
    if (this.#waiting.length > 0) this.#wake(this.#isDue ? 0 : this.#settings.batchMs);
    if (this.#again.length > 0) this.#wake(Math.max(0, this.#againAtMs - performance.now()));
  }

  #begin(): void {
    // Timers may fire a part of a millisecond early.
    const nowMs = performance.now() + 1;
    if (this.#again.length > 0 && this.#againAtMs <= nowMs) this.#takeAgain();
    if (this.#pausedUntilMs > nowMs) {
      this.#wakeInTime();
      return;
    }
    while (this.#batches < BATCHES_AT_ONCE && this.#waiting.length > 0 && !this.#stopped.signal.aborted) {
      const batch = this.#take();
      this.#batches++;
      this.#deliver(batch)
        .catch((error: unknown) => this.#giveBack(batch, error))
        .finally(() => {
          this.#batches--;
          this.#tell();
          this.#wakeInTime();
        });
    }
    if (this.#waiting.length === 0) this.#wakeInTime();
  }

  get #isDue(): boolean {
    return this.#flushes.size > 0 || this.#waitForRoom > 0 || this.#waiting.length >= this.#settings.batchEventsMax;
  }

  #take(): WaitingEvent[] {
    const { batchEventsMax } = this.#settings;
    let signed = 0;
    const end = this.#waiting.findIndex((event, at) => {
      if (isSigned(event)) signed++;
      return at === batchEventsMax || signed > SIGNED_MAX;
    });
    return this.#waiting.splice(0, end < 0 ? this.#waiting.length : end);
  }

  /** What has failed as a whole. */
  #giveBack(events: readonly WaitingEvent[], error: unknown): void {
    this.#waiting = [...events, ...this.#waiting];
    if (this.#stopped.signal.aborted) return;
    const askedMs = error instanceof AnchoringError ? (error.retryAfter ?? 0) * 1000 : 0;
    this.#pausedUntilMs = performance.now() + Math.max(pauseMs(this.#failures), askedMs);
    this.#failures++;
    this.report(error);
  }

  /** @param error null: only receipts are not there yet */
  #putAside(events: readonly WaitingEvent[], error: Error | null): void {
    this.#again.push(...events);
    this.#againAtMs = performance.now() + pauseMs(this.#againFailures);
    this.#againFailures++;
    if (error !== null) this.report(error);
  }

  async #deliver(batch: readonly WaitingEvent[]): Promise<void> {
    const { client, actorSigner } = this.#settings;
    const synced = this.#spool.sync();
    const asked = askService(client, batch, actorSigner, this.#stopped.signal);
    // A client of another make may not look at the signal: the end does not wait for it.
    const outcomes = (await Promise.race([asked, this.#end])) ?? [];
    const single = new Failed();
    const whole = new Failed();
    const settled: WaitingEvent[] = [];
    await this.#folder.forEach([...batch.entries()], async ([at, event]) => {
      const outcome = outcomes[at];
      if (outcome === undefined) whole.add(event, null);
      else if (outcome.kind === "again") (outcome.isForAll ? whole : single).add(event, outcome.error);
      else {
        const failure = await this.#settle(event, outcome);
        if (failure === null) settled.push(event);
        // A disk that is full is so for all of them.
        else (failure instanceof AnchoringError ? single : whole).add(event, failure);
      }
    });
    await synced;
    await this.#clear();
    for (const fault of this.#spool.takeFaults()) this.report(fault);
    this.#countEnded(settled);
    if (whole.events.length > 0) this.#giveBack(whole.events, whole.error);
    else this.#failures = 0;
    if (single.events.length > 0) this.#putAside(single.events, single.error);
    else if (this.#again.length === 0) this.#againFailures = 0;
    this.#callBack(() => {
      const [recorded, anchored, refused] = [this.#recorded, this.#anchored, this.#refused];
      this.#settings.onProgress({ recorded, durable: this.#spool.durable, anchored, refused });
    });
  }

  /** Who flushes goes on when all is settled that it waits for, and the batches of it have ended. */
  #countEnded(events: readonly WaitingEvent[]): void {
    this.#ended += events.length;
    for (const flush of this.#flushes) {
      const { last } = flush;
      if (last !== null) flush.left -= events.filter(({ place }) => !isBehind(place, last)).length;
    }
  }

  /** @returns why it cannot be kept; null: it is */
  async #settle(event: WaitingEvent, outcome: Exclude<ServiceOutcome, { kind: "again" }>): Promise<Error | null> {
    try {
      const spooled = this.#spool.read(event.place);
      if (outcome.kind === "refused") {
        this.#spool.release(event.place, await this.#folder.refuse(spooled, outcome.error));
        this.#refused++;
        event.handle.settle(outcome.error);
        this.report(outcome.error);
        return null;
      }
      const kept = await this.#folder.keep(event, spooled, outcome);
      const { payloadPath, receiptPath, contentPath } = kept;
      this.#spool.release(event.place, [payloadPath, receiptPath, ...(contentPath === null ? [] : [contentPath])]);
      this.#anchored++;
      event.handle.settle(kept);
      this.#callBack(() => this.#settings.onAnchored(kept));
      return null;
    } catch (error) {
      return error instanceof Error ? error : new Error("an event cannot be kept", { cause: error });
    }
  }

  /** What is kept stays kept if a file cannot be deleted: it is sent again by the next one who opens it. */
  #clear(): Promise<void> {
    const clear = (): Promise<void> => this.#spool.clear(this.#folder.syncAll);
    this.#clearing = this.#clearing.then(clear).catch((error: unknown) => this.report(error));
    return this.#clearing;
  }

  #callBack(call: () => void): void {
    try {
      call();
    } catch (error) {
      this.report(error);
    }
  }
}
