import type { HelloRefusal } from "@event-anchoring/control-contract";
import type { OriginFingerprint } from "@event-anchoring/protocol";
import type { FenceCode } from "../promises/fencing.ts";
import { type OwnState, type UnreadHead, judgeOwnWord } from "../promises/own-word.ts";
import type { PromiseKeeper } from "../promises/promises.ts";
import type { PeerOffence, PeerOffences } from "./peer-offences.ts";
import type { SessionNetwork } from "../transport/network-types.ts";

/** This many distinct members are believed without a proof: at least one of them does not lie. */
const WORDS_NEEDED = 2;
/** Offences that, if the peer does not lie, show that this node's log is wrong. */
const AGAINST_THE_LOG: ReadonlySet<PeerOffence> = new Set(["impossible_message", "unreadable_entry"]);

export interface PeerWordsOptions {
  readonly offences: PeerOffences;
  readonly network: SessionNetwork;
  readonly promises: Pick<PromiseKeeper, "promiseHeads">;
  /** Whether that node is in the group; others' words do not count. */
  readonly isMember: (nodeId: string) => boolean;
  readonly ownState: () => OwnState;
  /** The root of its own tree at a size that the database holds. */
  readonly storedRootAt: (origin: OriginFingerprint, treeSize: number) => Promise<Uint8Array>;
  readonly onFenced: (code: FenceCode, detail: string) => void;
  readonly onHalted: (code: string, detail: string) => void;
  /** The promise file cannot be written, or the database cannot be read. */
  readonly onFailure: (error: unknown) => void;
}

/**
 * What peers say against this node, and how it is judged.
 *
 * - A *proof*, something that this node has signed and does not know any more, fences this node.
 * - A *word* without a proof costs the peer that says it: it is cut off. When two members say in one session that this
 *   node forgot, it is fenced; when two send what its log excludes, it halts, because one of them is right and neither
 *   has proved it. It also halts when two send entries that it cannot decide: one of them has such an entry in its log.
 */
export class PeerWords {
  readonly #options: PeerWordsOptions;
  readonly #accusers = new Set<string>();
  readonly #contradictors = new Set<string>();

  constructor(options: PeerWordsOptions) {
    this.#options = options;
  }

  /** Why the peer is cut off now; null: it is not. */
  refusalOf(peer: string): HelloRefusal | null {
    const pauseMs = this.#options.offences.cutOffMs(peer);
    if (pauseMs === 0) return null;
    return { accepted: false, code: "cut_off", detail: `not listened to for another ${Math.ceil(pauseMs / 1000)} s` };
  }

  /** The message was dropped; the sender is cut off. @param code why this node halts, if it must */
  onOffence(peer: string, offence: PeerOffence, detail: string, code: string = offence): void {
    const { offences, network, isMember, onHalted } = this.#options;
    offences.note(peer, offence, detail);
    network.disconnect(peer, offence);
    if (!AGAINST_THE_LOG.has(offence) || !isMember(peer)) return;
    this.#contradictors.add(peer);
    if (this.#contradictors.size < WORDS_NEEDED) return;
    onHalted(code, `${namesOf(this.#contradictors)} send what this log excludes: ${peer}: ${detail}`);
  }

  /**
   * The others say that they know higher rules than this program, and one of them sends an entry that it cannot decide.
   */
  onOutgrown(peer: string, code: string, detail: string): void {
    this.#options.onHalted(code, `${peer} leads a group that knows more than this program: ${detail}`);
  }

  /** A peer refused this node's hello, claiming that this node forgot. */
  onAccused(peer: string, refusal: HelloRefusal): void {
    this.#judge(peer, refusal, this.#options.ownState());
  }

  #judge(peer: string, refusal: HelloRefusal, own: OwnState): void {
    const { ownWord, code, detail } = refusal;
    const { isMember, onFenced } = this.#options;
    const verdict = ownWord === undefined ? null : judgeOwnWord(ownWord, own);
    const told = `${peer}: ${code}: ${detail}`;
    if (verdict?.kind === "kept") return;
    if (verdict?.kind === "unread") return this.#readAndJudge(peer, refusal, verdict);
    if (verdict?.kind === "forgotten") return onFenced("peer_remembers_more", `${told}: ${verdict.detail}`);
    if (verdict?.kind === "regained") {
      this.#options.promises.promiseHeads([verdict.head]).catch(this.#options.onFailure);
      return;
    }
    this.onOffence(peer, "unproven_accusation", `${code}: ${verdict?.detail ?? "without a proof"}: ${detail}`);
    if (!isMember(peer)) return;
    this.#accusers.add(peer);
    if (this.#accusers.size >= WORDS_NEEDED)
      onFenced("peer_remembers_more", `${namesOf(this.#accusers)} agree: ${told}`);
  }

  /**
   * Judges again, by the state at the time of the database's answer: another peer may have shown the same meanwhile.
   */
  #readAndJudge(peer: string, refusal: HelloRefusal, { originFingerprint, treeSize }: UnreadHead): void {
    const { storedRootAt, ownState, onFailure } = this.#options;
    storedRootAt(originFingerprint, treeSize)
      .then((root) => this.#judge(peer, refusal, { ...ownState(), rootAt: () => root }))
      .catch(onFailure);
  }
}

function namesOf(peers: ReadonlySet<string>): string {
  return [...peers].sort().join(" and ");
}
