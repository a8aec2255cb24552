import type { RecordedEvent } from "./recorded-event.ts";
import type { SpoolPlace } from "./spool.ts";

/** An event of the spool, as it is held in memory: its bytes are read again when it is kept. */
export interface WaitingEvent {
  readonly handle: RecordedEvent;
  readonly eventHash: Uint8Array;
  /** The day of its `when`: 2026-11-23. */
  readonly day: string;
  /** JSON of what its request says beside the hash; null: nothing. */
  readonly fields: string | null;
  readonly place: SpoolPlace;
}
