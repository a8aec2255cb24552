import { type Certificate, type GroupId, type WaitingGroup, encodeEntry, packEntry } from "@event-anchoring/ledger";
import type { RefusalCode } from "@event-anchoring/control-contract";
import type { RaftIndex } from "raft-ts";
import type { Clock, Timer } from "./environment.ts";

/** While one entry is on its way, a second leaves once this much waits … */
const SECOND_ENTRY_COMMANDS = 64;
const SECOND_ENTRY_BYTES = 128 * 1024;
/** … or the oldest has waited this long. */
const SECOND_ENTRY_AGE_MS = 3;
const UNCOMMITTED_ENTRIES_MAX = 2;
const QUEUED_COMMANDS_MAX = 8192;
const QUEUED_BYTES_MAX = 8 * 1024 * 1024;
/** A certificate that no entry picked up is recorded by an entry of its own after this much idleness. */
const RECORD_CERTIFICATE_AFTER_MS = 25;

/** Head and cosignatures of one certificate in an entry, for any quorum a cluster of seven nodes may have. */
const CERTIFICATE_BYTES_MAX = 1024;

/** A proposal group that waits for its entry; never split. */
export interface QueuedGroup extends WaitingGroup {
  readonly id: GroupId;
  readonly bytes: Uint8Array;
  /** The node that waits for it; null: this one. */
  readonly from: string | null;
  /** Monotonic time after which nobody waits for it. */
  readonly deadlineMs: number;
  /** The node's own housekeeping: proposed also while client commands are held back. */
  readonly isHousekeeping: boolean;
}

interface TimedGroup extends QueuedGroup {
  readonly queuedMs: number;
}

export interface LeaderQueueOptions {
  readonly clock: Clock;
  /** Appends to the log as leader; the entry's index, or null if the engine does not take it. */
  readonly propose: (payload: Uint8Array) => RaftIndex | null;
  /** The newest certificates that the log does not record yet. */
  readonly certificatesToRecord: () => readonly Certificate[];
  /** Why no client command may be proposed now; null: nothing. */
  readonly gate: () => { code: RefusalCode; detail: string } | null;
  readonly refuse: (groups: readonly QueuedGroup[], code: RefusalCode, detail: string) => void;
}

/**
 * The leader's side of group commit: an idle pipeline proposes at once, a busy one gathers.
 *
 * Invariant: at most two entries of this queue are uncommitted at any time. A group leaves the queue proposed, refused
 * by name, or expired; expired work is dropped here and never after it was proposed.
 */
export class LeaderQueue {
  readonly #options: LeaderQueueOptions;
  readonly #queuedKeys = new Set<string>();
  #groups: TimedGroup[] = [];
  #commands = 0;
  #bytes = 0;
  #uncommitted: RaftIndex[] = [];
  #isLeading = false;
  #timer: Timer | null = null;

  constructor(options: LeaderQueueOptions) {
    this.#options = options;
  }

