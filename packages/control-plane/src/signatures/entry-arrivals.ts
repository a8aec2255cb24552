import {
  type Entry as LedgerEntry,
  LedgerHaltError,
  type RuleTable,
  decodeEntry,
  signaturesOf,
} from "@event-anchoring/ledger";
import type { TrustRoot } from "@event-anchoring/protocol";
import type { Entry, RaftIndex, Term } from "raft-ts";
import type { SignatureVerifier } from "./signature-verifier.ts";

/** Payload bytes of entries that are kept decoded. Further entries are decoded when their turn has come. */
const KEPT_BYTES_MAX = 8 * 1024 * 1024;

/** A decoded entry whose signatures are being verified. */
export interface OpenedEntry {
  readonly entry: LedgerEntry;
  /** Resolves when every verdict is in the memo; null: every one is. */
  readonly verdicts: Promise<void> | null;
}

interface Arrived extends OpenedEntry {
  readonly term: Term;
  readonly bytes: number;
}

/**
 * Entries from their arrival until they are applied, decoded once. Their signatures are verified while the log is
 * written and replicated, so that the verdicts are ready for deciding.
 */
export class EntryArrivals {
  readonly #verifier: SignatureVerifier;
  readonly #ruleTable: RuleTable;
  readonly #trustRoot: () => TrustRoot | null;
  readonly #arrived = new Map<RaftIndex, Arrived>();
  /** By payload: entries that were read when a leader offered them, and are still in the engine. */
  readonly #offered = new WeakMap<Uint8Array, LedgerEntry>();
  #bytes = 0;

  /** @param trustRoot the one in force now. An operator's act under another one is verified when it is decided */
  constructor(verifier: SignatureVerifier, ruleTable: RuleTable, trustRoot: () => TrustRoot | null) {
    this.#verifier = verifier;
    this.#ruleTable = ruleTable;
    this.#trustRoot = trustRoot;
  }

  /**
   * Reads an entry that a leader offers. It is not read again when the engine hands it out.
   * @throws LedgerHaltError if it cannot be read
   */
  read(payload: Uint8Array): LedgerEntry {
    const entry = decodeEntry(payload, this.#ruleTable);
    this.#offered.set(payload, entry);
    return entry;
  }

  /** Takes entries as they come: from a leader, from this node as leader, or from the log. */
  note(entries: readonly Entry[]): void {
    for (const entry of entries) {
      // Later entries of a replaced suffix are recognised by their term.
      this.#drop(entry.index);
      const bytes = entry.payload.length;
      if (entry.type !== "normal" || bytes === 0 || this.#bytes + bytes > KEPT_BYTES_MAX) continue;
      const opened = this.#openUncommitted(entry);
      if (opened === null) continue;
      this.#arrived.set(entry.index, { ...opened, term: entry.term, bytes });
      this.#bytes += bytes;
    }
  }

  /**
   * A committed entry whose turn has come. It is not kept here any longer.
   * @throws LedgerHaltError if it cannot be read
   */
  take(entry: Entry): OpenedEntry {
    const arrived = this.#arrived.get(entry.index);
    this.#drop(entry.index);
    return arrived !== undefined && arrived.term === entry.term ? arrived : this.#open(entry.payload);
  }

  #open(payload: Uint8Array): OpenedEntry {
    const entry = this.#offered.get(payload) ?? decodeEntry(payload, this.#ruleTable);
    this.#offered.delete(payload);
    const { sha256 } = this.#verifier.crypto;
    const commands = entry.groups.flatMap((group) => group.commands);
    const trustRoot = this.#trustRoot();
    const signatures = commands.flatMap((command) => signaturesOf(command, sha256, trustRoot));
    return { entry, verdicts: this.#verifier.verify(signatures, "entry") };
  }

  /** An unreadable entry halts a node when it is committed, and not before. */
  #openUncommitted(entry: Entry): OpenedEntry | null {
    try {
      return this.#open(entry.payload);
    } catch (error) {
      if (error instanceof LedgerHaltError) return null;
      throw error;
    }
  }

  #drop(index: RaftIndex): void {
    const arrived = this.#arrived.get(index);
    if (arrived === undefined) return;
    this.#arrived.delete(index);
    this.#bytes -= arrived.bytes;
  }
}
