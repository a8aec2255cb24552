import type { SimulatedProcess } from "../world/simulated-process.ts";

/** Statements of one kind, which a test may hold back: those sent from then on wait until they are released. */
export class HeldStatements {
  /** null: they are not held. */
  #waiting: (() => void)[] | null = null;

  get areHeld(): boolean {
    return this.#waiting !== null;
  }

  hold(): void {
    this.#waiting ??= [];
  }

  release(): void {
    const waiting = this.#waiting ?? [];
    this.#waiting = null;
    for (const resume of waiting) resume();
  }

  /** Resolves in a turn of the process that has sent the statement. */
  released(process: SimulatedProcess): Promise<void> {
    return new Promise((resume) => this.#waiting?.push(() => process.turn(resume)));
  }
}
