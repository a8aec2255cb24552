/** The feed of an origin, from its events to verified heads. */
import { listOf, optional, readCount, readHash, readText, record } from "./answer-reader.ts";
import { Caller, OPEN } from "./caller.ts";
import type { CallOptions, ClientSettings } from "./client-options.ts";
import {
  ApiProblem,
  ConnectionFailed,
  RateLimited,
  TimedOut,
  Unavailable,
  UnexpectedAnswer,
  VerificationError,
} from "./errors.ts";
import type { AnchoringError } from "./errors.ts";
import { eventsIn } from "./event-stream.ts";
import { bytes32, count, hex32 } from "./inputs.ts";
import type { Bytes32 } from "./inputs.ts";
import { rollbackAlarm, splitViewAlarm } from "./monitor-alarm.ts";
import type { Shown } from "./monitor-alarm.ts";
import type { ReceiptGuard } from "./receipt-guard.ts";
import { verifyConsistency } from "./verify-checkpoint.ts";
import type { TreeHead, VerifiedCheckpoint } from "./verify-checkpoint.ts";

/** A head that was verified before. */
export interface HeldHead extends TreeHead {
  /** The signed note, if it was kept: evidence, should a later head contradict it. */
  readonly checkpoint?: string | undefined;
}

export interface FollowQuestion {
  /** Default: the origin that writes go to. */
  readonly originFingerprint?: Bytes32 | undefined;
  /** Where an earlier run has ended: the first head is then a larger one, and proved from this. */
  readonly after?: HeldHead | undefined;
}

/** A head whose signatures and quorum are good, and which is proved to continue the one before. */
export interface FollowedHead extends VerifiedCheckpoint {
  /** The signed note. */
  readonly checkpoint: string;
  /** Leaves in the head before; null: this is the first, and nothing was held. */
  readonly previousTreeSize: number | null;
}

interface Source {
  readonly client: { originFingerprint(options: CallOptions): Promise<string> };
  readonly guard: ReceiptGuard;
  readonly settings: ClientSettings;
}

/** A node sends something every 10 seconds. */
const SILENCE_MS_MAX = 30_000;
/** So many tries in a row, before the first feed was opened, and the error is thrown: the address may be wrong. */
const UNOPENED_TRIES_MAX = 5;
const PAUSE_MS = 250;
const PAUSE_MS_MAX = 30_000;
/** A feed that has lived so long did not fail at once: the pauses begin anew. */
const STEADY_MS = 10_000;

/**
 * Follows the heads of an origin at any of the endpoints, until the loop over it ends or `signal` does. A feed that
 * breaks is taken up after the last head that was given out, after growing pauses, at the next endpoint.
 * @throws Rollback, SplitView: a head that contradicts the one before; VerificationError: one that is not good;
 *   ApiProblem: the feed is refused; ConnectionFailed, TimedOut: no endpoint has opened it
 */
export async function* followHeads(
  { client, guard, settings }: Source,
  question: FollowQuestion,
  options: CallOptions,
): AsyncGenerator<FollowedHead> {
  const signal = options.signal ?? null;
  const isOver = (): boolean => signal?.aborted === true;
  const origin = hex32("originFingerprint", question.originFingerprint ?? (await client.originFingerprint(options)));
  const chain = new HeadChain(origin, question.after ?? null, guard);
  const caller = new Caller({ ...settings, timeoutMs: SILENCE_MS_MAX });
  const pauses = new Pauses(settings);
  while (!isOver()) {
    const operation = { ...feedOf(origin), lastEventId: chain.treeSize?.toString() };
    try {
      for await (const event of eventsIn(pauses.noting(caller.stream(operation, options)))) {
        if (event.type === "end") throw new ConnectionFailed(`the node has ended the feed: ${event.text}`);
        const head = event.type === "head" ? await chain.next(event.text) : null;
        if (head === null) continue;
        pauses.reset();
        yield head;
      }
    } catch (error) {
      if (isOver()) return;
      if (!isPassing(error)) throw chain.rollbackIn(error) ?? error;
      await pauses.after(error, signal);
    }
  }
}

/** Between the tries of a feed. */
class Pauses {
  readonly #settings: Pick<ClientSettings, "timing" | "onRetry">;
  #failures = 0;
  #hasOpened = false;
  #openedMs: number | null = null;

  constructor(settings: Pick<ClientSettings, "timing" | "onRetry">) {
    this.#settings = settings;
  }

