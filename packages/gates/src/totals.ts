import type { Gate } from "./gates/gate.ts";
import { type BatchLine, type ResultLine, isBatch, isRehashed } from "./results.ts";

/** What all batches of one gate came to. */
export interface Totals {
  readonly count: number;
  readonly seconds: number;
  readonly failures: number;
  readonly figures: ReadonlyMap<string, number>;
}

export function totalsOf(batches: readonly BatchLine[]): Totals {
  const figures = new Map<string, number>();
  for (const batch of batches) {
    for (const [name, figure] of Object.entries(batch.figures)) figures.set(name, (figures.get(name) ?? 0) + figure);
  }
  const sum = (of: (batch: BatchLine) => number): number => batches.reduce((total, batch) => total + of(batch), 0);
  return {
    count: sum(({ count }) => count),
    seconds: sum(({ seconds }) => seconds),
    failures: sum(({ failures }) => failures.length),
    figures,
  };
}

/** All batches of a gate, or those on one state of the sources: by their own hash, or by their commit's later one. */
export function batchesOf(lines: readonly ResultLine[], gate: string, sources?: string): readonly BatchLine[] {
  const ofGate = lines.filter(isBatch).filter((batch) => batch.gate === gate);
  if (sources === undefined) return ofGate;
  const rehashed = lines.filter(isRehashed).map((line) => line.rehashed);
  const same = rehashed.filter(({ gate: name, is }) => name === gate && is === sources);
  return ofGate.filter((batch) => {
    return (
      batch.sources === sources || same.some(({ commit, was }) => batch.commit === commit && batch.sources === was)
    );
  });
}

/** The first seed that no batch on these sources has used. */
export function nextSeed(lines: readonly ResultLine[], gate: string, sources: string): number {
  return batchesOf(lines, gate, sources).reduce((next, { to }) => Math.max(next, to + 1), 1);
}

/**
 * Which gates rest: one whose batch has counted nothing, for a failure for example, rests until as many other batches
 * have run as there are other gates. Otherwise it would be the one that has been run least for ever.
 */
export class GateRests {
  readonly #gates: readonly Gate[];
  /** By name, the number of the batch that may be its next one. */
  readonly #restsTo = new Map<string, number>();
  #batches = 0;

  constructor(gates: readonly Gate[]) {
    this.#gates = gates;
  }

  /** @returns those that do not rest; all, if all rest */
  ready(): readonly Gate[] {
    const rested = this.#gates.filter(({ name }) => (this.#restsTo.get(name) ?? 0) <= this.#batches);
    return rested.length === 0 ? this.#gates : rested;
  }

  /** A batch is over. @param count what it adds to the gate */
  note(gate: Gate, count: number): void {
    this.#batches += 1;
    if (count === 0) this.#restsTo.set(gate.name, this.#batches + this.#gates.length - 1);
  }
}

/**
 * What has been run least on the code as it is, in parts of its first stop; of those that have reached it, in parts of
 * what a release has to reach.
 */
export function leastRun(gates: readonly Gate[], countOf: (gate: Gate) => number): Gate | null {
  const share = (gate: Gate): number => {
    const count = countOf(gate);
    return count < gate.firstStop ? count / gate.firstStop : 1 + count / gate.toReach;
  };
  return gates.reduce<Gate | null>(
    (least, gate) => (least === null || share(gate) < share(least) ? gate : least),
    null,
  );
}
