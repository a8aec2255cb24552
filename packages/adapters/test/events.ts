import type { RecordOptions, RecordedEvent } from "@event-anchoring/sdk/recorder";

export interface Seen extends RecordOptions {
  readonly content: Readonly<Record<string, unknown>>;
}

/** Takes events, or refuses them. */
export class Events {
  readonly seen: Seen[] = [];
  refusal: Error | null = null;
  flushes = 0;

  readonly record = (content: unknown, options: RecordOptions): RecordedEvent => {
    if (this.refusal !== null) throw this.refusal;
    this.seen.push({ content: content as Seen["content"], ...options });
    return { clientEventId: `event ${this.seen.length}` } as RecordedEvent;
  };

  readonly flush = (): Promise<void> => {
    this.flushes += 1;
    return Promise.resolve();
  };
}

export const IRIS = "11".repeat(32);
export const GRANT = "22".repeat(32);
