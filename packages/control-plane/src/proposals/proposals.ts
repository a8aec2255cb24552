import {
  type Command,
  type CommandOutcome,
  type Entry as LedgerEntry,
  type EntryDecision,
  type GroupId,
  type LeafWrite,
  type Purpose,
  type Weight,
  LIMITS,
  encodeCommand,
  encodeGroup,
  encodedGroups,
  fitsEntry,
  mayAppendLeaf,
  sharesGroup,
  waitingGroupOf,
  weightOf,
} from "@event-anchoring/ledger";
import type { RefusalCode, TraceContext } from "@event-anchoring/control-contract";
import { type OriginFingerprint, bytesToHex, equalBytes } from "@event-anchoring/protocol";
import type { RaftIndex } from "raft-ts";
import type { Clock, Logger } from "@event-anchoring/telemetry";
import type { QueuedGroup } from "./leader-queue.ts";
import { groupKey } from "./leader-queue.ts";

/** A group's own header, and room for certificates in its entry. */
const GROUP_OVERHEAD_BYTES = 64 * 1024;
/** A group that is decided too late for its clients still shows that its leader proposes what it is sent. */
const REMEMBERED_MS = 5000;
/** Groups that together exceed this size are sent in several frames. */
const BATCH_BYTES_MAX = LIMITS.entryBytesMax;

/** The command of one request, and who waits for it. */
export interface Submission {
  readonly command: Command;
  /** `encodeCommand(command)`, as the log will hold it; absent: it is encoded here. */
  readonly bytes?: Uint8Array;
  /** "committed": answer as soon as the command is decided, without waiting for a certificate. */
  readonly answer: "certified" | "committed";
  /** Monotonic time at which an answer is due, even if the outcome is unknown then. */
  readonly deadlineMs: number;
  /** Context of a write that is traced. */
  readonly trace?: TraceContext;
  /** Called exactly once. */
  readonly respond: (result: SubmissionResult) => void;
}

/**
 * The node's answer. `refused`: nothing was or will be anchored, except for `outcome_unknown`, which promises nothing
 * in either direction.
 */
export type SubmissionResult =
  | { readonly kind: "decided"; readonly finality: "certified" | "committed"; readonly outcome: CommandOutcome }
  | { readonly kind: "refused"; readonly code: RefusalCode; readonly detail: string };

export interface ProposalsOptions {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly self: { readonly node: bigint; readonly incarnation: number };
  readonly commitIndex: () => number;
  /** The node that leads, perhaps this one; null: none is known. */
  readonly leader: () => string | null;
  /** Hands groups to the leader's queue, here or over the network; false: it cannot be reached now. */
  readonly sendTo: (leader: string, groups: readonly QueuedGroup[]) => boolean;
  /** Something that this node did not send was decided under one of its ids. */
  readonly onOtherDecided: () => void;
  /** Calls back once this node holds a certificate of at least that size. */
  readonly whenCovered: (origin: OriginFingerprint, treeSize: number, covered: () => void) => () => void;
}

/**
 * A local group is one of:
 * - *waiting*: no leader has it; at its deadline the answer is definite, nothing was anchored;
 * - *sent*: it may be in the log, or get there later; it is sent again, under the same id, to every new leader;
 * - *decided*: found in the node's own log; what remains is the wait for a certificate. At the deadline the answer
 *   is "committed".
 * At the deadline a *sent* group is answered `outcome_unknown`: the client asks again with its client_event_id.
 */
interface LocalGroup extends QueuedGroup {
  readonly submissions: OpenSubmission[];
  /** The leaders that may have it, once for each send. After a second send a refusal says nothing definite. */
  readonly sentTo: string[];
}

/** What a leader was sent, as far as needed to judge its refusal. */
export interface SentGroup {
  readonly purpose: Purpose;
  readonly commands: readonly Command[];
}

interface OpenSubmission extends Submission {
  /** Empty once it has a group, whose bytes hold them. */
  bytes: Uint8Array;
  /** null until the turn is over. */
  group: LocalGroup | null;
  /** Set once decided. */
  outcome: CommandOutcome | null;
  stopWaiting: () => void;
  isAnswered: boolean;
}

