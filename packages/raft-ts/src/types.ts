/** A node of the Raft group. Never 0n: zero means "no node". The two largest 64-bit values are reserved. */
export type RaftId = bigint;

declare const unit: unique symbol;

/**
 * A number that is known by what it counts. A plain number may become one, and arithmetic makes it plain again; what
 * counts one thing is never taken for what counts another.
 */
type NumberOf<Unit extends string> = number & { readonly [unit]?: Unit };

/** A position in the Raft log. The first entry has index 1; 0 is "before the log". Exact below 2^53. */
export type RaftIndex = NumberOf<"index">;

/** A Raft term. 0 is "before the first election". Exact below 2^53. */
export type Term = NumberOf<"term">;

/** What an entry's payload is: the caller's bytes, or a `ConfChangeV2`. The older `ConfChange` is never used. */
export type EntryType = "normal" | "conf_change";

/** Everywhere outside the engine an entry's payload is identified by this pair, never by a reference. */
export interface EntryId {
  readonly index: RaftIndex;
  readonly term: Term;
}

/** A log entry with its payload. The entry with which a leader opens its term has an empty payload. */
export interface Entry extends EntryId {
  readonly type: EntryType;
  readonly payload: Uint8Array;
}

/** A log entry without its payload. */
export interface EntryMeta extends EntryId {
  readonly type: EntryType;
  /** Size of the real payload in bytes. */
  readonly payloadBytes: number;
  /**
   * Present where the engine itself holds the bytes: conf changes that were handed to it with their payload,
   * and the request context inside `MsgReadIndex` and `MsgReadIndexResp` (such an entry has index 0 and term 0
   * and is not part of any log). A payload given here is used as it is.
   */
  readonly payload?: Uint8Array;
}

/** What a node must remember over a restart beside its log. */
export interface HardState {
  readonly term: Term;
  /** The node voted for in `term`; 0n if none. */
  readonly vote: RaftId;
  readonly commit: RaftIndex;
}

/** The membership of the group. While `votersOutgoing` is not empty the configuration is joint. */
export interface ConfState {
  readonly voters: readonly RaftId[];
  readonly votersOutgoing: readonly RaftId[];
  readonly learners: readonly RaftId[];
  readonly learnersNext: readonly RaftId[];
  /** The leader leaves the joint configuration by itself. */
  readonly autoLeave: boolean;
}

/** A snapshot carries metadata only; the state behind it travels outside Raft. */
export interface SnapshotMeta extends EntryId {
  readonly confState: ConfState;
}

/** Every message type of the library, in the order of its numbers on the wire (0 to 23). */
export const MESSAGE_TYPES = [
  "MsgHup",
  "MsgBeat",
  "MsgProp",
  "MsgApp",
  "MsgAppResp",
  "MsgVote",
  "MsgVoteResp",
  "MsgSnap",
  "MsgHeartbeat",
  "MsgHeartbeatResp",
  "MsgUnreachable",
  "MsgSnapStatus",
  "MsgCheckQuorum",
  "MsgTransferLeader",
  "MsgTimeoutNow",
  "MsgReadIndex",
  "MsgReadIndexResp",
  "MsgPreVote",
  "MsgPreVoteResp",
  "MsgStorageAppend",
  "MsgStorageAppendResp",
  "MsgStorageApply",
  "MsgStorageApplyResp",
  "MsgForgetLeader",
] as const;

export type MessageType = (typeof MESSAGE_TYPES)[number];

/** The fields that a message has with and without payloads; their meaning depends on `type` (etcd raft, raft.proto). */
export interface MessageHeader {
  readonly type: MessageType;
  readonly from: RaftId;
  readonly to: RaftId;
  readonly term: Term;
  /** The term of the entry at `index`. */
  readonly logTerm: Term;
  readonly index: RaftIndex;
  readonly commit: RaftIndex;
  readonly vote: RaftId;
  readonly reject: boolean;
  readonly rejectHint: RaftIndex;
  readonly context: Uint8Array;
  readonly snapshot: SnapshotMeta | null;
}

/** A message as it leaves the engine: before it is sent, a payload is attached to each entry by (index, term). */
export interface Message extends MessageHeader {
  readonly entries: readonly EntryMeta[];
}

/** A message as it arrives from a peer, payloads attached. */
export interface InboundMessage extends MessageHeader {
  readonly entries: readonly Entry[];
}

export type Role = "leader" | "follower" | "candidate" | "pre_candidate";

/** Who leads (0n: unknown) and what this node is. */
export interface SoftState {
  readonly leader: RaftId;
  readonly role: Role;
}

