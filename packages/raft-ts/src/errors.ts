import type { EntryId } from "./types.ts";

/** Why a call failed; match on this, never on the text. */
export type RaftErrorCode =
  | "proposal_dropped"
  | "conf_change_refused"
  | "not_leader"
  | "step_refused"
  | "invalid_argument"
  | "invalid_message"
  | "raft_panic"
  | "node_freed"
  | "engine_dead"
  | "engine_load";

/** Base of every error this package throws on purpose. */
export class RaftError extends Error {
  readonly code: RaftErrorCode;

  constructor(code: RaftErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
    this.name = new.target.name;
  }
}

/**
 * The proposal was not appended: this node does not lead, is handing leadership over, was removed, or holds too
 * many uncommitted entries. Nothing happened; it may be proposed again elsewhere or later.
 */
export class ProposalDroppedError extends RaftError {
  constructor(options?: ErrorOptions) {
    super("proposal_dropped", "the proposal was dropped", options);
  }
}

/**
 * The library would not take this membership change now (one is still unapplied, or it does not fit the joint or
 * simple configuration in force). An empty entry was appended in its place.
 */
export class ConfChangeRefusedError extends RaftError {
  /** Where the empty entry stands. */
  readonly emptyEntry: EntryId;

  constructor(emptyEntry: EntryId) {
    super("conf_change_refused", "the membership change does not fit the configuration in force");
    this.emptyEntry = emptyEntry;
  }
}

/** Only a leader can do what was asked for, and this node does not lead. */
export class NotLeaderError extends RaftError {
  constructor() {
    super("not_leader", "this node does not lead");
  }
}

/** `step` was given a message no correct peer sends: a type that stays inside a node, or a shape that does not fit. */
export class StepRefusedError extends RaftError {
  constructor(message: string) {
    super("step_refused", message);
  }
}

/** The caller broke the contract of a call (shape, range, order). Nothing was changed. */
export class InvalidArgumentError extends RaftError {
  constructor(message: string) {
    super("invalid_argument", message);
  }
}

/** Bytes that are not exactly one encoded message. */
export class InvalidMessageError extends RaftError {
  constructor(message: string) {
    super("invalid_message", message);
  }
}

/** The library panicked: this RawNode is dead and every later call on it throws the same error. Others live on. */
export class RaftPanicError extends RaftError {
  /** The engine's own stack at the panic. */
  readonly engineStack: string;

  constructor(message: string, engineStack: string) {
    super("raft_panic", message);
    this.engineStack = engineStack;
  }
}

/** The RawNode was freed. */
export class NodeFreedError extends RaftError {
  constructor() {
    super("node_freed", "the RawNode was freed");
  }
}

/** The Go runtime died: the engine and every RawNode of it are lost. Load a new engine. */
export class EngineDeadError extends RaftError {
  constructor(message: string, options?: ErrorOptions) {
    super("engine_dead", message, options);
  }
}

/** The module could not be loaded, or is not the one these sources were built with. */
export class EngineLoadError extends RaftError {
  constructor(message: string, options?: ErrorOptions) {
    super("engine_load", message, options);
  }
}