/** The waiters of this node's clients, from submission to answer. */
export class Proposals {
  readonly #options: ProposalsOptions;
  readonly #groups = new Map<string, LocalGroup>();
  readonly #open = new Set<OpenSubmission>();
  #collecting: OpenSubmission[] = [];
  #counter = 0;
  #isClosed = false;

  constructor(options: ProposalsOptions) {
    this.#options = options;
  }

  get openCount(): number {
    return this.#open.size;
  }

  /** Whether a sweep has anything to do. */
  get hasOpen(): boolean {
    return this.#open.size > 0 || this.#groups.size > 0;
  }

  /** Commands of clients that come in one turn share a group; any other has one of its own. */
  submit(submission: Submission): void {
    if (this.#isClosed) return submission.respond(refusal("unavailable", "the node is loading again"));
    const { bytes = encodeCommand(submission.command) } = submission;
    const stopWaiting = (): void => {};
    const open: OpenSubmission = { ...submission, bytes, group: null, outcome: null, stopWaiting, isAnswered: false };
    this.#open.add(open);
    this.#collecting.push(open);
    if (this.#collecting.length === 1) queueMicrotask(() => this.#formGroups());
  }

  /** A leader is known and reachable, perhaps a new one: everything undecided is sent to it (again). */
  onLeaderReachable(): void {
    const undecided = [...this.#groups.values()].filter((group) => group.deadlineMs > this.#now());
    if (undecided.length > 0) this.#send(undecided);
  }

  /** That node did not accept these. Its refusal covers one copy of each, and only a copy that it was sent. */
  onRefused(from: string, ids: readonly GroupId[], code: RefusalCode, detail: string): void {
    for (const id of ids) {
      const group = this.#groups.get(groupKey(id));
      if (group === undefined || !group.sentTo.includes(from)) continue;
      // That node does not lead (any more) and has not proposed it: the group stays, and goes to the next leader.
      if (code === "no_leader") {
        takeBack(group, from);
        continue;
      }
      // It was sent twice: the first copy may be in the log, so a refusal of the second says nothing definite.
      if (group.sentTo.length > 1) continue;
      this.#groups.delete(groupKey(id));
      for (const submission of group.submissions) this.#answer(submission, { kind: "refused", code, detail });
    }
  }

  /** Those of these groups that were sent to that node. */
  sentTo(leader: string, ids: readonly GroupId[]): readonly SentGroup[] {
    return ids.flatMap((id) => {
      const group = this.#groups.get(groupKey(id));
      if (group === undefined || !group.sentTo.includes(leader)) return [];
      return { purpose: group.purpose, commands: group.submissions.map(({ command }) => command) };
    });
  }

  /**
   * An entry was decided here: this node's groups in it get their outcome.
   * @param payload the bytes of the entry
   * @returns whether one of them is exactly as this node sent it
   */
  onDecided(entry: LedgerEntry, decision: EntryDecision, payload: Uint8Array): boolean {
    let isAnySent = false;
    let encoded: readonly Uint8Array[] | null = null;
    decision.outcomes.forEach((outcome, at) => {
      const id = entry.groups[at]?.id;
      if (id === undefined || id.node !== this.#options.self.node) return;
      const group = this.#groups.get(groupKey(id));
      if (group === undefined || id.incarnation !== this.#options.self.incarnation) return;
      encoded ??= encodedGroups(payload);
      if (!this.isAsSent(encoded[at], group)) return this.#onOtherDecided(group);
      isAnySent = true;
      if (outcome.status === "duplicate") return;
      this.#groups.delete(groupKey(id));
      group.submissions.forEach((submission, position) => {
        const decided = outcome.status === "decided" ? outcome.commands[position] : undefined;
        if (decided === undefined) this.#answer(submission, refusal("unavailable", "came too late into the log"));
        else this.#onOutcome(submission, decided);
      });
    });
    return isAnySent;
  }

  /** The leader writes the log: a group with one of this node's ids need not be the one that this node sent. */
  isAsSent(decided: Uint8Array | undefined, sent: { readonly bytes: Uint8Array }): boolean {
    return decided !== undefined && equalBytes(decided, sent.bytes);
  }

  /** The sent group may still be decided from another copy, or never, now that its id is taken. */
  #onOtherDecided({ id, submissions }: LocalGroup): void {
    this.#groups.delete(groupKey(id));
    this.#options.onOtherDecided();
    this.#options.logger.error("other_group_decided", { counter: id.counter, leader: this.#options.leader() });
    const detail = "something else was decided under the id of this request";
    for (const submission of submissions) this.#answer(submission, refusal("outcome_unknown", detail));
  }

  /**
   * The last log index at which a group that is sent now may be decided: ids of decided groups are remembered that
   * long.
   */
  notAfter(): RaftIndex {
    return this.#options.commitIndex() + LIMITS.groupIdEntriesKept;
  }

  /** Answers what is due. Called every few ms; an answer is never later than its deadline plus one period. */
  sweep(): void {
    const now = this.#now();
    for (const submission of this.#open) {
      if (submission.deadlineMs > now) continue;
      if (submission.outcome !== null) this.#answerDecided(submission, submission.outcome, "committed");
      else this.#answer(submission, undecidedResult(submission, now));
    }
    const waiting: LocalGroup[] = [];
    for (const [key, group] of this.#groups) {
      if (group.deadlineMs + REMEMBERED_MS <= now) this.#groups.delete(key);
      else if (group.deadlineMs > now && group.sentTo.length === 0) waiting.push(group);
    }
    // The outbox was full, or the node did not lead yet: nothing else would send these again.
    if (waiting.length > 0) this.#send(waiting);
  }

  /** The session ends. The outcome of a sent group is unknown; that of one never sent is definite. */
  close(): void {
    this.#isClosed = true;
    for (const submission of this.#open) {
      if (submission.outcome !== null) this.#answerDecided(submission, submission.outcome, "committed");
      else this.#answer(submission, undecidedResult(submission, Number.POSITIVE_INFINITY));
    }
    this.#groups.clear();
    this.#collecting = [];
  }

  #formGroups(): void {
    const collected = this.#collecting;
    this.#collecting = [];
    const formed: LocalGroup[] = [];
    let members: OpenSubmission[] = [];
    let weight = EMPTY_WEIGHT;
    for (const submission of collected) {
      const own = weightOf(submission.command, submission.bytes.length);
      if (!fitsEntry(addWeights(EMPTY_WEIGHT, own))) {
        this.#answer(submission, refusal("too_large", "more than one log entry may hold"));
        continue;
      }
      const sum = addWeights(weight, own);
      const belongs = [members[0] ?? submission, submission].every(({ command }) => sharesGroup(command));
      if (members.length > 0 && !(belongs && fitsEntry(sum))) {
        formed.push(this.#group(members));
        members = [];
        weight = addWeights(EMPTY_WEIGHT, own);
      } else weight = sum;
      members.push(submission);
    }
    if (members.length > 0) formed.push(this.#group(members));
    if (formed.length > 0) this.#send(formed);
  }

  #group(submissions: OpenSubmission[]): LocalGroup {
    this.#counter += 1;
    const id = { ...this.#options.self, counter: this.#counter };
    const notAfter = this.notAfter();
    const commands = submissions.map(({ command }) => command);
    const bytes = encodeGroup({ id, notAfter, commands: submissions.map(({ bytes: encoded }) => encoded) });
    const traces = submissions.flatMap(({ trace }) => trace ?? []);
    const group: LocalGroup = {
      ...(traces.length === 0 ? {} : { traces }),
      ...waitingGroupOf({ id, notAfter, commands }, bytes.length),
      id,
      bytes,
      submissions,
      from: null,
      sentTo: [],
      deadlineMs: Math.max(...submissions.map(({ deadlineMs }) => deadlineMs)),
    };
    for (const submission of submissions) {
      submission.group = group;
      submission.bytes = NO_BYTES;
    }
    this.#groups.set(groupKey(id), group);
    return group;
  }

  #send(groups: readonly LocalGroup[]): void {
    const leader = this.#options.leader();
    if (leader === null) return;
    for (const departing of batchesOf(groups)) {
      // Noted first: the leader may be this node, and refuse within the call.
      for (const { sentTo } of departing) sentTo.push(leader);
      if (this.#options.sendTo(leader, departing)) continue;
      for (const group of departing) takeBack(group, leader);
    }
  }

  #onOutcome(submission: OpenSubmission, outcome: CommandOutcome): void {
    if (submission.isAnswered) return;
    submission.outcome = outcome;
    const leaves = lastAccepted(outcome);
    // Leaves that a trust root appends are not part of its outcome.
    const isOwed = outcome.kind === "applied" && mayAppendLeaf(submission.command);
    if (leaves.length === 0) return this.#answerDecided(submission, outcome, isOwed ? "committed" : "certified");
    if (submission.answer === "committed") return this.#answerDecided(submission, outcome, "committed");
    let uncovered = leaves.length;
    const covered = (): void => {
      uncovered -= 1;
      if (uncovered === 0) this.#answerDecided(submission, outcome, "certified");
    };
    const stops = leaves.map(({ originFingerprint, depth }) =>
      this.#options.whenCovered(originFingerprint, depth + 1, covered),
    );
    submission.stopWaiting = () => {
      for (const stop of stops) stop();
    };
  }

  #answerDecided(submission: OpenSubmission, outcome: CommandOutcome, finality: "certified" | "committed"): void {
    this.#answer(submission, { kind: "decided", finality, outcome });
  }

  #answer(submission: OpenSubmission, result: SubmissionResult): void {
    if (submission.isAnswered) return;
    submission.isAnswered = true;
    submission.stopWaiting();
    this.#open.delete(submission);
    submission.respond(result);
  }

  #now(): number {
    return this.#options.clock.monotonicMs();
  }
}

/** After a change of leader everything open is sent at once; one frame could not carry it. */
function* batchesOf(groups: readonly LocalGroup[]): Generator<readonly LocalGroup[]> {
  let batch: LocalGroup[] = [];
  let bytes = 0;
  for (const group of groups) {
    if (batch.length > 0 && bytes + group.bytes.length > BATCH_BYTES_MAX) {
      yield batch;
      batch = [];
      bytes = 0;
    }
    batch.push(group);
    bytes += group.bytes.length;
  }
  if (batch.length > 0) yield batch;
}

/** One copy is known not to be in the log. */
function takeBack({ sentTo }: LocalGroup, leader: string): void {
  const at = sentTo.indexOf(leader);
  if (at >= 0) sentTo.splice(at, 1);
}

function undecidedResult({ group }: OpenSubmission, now: number): SubmissionResult {
  if (group !== null && group.sentTo.length > 0) {
    return refusal("outcome_unknown", "proposed, and not seen decided in time");
  }
  // Others of its group have more time: it may yet leave with them.
  if (group !== null && group.deadlineMs > now) return refusal("outcome_unknown", "not proposed yet, and it may be");
  return refusal("no_leader", "no leader was reachable before the deadline");
}

const NO_BYTES = new Uint8Array(0);
const EMPTY_WEIGHT: Weight = { commands: 0, signedCommands: 0, bytes: GROUP_OVERHEAD_BYTES };

function addWeights(left: Weight, right: Weight): Weight {
  return {
    commands: left.commands + right.commands,
    signedCommands: left.signedCommands + right.signedCommands,
    bytes: left.bytes + right.bytes,
  };
}

/** The accepted leaf with the greatest depth, for each origin: once these are covered, all of this outcome are. */
function lastAccepted(outcome: CommandOutcome): readonly LeafWrite[] {
  if (outcome.kind !== "records" || outcome.refused) return [];
  const last = new Map<string, LeafWrite>();
  for (const record of outcome.records) {
    if (record.status !== "accepted") continue;
    const key = bytesToHex(record.leaf.originFingerprint);
    if (record.leaf.depth >= (last.get(key)?.depth ?? 0)) last.set(key, record.leaf);
  }
  return [...last.values()];
}

function refusal(code: RefusalCode, detail: string): SubmissionResult {
  return { kind: "refused", code, detail };
}