  /** The same bytes: when the first of them has come, the feed is open. */
  async *noting(body: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
    for await (const chunk of body) {
      this.#hasOpened = true;
      this.#openedMs ??= this.#settings.timing.now();
      yield chunk;
    }
  }

  reset(): void {
    this.#failures = 0;
  }

  /** @throws the error, if no feed could be opened at all */
  async after(error: AnchoringError, signal: AbortSignal | null): Promise<void> {
    const { timing, onRetry } = this.#settings;
    if (this.#openedMs !== null && timing.now() - this.#openedMs >= STEADY_MS) this.reset();
    this.#openedMs = null;
    this.#failures += 1;
    if (!this.#hasOpened && this.#failures >= UNOPENED_TRIES_MAX) throw error;
    const backoffMs = Math.min(PAUSE_MS * 2 ** Math.min(this.#failures - 1, 16), PAUSE_MS_MAX);
    const delayMs = Math.max(backoffMs * (0.5 + timing.chance() / 2), (error.retryAfter ?? 0) * 1000);
    onRetry({ attempt: this.#failures, error, delayMs });
    await timing.wait(delayMs, signal);
  }
}

function feedOf(origin: string) {
  const isAnswer = (status: number): boolean => status === 200;
  const path = `/v1/origins/${origin}/feed`;
  return { path, accept: "text/event-stream", ...OPEN, isAnswer };
}

/** What another try, or another node, may do better. */
function isPassing(error: unknown): error is AnchoringError {
  return [ConnectionFailed, TimedOut, RateLimited, Unavailable].some((kind) => error instanceof kind);
}

const readHead = record({
  checkpoint: readText,
  consistency: optional(record({ fromSize: readCount, proof: listOf(readHash) })),
});

/** The heads of one origin, each held against the one before. */
class HeadChain {
  readonly #origin: string;
  readonly #guard: ReceiptGuard;
  #held: HeldHead | null;

  /** @throws InvalidInput */
  constructor(origin: string, after: HeldHead | null, guard: ReceiptGuard) {
    this.#origin = origin;
    this.#guard = guard;
    this.#held = after;
    if (after === null) return;
    count("after.treeSize", after.treeSize);
    bytes32("after.rootHash", after.rootHash);
  }

  get treeSize(): number | null {
    return this.#held?.treeSize ?? null;
  }

  /** What an event shows; null: the head that was given out last, once more. @throws AnchoringError */
  async next(text: string): Promise<FollowedHead | null> {
    const { checkpoint, consistency } = readHead(jsonOf(text), "the event");
    const to = await this.#guard.verifiedCheckpoint(checkpoint);
    if (to.originFingerprint !== this.#origin) {
      throw new VerificationError("origin_differs", `the head is of origin ${to.originFingerprint}`);
    }
    const from = this.#held;
    if (from !== null) {
      if (to.treeSize < from.treeSize) {
        throw rollbackAlarm(this.#shown(checkpoint), from.treeSize, to.treeSize).error;
      }
      const isSameSize = to.treeSize === from.treeSize;
      if (!isSameSize && consistency?.fromSize !== from.treeSize) {
        throw new UnexpectedAnswer(`the proof of a head does not begin at ${from.treeSize} leaves`);
      }
      this.#compare(from, to, isSameSize ? [] : (consistency?.proof ?? []), checkpoint);
      if (isSameSize) return null;
    }
    const head = { ...to, checkpoint, previousTreeSize: from?.treeSize ?? null };
    this.#held = head;
    return head;
  }

  /** A quorum that does not know a head that was seen has rolled back. null: it is another refusal */
  rollbackIn(error: unknown): VerificationError | null {
    if (this.#held === null || !(error instanceof ApiProblem) || error.code !== "from_size_ahead") return null;
    return rollbackAlarm(this.#shown(null), this.#held.treeSize, null).error;
  }

  #compare(from: HeldHead, to: VerifiedCheckpoint, proof: readonly Uint8Array[], checkpoint: string): void {
    try {
      verifyConsistency(from, to, proof);
    } catch (error) {
      if (!(error instanceof VerificationError)) throw error;
      throw splitViewAlarm(this.#shown(checkpoint), from, to, error).error;
    }
  }

  #shown(latest: string | null): Shown {
    return { node: 0, originFingerprint: this.#origin, held: this.#held?.checkpoint, latest };
  }
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new UnexpectedAnswer("an event is no JSON", { cause: error });
  }
}
