import {
  type Certificate,
  type GroupId,
  LIMITS,
  type Purpose,
  type WaitingGroup,
  encodeEntry,
  packEntry,
} from "@event-anchoring/ledger";
import type { RefusalCode, TraceContext } from "@event-anchoring/control-contract";
import type { RaftIndex } from "raft-ts";
import type { TimerClock, Timer } from "../ports/environment.ts";
import { EntryPace, type PacedEntry } from "./entry-pace.ts";

const ENTRIES_UNDER_WAY_MAX = 2;
/** An entry whose cosignatures do not come counts as under way for so long after it was applied. */
const UNCOSIGNED_MAX_MS = 50;
const QUEUED_COMMANDS_MAX = 8192;
const QUEUED_BYTES_MAX = 8 * 1024 * 1024;
/** A certificate that no entry picked up is recorded by an entry of its own after this much idle time. */
const RECORD_CERTIFICATE_AFTER_MS = 25;

/**
 * Under load not every entry records certificates: no client waits for the record, and each costs every node a row and
 * the verification of signatures that it may not have seen.
 */
const RECORD_CERTIFICATES_EVERY_MS = 100;
/** Head and cosignatures of one certificate in an entry, for any quorum a cluster of seven nodes may have. */
const CERTIFICATE_BYTES_MAX = 1024;

/** A proposal group that waits for its entry; never split. */
export interface QueuedGroup extends WaitingGroup {
  readonly id: GroupId;
  readonly bytes: Uint8Array;
  /** The node that waits for it; null: this one. */
  readonly from: string | null;
  /** Monotonic time after which no client waits for it. */
  readonly deadlineMs: number;
  /** Trace contexts of its traced writes; absent: none. Beside the group, never in its bytes. */
  readonly traces?: readonly TraceContext[];
}

/** Why commands are held back, and which. */
export interface Gate {
  readonly code: RefusalCode;
  readonly detail: string;
  /**
   * Groups of these purposes are refused. What the Raft group itself needs waits instead, if it is held back as well.
   */
  readonly holds: ReadonlySet<Purpose>;
}

interface TimedGroup extends QueuedGroup {
  readonly queuedMs: number;
}

/** An entry that this leader has proposed, until it is settled and applied here. */
interface ProposedEntry extends PacedEntry {
  readonly index: RaftIndex;
  /** Enough cosignatures of what it has grown are in hand, or are waited for no longer. */
  isSettled: boolean;
  appliedMs: number | null;
}

export interface LeaderQueueOptions {
  readonly clock: TimerClock;
  /** Appends to the log as leader; the entry's index, or null if the engine does not take it. */
  readonly propose: (payload: Uint8Array, groups: readonly QueuedGroup[]) => RaftIndex | null;
  /** The newest entry that is decided here, and of whose heads and earlier ones enough cosignatures are in hand. */
  readonly cosignedTo: () => RaftIndex;
  readonly hasCertificatesToRecord: () => boolean;
  /** The newest certificates that the log does not record yet. Cosignatures are verified for it. */
  readonly certificatesToRecord: () => readonly Certificate[];
  /** These have been proposed. */
  readonly onRecording: (certificates: readonly Certificate[]) => void;
  /** A group has come and will be proposed: preparing its decision can begin. */
  readonly onQueued: (group: QueuedGroup) => void;
  /** Why not everything may be proposed now; null: all may. */
  readonly gate: () => Gate | null;
  /** The version of the entries that are proposed now. */
  readonly entryVersion: () => number;
  readonly refuse: (groups: readonly QueuedGroup[], code: RefusalCode, detail: string) => void;
}

/**
 * The leader's side of group commit: an idle pipeline proposes at once, a busy one batches (`EntryPace`).
 *
 * Invariant: at most two entries of this queue are not settled at any time. A group leaves the queue proposed,
 * refused by name, or expired; expired work is dropped here and never after it was proposed.
 */
export class LeaderQueue {
  readonly #options: LeaderQueueOptions;
  readonly #queuedKeys = new Set<string>();
  #groups: TimedGroup[] = [];
  #commands = 0;
  #bytes = 0;
  /** Ascending by index. */
  #proposed: ProposedEntry[] = [];
  #pace = new EntryPace();
  #isLeading = false;
  #settleTimer: Timer | null = null;
  /** Runs when the next entry is due, if nothing comes before. */
  #dueTimer: { readonly atMs: number; readonly timer: Timer } | null = null;
  #recordTimer: Timer | null = null;
  #proposedMs = Number.NEGATIVE_INFINITY;
  /** When the last entry with certificates was proposed. */
  #recordedMs = Number.NEGATIVE_INFINITY;

