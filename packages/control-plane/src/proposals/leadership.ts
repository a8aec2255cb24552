import type { Certificate, Command, LedgerState } from "@event-anchoring/ledger";
import { bytesToHex } from "@event-anchoring/protocol";
import type { Term } from "raft-ts";
import type { Certifier, HeldCertificate } from "../certification/certifier.ts";
import type { ClockGuard } from "../session/clock-guard.ts";
import type { Environment } from "../environment.ts";
import type { Gate } from "./leader-queue.ts";
import type { Submission } from "./proposals.ts";
import type { PendingTrustRoot } from "../membership/restored-group.ts";

/** Above this many leaves, or this age, without a certificate the leader proposes no client command. */
const UNCOVERED_LEAVES_MAX = 20_000;
const UNCOVERED_AGE_MAX_MS = 5000;
/** Nobody waits for housekeeping; it must outlast an election. */
const HOUSEKEEPING_DEADLINE_MS = 60_000;

export interface LeadershipOptions {
  readonly environment: Environment;
  readonly state: LedgerState;
  readonly certifier: Certifier;
  readonly clockGuard: ClockGuard;
  /** What brings an empty ledger to life. */
  readonly genesisDocument: string;
  /** What a restored group has yet to apply, one version at a time; null: nothing. */
  readonly pendingTrustRoot?: () => PendingTrustRoot | null;
  readonly submit: (submission: Submission) => void;
  readonly transferLeadership: () => void;
}

/** What only a leader does: bring the ledger to life, record certificates, and hold back when it is not fit to lead. */
export class Leadership {
  readonly #options: LeadershipOptions;
  /** Sizes already on their way into the log in this term of office, by origin. */
  #proposedSizes = new Map<string, number>();
  #housekeptTerm: Term = 0;
  /** Of a restored group, in this term of office; 0: none. */
  #proposedVersion = 0;

  constructor(options: LeadershipOptions) {
    this.#options = options;
  }

  onRoleChange(): void {
    this.#proposedSizes = new Map();
    this.#proposedVersion = 0;
  }

  /** An entry of `entryTerm` is applied while this node leads in `ownTerm`. */
  onApplied(entryTerm: Term, ownTerm: Term): void {
    // Only its own opening entry shows a leader that everything committed before its term is applied here.
    if (entryTerm !== ownTerm) return;
    const pending = this.#options.pendingTrustRoot?.() ?? null;
    if (pending !== null) {
      this.#proposePending(pending);
      return;
    }
    if (this.#housekeptTerm === ownTerm) return;
    this.#housekeptTerm = ownTerm;
    const { state, certifier, genesisDocument } = this.#options;
    if (state.trustRootChain === null) this.#propose({ kind: "genesis", document: genesisDocument });
    else if (certifier.uncovered().leaves > 0) this.#propose({ kind: "mark_certify_point" });
  }

  /** Each version is in the ledger before the one after it is proposed. */
  #proposePending({ version, document }: PendingTrustRoot): void {
    if (version === this.#proposedVersion) return;
    this.#proposedVersion = version;
    this.#propose({ kind: "trust_root", document });
  }

  /** Why no client command may be proposed now; null: nothing. */
  gate(): Gate | null {
    const { state, clockGuard, certifier, transferLeadership } = this.#options;
    if (!clockGuard.isSafe()) {
      transferLeadership();
      return {
        code: "clock_unsafe",
        detail: "the leader's clock is ahead of the other nodes', or too few of them were heard",
      };
    }
    if (state.trustRootChain === null) {
      return { code: "not_initialised", detail: "the genesis entry is not applied yet" };
    }
    const pending = this.#options.pendingTrustRoot?.() ?? null;
    if (pending !== null) {
      return { code: "not_initialised", detail: `trust-root version ${pending.version} is not applied yet` };
    }
    const { leaves, oldestMs } = certifier.uncovered();
    if (leaves > UNCOVERED_LEAVES_MAX || oldestMs > UNCOVERED_AGE_MAX_MS) {
      return { code: "certification_stalled", detail: `${leaves} leaves have waited ${Math.round(oldestMs)} ms` };
    }
    return null;
  }

  /** The newest certificate of each origin that the log does not record yet. */
  certificatesToRecord(): readonly HeldCertificate[] {
    const toRecord: HeldCertificate[] = [];
    for (const [key, origin] of this.#options.state.origins) {
      const held = this.#options.certifier.heldOf(origin.originFingerprint);
      const known = Math.max(origin.certified?.treeSize ?? 0, this.#proposedSizes.get(key) ?? 0);
      if (held !== null && held.treeSize > known) toRecord.push(held);
    }
    return toRecord;
  }

  /** These were proposed; if this node loses its office, they are forgotten with it. */
  onRecording(certificates: readonly Certificate[]): void {
    for (const { originFingerprint, treeSize } of certificates) {
      this.#proposedSizes.set(bytesToHex(originFingerprint), treeSize);
    }
  }

  #propose(command: Command): void {
    const { clock, logger } = this.#options.environment;
    this.#options.submit({
      command,
      answer: "committed",
      deadlineMs: clock.monotonicMs() + HOUSEKEEPING_DEADLINE_MS,
      isHousekeeping: true,
      respond: (result) => {
        if (result.kind === "refused") logger.warn("housekeeping_refused", { command: command.kind, ...result });
      },
    });
  }
}
