/** Outcomes of checking: never one bare boolean. */
export type CheckResult = "pass" | "fail" | "not_checked";

export interface Check<Code extends string = string> {
  readonly code: Code;
  readonly result: CheckResult;
  /** For people. */
  readonly detail: string;
}

export interface VerificationResult<Code extends string = string> {
  /** No deciding check failed, and every one that applies was made. */
  readonly valid: boolean;
  readonly checks: readonly Check<Code>[];
}

/** A check, and whether the verdict depends on it. */
export interface WeighedCheck<Code extends string> {
  readonly check: Check<Code>;
  /** False: it informs, or does not apply. */
  readonly isDeciding: boolean;
}

export function conclude<Code extends string>(weighed: readonly WeighedCheck<Code>[]): VerificationResult<Code> {
  const valid = weighed.every(({ check, isDeciding }) => !isDeciding || check.result === "pass");
  return { valid, checks: weighed.map(({ check }) => check) };
}