  get depth(): { readonly commands: number; readonly bytes: number } {
    return { commands: this.#commands, bytes: this.#bytes };
  }

  /** Takes groups of this node's clients or of a follower's. */
  offer(groups: readonly QueuedGroup[]): void {
    if (!this.#isLeading) {
      this.#options.refuse(groups, "no_leader", "this node does not lead");
      return;
    }
    const now = this.#options.clock.monotonicMs();
    const refused: QueuedGroup[] = [];
    for (const group of this.#admit(groups)) {
      const key = groupKey(group.id);
      if (this.#queuedKeys.has(key)) continue;
      const isFull =
        this.#commands + group.weight.commands > QUEUED_COMMANDS_MAX ||
        this.#bytes + group.bytes.length > QUEUED_BYTES_MAX;
      if (isFull) refused.push(group);
      else this.#enqueue({ ...group, queuedMs: now }, key);
    }
    if (refused.length > 0) this.#options.refuse(refused, "overloaded", "the leader's queue is full");
    this.pump();
  }

  onLeadership(isLeading: boolean): void {
    this.#isLeading = isLeading;
    this.#uncommitted = [];
    this.#timer?.cancel();
    this.#timer = null;
    if (isLeading) return;
    const groups = this.#takeAll();
    if (groups.length > 0) this.#options.refuse(groups, "no_leader", "this node no longer leads");
  }

  onCommit(commit: RaftIndex): void {
    if (this.#uncommitted.length === 0) return;
    this.#uncommitted = this.#uncommitted.filter((index) => index > commit);
    this.pump();
  }

  /** Certificates may wait to be recorded. */
  onCertificate(): void {
    if (this.#isLeading && this.#timer === null) this.#wake(RECORD_CERTIFICATE_AFTER_MS);
  }

  /** Proposes as long as the rules above allow. */
  pump(): void {
    while (this.#isLeading && this.#uncommitted.length < UNCOMMITTED_ENTRIES_MAX && this.#isDue()) {
      this.#dropExpired();
      if (!this.#proposeNext()) return;
    }
  }

  close(): void {
    this.#isLeading = false;
    this.#timer?.cancel();
    this.#takeAll();
  }

  #isDue(): boolean {
    const first = this.#groups[0];
    if (first === undefined) return false;
    if (this.#uncommitted.length === 0) return true;
    if (this.#commands >= SECOND_ENTRY_COMMANDS || this.#bytes >= SECOND_ENTRY_BYTES) return true;
    const ageMs = this.#options.clock.monotonicMs() - first.queuedMs;
    if (ageMs >= SECOND_ENTRY_AGE_MS) return true;
    this.#wake(SECOND_ENTRY_AGE_MS - ageMs);
    return false;
  }

  #wake(delayMs: number): void {
    this.#timer?.cancel();
    this.#timer = this.#options.clock.startTimer(delayMs, () => {
      this.#timer = null;
      this.pump();
      if (this.#isLeading && this.#groups.length === 0 && this.#uncommitted.length === 0) this.#proposeNext();
    });
  }

  /** One entry: the certificates to record, then as many groups as fit. False: nothing was proposed. */
  #proposeNext(): boolean {
    const admitted = new Set(this.#admit(this.#groups).map((group) => groupKey(group.id)));
    this.#remove(new Set([...this.#queuedKeys].filter((key) => !admitted.has(key))));
    const certificates = this.#options.certificatesToRecord();
    const { take, certify } = packEntry(this.#groups, certificates.length * CERTIFICATE_BYTES_MAX);
    const packed = take.flatMap((position) => this.#groups[position] ?? []);
    if (packed.length === 0 && certificates.length === 0) return false;
    const payload = encodeEntry({
      version: 1,
      certify,
      acceptedMs: this.#options.clock.wallMs(),
      // What must be alone in its entry leaves the certificates to the next one.
      certificates: packed.some((group) => group.isAlone) ? [] : certificates,
      groups: packed.map((group) => group.bytes),
    });
    const index = this.#options.propose(payload);
    if (index === null) return false;
    this.#uncommitted.push(index);
    this.#remove(new Set(packed.map((group) => groupKey(group.id))));
    return true;
  }

  /** Those that may be proposed now; while client commands are held back, the others are refused. */
  #admit<Group extends QueuedGroup>(groups: readonly Group[]): readonly Group[] {
    const gate = this.#options.gate();
    if (gate === null) return groups;
    const held = groups.filter((group) => !group.isHousekeeping);
    if (held.length > 0) this.#options.refuse(held, gate.code, gate.detail);
    return groups.filter((group) => group.isHousekeeping);
  }

  #dropExpired(): void {
    const now = this.#options.clock.monotonicMs();
    const expired = this.#groups.filter((group) => group.deadlineMs <= now);
    if (expired.length === 0) return;
    this.#remove(new Set(expired.map((group) => groupKey(group.id))));
    this.#options.refuse(expired, "deadline_exceeded", "expired in the leader's queue, never proposed");
  }

  #enqueue(group: TimedGroup, key: string): void {
    this.#groups.push(group);
    this.#queuedKeys.add(key);
    this.#commands += group.weight.commands;
    this.#bytes += group.bytes.length;
  }

  #remove(keys: ReadonlySet<string>): void {
    const kept: TimedGroup[] = [];
    for (const group of this.#groups) {
      const key = groupKey(group.id);
      if (!keys.has(key)) {
        kept.push(group);
        continue;
      }
      this.#queuedKeys.delete(key);
      this.#commands -= group.weight.commands;
      this.#bytes -= group.bytes.length;
    }
    this.#groups = kept;
  }

  #takeAll(): readonly QueuedGroup[] {
    const all = this.#groups;
    this.#groups = [];
    this.#queuedKeys.clear();
    this.#commands = 0;
    this.#bytes = 0;
    return all;
  }
}

export function groupKey(id: GroupId): string {
  return `${id.node.toString(16)}:${id.incarnation}:${id.counter}`;
}
