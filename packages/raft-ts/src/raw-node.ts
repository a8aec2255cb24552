import { ByteReader, ByteWriter } from "./bytes.ts";
import { readConfState, writeConfState, writeSnapshot } from "./codec.ts";
import * as codec from "./engine-codec.ts";
import {
  ConfChangeRefusedError,
  EngineDeadError,
  InvalidArgumentError,
  InvalidMessageError,
  NodeFreedError,
  NotLeaderError,
  ProposalDroppedError,
  RaftPanicError,
  StepRefusedError,
} from "./errors.ts";
import { PAYLOAD_BYTES_MAX, checkEntries, checkMembers, checkNodeOptions, checkSnapshot } from "./initial-state.ts";
import { STATUS_WORDS } from "./instance.ts";
import type { Caller, ExportName, WasmInstance } from "./instance.ts";
import { CONTEXT_BYTES_MAX, findShapeFault, isCount, isMemberId } from "./message-shape.ts";
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
  RawNodeOptions,
  Ready,
  SnapshotMeta,
  Status,
  Term,
} from "./types.ts";

/** The low byte of what an export returns; engine/main.go. */
const STATUS_OK = 0;
const STATUS_PANIC = 1;
const STATUS_PROPOSAL_DROPPED = 2;
const STATUS_CONF_CHANGE_REFUSED = 3;
const STATUS_INVALID = 5;
const STATUS_NOT_LEADER = 6;
const STATUS_MASK = 0xff;
const READY_BIT = 0x100;

/** `logger.level` in engine/logger.go. */
const LOG_DEBUG = 0;
const LOG_OFF = 4;

/** What a node hands back to itself after a chore; the library sends no other type to its own node. */
const RESPONSE_TYPES: ReadonlySet<string> = new Set([
  "MsgAppResp",
  "MsgVoteResp",
  "MsgPreVoteResp",
  "MsgStorageAppendResp",
  "MsgStorageApplyResp",
]);

/** What raft_new answers. */
interface Created {
  readonly handle: number;
  readonly status: number;
}

/** Scratch for the arguments of one call. */
const writer = new ByteWriter();

/**
 * One Raft node as a state machine: calls go in, `ready()` says what there is to do. Nothing happens between calls.
 *
 * Order: after `ready()`, `messages` leave at once; an append chore goes to the end of the append lane. When chores
 * of that lane are durable, the driver tells the mirror (`mirrorSnapshot`, `mirrorAppend`, `mirrorHardState`), then
 * delivers their responses, in order. An apply chore goes to the end of the apply lane; conf changes in it go through
 * `applyConfChange`, and its responses to `stepResponses`, once it is applied.
 *
 * A panic of the library throws RaftPanicError and ends this node: every later call but `free` throws that error
 * again. Any call may throw EngineDeadError.
 */
export class RawNode {
  readonly id: RaftId;
  readonly #instance: WasmInstance;
  readonly #caller: Caller;
  readonly #handle: number;
  /**
   * Payloads on their way through the engine: from `propose` or `step` to the Ready that emits their entry. What a
   * Ready did not emit was refused or overwritten and is dropped with it.
   */
  readonly #payloads = new Map<number, Uint8Array>();
  #lastTicket = 0;
  #hasReady = false;
  /** What the latest call has left; decoded when it is asked for. */
  readonly #statusWords = new Uint32Array(STATUS_WORDS);
  readonly #statusView = new DataView(this.#statusWords.buffer);
  #status: codec.HeldStatus | null = null;
  #failure: RaftPanicError | NodeFreedError | null = null;

