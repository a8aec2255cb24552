import type { PeerFrame } from "@event-anchoring/control-contract";
import { type Entry as LedgerEntry, type ProposalGroup, decodeEntry, encodeEntry } from "@event-anchoring/ledger";
import { type Entry, type InboundMessage, type RaftIndex, type Term, decodeMessage, encodeMessage } from "raft-ts";
import { NEXT_RULES } from "@event-anchoring/testkit/records";
import { type Heard, type LiarSelf, NoLie } from "./lie.ts";

/** Alters consensus messages of the engine. */
abstract class RaftLie extends NoLie {
  override onLeaving(to: string, frame: PeerFrame): readonly PeerFrame[] {
    if (frame.type !== "raft") return [frame];
    return [{ type: "raft", message: encodeMessage(this.altered(decodeMessage(frame.message), to)) }];
  }

  protected abstract altered(message: InboundMessage, to: string): InboundMessage;
}

/** Now and then sends a message of a later term than any election has made. */
export class ForgedTerms extends RaftLie {
  readonly #termOf: (term: Term) => Term;
  #messages = 0;

  constructor(termOf: (term: Term) => Term) {
    super();
    this.#termOf = termOf;
  }

  protected override altered(message: InboundMessage): InboundMessage {
    this.#messages += 1;
    if (message.term === 0 || this.#messages % MESSAGES_BETWEEN !== 0) return message;
    return { ...message, term: this.#termOf(message.term) };
  }
}

const MESSAGES_BETWEEN = 150;

/** As leader it claims a higher commit index than it can know: all that it has sent, or entries that do not exist. */
export class ForgedCommits extends RaftLie {
  /** By follower: the last entry that was sent. */
  readonly #sent = new Map<string, number>();
  #messages = 0;

  protected override altered(message: InboundMessage, to: string): InboundMessage {
    this.#messages += 1;
    if (message.type === "MsgApp") {
      const end = message.index + message.entries.length;
      this.#sent.set(to, Math.max(end, this.#sent.get(to) ?? 0));
      return { ...message, commit: end };
    }
    if (message.type !== "MsgHeartbeat") return message;
    const isAbsurd = this.#messages % MESSAGES_BETWEEN === 0;
    return {
      ...message,
      commit: isAbsurd ? message.commit + 1_000_000 : Math.max(message.commit, this.#sent.get(to) ?? 0),
    };
  }
}

/** As leader it claims that its log begins beyond every log's end: a node that believes it asks for a state. */
export class ForgedSnapshots extends RaftLie {
  readonly #voters: readonly bigint[];
  #messages = 0;

  constructor(self: LiarSelf) {
    super();
    this.#voters = [self.raftId, ...self.others.map(self.raftIdOf)];
  }

  protected override altered(message: InboundMessage): InboundMessage {
    this.#messages += 1;
    if (message.type !== "MsgHeartbeat" || this.#messages % MESSAGES_BETWEEN !== 0) return message;
    const confState = { voters: this.#voters, votersOutgoing: [], learners: [], learnersNext: [], autoLeave: false };
    const snapshot = { index: 1_000_000 + this.#messages, term: message.term, confState };
    return { ...message, type: "MsgSnap", commit: 0, context: new Uint8Array(), snapshot };
  }
}

/** Frames that follow from the log. */
const ABOUT_THE_LOG: ReadonlySet<PeerFrame["type"]> = new Set(["cosignatures", "lines", "state_signatures"]);

/** Sends all others the same forged entries, under an index and a term of its own. */
abstract class ForgedEntries extends RaftLie {
  readonly #forged = new Map<string, Entry>();

  /** Its own program would find that it alone differs, and stop. */
  override onArriving(_from: string, frame: PeerFrame): Heard {
    return { frame: ABOUT_THE_LOG.has(frame.type) ? null : frame, says: [] };
  }

  protected override altered(message: InboundMessage): InboundMessage {
    if (message.type !== "MsgApp" || message.entries.length === 0) return message;
    const entries = message.entries.map((entry) => {
      if (entry.type !== "normal" || entry.payload.length === 0) return entry;
      const key = `${entry.index}:${entry.term}`;
      const forged = this.#forged.get(key) ?? { ...entry, ...this.forged(entry.payload, entry.index) };
      this.#forged.set(key, forged);
      return forged;
    });
    return { ...message, entries };
  }

  protected abstract forged(payload: Uint8Array, index: RaftIndex): Partial<Entry>;
}

/** Entries that no node can decide: if one were committed, every node would stop. */
export class UnreadableEntries extends ForgedEntries {
  readonly #ways: readonly ((payload: Uint8Array) => Partial<Entry>)[] = [
    (payload) => ({ payload: payload.slice(0, -1) }),
    (payload) => ({ payload: Uint8Array.of(0xfe, ...payload.subarray(1)) }),
    (payload) => ({ payload: withGroups(payload, [RAISE_BEYOND]) }),
    () => ({ type: "conf_change", payload: Uint8Array.of(9, 9, 9) }),
  ];

  protected override forged(payload: Uint8Array, index: RaftIndex): Partial<Entry> {
    return this.#ways[index % this.#ways.length]?.(payload) ?? {};
  }
}

const RAISE_BEYOND: ProposalGroup = {
  id: { node: 1n, incarnation: 1, counter: 1 },
  notAfter: Number.MAX_SAFE_INTEGER,
  commands: [{ kind: "raise_rules", rules: NEXT_RULES.max + 1 }],
};

/** Stamps of a time at which every key, claim and grant has long ended. */
export class FutureStamps extends ForgedEntries {
  protected override forged(payload: Uint8Array): Partial<Entry> {
    return { payload: rewritten(payload, () => ({ acceptedMs: FAR_FUTURE_MS })) };
  }
}

const FAR_FUTURE_MS = 7_258_118_400_000;

/** It drops forwarded groups, and sends every follower forged groups under that follower's ids. */
export class PretendingLeader extends ForgedEntries {
  readonly #self: LiarSelf;
  #counter = 1_000_000;

  constructor(self: LiarSelf) {
    super();
    this.#self = self;
  }

  override onArriving(from: string, frame: PeerFrame): Heard {
    return frame.type === "proposals" ? { frame: null, says: [] } : super.onArriving(from, frame);
  }

  override onTick(): void {
    this.#self.submit({ kind: "mark_certify_point" });
  }

  protected override forged(payload: Uint8Array): Partial<Entry> {
    this.#counter += 1;
    const groups = this.#self.others.map((nodeId) => ({
      id: { node: this.#self.raftIdOf(nodeId), incarnation: 1, counter: this.#counter },
      notAfter: Number.MAX_SAFE_INTEGER,
      commands: [{ kind: "mark_certify_point" } as const],
    }));
    return { payload: withGroups(payload, groups) };
  }
}

function withGroups(payload: Uint8Array, groups: readonly ProposalGroup[]): Uint8Array {
  return rewritten(payload, (entry) => ({ certify: true, groups: [...entry.groups, ...groups] }));
}

function rewritten(payload: Uint8Array, change: (entry: LedgerEntry) => Partial<LedgerEntry>): Uint8Array {
  const entry = decodeEntry(payload, NEXT_RULES);
  return encodeEntry({ ...entry, ...change(entry) });
}
