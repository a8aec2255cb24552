import { Worker } from "node:worker_threads";
import { encodeJob } from "./verification-job.ts";
import type { SignedMessage } from "./verification-job.ts";

/** A job that the thread has, or will take; it answers in the order in which they came. */
interface Waiter {
  readonly count: number;
  readonly resolve: (verdicts: readonly boolean[]) => void;
  readonly reject: (error: Error) => void;
}

/**
 * A thread that verifies many signatures for one answer. The thread pool of `verifyAsync` answers for each one, and
 * each answer wakes the event loop.
 *
 * none → (`verify`) running → it fails → none. Its jobs are then rejected, and the next one starts another thread.
 * While it has nothing to do, it does not keep the process alive.
 */
export class VerifierThread {
  readonly #program: URL;
  #worker: Worker | null = null;
  #waiters: Waiter[] = [];
  #isClosed = false;

  /** @param program tests pass their own */
  constructor(program: URL = new URL("./verifier-worker.js", import.meta.url)) {
    this.#program = program;
  }

  /** The verdicts of `nodeCrypto.ed25519Verify`, in order. @throws Error (as a rejection): there is no verdict */
  verify(signed: readonly SignedMessage[]): Promise<readonly boolean[]> {
    if (this.#isClosed) return Promise.reject(new Error("the verifying thread is closed"));
    const worker = (this.#worker ??= this.#begin());
    return new Promise((resolve, reject) => {
      this.#waiters.push({ count: signed.length, resolve, reject });
      worker.ref();
      worker.postMessage(encodeJob(signed), []);
    });
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    const worker = this.#worker;
    this.#worker = null;
    this.#failAll(new Error("the verifying thread is closed"));
    await worker?.terminate();
  }

  #begin(): Worker {
    const worker = new Worker(this.#program, { name: "signatures" });
    worker.on("message", (verdicts: Uint8Array) => this.#take(worker, verdicts));
    worker.on("error", (error) => this.#lose(worker, error));
    worker.on("exit", () => this.#lose(worker, new Error("the verifying thread has ended")));
    return worker;
  }

  #take(worker: Worker, verdicts: Uint8Array): void {
    if (worker !== this.#worker) return;
    const waiter = this.#waiters.shift();
    if (waiter?.count !== verdicts.length) {
      waiter?.reject(new Error(`${verdicts.length} verdicts of ${waiter.count} signatures`));
      this.#lose(worker, new Error("the verifying thread answered something else"));
      return;
    }
    waiter.resolve(Array.from(verdicts, (verdict) => verdict === 1));
    if (this.#waiters.length === 0) worker.unref();
  }

  #lose(worker: Worker, error: Error): void {
    if (worker !== this.#worker) return;
    this.#worker = null;
    this.#failAll(error);
    void worker.terminate();
  }

  #failAll(error: Error): void {
    const waiters = this.#waiters;
    this.#waiters = [];
    for (const { reject } of waiters) reject(error);
  }
}
