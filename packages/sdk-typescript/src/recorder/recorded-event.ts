import type { Anchor } from "../anchors.ts";
import type { Receipt } from "../receipt.ts";

/** An event that is anchored, and where it is kept. */
export interface KeptEvent {
  readonly clientEventId: string;
  readonly eventHash: string;
  readonly anchor: Anchor;
  readonly receipt: Receipt;
  /** The envelope: exactly the bytes that were hashed. */
  readonly payloadPath: string;
  readonly receiptPath: string;
  /** Bytes that were recorded as bytes; null: there are none. */
  readonly contentPath: string | null;
}

/** How far an event is that `record` has returned for. */
export class RecordedEvent {
  /** 32 lower-case hex digits. */
  readonly clientEventId: string;
  /** SHA-256 of its envelope, 64 lower-case hex digits. */
  readonly eventHash: string;
  readonly #whenDurable: () => Promise<void>;
  #outcome: KeptEvent | Error | null = null;
  #anchored: Promise<KeptEvent> | null = null;
  #settle: ((outcome: KeptEvent | Error) => void) | null = null;

  /** For the recorder alone. */
  constructor(clientEventId: string, eventHash: string, whenDurable: () => Promise<void>) {
    this.clientEventId = clientEventId;
    this.eventHash = eventHash;
    this.#whenDurable = whenDurable;
  }

  /**
   * Resolves once the event survives the loss of power. Who asks starts a sync, which all who ask meanwhile share.
   * Rejects with SpoolWriteFailed if a sync of its file has failed: the event is anchored all the same, and only the
   * files that it is kept in make it durable.
   */
  get durable(): Promise<void> {
    return this.#whenDurable();
  }

  /** Resolves once envelope and receipt are kept. It is made when it is first asked for: most are never. */
  get anchored(): Promise<KeptEvent> {
    this.#anchored ??= new Promise((resolve, reject) => {
      this.#settle = (outcome) => (outcome instanceof Error ? reject(outcome) : resolve(outcome));
      if (this.#outcome !== null) this.#settle(this.#outcome);
    });
    return this.#anchored;
  }

  /** For the recorder alone. */
  settle(outcome: KeptEvent | Error): void {
    this.#outcome = outcome;
    this.#settle?.(outcome);
  }
}