  private constructor(instance: WasmInstance, caller: Caller, id: RaftId, created: Created) {
    this.#instance = instance;
    this.#caller = caller;
    this.id = id;
    this.#handle = created.handle;
    this.#hasReady = (created.status & READY_BIT) !== 0;
    instance.copyStatus(this.#statusWords);
  }

  /** @internal Use `RaftEngine.createNode`. */
  static create(instance: WasmInstance, options: RawNodeOptions): RawNode {
    checkNodeOptions(options);
    const caller: Caller = { random: options.random, logger: options.logger ?? null };
    const status = instance.call(caller, "raft_new", [], encodeOptions(options));
    const reader = outputReader(instance);
    if ((status & STATUS_MASK) === STATUS_PANIC) throw readPanic(reader);
    return new RawNode(instance, caller, options.id, { handle: reader.u32(), status });
  }

  /** One step of the logical clock. */
  tick(): void {
    this.#expectOk(this.#call("raft_tick"));
  }

  /**
   * Takes a message from a peer, which is attacker-controlled as far as the peer is. Throws StepRefusedError for a
   * message no correct peer sends here (`isPeerMessage`, its shape, its addressee). What is merely late is ignored: a
   * message of an earlier term, a response from a node that has left the group. A message that is well-formed but
   * contradicts what this node stored makes the library panic: the driver looks first (`basicStatus`, `termAt`).
   */
  step(message: InboundMessage): void {
    const fault = findShapeFault(message);
    if (fault !== null) throw new StepRefusedError(`${message.type}: ${fault}`);
    if (message.to !== this.id || message.from === this.id) {
      throw new StepRefusedError(`${message.type} from ${message.from} to ${message.to} came to ${this.id}`);
    }
    this.#assertAlive();
    writer.reset();
    codec.writeMessage(writer, message, (payload) => this.#issueTicket(payload));
    this.#expectOk(this.#callWith("raft_step"));
  }

  /** Takes responses of the append or the apply lane that are addressed to this node, in order. */
  stepResponses(messages: readonly Message[]): void {
    this.#assertAlive();
    if (messages.length === 0) return;
    writer.reset();
    for (const message of messages) {
      if (message.to !== this.id || !RESPONSE_TYPES.has(message.type)) {
        throw new InvalidArgumentError(`${message.type} to ${message.to} is not a response to ${this.id} itself`);
      }
      codec.writeMessage(writer, message, null);
    }
    this.#expectOk(this.#callWith("raft_step"));
  }

  /** Starts an election (with its PreVote phase) without waiting for the timeout. */
  campaign(): void {
    this.#expectOk(this.#call("raft_campaign"));
  }

  /** A follower forgets who leads, so that it grants a vote before its timeout; others ignore this. */
  forgetLeader(): void {
    this.#expectOk(this.#call("raft_forget_leader"));
  }

  /** Hands leadership over; until that is done or an election timeout has passed, proposals are dropped. */
  transferLeader(to: RaftId): void {
    assertMember(to);
    const status = this.#call("raft_transfer_leader", to);
    if (status === STATUS_NOT_LEADER) throw new NotLeaderError();
    this.#expectOk(status);
  }

  /**
   * Appends an entry to this leader's log and returns where it stands: if the entry that is committed at this index
   * has another term, the proposal was lost. The bytes must not change afterwards, and must not be empty (an empty
   * entry opens a term). Throws ProposalDroppedError.
   */
  propose(payload: Uint8Array): EntryId {
    if (payload.length === 0 || payload.length > PAYLOAD_BYTES_MAX) {
      throw new InvalidArgumentError(`a payload of ${payload.length} bytes`);
    }
    this.#assertAlive();
    const ticket = this.#issueTicket(payload);
    const status = this.#call("raft_propose", ticket, payload.length);
    if (status === STATUS_PROPOSAL_DROPPED) {
      this.#payloads.delete(ticket);
      throw new ProposalDroppedError();
    }
    this.#expectOk(status);
    return this.#readEntryId();
  }

  /** Appends a membership change. Throws ProposalDroppedError or ConfChangeRefusedError. */
  proposeConfChange(change: ConfChange): EntryId {
    for (const single of change.changes) assertMember(single.id);
    assertContext(change.context);
    writer.reset();
    codec.writeConfChange(writer, change);
    const status = this.#callWith("raft_propose_conf_change");
    if (status === STATUS_PROPOSAL_DROPPED) throw new ProposalDroppedError();
    if (status === STATUS_CONF_CHANGE_REFUSED) throw new ConfChangeRefusedError(this.#readEntryId());
    this.#expectOk(status);
    return this.#readEntryId();
  }

  /** What a conf change entry's payload says. Throws InvalidMessageError if it says nothing this package proposes. */
  decodeConfChange(payload: Uint8Array): ConfChange {
    const status = this.#callOn(payload, "raft_decode_conf_change");
    if (status === STATUS_INVALID) throw new InvalidMessageError("not a membership change");
    this.#expectOk(status);
    return codec.readConfChange(this.#output());
  }

  /**
   * Puts a committed membership change into force and returns the membership. `null` says that whoever applies it
   * has refused it: nothing changes. A change that does not fit the membership in force makes the library panic.
   */
  applyConfChange(payload: Uint8Array | null): ConfState {
    if (payload === null) return this.confState();
    const status = this.#callOn(payload, "raft_apply_conf_change");
    if (status === STATUS_INVALID) throw new InvalidMessageError("not a membership change");
    this.#expectOk(status);
    return readConfState(this.#output());
  }

  /** The membership in force. */
  confState(): ConfState {
    this.#expectOk(this.#call("raft_conf_state"));
    return readConfState(this.#output());
  }

  /**
   * Asks for a read index; the answer comes in `Ready.readStates` with the same context. Nothing comes if there is no
   * leader, or if it changes meanwhile: ask again.
   */
  readIndex(context: Uint8Array): void {
    assertContext(context);
    this.#expectOk(this.#callOn(context, "raft_read_index"));
  }

  /** The last message to this peer was not delivered. */
  reportUnreachable(id: RaftId): void {
    assertMember(id);
    this.#expectOk(this.#call("raft_report_unreachable", id));
  }

  /** How it ended with the snapshot that a MsgSnap announced to this peer. Must be called once for each. */
  reportSnapshot(id: RaftId, ok: boolean): void {
    assertMember(id);
    this.#expectOk(this.#call("raft_report_snapshot", id, ok ? 1 : 0));
  }

  /** Whether `ready()` would have anything to do; costs nothing. */
  hasReady(): boolean {
    this.#assertAlive();
    return this.#hasReady;
  }

  /** Takes what there is to do. */
  ready(): Ready {
    this.#expectOk(this.#call("raft_ready"));
    const ready = codec.readReady(this.#output(), (ticket) => this.#redeem(ticket));
    this.#payloads.clear();
    return ready;
  }

  /**
   * Tells the storage mirror that these entries are durable, after an existing suffix from the first one's index was
   * dropped. A conf change without its payload is accepted; then it comes back without one in `apply`.
   */
  mirrorAppend(entries: readonly (Entry | EntryMeta)[]): void {
    checkEntries(entries, 1);
    writer.reset();
    codec.writeEntries(writer, entries);
    const status = this.#callWith("raft_mirror_append");
    if (status === STATUS_INVALID) throw new InvalidArgumentError("the entries leave a gap in the log");
    this.#expectOk(status);
  }

  mirrorHardState(hardState: HardState): void {
    if (!isCount(hardState.term) || !isCount(hardState.commit)) throw new InvalidArgumentError("a number is off range");
    writer.reset();
    codec.writeHardState(writer, hardState);
    this.#expectOk(this.#callWith("raft_mirror_hard_state"));
  }

  /** A snapshot has replaced the log: it is empty now and starts after the snapshot. */
  mirrorSnapshot(meta: SnapshotMeta): void {
    checkSnapshot(meta);
    writer.reset();
    writeSnapshot(writer, meta);
    this.#expectOk(this.#callWith("raft_mirror_snapshot"));
  }

  /**
   * The log up to and including `index` is gone; a follower that needs an entry of it gets a MsgSnap that names this
   * point and membership. `index` must be in the log, or the compaction point itself, and be applied.
   */
  mirrorCompact(index: RaftIndex, confState: ConfState): void {
    checkMembers(confState);
    if (!isCount(index)) throw new InvalidArgumentError("index is out of range");
    writer.reset();
    writer.u53(index);
    writeConfState(writer, confState);
    const status = this.#callWith("raft_mirror_compact");
    if (status === STATUS_INVALID) throw new InvalidArgumentError(`the log cannot be compacted to ${index}`);
    this.#expectOk(status);
  }

  status(): Status {
    this.#expectOk(this.#call("raft_progress"));
    return { ...this.#held().basic, progress: codec.readAllProgress(this.#output()) };
  }

  /** `status` without progress; no call into the engine. */
  basicStatus(): BasicStatus {
    return this.#held().basic;
  }

  /**
   * The term of the entry at `index`, durable or not. The compaction point (or index 0 of a whole log, at term 0)
   * still has one. null outside the log.
   */
  termAt(index: RaftIndex): Term | null {
    if (!isCount(index)) throw new InvalidArgumentError("index is out of range");
    const { basic, lastTerm } = this.#held();
    if (index > basic.lastIndex || index + 1 < basic.firstIndex) return null;
    if (index === basic.lastIndex) return lastTerm;
    this.#expectOk(this.#call("raft_term_at", index));
    const reader = this.#output();
    return reader.remaining === 0 ? null : reader.u53();
  }

  /** Gives the node's memory back to the engine; every later call throws NodeFreedError. May be called twice. */
  free(): void {
    if (this.#failure instanceof NodeFreedError) return;
    this.#failure = new NodeFreedError();
    this.#payloads.clear();
    this.#instance.call(this.#caller, "raft_free", [this.#handle]);
  }

  #assertAlive(): void {
    if (this.#failure !== null) throw this.#failure;
  }

  #call(name: ExportName, ...args: readonly (number | bigint)[]): number {
    return this.#run(name, args);
  }

  /** Calls with what is in the scratch writer. */
  #callWith(name: ExportName): number {
    return this.#run(name, [], writer.borrow());
  }

  #callOn(bytes: Uint8Array, name: ExportName): number {
    return this.#run(name, [], bytes);
  }

  #run(name: ExportName, args: readonly (number | bigint)[], input?: Uint8Array): number {
    this.#assertAlive();
    const status = this.#instance.call(this.#caller, name, [this.#handle, ...args], input);
    this.#hasReady = (status & READY_BIT) !== 0;
    if ((status & STATUS_MASK) === STATUS_PANIC) {
      this.#failure = readPanic(this.#output());
      this.#payloads.clear();
      throw this.#failure;
    }
    this.#instance.copyStatus(this.#statusWords);
    this.#status = null;
    return status & STATUS_MASK;
  }

  #held(): codec.HeldStatus {
    this.#assertAlive();
    this.#instance.assertAlive();
    this.#status ??= codec.readStatus(this.#statusView, this.id);
    return this.#status;
  }

  #expectOk(status: number): void {
    if (status !== STATUS_OK) throw new EngineDeadError(`the engine answered with status ${status}`);
  }

  #output(): ByteReader {
    return outputReader(this.#instance);
  }

  #readEntryId(): EntryId {
    const reader = this.#output();
    return { index: reader.u53(), term: reader.u53() };
  }

  #issueTicket(payload: Uint8Array): number {
    if (payload.length === 0) return 0;
    // Tickets live only until the next Ready, so a number has long been free when it comes round again. 0 means none.
    this.#lastTicket = this.#lastTicket === 0xffff_ffff ? 1 : this.#lastTicket + 1;
    this.#payloads.set(this.#lastTicket, payload);
    return this.#lastTicket;
  }

  #redeem(ticket: number): Uint8Array {
    const payload = this.#payloads.get(ticket);
    if (payload !== undefined) return payload;
    this.#failure = new RaftPanicError(`an entry to append has ticket ${ticket}, which is not out`, "");
    throw this.#failure;
  }
}

