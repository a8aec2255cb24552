import type { Clock, Logger } from "@event-anchoring/telemetry";

const LINE_EVERY_MS = 1000;

interface RefusedSince {
  readonly reason: string;
  /** Who it says it is, or "". */
  readonly peer: string;
  readonly detail: string;
}

/** Logs refused connections, one line a second at most: strangers must not fill the disk. */
export class RefusalLog {
  readonly #clock: Clock;
  readonly #logger: Logger;
  #lineMs = Number.NEGATIVE_INFINITY;
  /** Since the last line, by reason. */
  #counts = new Map<string, number>();
  #newest: RefusedSince | null = null;

  constructor({ clock, logger }: { readonly clock: Clock; readonly logger: Logger }) {
    this.#clock = clock;
    this.#logger = logger;
  }

  note(refused: RefusedSince, amount = 1): void {
    this.#counts.set(refused.reason, (this.#counts.get(refused.reason) ?? 0) + amount);
    this.#newest = refused;
    this.sweep();
  }

  /** Called periodically: logs what has waited for its line. */
  sweep(): void {
    const now = this.#clock.monotonicMs();
    if (this.#newest === null || now - this.#lineMs < LINE_EVERY_MS) return;
    const count = [...this.#counts.values()].reduce((sum, each) => sum + each, 0);
    const reasons = count === 1 ? {} : { count, reasons: Object.fromEntries(this.#counts) };
    this.#logger.warn("inbound_refused", { ...this.#newest, ...reasons });
    this.#lineMs = now;
    this.#counts = new Map();
    this.#newest = null;
  }
}
