import {
  type Entry as LedgerEntry,
  type EntryDecision,
  type Facts,
  type FactsQuery,
  type LedgerState,
  NO_FACTS,
  asksNothing,
  advance,
  decideEntry,
  factsNeeded,
} from "@event-anchoring/ledger";
import type { Crypto } from "@event-anchoring/protocol";
import type { ConfState, Entry, EntryMeta, RaftIndex, Term } from "raft-ts";
import type { EntryArrivals, OpenedEntry } from "../signatures/entry-arrivals.ts";
import type { AppliedEntry } from "@event-anchoring/store";
import type { PayloadCache } from "./payload-cache.ts";

const READ_BYTES_MAX = 4 * 1024 * 1024;

/** Where decisions go: the table lane. */
export interface ApplyTarget {
  /** It is this entry's turn to be decided. */
  onTurn?(entry: { readonly index: RaftIndex; readonly term: Term }): void;
  loadFacts(query: FactsQuery): Promise<Facts>;
  /** Takes what was decided; resolves when the next entry may be decided. */
  apply(work: { decision: EntryDecision; confState: ConfState | null }): Promise<AppliedEntry>;
}

export interface ApplierOptions {
  readonly state: LedgerState;
  readonly crypto: Crypto;
  readonly cache: PayloadCache;
  /** Holds entries that are already decoded and whose signatures are verified. */
  readonly arrivals: EntryArrivals;
  readonly readLog: (from: RaftIndex, to: RaftIndex, maxBytes: number) => Promise<readonly Entry[]>;
  readonly target: ApplyTarget;
  readonly reactions: EntryReactions;
}

/** What an entry triggers, in the order in which the applier calls it. */
export interface EntryReactions {
  /** Puts a membership change into force, or refuses it; the members afterwards. */
  confChange(payload: Uint8Array): ConfState;
  /** Decided, and the in-memory state not yet advanced; from here on it may be ahead of the tables. */
  advancing(decision: EntryDecision): void;
  /** Advanced, nothing else begun. */
  advanced(decision: EntryDecision): void;
  /** The decision is on its way to the tables. */
  decided(entry: LedgerEntry, decision: EntryDecision, payload: Uint8Array): void;
  /**
   * The entry's effects are in the tables; if it only adds events, they may follow. No later entry is decided before
   * this resolves.
   */
  written(applied: AppliedEntry, isStatePoint: boolean): Promise<void>;
  /** The last call for an entry. */
  applied(entry: { readonly index: RaftIndex; readonly term: Term }): void;
}

/** A leader's opening entry and a membership change only advance the ledger's index. */
const NOTHING: Omit<LedgerEntry, "acceptedMs"> = { version: 1, certify: false, certificates: [], groups: [] };

/**
 * Decides committed entries, one at a time: facts, decision, advance, hand it to the tables.
 *
 * Invariant: an entry is decided only when it is durable in this node's own log and every earlier one is decided.
 */
export class Applier {
  readonly #options: ApplierOptions;

  constructor(options: ApplierOptions) {
    this.#options = options;
  }

  async apply(metas: readonly EntryMeta[]): Promise<void> {
    for (let at = 0; at < metas.length;) {
      const entries = await this.#load(metas, at);
      for (const entry of entries) await this.#applyOne(entry);
      at += entries.length;
    }
  }

  /** As many entries from `at` on as are in memory, or one read of the log. */
  async #load(metas: readonly EntryMeta[], at: number): Promise<readonly Entry[]> {
    const cached: Entry[] = [];
    for (const meta of metas.slice(at)) {
      const entry = this.#options.cache.get(meta);
      if (entry === null) break;
      cached.push(entry);
    }
    const first = metas[at];
    const last = metas.at(-1);
    if (cached.length > 0 || first === undefined || last === undefined) return cached;
    const read = await this.#options.readLog(first.index, last.index + 1, READ_BYTES_MAX);
    read.forEach((entry, offset) => {
      const meta = metas[at + offset];
      if (meta?.index !== entry.index || meta.term !== entry.term) {
        throw new Error(`log holds ${entry.index} of term ${entry.term}, committed is ${meta?.index} of ${meta?.term}`);
      }
    });
    if (read.length === 0) throw new Error(`log lacks committed entry ${first.index}`);
    this.#options.arrivals.note(read);
    return read;
  }

  async #applyOne(raw: Entry): Promise<void> {
    const { state, target, reactions } = this.#options;
    const { index, term } = raw;
    target.onTurn?.(raw);
    const confState = raw.type === "conf_change" ? reactions.confChange(raw.payload) : null;
    const { entry, verdicts } = this.#open(raw);
    const [facts] = await Promise.all([this.#factsFor(entry), verdicts]);
    const decision = decideEntry(state, { index, term, entry }, facts, this.#options.crypto);
    reactions.advancing(decision);
    advance(state, decision);
    reactions.advanced(decision);
    const applying = target.apply({ decision, confState });
    let applied: AppliedEntry;
    try {
      reactions.decided(entry, decision, raw.payload);
    } finally {
      // Also when a waiter fails: a write under way must always be awaited.
      applied = await applying;
    }
    await reactions.written(applied, decision.isStatePoint || confState !== null);
    this.#options.cache.noteApplied(index);
    reactions.applied({ index, term });
  }

  #open(raw: Entry): OpenedEntry {
    if (raw.type === "normal" && raw.payload.length > 0) return this.#options.arrivals.take(raw);
    return { entry: { ...NOTHING, acceptedMs: this.#options.state.lastAcceptedMs }, verdicts: null };
  }

  /** Loaded while signatures are verified. */
  async #factsFor(entry: LedgerEntry): Promise<Facts> {
    const { state, target } = this.#options;
    const query = factsNeeded(entry, state);
    return asksNothing(query) ? NO_FACTS : target.loadFacts(query);
  }
}
