import type { WitnessLine } from "@event-anchoring/control-contract";
import {
  type Crypto,
  type OriginFingerprint,
  type TrustRoot,
  type TrustRootWitness,
  assertNever,
  bytesToHex,
} from "@event-anchoring/protocol";
import type { LedgerState } from "@event-anchoring/ledger";
import type { Logger } from "@event-anchoring/telemetry";
import type { HeldCertificate } from "../certification/certifier.ts";
import type { Random, TimerClock } from "../ports/environment.ts";
import { LinkedAbort } from "../ports/linked-abort.ts";
import { checkpointText } from "../signatures/certificates.ts";
import { GrowingPause } from "./growing-pause.ts";
import { isGoodWitnessLine } from "./witness-lines.ts";
import { type SubmitOutcome, type WitnessFailure, submitHead } from "./submit-head.ts";
import type { WitnessTransport } from "./witness-transport.ts";
import type { WitnessedHeads } from "./witnessed-heads.ts";

/** A new head of an origin is sent this often at most. */
const SEND_EVERY_MS = 1000;
/** Time for one head at one witness, conflicts of size included. */
const ANSWER_WITHIN_MS = 5000;
/** Heads of different origins under way to one witness. */
const UNDER_WAY_MAX = 4;
/** A witness may have seen a head before this node has applied it, but not for longer. */
const AHEAD_FOR_MS = 5000;

export interface WitnessLaneOptions {
  readonly clock: TimerClock;
  readonly random: Random;
  readonly logger: Logger;
  readonly crypto: Crypto;
  readonly state: LedgerState;
  /** The newest applied version. */
  readonly trustRoot: () => TrustRoot;
  readonly isLeader: () => boolean;
  /** The newest certified head of an origin that may be shown and is in the tables; null: there is none. */
  readonly headOf: (origin: OriginFingerprint) => HeldCertificate | null;
  /** RFC 6962 consistency proof. */
  readonly proveGrowth: (
    origin: OriginFingerprint,
    oldSize: number,
    treeSize: number,
  ) => Promise<readonly Uint8Array[]>;
  readonly transport: WitnessTransport;
  readonly heads: Pick<WitnessedHeads, "add" | "linesOf" | "isWitnessed" | "sizeAt">;
  readonly onFailure: (witness: string, failure: WitnessFailure) => void;
}

/** All witnesses are asked about one head of an origin: each about another, and none gets enough lines. */
interface Round {
  readonly head: HeldCertificate;
  readonly startedMs: number;
  /** Names of witnesses that are asked, or have answered. */
  readonly asked: Set<string>;
  underWay: number;
}

interface OriginAtWitness {
  /** The size that its newest line is about, as far as this node knows. */
  knownSize: number;
  readonly pause: GrowingPause;
  isUnderWay: boolean;
  /** Since when it has named a size beyond this node's tree; null: it does not. */
  aheadSinceMs: number | null;
}

interface AskedWitness {
  readonly witness: TrustRootWitness;
  /** While it cannot be reached. */
  readonly pause: GrowingPause;
  readonly origins: Map<string, OriginAtWitness>;
  readonly gone: AbortController;
  underWay: number;
}

/**
 * The leader's lane to the witnesses. The newest certified head of each origin goes to all of them; while they are
 * asked about it, newer heads replace each other, and the last one is next.
 *
 * Invariants: only what this node holds a certificate of is sent; only a line that verifies is kept; nothing waits for
 * this lane.
 */
export class WitnessLane {
  readonly #options: WitnessLaneOptions;
  readonly #rounds = new Map<string, Round>();
  #witnesses: readonly AskedWitness[] = [];

  constructor(options: WitnessLaneOptions) {
    this.#options = options;
  }

