import { type Weight, decodeGroup, signaturesOf } from "@event-anchoring/ledger";
import { type SignatureToVerify, type VerdictMemo, rememberVerdicts } from "@event-anchoring/records";
import type { Crypto, TrustRoot } from "@event-anchoring/protocol";
import type { Clock, Logger } from "@event-anchoring/telemetry";
import type { VerifyAsync } from "../ports/environment.ts";

/**
 * Verifications handed to the thread pool at a time. Eight keep two cores busy; more would only delay the promise
 * file's writes, which use the same four threads.
 */
const UNDER_WAY_MAX = 8;

/** Signatures of an entry come before those of a group that waits to be proposed. */
export type Urgency = "entry" | "group";

export interface SignatureVerifierOptions {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly crypto: Crypto;
  /** The same rule as that of `crypto`, off the event loop. */
  readonly verify: VerifyAsync;
}

/** Since the process started. */
export interface VerificationCounts {
  readonly threadPool: { readonly count: number; readonly ms: number };
  /** On the event loop, while everything else waited. */
  readonly eventLoop: { readonly count: number; readonly ms: number };
  /** Verdicts that were already known when asked for. */
  readonly remembered: number;
  /** The thread pool gave no verdict; the event loop then computes it. */
  readonly failed: number;
}

interface Job {
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
  readonly #jobs = new Map<string, Job>();
  readonly #waiting: Readonly<Record<Urgency, Set<Job>>> = { entry: new Set(), group: new Set() };
  readonly #pool = { count: 0, ms: 0 };
  readonly #loop = { count: 0, ms: 0 };
  #failed = 0;
  #underWay = 0;

  constructor(options: SignatureVerifierOptions) {
    this.#options = options;
    this.crypto = rememberVerdicts(this.#timed(options.crypto));
  }

  get counts(): VerificationCounts {
    const { remembered } = this.crypto.uses;
    return { threadPool: { ...this.#pool }, eventLoop: { ...this.#loop }, remembered, failed: this.#failed };
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
      const job = this.#jobOf(signature, urgency);
      if (job !== null) open.add(job.done);
    }
    if (open.size === 0) return null;
    this.#startWaiting();
    return Promise.all(open).then(() => {});
  }

  /** Null if there is nothing to do: the verdict is known, or false for its lengths alone. */
  #jobOf(signature: SignatureToVerify, urgency: Urgency): Job | null {
    const name = this.crypto.nameOf(signature);
    if (name === null || this.crypto.has(name)) return null;
    const known = this.#jobs.get(name);
    if (known !== undefined) {
      if (urgency === "entry" && this.#waiting.group.delete(known)) this.#waiting.entry.add(known);
      return known;
    }
    let finish = (): void => {};
    const done = new Promise<void>((resolve) => (finish = resolve));
    const job = { name, signature, done, finish: () => finish() };
    this.#jobs.set(name, job);
    this.#waiting[urgency].add(job);
    return job;
  }

  #startWaiting(): void {
    while (this.#underWay < UNDER_WAY_MAX) {
      const [job] = this.#waiting.entry.size > 0 ? this.#waiting.entry : this.#waiting.group;
      if (job === undefined) return;
      this.#waiting.entry.delete(job);
      this.#waiting.group.delete(job);
      this.#underWay += 1;
      void this.#run(job);
    }
  }

  async #run({ name, signature, finish }: Job): Promise<void> {
    const { clock, logger, verify } = this.#options;
    const startedMs = clock.monotonicMs();
    try {
      this.crypto.remember(name, await verify(signature.publicKey, signature.message, signature.signature));
      this.#pool.count += 1;
      this.#pool.ms += clock.monotonicMs() - startedMs;
    } catch (error) {
      this.#failed += 1;
      logger.error("verification_failed", { reason: String(error) });
    }
    this.#jobs.delete(name);
    this.#underWay -= 1;
    finish();
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
