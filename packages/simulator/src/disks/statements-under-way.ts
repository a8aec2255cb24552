import { StoreError } from "@event-anchoring/store";
import type { Seeded } from "../world/seeded.ts";
import { type SimulatedProcess, latency } from "../world/simulated-process.ts";
import type { World } from "../world/world.ts";

/** What the next write meets. */
export type WriteFault = "refused" | "lost_unknown" | "done_unknown";

export interface StatementTiming {
  readonly lowMs: number;
  readonly highMs: number;
  readonly fault: WriteFault | null;
}

interface WriteUnderWay {
  /** What the statement does once it commits. */
  readonly commit: () => void;
  isOver: boolean;
}

type Waiter<T> = { readonly resolve: (value: T) => void; readonly reject: (error: Error) => void };

function answerOf<T>(commit: () => T, { resolve, reject }: Waiter<T>): () => void {
  try {
    const value = commit();
    return () => resolve(value);
  } catch (error) {
    return () => reject(error instanceof Error ? error : new Error(String(error)));
  }
}

function faultError(fault: WriteFault): StoreError {
  return fault === "refused"
    ? new StoreError("full", "no space left on device")
    : new StoreError("unknown_outcome", "the connection was lost at the commit");
}

/** Statements that were sent to a server and have not committed yet. */
export class StatementsUnderWay {
  readonly #world: World;
  readonly #random: Seeded;
  #writes: WriteUnderWay[] = [];
  #serverLife = 0;
  /** Multiplies latencies. */
  slowness = 1;

  constructor(world: World, random: Seeded) {
    this.#world = world;
    this.#random = random;
  }

  /** How often the server's sessions have been lost. */
  get serverLife(): number {
    return this.#serverLife;
  }

  /** Every session is lost. Earlier answers stand; the others never arrive. */
  loseSessions(): void {
    this.#serverLife += 1;
  }

  /** Each commits now or never. */
  end(isDone: () => boolean): void {
    const writes = this.#writes;
    this.#writes = [];
    for (const write of writes) {
      if (write.isOver) continue;
      write.isOver = true;
      if (isDone()) write.commit();
    }
  }

  /** A statement that commits by itself: it takes effect some time before its answer arrives, if one does. */
  run<T>(process: SimulatedProcess, commit: () => T, { lowMs, highMs, fault }: StatementTiming): Promise<T> {
    const life = this.#serverLife;
    const totalMs = latency(this.#random, lowMs, highMs, this.slowness);
    return new Promise<T>((resolve, reject) => {
      const waiter: Waiter<T> = { resolve, reject };
      let answer = (): void => {};
      const write: WriteUnderWay = {
        isOver: false,
        commit: () => {
          answer = answerOf(commit, waiter);
        },
      };
      this.#writes.push(write);
      this.#world.after(totalMs * 0.7, () => {
        this.#writes = this.#writes.filter((each) => each !== write);
        if (write.isOver) return;
        write.isOver = true;
        if (fault === null || fault === "done_unknown") write.commit();
      });
      process.later(totalMs, () => {
        if (fault !== null) reject(faultError(fault));
        else if (life === this.#serverLife) answer();
        else reject(new StoreError("unknown_outcome", "the connection was lost while a write was under way"));
      });
    });
  }

  /** As long as a read takes. */
  wait(process: SimulatedProcess, lowMs: number, highMs: number): Promise<void> {
    return new Promise((resolve) => {
      process.later(latency(this.#random, lowMs, highMs, this.slowness), resolve);
    });
  }
}