function outputReader(instance: WasmInstance): ByteReader {
  return new ByteReader(instance.output(), (reason) => new EngineDeadError(`the engine's output: ${reason}`));
}

function readPanic(reader: ByteReader): RaftPanicError {
  const text = new TextDecoder();
  const message = text.decode(reader.bytes(reader.u32()));
  return new RaftPanicError(message, text.decode(reader.bytes(reader.u32())));
}

/** Read by newNode in engine/node.go. */
function encodeOptions(options: RawNodeOptions): Uint8Array {
  const { hardState, confState, snapshot, entries, applied } = options.initial;
  writer.reset();
  writer.u64(options.id);
  writer.u32(options.electionTicks ?? 10);
  writer.u32(options.heartbeatTicks ?? 1);
  writer.u8(options.logger === undefined ? LOG_OFF : LOG_DEBUG);
  writer.u53(applied);
  codec.writeHardState(writer, { ...hardState, commit: Math.max(hardState.commit, applied) });
  writeConfState(writer, confState);
  const isCompacted = snapshot !== null && snapshot.index > 0;
  writer.u8(isCompacted ? 1 : 0);
  if (isCompacted) writeSnapshot(writer, snapshot);
  codec.writeEntries(writer, entries);
  return writer.borrow();
}

function assertMember(id: RaftId): void {
  if (!isMemberId(id)) throw new InvalidArgumentError(`${id} is not a node`);
}

function assertContext(context: Uint8Array): void {
  if (context.length > CONTEXT_BYTES_MAX) throw new InvalidArgumentError("context is too long");
}
