/** What happened in a life: a hash of all of it, and the newest lines of it. */

export type TraceField = string | number | bigint;

export interface TraceLine {
  readonly atMs: number;
  readonly kind: string;
  readonly fields: readonly TraceField[];
}

const LINES_KEPT = 120;
const FNV_PRIME = 0x01000193;

/** Two lives with the same hash had the same events at the same times in the same order. */
export class LifeTrace {
  readonly #nowMs: () => number;
  readonly #onLine: ((line: TraceLine) => void) | null;
  #lines: TraceLine[] = [];
  #high = 0x811c9dc5;
  #low = 0x9e3779b9;
  #count = 0;

  constructor(nowMs: () => number, onLine: ((line: TraceLine) => void) | null) {
    this.#nowMs = nowMs;
    this.#onLine = onLine;
  }

  get hash(): string {
    const hex = (word: number): string => (word >>> 0).toString(16).padStart(8, "0");
    return hex(this.#high) + hex(this.#low);
  }

  get count(): number {
    return this.#count;
  }

  /** An event of the trace: hashed, kept, and shown if there is a listener. */
  note(kind: string, ...fields: readonly TraceField[]): void {
    const atMs = this.#nowMs();
    this.mix(kind);
    for (const field of fields) this.mix(String(field));
    const line = { atMs, kind, fields };
    this.#lines.push(line);
    if (this.#lines.length > 2 * LINES_KEPT) this.#lines = this.#lines.slice(-LINES_KEPT);
    this.#onLine?.(line);
  }

  /** Hashes an event that is too frequent to be kept. */
  mix(text: string): void {
    this.#count += 1;
    let high = this.#high;
    let low = this.#low ^ Math.floor(this.#nowMs() * 1000);
    for (let at = 0; at < text.length; at++) {
      const unit = text.charCodeAt(at);
      high = Math.imul(high ^ unit, FNV_PRIME);
      low = Math.imul(low ^ (unit + at), FNV_PRIME);
    }
    this.#high = Math.imul(high ^ (low >>> 13), FNV_PRIME);
    this.#low = Math.imul(low ^ (high >>> 7), FNV_PRIME);
  }

  mixBytes(bytes: Uint8Array): void {
    let high = this.#high;
    for (const byte of bytes) high = Math.imul(high ^ byte, FNV_PRIME);
    this.#high = high;
    this.#low = Math.imul(this.#low ^ bytes.length, FNV_PRIME);
  }

  newest(count: number): readonly string[] {
    return this.#lines.slice(-count).map(formatLine);
  }
}

export function formatLine({ atMs, kind, fields }: TraceLine): string {
  const seconds = (atMs / 1000).toFixed(4).padStart(9);
  return `${seconds} ${kind.padEnd(16)} ${fields.join(" ")}`;
}
