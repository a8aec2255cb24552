import type { Certificate, Command, LedgerState, OriginState, Purpose } from "@event-anchoring/ledger";
import { bytesToHex } from "@event-anchoring/protocol";
import type { Term } from "raft-ts";
import type { Certifier, HeldCertificate } from "../certification/certifier.ts";
import type { ClockGuard } from "./clock-guard.ts";
import type { Environment } from "../ports/environment.ts";
import { type Gate, isHeld } from "../proposals/leader-queue.ts";
import type { Submission } from "../proposals/proposals.ts";
import type { PendingTrustRoot } from "../membership/restored-group.ts";

/** Above this many leaves, or this age, without a certificate the leader proposes no command that makes another. */
const UNCOVERED_LEAVES_MAX = 20_000;
const UNCOVERED_AGE_MAX_MS = 5000;
/** While leaves wait for a certificate, everybody is asked this often to sign where the trees end now. */
const MARK_AGAIN_MS = 3000;
/** A leader that has not applied its own entry for this long looks for a healthier one: its disk may hang. */
const STALLED_MAX_MS = 2000;
const RECORDS: ReadonlySet<Purpose> = new Set(["client"]);
const ALL_BUT_THE_GROUPS: ReadonlySet<Purpose> = new Set(["client", "operator"]);
const ALL: ReadonlySet<Purpose> = new Set(["client", "operator", "group"]);
/** No client waits for housekeeping; the deadline must outlast an election. */
const HOUSEKEEPING_DEADLINE_MS = 60_000;

export interface LeadershipOptions {
  readonly environment: Environment;
  readonly state: LedgerState;
  readonly certifier: Certifier;
  readonly clockGuard: ClockGuard;
  /** The trust root that initialises an empty ledger. */
  readonly genesisDocument: string;
  /** What a restored group has yet to apply, one version at a time; null: nothing. */
  readonly pendingTrustRoot?: () => PendingTrustRoot | null;
  readonly submit: (submission: Submission) => void;
  readonly transferLeadership: () => void;
}

/**
 * What only a leader does: initialise the ledger, record certificates, and hold writes back when it is not fit to lead.
 */
export class Leadership {
  readonly #options: LeadershipOptions;
  /** Sizes whose certificates this leader has proposed in its term, by origin. */
  #proposedSizes = new Map<string, number>();
  #housekeptTerm: Term = 0;
  #markedMs = 0;
  /** The trust-root version that this leader of a restored group has proposed in its term; 0: none. */
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
    else if (certifier.uncovered().leaves > 0) this.#markCertifyPoint();
  }

  /**
   * Called periodically on the leader, with the age of its oldest entry that is not applied. A certify point may have
   * passed while too few nodes were entitled to sign it: they are asked again until a certificate comes.
   */
  look(oldestUnappliedMs: number): void {
    const { certifier, environment, transferLeadership } = this.#options;
    if (oldestUnappliedMs > STALLED_MAX_MS) transferLeadership();
    const { oldestMs } = certifier.uncovered();
    const saidMs = environment.clock.monotonicMs() - this.#markedMs;
    if (Math.min(oldestMs, saidMs) >= MARK_AGAIN_MS) this.#markCertifyPoint();
  }

  #markCertifyPoint(): void {
    this.#markedMs = this.#options.environment.clock.monotonicMs();
    this.#propose({ kind: "mark_certify_point" });
  }

  /** Each version is in the ledger before the next one is proposed. */
  #proposePending({ version, document }: PendingTrustRoot): void {
    if (version === this.#proposedVersion) return;
    this.#proposedVersion = version;
    this.#propose({ kind: "trust_root", document });
  }

  /** Why not everything may be proposed now; null: all may. */
  gate(): Gate | null {
    const { state, clockGuard, certifier, transferLeadership } = this.#options;
    if (!clockGuard.isSafe()) {
      // If it has heard too few clocks, it may be as good a leader as any other node.
      if (clockGuard.isRefuted()) transferLeadership();
      return {
        code: "clock_unsafe",
        detail: "the leader's clock differs from the other nodes', or too few of them were heard",
        holds: ALL,
      };
    }
    if (state.trustRootChain === null) {
      return {
        code: "not_initialised",
        detail: "the genesis entry is not applied yet",
        holds: ALL_BUT_THE_GROUPS,
      };
    }
    const pending = this.#options.pendingTrustRoot?.() ?? null;
    if (pending !== null) {
      const detail = `trust-root version ${pending.version} is not applied yet`;
      return { code: "not_initialised", detail, holds: ALL_BUT_THE_GROUPS };
    }
    const { leaves, oldestMs } = certifier.uncovered();
    if (leaves > UNCOVERED_LEAVES_MAX || oldestMs > UNCOVERED_AGE_MAX_MS) {
      const detail = `${leaves} leaves have waited ${Math.round(oldestMs)} ms`;
      return { code: "certification_stalled", detail, holds: RECORDS };
    }
    return null;
  }

  /** Whether commands of that purpose would be refused if this node led now. */
  refuses(purpose: Purpose): boolean {
    const gate = this.gate();
    return gate !== null && isHeld(purpose, gate);
  }

  /** Whether enough cosignatures are in hand over a head that the log does not record yet. */
  hasCertificatesToRecord(): boolean {
    const { state, certifier } = this.#options;
    for (const [key, origin] of state.origins) {
      const isNews = certifier.cosignedSizeOf(origin.originFingerprint) > this.#knownSize(key, origin);
      if (isNews && !certifier.isStopped(origin.originFingerprint)) return true;
    }
    return false;
  }

  /** The newest certificate of each origin that the log does not record yet. */
  certificatesToRecord(): readonly HeldCertificate[] {
    const { state, certifier } = this.#options;
    certifier.certifyNewest();
    const toRecord: HeldCertificate[] = [];
    for (const [key, origin] of state.origins) {
      // Both certificates of a fork are kept as evidence, and neither is recorded in the log.
      if (certifier.isStopped(origin.originFingerprint)) continue;
      const held = certifier.heldOf(origin.originFingerprint);
      if (held !== null && held.treeSize > this.#knownSize(key, origin)) toRecord.push(held);
    }
    return toRecord;
  }

  /** The newest size that the log records, or will. */
  #knownSize(key: string, { certified }: OriginState): number {
    return Math.max(certified?.treeSize ?? 0, this.#proposedSizes.get(key) ?? 0);
  }

  /** These were proposed; the note of it lasts as long as this node leads. */
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
      respond: (result) => {
        if (result.kind === "refused") logger.warn("housekeeping_refused", { command: command.kind, ...result });
      },
    });
  }
}
