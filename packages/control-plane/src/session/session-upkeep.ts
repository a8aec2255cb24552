import type { NodeStatus } from "@event-anchoring/control-contract";
import type { Entry as LedgerEntry } from "@event-anchoring/ledger";
import type { RaftIndex } from "raft-ts";
import { CertificateThinning } from "../certification/certificate-thinning.ts";
import { LogCompaction } from "../raft/log-compaction.ts";
import { RulesKeeper } from "./rules-keeper.ts";
import type { Session } from "./session.ts";
import type { SessionOptions } from "./session-options.ts";

/** A page of one origin's certificates this often: three origins are thinned faster than they are recorded. */
const THIN_EVERY_MS = 5000;
/** Evidence that a person takes away counts no more after so long. */
const EVIDENCE_LOOK_EVERY_MS = 5000;

/** What keeps a session's log and tables small, and its rules new. Nobody waits for any of it. */
export class SessionUpkeep {
  readonly compaction: LogCompaction;
  readonly thinning: CertificateThinning;
  readonly rules: RulesKeeper;
  readonly #options: SessionOptions;
  readonly #session: Session;
  #thinnedMs: number;
  #evidenceMs: number;

  constructor(options: SessionOptions, session: Session, onFailure: (error: unknown) => void) {
    const { environment, identity, network, promises, cache, node, state } = options;
    this.#options = options;
    this.#session = session;
    this.#thinnedMs = environment.clock.monotonicMs();
    this.#evidenceMs = this.#thinnedMs;
    this.compaction = new LogCompaction({
      ...options,
      clock: environment.clock,
      sizes: options.logSizes,
      entriesKept: options.logEntriesKept,
      bytesKept: options.logBytesKept,
      forgetLogTo: promises.current.forgetLogTo,
      onCompacted: ({ index }) => {
        if (session.isEnded) return;
        cache.forget(index);
        node.mirrorCompact(index, session.membership.confState);
      },
      onFailure,
    });
    this.thinning = new CertificateThinning({
      rows: options.certificateRows,
      kept: options.certificatesKept,
      origins: () => [...state.origins.values()].map(({ originFingerprint }) => originFingerprint),
      onFailure,
    });
    this.rules = new RulesKeeper({
      environment,
      state,
      selfNodeId: identity.nodeId,
      rulesHeldAt: options.rulesHeldAt,
      trustRoot: () => state.trustRootChain?.newest.trustRoot ?? null,
      isConnected: (nodeId) => network.isConnected(nodeId),
      submit: (submission) => session.submit(submission),
    });
  }

  /** Called every little while. */
  look(): void {
    if (this.#session.isLeader()) this.rules.look();
    const nowMs = this.#options.environment.clock.monotonicMs();
    if (nowMs - this.#evidenceMs >= EVIDENCE_LOOK_EVERY_MS) {
      this.#evidenceMs = nowMs;
      this.#session.truth.look();
    }
    if (nowMs - this.#thinnedMs < THIN_EVERY_MS) return;
    this.#thinnedMs = nowMs;
    this.thinning.look();
  }

  /** An entry was decided: its stamp is held against this node's clock, so that a leader's wrong one is noticed. */
  judgeStamp({ acceptedMs, groups, certificates }: LedgerEntry, index: RaftIndex): void {
    // What the consensus engine appends by itself bears the stamp of the entry before it.
    if (groups.length + certificates.length === 0) return;
    const { clockGuard } = this.#session;
    const leader = this.#session.leaderNodeId();
    const { logger } = this.#options.environment;
    if (clockGuard.isFuture(acceptedMs)) logger.error("entry_from_the_future", { acceptedMs, index, leader });
    const isPast = leader !== null && clockGuard.isPast(acceptedMs, index, leader);
    if (isPast) logger.error("entry_from_the_past", { acceptedMs, index, leader });
  }

  /** By which rules this node goes, and who holds back higher ones. */
  versions(): NodeStatus["versions"] {
    const { known, inForce } = this.rules;
    const { number: rules, entryVersion } = inForce;
    const heldBackBy = this.rules
      .heldBackBy()
      .map(({ nodeId, rulesMax }) => `${nodeId} (${rulesMax ?? "not connected"})`);
    return {
      rules: String(rules),
      rules_known: String(known),
      rules_held_back_by: rules < known ? heldBackBy.join(", ").slice(0, 64) : "",
      entry_version: String(entryVersion),
    };
  }
}
