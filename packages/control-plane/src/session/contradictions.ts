import type { NodeStatus, PeerCosignature } from "@event-anchoring/control-contract";
import type { Command } from "@event-anchoring/ledger";
import { type OriginFingerprint, bytesToHex } from "@event-anchoring/protocol";
import { isActive } from "../signatures/certificates.ts";
import { Comparison, originContradicted } from "../certification/comparison.ts";
import { Divergence, Effects } from "../certification/divergence.ts";
import type { Life } from "./how-a-life-ends.ts";
import type { Membership } from "./membership.ts";
import type { SessionOptions } from "./session-options.ts";
import type { RaftIndex } from "raft-ts";

/** As many as a status holds. */
const NODES_SHOWN_MAX = 32;
const SHOWN_MAX = 64;

/** What a node without a session reports about contradictions. */
export const NO_CONTRADICTIONS: NodeStatus["contradictions"] = {
  named: [],
  origins: [],
  withheld: [],
  differing: [],
  evidence: [],
  evidenceFiles: 0,
};

export interface ContradictionsParts {
  readonly membership: Membership;
  readonly life: Life;
  /** The origin was held back or had stopped, and goes on. */
  readonly onReleased: (origin: OriginFingerprint) => void;
}

/** What a session does about nodes that differ from it. */
export class Contradictions {
  readonly comparison: Comparison;
  readonly divergence: Divergence;
  readonly #effects = new Effects();
  readonly #options: SessionOptions;
  readonly #membership: Membership;
  readonly #life: Life;
  #isLooking = false;

  constructor(options: SessionOptions, { membership, life, onReleased }: ContradictionsParts) {
    const { environment, identity, state, signatures, evidence, counts } = options;
    this.#options = options;
    this.#membership = membership;
    this.#life = life;
    this.comparison = new Comparison({
      clock: environment.clock,
      logger: environment.logger,
      crypto: signatures.crypto,
      state,
      nodeId: identity.nodeId,
      evidence,
      evidenceKept: options.evidenceKept,
      exchange: (items) => membership.broadcast({ type: "lines", items }),
      onRefused: (from) => counts.noteRefusedCosignature(from),
      // Where a quorum has signed another root, it is a fork: that origin stops, and nothing else.
      onDiffers: (nodeId, point, detail) => void this.#isAlone(nodeId, point, detail),
      onForgotten: (detail) => life.end({ kind: "fenced", code: "root_differs", detail }),
      onReleased: onReleased,
      onFailure: (error) => life.fail(error),
    });
    this.divergence = new Divergence({
      clock: environment.clock,
      quorum: () => membership.trustRoot().quorum,
      counts: (nodeId) => {
        const root = membership.trustRoot();
        return isActive(root, nodeId) && !this.comparison.isNamed(root, nodeId);
      },
    });
  }

  /** For operators: status and metrics. */
  view(): NodeStatus["contradictions"] {
    const { named, contradicted, withheld, evidence } = this.comparison.view;
    return {
      named: named.slice(0, NODES_SHOWN_MAX),
      origins: [...contradicted],
      withheld: withheld.slice(0, SHOWN_MAX).map(({ originFingerprint, treeSize }) => ({
        originFingerprint: bytesToHex(originFingerprint),
        treeSize,
      })),
      differing: this.divergence.peers.slice(0, NODES_SHOWN_MAX),
      evidence: evidence.slice(0, SHOWN_MAX),
      evidenceFiles: evidence.length,
    };
  }

  /** The effect chain of this node, at the end of an entry whose certify point it is. */
  onOwnEffect(raftIndex: RaftIndex, effect: Uint8Array): void {
    for (const nodeId of this.#effects.onOwn(raftIndex, effect)) this.#onEffectDiffers(nodeId, raftIndex);
  }

  onPeerEffects(from: string, items: readonly PeerCosignature[]): void {
    for (const { raftIndex, effect } of items) {
      if (this.#effects.differs(from, raftIndex, effect)) this.#onEffectDiffers(from, raftIndex);
    }
  }

  #onEffectDiffers(nodeId: string, raftIndex: RaftIndex): void {
    this.#haltIfAlone(nodeId, raftIndex, `another effect chain at log index ${raftIndex}`);
  }

  #haltIfAlone(nodeId: string, raftIndex: RaftIndex, detail: string): void {
    if (!this.#isAlone(nodeId, `${raftIndex}`, detail) || this.#isAskedToGo()) return;
    this.#life.end({ kind: "halted", code: "diverged", detail: `a quorum of peers contradicts this node: ${detail}` });
  }

  /** Its cosignatures do not count any more, but its vote is needed until others have taken its place. */
  #isAskedToGo(): boolean {
    const { nodeId } = this.#options.identity;
    const line = this.#membership.trustRoot().nodes.find((node) => node.nodeId === nodeId);
    return line?.status === "retired" || line?.status === "distrusted";
  }

  /**
   * A peer has signed another state head after the same entry: its effects, keys or members differ from this node's.
   */
  onStateDiffers(nodeId: string, raftIndex: RaftIndex): void {
    this.#haltIfAlone(nodeId, raftIndex, `another state after log index ${raftIndex}`);
  }

  /** Why this command cannot be proposed: it would grow an origin that has stopped. Null: it can be. */
  refusalOf(command: Command): ReturnType<typeof originContradicted> | null {
    const stopped = originsGrownBy(command).find((origin) => this.comparison.isStopped(origin));
    return stopped === undefined ? null : originContradicted(stopped);
  }

  /** Checks whether an operator has removed evidence. */
  look(): void {
    if (this.#isLooking) return;
    this.#isLooking = true;
    this.comparison
      .look()
      .catch((error: unknown) => {
        this.#options.environment.logger.warn("evidence_unreadable", { error });
      })
      .finally(() => (this.#isLooking = false));
  }

  /** Notes it, and says whether as many members as make a quorum differ over this point. */
  #isAlone(nodeId: string, point: string, detail: string): boolean {
    if (!this.divergence.peers.includes(nodeId)) {
      this.#options.environment.logger.error("peer_contradicts", { peer: nodeId, detail });
    }
    return this.divergence.note(nodeId, point);
  }
}

/** The origins that a command grows. A revocation goes to its target's origin, unless that is lost. */
function originsGrownBy(command: Command): readonly OriginFingerprint[] {
  switch (command.kind) {
    case "record_events":
      return command.events.map(({ originFingerprint }) => originFingerprint);
    case "record_claim":
      return [command.claim.originFingerprint];
    case "record_grant":
      return [command.grant.originFingerprint];
    case "record_revocation":
      return [command.revocation.targetOriginFingerprint];
    case "operator_act":
      return originsGrownBy(command.command);
    default:
      return [];
  }
}
