export { MESSAGE_TYPES } from "./types.ts";
export type {
  AppendChore,
  ApplyChore,
  BasicStatus,
  ConfChange,
  ConfChangeSingle,
  ConfState,
  Entry,
  EntryId,
  EntryMeta,
  EntryType,
  HardState,
  InboundMessage,
  InitialState,
  LogLevel,
  Message,
  MessageHeader,
  MessageType,
  Progress,
  RaftId,
  RaftIndex,
  RawNodeOptions,
  ReadState,
  Ready,
  Role,
  SnapshotMeta,
  SoftState,
  Status,
  Term,
} from "./types.ts";
export {
  ConfChangeRefusedError,
  EngineDeadError,
  EngineLoadError,
  InvalidArgumentError,
  InvalidMessageError,
  NodeFreedError,
  NotLeaderError,
  ProposalDroppedError,
  RaftError,
  RaftPanicError,
  StepRefusedError,
} from "./errors.ts";
export type { RaftErrorCode } from "./errors.ts";
export { RaftEngine } from "./engine.ts";
export type { EngineOptions } from "./engine.ts";
export { RawNode } from "./raw-node.ts";
export { decodeMessage, encodeMessage } from "./codec.ts";
export { findConfStateFault, findShapeFault, isPeerMessage } from "./message-shape.ts";