  constructor(options: LeaderQueueOptions) {
    this.#options = options;
  }

  get depth(): { readonly commands: number; readonly bytes: number } {
    return { commands: this.#commands, bytes: this.#bytes };
  }

  /** For how long the oldest entry that is not applied here has been proposed, in ms. */
  get oldestUnappliedMs(): number {
    const oldest = this.#proposed.find(({ appliedMs }) => appliedMs === null);
    return oldest === undefined ? 0 : this.#options.clock.monotonicMs() - oldest.sinceMs;
  }

  /** Takes groups of this node's clients or of a follower. */
  offer(groups: readonly QueuedGroup[]): void {
    if (!this.#isLeading) {
      this.#options.refuse(groups, "no_leader", "this node does not lead");
      return;
    }
    const now = this.#options.clock.monotonicMs();
    const refused: QueuedGroup[] = [];
    const gate = this.#options.gate();
    for (const group of gate === null ? groups : this.#refuseHeld(groups, gate)) {
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
    this.#proposed = [];
    this.#pace = new EntryPace();
    this.#cancelTimers();
    // The previous leader may have stopped before it recorded a certificate that this node holds.
    if (isLeading) return this.#recordSoon();
    const groups = this.#takeAll();
    if (groups.length > 0) this.#options.refuse(groups, "no_leader", "this node no longer leads");
  }

  /** An entry is decided here. One that grows no tree is settled by that. */
  onDecided(): void {
    this.#settle();
  }

  /** An entry is in the tables here. */
  onApplied(applied: RaftIndex): void {
    const now = this.#options.clock.monotonicMs();
    for (const entry of this.#proposed) if (entry.index <= applied) entry.appliedMs ??= now;
    this.#settle();
  }

  /**
   * Enough cosignatures of a head are in hand. Counting entries up to this point, not to the commit, lets batches grow
   * with all that an entry costs, here and on the other nodes. Certificates may wait to be recorded.
   */
  onCosigned(): void {
    this.#recordSoon();
    this.#settle();
  }

  /** Proposes as long as the rules above allow. */
  pump(): void {
    while (this.#isLeading && this.#underWay().length < ENTRIES_UNDER_WAY_MAX && this.#isDue()) {
      this.#dropExpired();
      if (!this.#proposeNext()) return;
    }
  }

  close(): void {
    this.#isLeading = false;
    this.#cancelTimers();
    this.#takeAll();
  }

  #underWay(): readonly ProposedEntry[] {
    return this.#proposed.filter(({ isSettled }) => !isSettled);
  }

  #settle(): void {
    if (this.#proposed.length === 0) return;
    const now = this.#options.clock.monotonicMs();
    const cosignedTo = this.#options.cosignedTo();
    for (const entry of this.#proposed) {
      if (entry.isSettled) continue;
      const isLate = entry.appliedMs !== null && now - entry.appliedMs >= UNCOSIGNED_MAX_MS;
      entry.isSettled = entry.index <= cosignedTo || isLate;
      if (entry.isSettled) this.#pace.onSettled(now, entry, this.#commands);
    }
    this.#proposed = this.#proposed.filter(({ isSettled, appliedMs }) => !isSettled || appliedMs === null);
    const oldest = this.#proposed.find(({ isSettled, appliedMs }) => !isSettled && appliedMs !== null);
    if (oldest !== undefined) {
      const leftMs = Math.ceil(UNCOSIGNED_MAX_MS - (now - (oldest.appliedMs ?? now)));
      this.#settleTimer ??= this.#options.clock.startTimer(leftMs, () => {
        this.#settleTimer = null;
        this.#settle();
      });
    }
    this.pump();
  }

  #isDue(): boolean {
    const oldest = this.#groups[0];
    if (oldest === undefined) return false;
    const waiting = { commands: this.#commands, bytes: this.#bytes, oldestMs: oldest.queuedMs };
    const now = this.#options.clock.monotonicMs();
    const dueMs = this.#pace.dueMs(waiting, this.#underWay().at(-1));
    if (dueMs <= now) return true;
    this.#pumpAt(dueMs, now);
    return false;
  }

  /** At the earliest of the times it was called with. */
  #pumpAt(atMs: number, now: number): void {
    if (this.#dueTimer !== null && this.#dueTimer.atMs <= atMs) return;
    this.#dueTimer?.timer.cancel();
    const timer = this.#options.clock.startTimer(Math.ceil(atMs - now), () => {
      this.#dueTimer = null;
      this.pump();
    });
    this.#dueTimer = { atMs, timer };
  }

  /** Until nothing is left to record, by any entry: a check every 25 ms, which an idle pipeline uses. */
  #recordSoon(): void {
    if (!this.#isLeading || this.#recordTimer !== null || !this.#options.hasCertificatesToRecord()) return;
    this.#recordTimer = this.#options.clock.startTimer(RECORD_CERTIFICATE_AFTER_MS, () => {
      this.#recordTimer = null;
      const idleMs = this.#options.clock.monotonicMs() - this.#proposedMs;
      const isIdle = this.#groups.length === 0 && this.#proposed.length === 0;
      if (isIdle && idleMs >= RECORD_CERTIFICATE_AFTER_MS) this.#proposeNext();
      this.#recordSoon();
    });
  }

  #cancelTimers(): void {
    this.#dueTimer?.timer.cancel();
    this.#dueTimer = null;
    this.#recordTimer?.cancel();
    this.#recordTimer = null;
    this.#settleTimer?.cancel();
    this.#settleTimer = null;
  }

  /** One entry: the certificates to record, then as many groups as fit. False: nothing was proposed. */
  #proposeNext(): boolean {
    const gate = this.#options.gate();
    if (gate !== null) {
      const groups = this.#groups;
      this.#remove(new Set(groups.filter((group) => isHeld(group.purpose, gate)).map(({ id }) => groupKey(id))));
      this.#refuseHeld(groups, gate);
      // Then no entry is stamped, and no certificate recorded.
      if (gate.holds.has("group")) return false;
    }
    const now = this.#options.clock.monotonicMs();
    const isTooSoon = this.#groups.length > 0 && now - this.#recordedMs < RECORD_CERTIFICATES_EVERY_MS;
    const waiting = isTooSoon ? [] : this.#options.certificatesToRecord().slice(0, LIMITS.entryCertificatesMax);
    const { take, certify } = packEntry(this.#groups, waiting.length * CERTIFICATE_BYTES_MAX);
    const packed = take.flatMap((position) => this.#groups[position] ?? []);
    // What must be alone in its entry leaves the certificates to the next one.
    const certificates = packed.some((group) => group.isAlone) ? [] : waiting;
    if (packed.length === 0 && certificates.length === 0) return false;
    const payload = encodeEntry({
      version: this.#options.entryVersion(),
      certify,
      acceptedMs: this.#options.clock.wallMs(),
      certificates,
      groups: packed.map((group) => group.bytes),
    });
    const index = this.#options.propose(payload, packed);
    if (index === null) return false;
    const commands = packed.reduce((sum, group) => sum + group.weight.commands, 0);
    this.#proposed.push({ index, sinceMs: now, commands, isSettled: false, appliedMs: null });
    this.#proposedMs = now;
    if (certificates.length > 0) {
      this.#recordedMs = now;
      this.#options.onRecording(certificates);
    }
    this.#remove(new Set(packed.map((group) => groupKey(group.id))));
    return true;
  }

  /** Returns those that the gate does not refuse. */
  #refuseHeld<Group extends QueuedGroup>(groups: readonly Group[], gate: Gate): readonly Group[] {
    const held = groups.filter((group) => isHeld(group.purpose, gate));
    if (held.length > 0) this.#options.refuse(held, gate.code, gate.detail);
    return groups.filter((group) => !isHeld(group.purpose, gate));
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
    this.#options.onQueued(group);
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

/** Decided by the group's purpose, not by its sender: a follower's group is treated like one of this node's own. */
export function isHeld(purpose: Purpose, { holds }: Gate): boolean {
  return purpose !== "group" && holds.has(purpose);
}

export function groupKey(id: GroupId): string {
  return `${id.node.toString(16)}:${id.incarnation}:${id.counter}`;
}
