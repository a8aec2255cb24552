import type { PeerFrame } from "@event-anchoring/control-contract";
import { DecodeError, assertNever } from "@event-anchoring/protocol";
import { type InboundMessage, InvalidMessageError, type RawNode, decodeMessage } from "raft-ts";
import type { Logger } from "@event-anchoring/telemetry";
import { EntryGuard } from "../raft/entry-guard.ts";
import { judgeStep } from "../raft/step-guard.ts";
import type { SessionOptions } from "./session-options.ts";
import type { SessionParts } from "./session-parts.ts";

/** Messages that only a leader sends. */
const LEADERS_MESSAGES: ReadonlySet<string> = new Set(["MsgApp", "MsgHeartbeat", "MsgSnap", "MsgTimeoutNow"]);

/** Dispatches frames of authenticated peers to the parts of the session. */
export class PeerFrames {
  readonly entryGuard: EntryGuard;
  readonly #parts: SessionParts;
  readonly #node: RawNode;
  readonly #logger: Logger;

  constructor({ node, environment, state }: SessionOptions, parts: SessionParts) {
    const { rules } = parts.membership;
    this.#parts = parts;
    this.#node = node;
    this.#logger = environment.logger;
    this.entryGuard = new EntryGuard({
      node,
      read: (payload) => parts.consensus.arrivals.read(payload),
      rulesKnown: rules.known,
      isOutgrown: (leader) => rules.isOutgrown(leader),
      wallMs: () => environment.clock.wallMs(),
      lastAcceptedMs: () => state.lastAcceptedMs,
    });
  }

  /** The frame's content is attacker-controlled, the sender's name is not. */
  onFrame(from: string, frame: PeerFrame): void {
    try {
      this.#dispatch(from, frame);
    } catch (error) {
      if (!(error instanceof DecodeError) && !(error instanceof InvalidMessageError)) throw error;
      this.#parts.membership.peers.words.onOffence(from, "invalid_frame", `${frame.type}: ${error.message}`);
    }
  }

  #dispatch(from: string, frame: PeerFrame): void {
    const { consensus, membership, certifying, witnessing, writes } = this.#parts;
    switch (frame.type) {
      case "raft":
        this.#onRaft(from, decodeMessage(frame.message));
        break;
      case "cosignatures":
        certifying.onCosignatures(from, frame.items, frame.asks);
        break;
      case "lines":
        certifying.contradictions.comparison.onLines(from, frame.items);
        break;
      case "progress":
        membership.peers.onProgress(from, frame.progress);
        break;
      case "state_signatures":
        certifying.states.heads.onSignatures(from, frame.items, frame.asks);
        break;
      case "witnessed":
        witnessing.onHeads(from, frame.heads);
        break;
      case "proposals":
        writes.router.onProposals(from, frame);
        break;
      case "proposals_refused":
        consensus.failover.onRefused(from, writes.proposals.sentTo(from, frame.ids));
        writes.proposals.onRefused(from, frame.ids, frame.code, frame.detail);
        break;
      case "clock":
        membership.clockGuard.onReport(from, frame.wallMs, frame.appliedIndex);
        break;
      case "entry_trace":
        // Only for tracing; it changes nothing here.
        break;
      default:
        assertNever(frame);
    }
  }

  #onRaft(from: string, message: InboundMessage): void {
    const { consensus, membership } = this.#parts;
    const { peers, group, members } = membership;
    const sender = members.raftIdOf(from);
    if (sender === null) return;
    if (LEADERS_MESSAGES.has(message.type) && consensus.failover.isShunned(from)) return;
    const verdict = judgeStep(message, sender, {
      status: consensus.status(),
      confState: group.confState,
      termMax: peers.termMax(),
      termAt: (index) => this.#node.termAt(index),
      faultOf: (entry) => this.entryGuard.faultOf(entry, from),
    });
    switch (verdict.kind) {
      case "step":
        consensus.step(message);
        break;
      case "refuse":
        this.#logger.warn("message_refused", { peer: from, type: message.type, detail: verdict.detail });
        break;
      case "offence":
        peers.words.onOffence(from, verdict.offence, verdict.detail, verdict.code);
        break;
      case "halt":
        peers.words.onOutgrown(from, verdict.code, verdict.detail);
        break;
      default:
        assertNever(verdict);
    }
  }
}
