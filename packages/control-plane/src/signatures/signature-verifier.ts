import { type Weight, decodeGroup, signaturesOf } from "@event-anchoring/ledger";
import { type SignatureToVerify, type VerdictMemo, rememberVerdicts } from "@event-anchoring/records";
import type { Crypto, TrustRoot } from "@event-anchoring/protocol";
import type { Clock, Logger } from "@event-anchoring/telemetry";
import type { VerifySignatures } from "../ports/environment.ts";

/**
 * Signatures of one job. Each job wakes the event loop once, so an entry's are one; those of groups are verified in
 * jobs of some 5 ms, so that an entry never waits long behind them.
 */
const JOB_MAX: Readonly<Record<Urgency, number>> = { entry: 512, group: 64 };

/** Signatures of an entry come before those of a group that waits to be proposed. */
export type Urgency = "entry" | "group";

export interface SignatureVerifierOptions {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly crypto: Crypto;
  /** The same rule as that of `crypto`, off the event loop. */
  readonly verify: VerifySignatures;
}

/** Since the process started. */
export interface VerificationCounts {
  readonly thread: { readonly count: number; readonly ms: number };
  /** On the event loop, while everything else waited. */
  readonly eventLoop: { readonly count: number; readonly ms: number };
  /** Verdicts that were already known when asked for. */
  readonly remembered: number;
  /** The thread gave no verdict; the event loop then computes it. */
  readonly failed: number;
}

interface PendingVerdict {
  readonly name: string;
  readonly signature: SignatureToVerify;
  readonly done: Promise<void>;
  readonly finish: () => void;
}

/**
 * Verifies signatures before the verdicts are needed, and remembers them.
 *
 * Every verdict is this node's own: a pure function of key, message and signature, computed here. No other node's claim
 * about a signature is used, and an entry that is never committed leaves only verdicts behind.
 */
export class SignatureVerifier {
  /** Knows every verdict that was computed, and computes those that were not. */
  readonly crypto: VerdictMemo;
  readonly #options: SignatureVerifierOptions;
  /** Waiting and under way, by the name of the verdict: nothing is verified twice at a time. */
  readonly #pending = new Map<string, PendingVerdict>();
  readonly #waiting: Readonly<Record<Urgency, Set<PendingVerdict>>> = { entry: new Set(), group: new Set() };
  readonly #thread = { count: 0, ms: 0 };
  readonly #loop = { count: 0, ms: 0 };
  #failed = 0;
  #isUnderWay = false;

  constructor(options: SignatureVerifierOptions) {
    this.#options = options;
    this.crypto = rememberVerdicts(this.#timed(options.crypto));
  }

  get counts(): VerificationCounts {
    const { remembered } = this.crypto.uses;
    return { thread: { ...this.#thread }, eventLoop: { ...this.#loop }, remembered, failed: this.#failed };
  }

  /** A leader begins to verify before it proposes: while the group waits for its entry. */
  verifyGroup({ weight, bytes }: { weight: Weight; bytes: Uint8Array }, trustRoot: TrustRoot | null): void {
    if (weight.signedCommands === 0) return;
    const { commands } = decodeGroup(bytes);
    const signatures = commands.flatMap((command) => signaturesOf(command, this.crypto.sha256, trustRoot));
    void this.verify(signatures, "group");
  }

  /**
   * Begins with those whose verdict is not known.
   * @returns resolves, and never rejects, when all of them are known or have failed; null: all are known now
   */
  verify(signatures: readonly SignatureToVerify[], urgency: Urgency): Promise<void> | null {
    const open = new Set<Promise<void>>();
    for (const signature of signatures) {
      const pending = this.#pendingOf(signature, urgency);
      if (pending !== null) open.add(pending.done);
    }
    if (open.size === 0) return null;
    this.#startWaiting();
    return Promise.all(open).then(() => {});
  }

  /** Null if there is nothing to do: the verdict is known, or false for its lengths alone. */
  #pendingOf(signature: SignatureToVerify, urgency: Urgency): PendingVerdict | null {
    const name = this.crypto.nameOf(signature);
    if (name === null || this.crypto.has(name)) return null;
    const known = this.#pending.get(name);
    if (known !== undefined) {
      if (urgency === "entry" && this.#waiting.group.delete(known)) this.#waiting.entry.add(known);
      return known;
    }
    let finish = (): void => {};
    const done = new Promise<void>((resolve) => (finish = resolve));
    const pending = { name, signature, done, finish: () => finish() };
    this.#pending.set(name, pending);
    this.#waiting[urgency].add(pending);
    return pending;
  }

  /** One job at a time: what comes while it is under way goes together into the next one. */
  #startWaiting(): void {
    if (this.#isUnderWay) return;
    const urgency: Urgency = this.#waiting.entry.size > 0 ? "entry" : "group";
    const job = [...this.#waiting[urgency]].slice(0, JOB_MAX[urgency]);
    if (job.length === 0) return;
    for (const pending of job) this.#waiting[urgency].delete(pending);
    this.#isUnderWay = true;
    void this.#run(job);
  }

  async #run(job: readonly PendingVerdict[]): Promise<void> {
    const { clock, logger, verify } = this.#options;
    const startedMs = clock.monotonicMs();
    try {
      const verdicts = await verify(job.map(({ signature }) => signature));
      if (verdicts.length !== job.length) throw new Error(`${verdicts.length} verdicts of ${job.length} signatures`);
      for (const [at, verdict] of verdicts.entries()) this.crypto.remember(job[at]?.name ?? "", verdict);
      this.#thread.count += job.length;
      this.#thread.ms += clock.monotonicMs() - startedMs;
    } catch (error) {
      this.#failed += job.length;
      logger.error("verification_failed", { signatures: job.length, reason: String(error) });
    }
    for (const { name } of job) this.#pending.delete(name);
    this.#isUnderWay = false;
    for (const { finish } of job) finish();
    this.#startWaiting();
  }

  #timed({ sha256, ed25519Verify }: Crypto): Crypto {
    const { clock } = this.#options;
    return {
      sha256,
      ed25519Verify: (publicKey, message, signature) => {
        const startedMs = clock.monotonicMs();
        const isGood = ed25519Verify(publicKey, message, signature);
        this.#loop.count += 1;
        this.#loop.ms += clock.monotonicMs() - startedMs;
        return isGood;
      },
    };
  }
}
