import { RETRY_AFTER_MS } from "@event-anchoring/control-contract";
import type { LatestAnchor, LocalResponse } from "@event-anchoring/control-contract";
import type { LedgerState, OriginState } from "@event-anchoring/ledger";
import { type OriginFingerprint, bytesToHex } from "@event-anchoring/protocol";
import type { RaftIndex } from "raft-ts";
import type { Certifier, HeldCertificate } from "./certifier.ts";
import { originContradicted } from "./comparison.ts";
import { shownCertificate } from "./shown-certificate.ts";
import type { Clock } from "@event-anchoring/telemetry";
import type { ReadRounds } from "../raft/read-rounds.ts";
import type { TableLane } from "../raft/table-lane.ts";

export interface ReadRequest {
  readonly origins: readonly OriginFingerprint[] | "all" | "none";
  /** Whether the last leaf under the one certificate is wanted too. Absent: it is not. */
  readonly wantsLatest?: boolean;
  /** Monotonic time. */
  readonly deadlineMs: number;
  /** Called exactly once. */
  readonly respond: (answer: ReadAnswer) => void;
}

export type ReadAnswer =
  | Omit<Extract<LocalResponse, { type: "ready_to_read" }>, "requestId">
  | Omit<Extract<LocalResponse, { type: "refused" }>, "requestId">;

export interface LinearizableReadsOptions {
  readonly clock: Clock;
  readonly state: LedgerState;
  readonly rounds: ReadRounds;
  readonly certifier: Certifier;
  readonly lastLeaves: { latestUnder(held: HeldCertificate): LatestAnchor | null };
  readonly hasLeader: () => boolean;
  /** A read is answered from them. */
  readonly tables: Pick<TableLane, "writtenIndex" | "writeUpTo">;
}

interface OpenRead extends ReadRequest {
  phase: "read_index" | "apply" | "certificate" | "tables";
  /** Must be applied; in the last phase it must be in the tables. */
  index: RaftIndex;
  /** Answers it. Set in the last phase. */
  ready: () => void;
  readonly stopWaiting: (() => void)[];
  isAnswered: boolean;
}

/**
 * A read that shows certified state takes a read index R, waits until R is applied, then until this node holds a
 * certificate over every leaf that the origin has at that point, and until its tables hold these leaves. It returns the
 * newest certificate it holds. So an answer is never older than one given by any node before the read began.
 */
export class LinearizableReads {
  readonly #options: LinearizableReadsOptions;
  readonly #open = new Set<OpenRead>();
  #isClosed = false;

  constructor(options: LinearizableReadsOptions) {
    this.#options = options;
  }

  /** Whether a sweep has anything to do. */
  get hasOpen(): boolean {
    return this.#open.size > 0;
  }

