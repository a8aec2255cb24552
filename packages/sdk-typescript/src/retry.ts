/** Whether and when to ask again. */
import { InvalidInput } from "./errors.ts";

export interface RetryPolicy {
  /** Tries of one call, the first included; 1: never ask again. Default: 5. */
  readonly attemptsMax: number;
  /** No try begins later than this after the first. Default: 30,000. */
  readonly totalMs: number;
  /** Before the second try; it doubles with each further one. Default: 100. */
  readonly backoffMs: number;
  /** Where it stops doubling. `Retry-After` may ask for more. Default: 5,000. */
  readonly backoffMaxMs: number;
}

export const DEFAULT_RETRY: RetryPolicy = { attemptsMax: 5, totalMs: 30_000, backoffMs: 100, backoffMaxMs: 5_000 };

/** What decides whether to ask again. @returns how long to wait, in ms, 0: the next endpoint; null: do not ask again */
export type RetryRule = (outcome: Outcome, situation: RetrySituation) => number | null;

/** The rule of a policy; one of the caller's own is taken as it is. @throws InvalidInput */
export function retryRule(given: Partial<RetryPolicy> | RetryRule | undefined): RetryRule {
  if (typeof given === "function") return given;
  const policy = retryPolicy(given);
  return (outcome, situation) => delayBeforeRetry(policy, outcome, situation);
}

function retryPolicy(given: Partial<RetryPolicy> | undefined): RetryPolicy {
  const policy = { ...DEFAULT_RETRY, ...given };
  for (const [name, value] of Object.entries(policy)) {
    const min = name === "attemptsMax" ? 1 : 0;
    if (!Number.isSafeInteger(value) || value < min) throw new InvalidInput(`retry.${name}`, "expected an integer");
  }
  return policy;
}

/** How one try has ended. */
export type Outcome =
  | { readonly kind: "answered"; readonly status: number; readonly retryAfterMs: number | null }
  | { readonly kind: "failed"; readonly wasSent: boolean; readonly isFinal: boolean };

/** Whether it may be sent again: that has no further effect if it is a read, or known by id or content. */
export interface RetrySituation {
  readonly isRepeatable: boolean;
  /** Tries made. */
  readonly attempt: number;
  /** Since the first try began. */
  readonly elapsedMs: number;
  /** From 0 to 1. */
  readonly chance: number;
}

/**
 * The one place that decides whether to ask again.
 *
 * | how the try ended | again? |
 * |---|---|
 * | 429 | yes, the same endpoint: it is about the API key |
 * | the connection could not be made | yes, the next endpoint |
 * | 500, 502, 503, 504, a lost connection, a timeout | if the call is repeatable, the next endpoint |
 * | any other answer, cancelled, an answer beyond all limits | no |
 *
 * `Retry-After` is honoured, and a delay is drawn between half of the backoff and the whole of it. Where that leads
 * beyond the budget of tries or time the failure is reported at once.
 * @returns how long to wait, in ms; null: do not ask again
 */
export function delayBeforeRetry(policy: RetryPolicy, outcome: Outcome, situation: RetrySituation): number | null {
  const { attempt, elapsedMs, chance, isRepeatable } = situation;
  if (!isWorthAnotherTry(outcome)) return null;
  const mayHaveEffect = outcome.kind === "answered" ? outcome.status !== 429 : outcome.wasSent;
  if (mayHaveEffect && !isRepeatable) return null;
  const backoff = Math.min(policy.backoffMs * 2 ** Math.min(attempt - 1, 32), policy.backoffMaxMs);
  const asked = outcome.kind === "answered" ? (outcome.retryAfterMs ?? 0) : 0;
  const delay = Math.max(backoff * (0.5 + chance / 2), asked);
  const isInBudget = attempt < policy.attemptsMax && elapsedMs + delay <= policy.totalMs;
  return isInBudget ? delay : null;
}

const WORTH_ANOTHER_TRY: ReadonlySet<number> = new Set([429, 500, 502, 503, 504]);

/** Whether the answer may be another one next time: 429, and what a node or a proxy says while it cannot serve. */
export function isPassing(status: number): boolean {
  return WORTH_ANOTHER_TRY.has(status);
}

function isWorthAnotherTry(outcome: Outcome): boolean {
  return outcome.kind === "answered" ? isPassing(outcome.status) : !outcome.isFinal;
}

/** Whether the request may have had an effect: the outcome of such a write is unknown. */
export function leavesDoubt(outcome: Outcome, code: string | null): boolean {
  if (outcome.kind === "failed") return outcome.wasSent;
  if (outcome.status === 503) return code === "outcome_unknown";
  // A success that is no answer of the API may have been one.
  return outcome.status >= 500 || (outcome.status >= 200 && outcome.status < 300);
}