  /** Called periodically: asks the witnesses that may be asked now. */
  look(): void {
    const { state, isLeader, trustRoot } = this.#options;
    if (!isLeader()) return this.close();
    this.#adopt(trustRoot().witnesses);
    if (this.#witnesses.length === 0) return;
    for (const { originFingerprint } of state.origins.values()) {
      const round = this.#roundOf(originFingerprint);
      if (round === null) continue;
      for (const witness of this.#witnesses) if (this.#mayAsk(witness, round)) void this.#ask(witness, round);
    }
  }

  /** Whether a witness's line over a head verifies. */
  isGood(witness: TrustRootWitness, head: HeldCertificate, line: WitnessLine): boolean {
    const { trustRoot, crypto } = this.#options;
    return isGoodWitnessLine(witness, checkpointText(trustRoot(), head.originFingerprint, head), line, crypto);
  }

  /** Drops everything; a later look begins anew. */
  close(): void {
    for (const { gone } of this.#witnesses) gone.abort();
    this.#witnesses = [];
    this.#rounds.clear();
  }

  /** Takes over what the trust root lists. Who is listed as before keeps its state. */
  #adopt(listed: readonly TrustRootWitness[]): void {
    const isSame = this.#witnesses.length === listed.length;
    if (isSame && this.#witnesses.every(({ witness }, at) => witness === listed[at])) return;
    for (const { witness, gone } of this.#witnesses) if (!listed.includes(witness)) gone.abort();
    this.#witnesses = listed.map(
      (witness) =>
        this.#witnesses.find((asked) => asked.witness === witness) ?? {
          witness,
          pause: new GrowingPause(this.#options.random),
          origins: new Map(),
          gone: new AbortController(),
          underWay: 0,
        },
    );
  }

  /** The round under way, or the next one if there is a newer head for it. */
  #roundOf(origin: OriginFingerprint): Round | null {
    const key = bytesToHex(origin);
    const head = this.#options.headOf(origin);
    if (head === null) return null;
    const before = this.#rounds.get(key);
    if (before !== undefined && (before.head.treeSize >= head.treeSize || !this.#isOver(before))) return before;
    const round = { head, startedMs: this.#options.clock.monotonicMs(), asked: new Set<string>(), underWay: 0 };
    this.#rounds.set(key, round);
    return round;
  }

  /** A slow witness holds a round up only while its line is needed. */
  #isOver({ head, startedMs, underWay }: Round): boolean {
    const { clock, heads } = this.#options;
    if (clock.monotonicMs() - startedMs < SEND_EVERY_MS) return false;
    return underWay === 0 || heads.isWitnessed(head.originFingerprint, head.treeSize);
  }

  #mayAsk(asked: AskedWitness, { head, asked: names }: Round): boolean {
    const { heads, clock } = this.#options;
    const { name } = asked.witness;
    const nowMs = clock.monotonicMs();
    if (names.has(name) || asked.underWay >= UNDER_WAY_MAX || !asked.pause.isOver(nowMs)) return false;
    const at = this.#atWitness(asked, head.originFingerprint);
    if (at.isUnderWay || !at.pause.isOver(nowMs)) return false;
    return heads.linesOf(head.originFingerprint, head.treeSize).every(({ witness }) => witness !== name);
  }

  async #ask(asked: AskedWitness, round: Round): Promise<void> {
    const { head } = round;
    const { witness } = asked;
    const at = this.#atWitness(asked, head.originFingerprint);
    round.asked.add(witness.name);
    round.underWay += 1;
    asked.underWay += 1;
    at.isUnderWay = true;
    const outcome = await this.#submit(asked, at, head);
    round.underWay -= 1;
    asked.underWay -= 1;
    at.isUnderWay = false;
    if (asked.gone.signal.aborted) return;
    this.#settle(asked, at, head, outcome);
    if (outcome.kind !== "line") round.asked.delete(witness.name);
  }

  async #submit({ witness, gone }: AskedWitness, at: OriginAtWitness, head: HeldCertificate): Promise<SubmitOutcome> {
    const { clock, transport, proveGrowth } = this.#options;
    const { originFingerprint: origin, treeSize } = head;
    const over = new LinkedAbort(gone.signal);
    const timer = clock.startTimer(ANSWER_WITHIN_MS, () => over.abort(new Error("it did not answer in time")));
    try {
      return await submitHead(
        {
          treeSize,
          checkpoint: head.checkpoint(),
          proveGrowth: (oldSize) => proveGrowth(origin, oldSize, treeSize),
        },
        witness,
        at.knownSize,
        {
          transport,
          isGood: (line) => this.isGood(witness, head, line),
          signal: over.signal,
        },
      );
    } catch (error) {
      // This node's failure, not the witness's: a proof that cannot be made now.
      return { kind: "failed", failure: "unavailable", detail: `no request can be made: ${String(error)}` };
    } finally {
      timer.cancel();
      over.letGo();
    }
  }

  #settle(asked: AskedWitness, at: OriginAtWitness, head: HeldCertificate, outcome: SubmitOutcome): void {
    const { heads, clock } = this.#options;
    switch (outcome.kind) {
      case "line":
        asked.pause.end();
        at.pause.end();
        at.aheadSinceMs = null;
        at.knownSize = head.treeSize;
        heads.add(head, [outcome.line]);
        break;
      case "ahead":
        asked.pause.end();
        at.pause.begin(clock.monotonicMs());
        this.#onAhead(asked, at, head, outcome.treeSize);
        break;
      case "failed":
        this.#onFailed(asked, at, head, outcome);
        break;
      default:
        assertNever(outcome);
    }
  }

