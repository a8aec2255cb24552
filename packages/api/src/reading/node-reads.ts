import { Reads, StoreError } from "@event-anchoring/store";
import type { DatabaseUsage, ReadPoolOptions } from "@event-anchoring/store";
import type { Logger } from "@event-anchoring/telemetry";

/** What the handlers read from the node's tables. Every result has the applied index of the snapshot it comes from. */
export type AnchorReads = Pick<
  Reads,
  | "anchors"
  | "anchorsOfOrigin"
  | "anchorsBySequence"
  | "clientEvent"
  | "eventsBy"
  | "records"
  | "newestClaim"
  | "claimHistory"
  | "grantsBetween"
  | "grantHistory"
  | "grantsTo"
  | "revocationsOf"
  | "proofHashes"
  | "tileHashes"
  | "latestCertificate"
  | "position"
  | "sequenceAtOrBefore"
  | "acceptedMsOf"
  | "trustRoots"
  | "origins"
>;

/** What is read of a state that a quorum has signed: with proofs that its head holds. */
export type StateReads = AnchorReads & Pick<Reads, "stateProofs">;

/** Where a signed state is read. */
export interface StatesToRead {
  /** In one transaction that sees exactly this state. @throws StoreError `unavailable`: it is held no more */
  atState<T>(databaseSnapshot: string, work: (reads: StateReads) => Promise<T>): Promise<T>;
}

/** Tables that may not exist yet. */
export interface OpenableReads {
  /** @throws StoreError if they do not exist yet */
  opened(): Promise<AnchorReads>;
}

export interface AtIndex {
  readonly appliedIndex: number;
}

const RETRY_FIRST_MS = 50;
const RETRY_MAX_MS = 1000;

/** The part of Reads that opens them; tests pass their own. */
export type OpenReads = () => Promise<AnchorReads & StatesToRead & Pick<Reads, "close" | "databaseUsage">>;

function causeOf(error: StoreError): string {
  return error.cause instanceof Error ? `${error.message}: ${error.cause.message}` : error.message;
}

/**
 * The node's tables, which may not exist yet: the control plane creates them when it first starts, and Postgres may
 * start later than this process.
 *
 * waiting → (they are there and fit this program) open → `close` → closed. While waiting a call waits for the attempt
 * that is under way; after one that failed every call fails with its reason, and another attempt follows after a pause
 * that doubles from 50 ms to 1 s. Once open, the connection pool handles a database that goes away and comes back.
 */
export class NodeReads implements OpenableReads, StatesToRead {
  readonly #open: OpenReads;
  readonly #logger: Logger;
  #reads: Awaited<ReturnType<OpenReads>> | null = null;
  #failure = new StoreError("unavailable", "the database was not asked yet");
  #attempt: Promise<void> | null = null;
  #retry: NodeJS.Timeout | null = null;
  #isClosed = false;

  constructor(open: OpenReads, logger: Logger) {
    this.#open = open;
    this.#logger = logger;
  }

  static of(options: ReadPoolOptions, logger: Logger): NodeReads {
    return new NodeReads(() => Reads.open(options), logger);
  }

  /** Begins to try. */
  start(): void {
    this.#try(RETRY_FIRST_MS);
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    if (this.#retry !== null) clearTimeout(this.#retry);
    await this.#attempt;
    await this.#reads?.close();
  }

  #try(pauseMs: number): void {
    this.#attempt = this.#openOnce().then((isOpen) => {
      if (isOpen || this.#isClosed) return;
      this.#retry = setTimeout(() => this.#try(Math.min(pauseMs * 2, RETRY_MAX_MS)), pauseMs);
    });
  }

  async #openOnce(): Promise<boolean> {
    try {
      this.#reads = await this.#open();
      this.#logger.info("the tables are there");
      return true;
    } catch (error) {
      if (!(error instanceof StoreError)) throw error;
      const reason = causeOf(error);
      // One line for each reason: a process may wait for a long time.
      if (reason !== causeOf(this.#failure)) this.#logger.warn("waiting for the tables", { code: error.code, reason });
      this.#failure = error;
      return false;
    }
  }

  async opened(): Promise<Awaited<ReturnType<OpenReads>>> {
    if (this.#reads === null) await this.#attempt;
    if (this.#reads === null) throw this.#failure;
    return this.#reads;
  }

  async atState<T>(databaseSnapshot: string, work: (reads: StateReads) => Promise<T>): Promise<T> {
    return (await this.opened()).atState(databaseSnapshot, work);
  }

  /** null: the database cannot be asked now. */
  async databaseUsage(): Promise<DatabaseUsage | null> {
    try {
      return (await this.#reads?.databaseUsage()) ?? null;
    } catch (error) {
      if (error instanceof StoreError) return null;
      throw error;
    }
  }
}
