import type { LedgerState } from "@event-anchoring/ledger";
import type { OriginFingerprint, TrustRoot } from "@event-anchoring/protocol";
import type { Clock } from "@event-anchoring/telemetry";
import type { WitnessedHeads } from "./witnessed-heads.ts";

const LOOK_EVERY_MS = 1000;

export interface WitnessDelaysOptions {
  readonly clock: Clock;
  /** The newest applied version. */
  readonly trustRoot: () => TrustRoot;
  readonly state: LedgerState;
  /** The newest certified head that witnesses may be asked about; null: there is none. */
  readonly headOf: (origin: OriginFingerprint) => { readonly treeSize: number } | null;
  readonly heads: Pick<WitnessedHeads, "sizeAt">;
}

interface AwaitedSize {
  readonly treeSize: number;
  readonly sinceMs: number;
}

/**
 * For how long each witness has owed a line: the age of the oldest certified head that its newest line does not cover.
 * For a log that does not grow nothing is owed, however old its last line is.
 */
export class WitnessDelays {
  readonly #options: WitnessDelaysOptions;
  /** By witness, then by origin. */
  #awaited = new Map<string, Map<OriginFingerprint, AwaitedSize>>();
  #lookedMs = Number.NEGATIVE_INFINITY;

  constructor(options: WitnessDelaysOptions) {
    this.#options = options;
  }

  look(): void {
    const { clock, trustRoot, state, headOf } = this.#options;
    const nowMs = clock.monotonicMs();
    if (nowMs - this.#lookedMs < LOOK_EVERY_MS) return;
    this.#lookedMs = nowMs;
    const awaited = new Map<string, Map<OriginFingerprint, AwaitedSize>>();
    for (const { name } of trustRoot().witnesses) {
      const sizes = new Map<OriginFingerprint, AwaitedSize>();
      awaited.set(name, sizes);
      for (const { originFingerprint } of state.origins.values()) {
        const head = headOf(originFingerprint);
        const size = head === null ? null : this.#awaitedOf(name, originFingerprint, head.treeSize, nowMs);
        if (size !== null) sizes.set(originFingerprint, size);
      }
    }
    this.#awaited = awaited;
  }

  /** Seconds by the name of the witness; 0: it owes nothing. */
  seconds(): ReadonlyMap<string, number> {
    const nowMs = this.#options.clock.monotonicMs();
    const seconds = new Map<string, number>();
    for (const [name, sizes] of this.#awaited) {
      const oldestMs = Math.min(nowMs, ...[...sizes.values()].map(({ sinceMs }) => sinceMs));
      seconds.set(name, (nowMs - oldestMs) / 1000);
    }
    return seconds;
  }

  #awaitedOf(name: string, origin: OriginFingerprint, treeSize: number, nowMs: number): AwaitedSize | null {
    const coveredSize = this.#options.heads.sizeAt(name, origin);
    const before = this.#awaited.get(name)?.get(origin);
    if (before !== undefined && before.treeSize > coveredSize) return before;
    return treeSize > coveredSize ? { treeSize, sinceMs: nowMs } : null;
  }
}