  read(request: ReadRequest): void {
    const open: OpenRead = {
      ...request,
      phase: "read_index",
      index: 0,
      ready: () => {},
      stopWaiting: [],
      isAnswered: false,
    };
    this.#open.add(open);
    if (this.#isClosed) return this.#refuseClosed(open);
    const stop = this.#options.rounds.request((index) => {
      open.index = index;
      open.phase = "apply";
      this.#afterApply(open);
    });
    open.stopWaiting.push(stop);
  }

  /** The applied index has advanced: reads that waited for it continue. */
  onApplied(): void {
    for (const open of this.#open) if (open.phase === "apply") this.#afterApply(open);
  }

  /** The tables hold more: reads that waited for it are answered. */
  onWritten(): void {
    for (const { phase, index, ready } of this.#open) if (phase === "tables" && this.isWritten(index)) ready();
  }

  /** Refuses what is due. */
  sweep(): void {
    const now = this.#options.clock.monotonicMs();
    for (const open of this.#open) if (open.deadlineMs <= now) this.#refuseLate(open);
  }

  close(): void {
    this.#isClosed = true;
    for (const open of this.#open) this.#refuseClosed(open);
  }

  #refuseClosed(open: OpenRead): void {
    const detail = "the node is loading again";
    this.#answer(open, { type: "refused", code: "unavailable", detail, retryAfterMs: RETRY_AFTER_MS });
  }

  #afterApply(open: OpenRead): void {
    const { state, certifier } = this.#options;
    if (open.isAnswered || state.appliedIndex < open.index) return;
    open.phase = "certificate";
    const wanted = wantedOf(state, open.origins);
    // A stopped origin's certificate is not shown: showing one of the two would take a side.
    const stopped =
      open.origins === "all" ? undefined : wanted.find((origin) => certifier.isStopped(origin.originFingerprint));
    if (stopped !== undefined) {
      const refusal = originContradicted(stopped.originFingerprint);
      this.#answer(open, { type: "refused", ...refusal, retryAfterMs: RETRY_AFTER_MS });
      return;
    }
    // Lost and stopped origins are not certified any more: the last certificate is all there is.
    const awaited = wanted.filter(
      ({ status, originFingerprint }) => status !== "lost" && !certifier.isStopped(originFingerprint),
    );
    let missing = awaited.length;
    const done = (): void =>
      this.#ready(
        open,
        wanted.map(({ originFingerprint }) => originFingerprint),
      );
    if (missing === 0) {
      done();
      return;
    }
    for (const { originFingerprint, tree } of awaited) {
      const stop = certifier.whenCovered(originFingerprint, tree.size, () => {
        missing -= 1;
        if (missing === 0) done();
      });
      open.stopWaiting.push(stop);
    }
  }

  #ready(open: OpenRead, origins: readonly OriginFingerprint[]): void {
    const { state, certifier, lastLeaves } = this.#options;
    const held = origins.flatMap((origin) => certifier.heldOf(origin) ?? []);
    const [only] = held;
    const isWanted = open.wantsLatest === true && held.length === 1 && only !== undefined;
    // The state in memory has decided every entry up to R, so what it holds answers as well as the tables would.
    const latest = isWanted ? lastLeaves.latestUnder(only) : null;
    // The tables must hold every leaf under the certificates shown, not only those below R.
    const readIndex = Math.max(open.index, ...held.map(({ raftIndex }) => raftIndex));
    const ready = (): void =>
      this.#answer(open, {
        type: "ready_to_read",
        readIndex,
        certificates: held.map(shownCertificate),
        trustRootVersion: state.trustRootChain?.newest.trustRoot.version ?? 0,
        latest,
      });
    if (latest !== null || this.isWritten(readIndex)) return ready();
    Object.assign(open, { phase: "tables", index: readIndex, ready });
    this.#options.tables.writeUpTo(readIndex);
  }

  /** Whether this node's tables, from which the api process answers, hold every entry up to this one. */
  isWritten(index: RaftIndex): boolean {
    return index <= this.#options.tables.writtenIndex;
  }

  #refuseLate(open: OpenRead): void {
    const late = (code: "no_leader" | "certification_stalled" | "deadline_exceeded", detail: string): void =>
      this.#answer(open, { type: "refused", code, detail, retryAfterMs: RETRY_AFTER_MS });
    if (open.phase === "certificate") late("certification_stalled", "no certificate covers all leaves in time");
    else if (open.phase === "apply") late("deadline_exceeded", `log index ${open.index} is not applied in time`);
    else if (open.phase === "tables") late("deadline_exceeded", `log index ${open.index} is not in the tables in time`);
    else if (this.#options.hasLeader()) late("deadline_exceeded", "the leader did not confirm a read index in time");
    else late("no_leader", "no leader confirmed a read index");
  }

  #answer(open: OpenRead, answer: ReadAnswer): void {
    if (open.isAnswered) return;
    open.isAnswered = true;
    for (const stop of open.stopWaiting) stop();
    this.#open.delete(open);
    open.respond(answer);
  }
}

/** Those of the origins asked for that this node has, each once. */
function wantedOf({ origins }: LedgerState, asked: ReadRequest["origins"]): readonly OriginState[] {
  if (asked === "all") return [...origins.values()];
  if (asked === "none") return [];
  return [...new Set(asked.flatMap((origin) => origins.get(bytesToHex(origin)) ?? []))];
}
