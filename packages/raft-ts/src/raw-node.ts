import type {
  BasicStatus,
  ConfChange,
  ConfState,
  Entry,
  EntryId,
  EntryMeta,
  HardState,
  InboundMessage,
  Message,
  RaftId,
  RaftIndex,
  Ready,
  SnapshotMeta,
  Status,
  Term,
} from "./types.ts";

/** One Raft node as a state machine: calls go in, `ready()` says what there is to do. */
export interface RawNode {
  readonly id: RaftId;
  /** One step of the logical clock. */
  tick(): void;
  /** A message from a peer; types for which `isPeerMessage` is false throw StepRefusedError. */
  step(message: InboundMessage): void;
  /** A response of the append or apply lane that is addressed to this node itself. */
  stepResponse(message: Message): void;
  campaign(): void;
  forgetLeader(): void;
  transferLeader(to: RaftId): void;
  /** Returns where the entry stands in this leader's log. Throws ProposalDroppedError. The payload is not empty. */
  propose(payload: Uint8Array): EntryId;
  /** Throws ProposalDroppedError or ConfChangeRefusedError. */
  proposeConfChange(change: ConfChange): EntryId;
  decodeConfChange(payload: Uint8Array): ConfChange;
  /** null: the change was refused by whoever applies it; nothing changes. Returns the membership in force. */
  applyConfChange(payload: Uint8Array | null): ConfState;
  confState(): ConfState;
  readIndex(context: Uint8Array): void;
  reportUnreachable(id: RaftId): void;
  reportSnapshot(id: RaftId, ok: boolean): void;
  hasReady(): boolean;
  ready(): Ready;
  mirrorAppend(entries: readonly (Entry | EntryMeta)[]): void;
  mirrorHardState(hardState: HardState): void;
  mirrorSnapshot(meta: SnapshotMeta): void;
  mirrorCompact(index: RaftIndex, confState: ConfState): void;
  status(): Status;
  /** `status` without progress; cheap. */
  basicStatus(): BasicStatus;
  /** Counts entries that are not durable yet; null outside the log. Index 0 and the compaction point have a term. */
  termAt(index: RaftIndex): Term | null;
  free(): void;
}
