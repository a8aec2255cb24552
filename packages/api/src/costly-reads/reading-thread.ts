import { RETRY_AFTER_MS } from "@event-anchoring/control-contract";
import { Worker } from "node:worker_threads";
import type { Logger } from "@event-anchoring/telemetry";
import { RefusedError } from "../control-plane/control-plane.ts";
import type { ControlPlane } from "../control-plane/control-plane.ts";
import { ProblemError } from "../request/problem-error.ts";
import type { CostlyRead, MadeRead } from "./costly-reads.ts";
import type { FromReader, ReadingSettings, Refusal, ToReader } from "./reading-messages.ts";

/** Heap for all reads under way. A thread that needs more ends; the process goes on. */
const HEAP_MB_MAX = 256;
const STUCK_DEFAULT_MS = 30_000;

export interface ReadingThreadOptions {
  readonly settings: ReadingSettings;
  readonly controlPlane: Pick<ControlPlane, "read">;
  readonly logger: Logger;
  /** The program of the thread; tests pass their own. */
  readonly program?: URL;
  /** This long after its deadline, a read that is still not answered ends its thread. Default 30,000. */
  readonly stuckMs?: number;
}

interface ReadWaiter {
  readonly timer: NodeJS.Timeout;
  readonly resolve: (made: MadeRead) => void;
  readonly reject: (error: Error) => void;
}

/**
 * The thread that makes costly reads. However long one of them computes, the process's own loop goes on: it takes
 * requests, writes, and answers /readyz.
 *
 * none → (`start`, or a read) running → it fails, or is ended → none. What it had under way is then answered
 * `unavailable`, and the next read starts another. It shares nothing with the process, so no broken state outlives it.
 */
export class ReadingThread {
  readonly #options: ReadingThreadOptions;
  readonly #waiters = new Map<number, ReadWaiter>();
  #worker: Worker | null = null;
  #lastId = 0;
  #isClosed = false;

  constructor(options: ReadingThreadOptions) {
    this.#options = options;
  }

  /** Called before the first read: a thread takes time to load its program. */
  start(): void {
    this.#worker ??= this.#begin();
  }

  /** @throws ProblemError as the handler ended; RefusedError `unavailable` if the thread does */
  make(read: CostlyRead): Promise<MadeRead> {
    if (this.#isClosed) return Promise.reject(this.#unavailable("the process is stopping"));
    const worker = (this.#worker ??= this.#begin());
    const id = ++this.#lastId;
    return new Promise((resolve, reject) => {
      const end = (): void => {
        this.#options.logger.error("a costly read did not end, and its thread is ended", { route: read.routeId });
        this.#lose(worker, "a read did not end");
      };
      const timer = setTimeout(end, read.remainingMs + (this.#options.stuckMs ?? STUCK_DEFAULT_MS));
      this.#waiters.set(id, { timer, resolve, reject });
      this.#tell(worker, { kind: "make", id, read });
    });
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    const worker = this.#worker;
    this.#failAll("the process is stopping");
    this.#worker = null;
    await worker?.terminate();
  }

  #unavailable(why: string): RefusedError {
    return new RefusedError("unavailable", `costly reads: ${why}`, RETRY_AFTER_MS);
  }

  #begin(): Worker {
    const { settings, logger, program = new URL("./reading-worker.js", import.meta.url) } = this.#options;
    const worker = new Worker(program, {
      name: "costly reads",
      workerData: settings,
      resourceLimits: { maxOldGenerationSizeMb: HEAP_MB_MAX },
    });
    worker.on("message", (message: FromReader) => this.#take(worker, message));
    worker.on("error", (error) => {
      logger.error("the thread of costly reads failed", { err: error });
      this.#lose(worker, "their thread failed");
    });
    worker.on("exit", () => this.#lose(worker, "their thread has ended"));
    return worker;
  }

  /** What is under way is answered at once; the next read starts another thread. */
  #lose(worker: Worker, why: string): void {
    if (worker !== this.#worker) return;
    this.#worker = null;
    this.#failAll(why);
    void worker.terminate();
  }

  #failAll(why: string): void {
    const waiters = [...this.#waiters.values()];
    this.#waiters.clear();
    for (const { timer, reject } of waiters) {
      clearTimeout(timer);
      reject(this.#unavailable(why));
    }
  }

  #take(worker: Worker, message: FromReader): void {
    if (message.kind === "ask") {
      void this.#ask(worker, message);
      return;
    }
    const waiter = this.#waiters.get(message.id);
    if (waiter === undefined) return;
    this.#waiters.delete(message.id);
    clearTimeout(waiter.timer);
    if (message.kind === "made") waiter.resolve(message.made);
    else waiter.reject(failureOf(message));
  }

  /** A question of the thread to the control plane; this thread has the connection. */
  async #ask(worker: Worker, { id, question }: Extract<FromReader, { kind: "ask" }>): Promise<void> {
    try {
      this.#tell(worker, { kind: "ready", id, ready: await this.#options.controlPlane.read(...question) });
    } catch (error) {
      this.#tell(worker, { kind: "refused", id, refusal: this.#refusalOf(error) });
    }
  }

  #refusalOf(error: unknown): Refusal {
    if (error instanceof RefusedError) {
      return { code: error.code, detail: error.message, retryAfterMs: error.retryAfterMs };
    }
    this.#options.logger.error("the control plane could not be asked", { err: error });
    return { code: "unavailable", detail: "the control plane could not be asked", retryAfterMs: RETRY_AFTER_MS };
  }

  #tell(worker: Worker, message: ToReader): void {
    worker.postMessage(message, []);
  }
}

function failureOf({ problem, extension, cause }: Extract<FromReader, { kind: "failed" }>): ProblemError {
  return new ProblemError(problem, { cause, ...(extension === null ? {} : { extension }) });
}
