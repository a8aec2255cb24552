import type { Environment, Timer } from "../ports/environment.ts";
import type { SentGroup } from "../proposals/proposals.ts";
import type { RaftId } from "raft-ts";

/** Longer than an election takes on a busy machine: a later turn finds a leader, and does not split the votes. */
const TURN_MS = 120;
/** Without a leader by then, a node campaigns again; Raft's own timeout is 1 to 2 s. A random part keeps two apart. */
const AGAIN_MS = { least: 400, random: 200 } as const;
const CAMPAIGNS_MAX = 3;
/** A leader under which no forwarded write is decided for this long is abandoned. */
const PATIENCE_MS = 5000;
/** A write that was forwarded last may take this long, even if patience ends meanwhile. */
const ANSWER_MS = 1000;
const LOOK_AGAIN_MS = 500;
/** A single write may have been lost on the way. */
const UNANSWERED_MIN = 3;
/** How long it is then not followed; doubles each time. */
const PAUSE_MIN_MS = 10_000;
const PAUSE_MAX_MS = 320_000;

export interface FailoverOptions {
  readonly environment: Pick<Environment, "clock" | "random" | "logger">;
  readonly leader: () => string | null;
  /** How many other voters are to campaign before this node when that leader is left. Differs on each of them. */
  readonly turnAfter: (leader: string) => number;
  /** Everything known to be committed is applied here, so a decided write would have been seen. */
  readonly isCaughtUp: () => boolean;
  /** Whether this node, if it led, would refuse all of these now. */
  readonly wouldRefuse: (groups: readonly SentGroup[]) => boolean;
  readonly forgetLeader: () => void;
  readonly campaign: () => void;
}

interface Wait {
  readonly leader: string;
  readonly sinceMs: number;
  /** When the newest write was forwarded. */
  newestMs: number;
  unanswered: number;
  /** What the leader refused last. */
  refused: readonly SentGroup[];
}

interface Shunned {
  readonly untilMs: number;
  readonly pauseMs: number;
}

/**
 * When a follower looks for another leader before its election timeout says so.
 *
 * A leader whose connections are closed and whose port refuses is dead, not slow: waiting would only cost time. One
 * that stays leader and accepts no writes is broken, or lies: it is not followed for a while. A refusal answers for a
 * write only if this node would refuse it as well, by its own ledger, certificates and clock. In either case the
 * follower forgets the leader, waits for its turn, so that two do not split the votes, and campaigns with PreVote: this
 * does no harm if the follower is wrong.
 */
export class Failover {
  readonly #options: FailoverOptions;
  readonly #shunned = new Map<string, Shunned>();
  #wait: Wait | null = null;
  #campaign: Timer | null = null;
  #patience: Timer | null = null;

  constructor(options: FailoverOptions) {
    this.#options = options;
  }

  /** The peer's connections are closed and reconnects were refused for a while. */
  onPeerGone(nodeId: string): void {
    if (this.#options.leader() === nodeId && this.#campaign === null) this.#leave(nodeId);
  }

  /** A leader is elected, perhaps the same again: what became of writes before that says nothing about its office. */
  onElected(): void {
    this.#wait = null;
    this.#campaign?.cancel();
    this.#campaign = null;
  }

  /** Writes of this node's clients were forwarded to the leader. */
  onForwarded(leader: string): void {
    const nowMs = this.#nowMs();
    if (this.#wait?.leader !== leader) {
      this.#wait = { leader, sinceMs: nowMs, newestMs: nowMs, unanswered: 0, refused: [] };
    }
    this.#wait.newestMs = nowMs;
    this.#wait.unanswered += 1;
    this.#patience ??= this.#options.environment.clock.startTimer(PATIENCE_MS, () => this.#lose());
  }

  /** The log holds a write of this node's clients, as it was forwarded. */
  onDecided(): void {
    this.#wait = null;
  }

  /** The leader has said that it does not propose these. */
  onRefused(leader: string, groups: readonly SentGroup[]): void {
    if (this.#wait?.leader !== leader || groups.length === 0) return;
    if (this.#options.wouldRefuse(groups)) this.#wait = null;
    else this.#wait.refused = groups;
  }

  /** Whether this node's messages as leader are ignored. */
  isShunned(nodeId: string): boolean {
    return this.#nowMs() < (this.#shunned.get(nodeId)?.untilMs ?? 0);
  }

  close(): void {
    this.#campaign?.cancel();
    this.#patience?.cancel();
  }

  #lose(): void {
    const { environment, leader, isCaughtUp, wouldRefuse } = this.#options;
    this.#patience = null;
    const wait = this.#wait;
    if (wait === null) return;
    const leftMs = endOfPatience(wait) - this.#nowMs();
    if (leftMs > 0 || wait.unanswered < UNANSWERED_MIN || !isCaughtUp()) {
      this.#patience = environment.clock.startTimer(leftMs > 0 ? leftMs : LOOK_AGAIN_MS, () => this.#lose());
      return;
    }
    this.#wait = null;
    if (leader() !== wait.leader) return;
    // Since then this node may have come to agree with the refusal.
    if (wait.refused.length > 0 && wouldRefuse(wait.refused)) return;
    const before = this.#shunned.get(wait.leader)?.pauseMs ?? PAUSE_MIN_MS / 2;
    const pauseMs = Math.min(before * 2, PAUSE_MAX_MS);
    this.#shunned.set(wait.leader, { untilMs: this.#nowMs() + pauseMs, pauseMs });
    environment.logger.error("leader_abandoned", { leader: wait.leader, writes: wait.unanswered, pauseMs });
    this.#leave(wait.leader);
  }

  #leave(lost: string): void {
    const { forgetLeader, turnAfter } = this.#options;
    forgetLeader();
    this.#campaignIn(turnAfter(lost) * TURN_MS, CAMPAIGNS_MAX);
  }

  #campaignIn(delayMs: number, times: number): void {
    const { environment, leader, campaign } = this.#options;
    this.#campaign?.cancel();
    this.#campaign = environment.clock.startTimer(delayMs, () => {
      this.#campaign = null;
      if (leader() !== null) return;
      campaign();
      if (times > 1 && leader() === null) this.#campaignIn(this.#againMs(), times - 1);
    });
  }

  #againMs(): number {
    const draw = new Uint8Array(1);
    this.#options.environment.random.fill(draw);
    return AGAIN_MS.least + ((draw[0] ?? 0) / 256) * AGAIN_MS.random;
  }

  #nowMs(): number {
    return this.#options.environment.clock.monotonicMs();
  }
}

/**
 * How many voters come before this node once that leader is left: in ascending order from the leader's id on, the
 * smallest id after the greatest. Each voter has a turn of its own.
 */
export function turnAfter(leader: RaftId, self: RaftId, voters: readonly RaftId[]): number {
  const others = voters.filter((voter) => voter !== leader).sort((left, right) => (left < right ? -1 : 1));
  const inOrder = [...others.filter((voter) => voter > leader), ...others.filter((voter) => voter < leader)];
  return Math.max(0, inOrder.indexOf(self));
}

/**
 * A leader that has refused writes while it had reason to, and has taken none since, may be deciding the next one: that
 * write gets its time. Writes that follow each other closely do not put the end off further.
 */
function endOfPatience({ sinceMs, newestMs }: Wait): number {
  const endMs = sinceMs + PATIENCE_MS;
  return Math.max(endMs, Math.min(newestMs, endMs) + ANSWER_MS);
}
