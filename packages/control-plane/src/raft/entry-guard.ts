import { type Entry as LedgerEntry, LIMITS, LedgerHaltError, waitingGroupOf } from "@event-anchoring/ledger";
import { type Entry, InvalidMessageError, type RawNode } from "raft-ts";

/** A stamp may lie so far ahead of this node's clock, and of the newest accepted time. */
const STAMP_LEAD_MAX_MS = 24 * 60 * 60_000;

/** Why an entry that a leader offers is not appended. */
export interface EntryFault {
  /**
   * - `offence`: no leader that runs this program makes it, nor one that runs a newer program, as long as its peers are
   *   what they say they are;
   * - `outgrown`: the other members know more than this program;
   * - `unexplained`: this node cannot tell which of the two, or whether its own clock is wrong.
   */
  readonly kind: "offence" | "outgrown" | "unexplained";
  readonly code: string;
  readonly detail: string;
}

export interface EntryGuardOptions {
  readonly node: Pick<RawNode, "decodeConfChange">;
  /** @throws LedgerHaltError */
  readonly read: (payload: Uint8Array) => LedgerEntry;
  /** The highest rules that this program can decide by. */
  readonly rulesKnown: number;
  /** Whether the other members say that they know higher rules; null: no other member is connected. */
  readonly isOutgrown: (leader: string) => boolean | null;
  readonly wallMs: () => number;
  readonly lastAcceptedMs: () => number;
}

/**
 * Judges what a leader adds to the log, before the engine sees it.
 *
 * An entry that is committed is decided by every node, and one that cannot be decided stops every node for good. So
 * this node acknowledges no entry that it could not decide: such an entry of a lying leader never reaches a quorum.
 */
export class EntryGuard {
  readonly #options: EntryGuardOptions;

  constructor(options: EntryGuardOptions) {
    this.#options = options;
  }

  /** Null: it may be appended. The entry is attacker-controlled, the leader's name is not. */
  faultOf(entry: Entry, leader: string): EntryFault | null {
    if (entry.type === "conf_change") return this.#faultOfChange(entry);
    // A leader opens its term with an empty entry.
    if (entry.payload.length === 0) return null;
    if (entry.payload.length > LIMITS.entryBytesMax) return malformed(`an entry of ${entry.payload.length} bytes`);
    try {
      return this.#faultOfContent(this.#options.read(entry.payload), leader);
    } catch (error) {
      if (!(error instanceof LedgerHaltError)) throw error;
      return error.code === "entry_version_unknown" ? this.#newer(error, leader) : malformed(error.message);
    }
  }

  #faultOfChange({ payload }: Entry): EntryFault | null {
    try {
      const { transition } = this.#options.node.decodeConfChange(payload);
      // Any other transition could leave the group between two memberships.
      return transition === "auto" ? null : malformed(`a membership change of transition ${transition}`);
    } catch (error) {
      if (!(error instanceof InvalidMessageError)) throw error;
      return malformed(error.message);
    }
  }

  #faultOfContent({ groups, acceptedMs, certify }: LedgerEntry, leader: string): EntryFault | null {
    const { rulesKnown, wallMs, lastAcceptedMs } = this.#options;
    for (const command of groups.flatMap(({ commands }) => commands)) {
      if (command.kind !== "raise_rules" || command.rules <= rulesKnown) continue;
      const detail = `rules ${command.rules}, this program has ${rulesKnown}`;
      return this.#newer(new LedgerHaltError("rules_unknown", detail), leader);
    }
    const waiting = groups.map((group) => waitingGroupOf(group, 0));
    const commands = waiting.reduce((sum, { weight }) => sum + weight.commands, 0);
    const signed = waiting.reduce((sum, { weight }) => sum + weight.signedCommands, 0);
    if (commands > LIMITS.entryCommandsMax || signed > LIMITS.entrySignedCommandsMax) {
      return malformed(`an entry of ${commands} commands, ${signed} of them signed`);
    }
    // Its leaves would wait for a certificate as long as that leader likes.
    if (!certify && waiting.some(({ needsCertifyPoint }) => needsCertifyPoint)) {
      return malformed("an entry that appends leaves and is no certify point");
    }
    const aheadMs = acceptedMs - Math.max(wallMs(), lastAcceptedMs());
    if (aheadMs <= STAMP_LEAD_MAX_MS) return null;
    const detail = `stamped ${Math.round(aheadMs / 1000)} s ahead of this node's clock and ledger`;
    return { kind: "unexplained", code: "entry_from_the_future", detail };
  }

  #newer({ code, message: detail }: LedgerHaltError, leader: string): EntryFault {
    const isOutgrown = this.#options.isOutgrown(leader);
    if (isOutgrown === null) return { kind: "unexplained", code, detail };
    return { kind: isOutgrown ? "outgrown" : "offence", code, detail };
  }
}

function malformed(detail: string): EntryFault {
  return { kind: "offence", code: "entry_malformed", detail };
}