  /** Another leader may have sent a head that this node has yet to reach: it then does so within seconds. */
  #onAhead(asked: AskedWitness, at: OriginAtWitness, head: HeldCertificate, treeSize: number): void {
    const { state, clock } = this.#options;
    const ownSize = state.origins.get(bytesToHex(head.originFingerprint))?.tree.size ?? 0;
    const nowMs = clock.monotonicMs();
    if (treeSize <= ownSize) {
      at.aheadSinceMs = null;
      return;
    }
    at.aheadSinceMs ??= nowMs;
    if (nowMs - at.aheadSinceMs < AHEAD_FOR_MS) return;
    const detail = `it has cosigned size ${treeSize}, this node's tree has ${ownSize} leaves`;
    this.#report(asked, head, "ahead_of_log", detail);
  }

  #onFailed(
    asked: AskedWitness,
    at: OriginAtWitness,
    head: HeldCertificate,
    { failure, detail }: SubmitOutcome & { kind: "failed" },
  ): void {
    const nowMs = this.#options.clock.monotonicMs();
    // Whoever is not there is not there for the other origins either.
    const isOfWitness = failure === "unreachable" || failure === "unavailable";
    (isOfWitness ? asked.pause : at.pause).begin(nowMs);
    if (isOfWitness) at.knownSize = this.#options.heads.sizeAt(asked.witness.name, head.originFingerprint);
    this.#report(asked, head, failure, detail);
  }

  #report({ witness }: AskedWitness, head: HeldCertificate, failure: WitnessFailure, detail: string): void {
    const { logger, onFailure } = this.#options;
    onFailure(witness.name, failure);
    const fields = {
      witness: witness.name,
      failure,
      detail,
      origin: bytesToHex(head.originFingerprint).slice(0, 16),
      treeSize: head.treeSize,
    };
    // What only another history of this log explains, or a witness that is not right in its head.
    if (failure === "ahead_of_log" || failure === "other_history") logger.error("witness_contradicts", fields);
    else logger.warn("witness_failed", fields);
  }

  #atWitness(asked: AskedWitness, origin: OriginFingerprint): OriginAtWitness {
    const key = bytesToHex(origin);
    const known = asked.origins.get(key);
    if (known !== undefined) return known;
    const created: OriginAtWitness = {
      knownSize: this.#options.heads.sizeAt(asked.witness.name, origin),
      pause: new GrowingPause(this.#options.random),
      isUnderWay: false,
      aheadSinceMs: null,
    };
    asked.origins.set(key, created);
    return created;
  }
}