/** An answered `readIndex`: once applied ≥ `index`, a read is linearizable. */
export interface ReadState {
  readonly index: RaftIndex;
  readonly context: Uint8Array;
}

/**
 * One chore of the append lane. Chores are done in the order they were handed out, and none is skipped: first a
 * snapshot replaces the log (if there is one), then a suffix that starts at the first entry's index is replaced by
 * `entries`, and the hard state is written. Several chores may share one transaction.
 */
export interface AppendChore {
  readonly entries: readonly Entry[];
  /** null: unchanged. */
  readonly hardState: HardState | null;
  readonly snapshot: SnapshotMeta | null;
  /**
   * Leave only after this chore *and every earlier one* is durable and the mirror was told, in this order. Those
   * addressed to this node go to `stepResponses`, the others to their peer.
   */
  readonly responses: readonly Message[];
}

/** One chore of the apply lane, done in the order handed out: committed entries, each durable in the own log. */
export interface ApplyChore {
  readonly entries: readonly EntryMeta[];
  /** Go to `stepResponses` once all entries are applied. */
  readonly responses: readonly Message[];
}

/** What there is to do. Taking it is accepting it: every field must be handled, as its comment says. */
export interface Ready {
  /** null: unchanged. Not to be stored. */
  readonly softState: SoftState | null;
  readonly readStates: readonly ReadState[];
  /** Leave at once; they wait for no chore of this Ready or of an earlier one. */
  readonly messages: readonly Message[];
  /** To the end of the append lane; null if there is nothing to store. */
  readonly append: AppendChore | null;
  /** To the end of the apply lane; null if nothing new may be applied. */
  readonly apply: ApplyChore | null;
}

/** What a node finds in its storage when it starts. */
export interface InitialState {
  readonly hardState: HardState;
  /** The membership at `applied`. */
  readonly confState: ConfState;
  /** The compaction point: the last entry that the log no longer holds. null: the log is whole, from index 1. */
  readonly snapshot: SnapshotMeta | null;
  /** Every entry after the compaction point, contiguous. */
  readonly entries: readonly (EntryMeta | Entry)[];
  /**
   * The last entry whose effects are durable, in [compaction point, last entry]. If it is above `hardState.commit`
   * (the lanes write independently) the commit index is raised to it: what was applied was committed.
   */
  readonly applied: RaftIndex;
}

export type LogLevel = "debug" | "info" | "warning" | "error";

export interface RawNodeOptions {
  readonly id: RaftId;
  readonly initial: InitialState;
  /** Fills the array. Election timeouts come from it, so a run is a function of its seed. See `logger`. */
  readonly random: (bytes: Uint8Array) => void;
  /**
   * The library's log lines; without a logger none are made. Neither callback may call the engine or throw: what
   * either throws ends the engine (EngineDeadError).
   */
  readonly logger?: (level: LogLevel, text: string) => void;
  /** Ticks without word from a leader before an election; the real timeout is random in [n, 2n). Default 10. */
  readonly electionTicks?: number;
  /** Ticks between a leader's heartbeats. Default 1. */
  readonly heartbeatTicks?: number;
}

export interface ConfChangeSingle {
  readonly type: "add_node" | "add_learner" | "remove_node";
  readonly id: RaftId;
}

/** A membership change. Without `changes` and with transition "auto" it leaves a joint configuration. */
export interface ConfChange {
  /** "auto" is joint only if there are several changes; "explicit" stays joint until a change without `changes`. */
  readonly transition: "auto" | "implicit" | "explicit";
  readonly changes: readonly ConfChangeSingle[];
  readonly context: Uint8Array;
}

export interface BasicStatus {
  readonly id: RaftId;
  readonly term: Term;
  readonly vote: RaftId;
  readonly commit: RaftIndex;
  readonly applied: RaftIndex;
  /** 0n: unknown. */
  readonly lead: RaftId;
  readonly role: Role;
  /** The target of a leadership transfer that is under way; 0n: none. */
  readonly leadTransferee: RaftId;
  /** First index still in the log, whether or not it is durable yet. */
  readonly firstIndex: RaftIndex;
  /** Last index in the log, whether or not it is durable yet. */
  readonly lastIndex: RaftIndex;
}

/** What a leader knows of one member. */
export interface Progress {
  readonly match: RaftIndex;
  readonly next: RaftIndex;
  readonly state: "probe" | "replicate" | "snapshot";
  /** Heard from in the current check-quorum period. */
  readonly recentActive: boolean;
  readonly isLearner: boolean;
}

export interface Status extends BasicStatus {
  /** Empty unless this node leads. */
  readonly progress: ReadonlyMap<RaftId, Progress>;
}
