import { RETRY_AFTER_MS } from "@event-anchoring/control-contract";
import { type OriginFingerprint, bytesToHex } from "@event-anchoring/protocol";
import type { Clock } from "@event-anchoring/telemetry";
import type { TableLane } from "../raft/table-lane.ts";
import type { Certifier, HeldCertificate } from "./certifier.ts";
import type { Comparison } from "./comparison.ts";
import type { ReadAnswer } from "./linearizable-reads.ts";
import { shownCertificate } from "./shown-certificate.ts";

export interface HeadRequest {
  readonly origin: OriginFingerprint;
  /** The size that the asker knows. */
  readonly afterSize: number;
  /** Monotonic time. */
  readonly deadlineMs: number;
  /** Called exactly once: with the newest certificate, or without one if the origin has not grown in time. */
  readonly respond: (answer: ReadAnswer) => void;
}

export interface AwaitedHeadsOptions {
  readonly clock: Clock;
  readonly certifier: Pick<Certifier, "heldOf" | "isStopped">;
  readonly comparison: Pick<Comparison, "withholds">;
  readonly tables: Pick<TableLane, "writtenIndex">;
  readonly trustRootVersion: () => number;
}

/** How often `look` is called. */
const LOOK_EVERY_MS = 200;

interface OpenRequest extends HeadRequest {
  /** Found by the look before, which was too early: the tables did not hold its leaves yet. */
  found: HeldCertificate | null;
}

/**
 * Who waits for the next head of an origin, to show it to followers.
 *
 * They are answered five times a second, with the newest certificate that this node holds by then and whose leaves are
 * in its tables: at the latest the one of the look before. Nothing is verified or written for them, so followers cost a
 * write nothing.
 */
export class AwaitedHeads {
  readonly #options: AwaitedHeadsOptions;
  readonly #open = new Set<OpenRequest>();
  #isClosed = false;

  constructor(options: AwaitedHeadsOptions) {
    this.#options = options;
  }

  await(request: HeadRequest): void {
    const open = { ...request, found: null };
    if (this.#isClosed) this.#refuse(open);
    else this.#open.add(open);
  }

  /** Called every 200 ms, after certificates of the newest heads have been made. */
  look(): void {
    const nowMs = this.#options.clock.monotonicMs();
    for (const open of this.#open) {
      const held = this.#newsFor(open);
      const written = [held, held === null ? null : open.found].find((head) => this.#isWritten(head)) ?? null;
      open.found = held;
      if (written !== null || open.deadlineMs - LOOK_EVERY_MS <= nowMs) this.#answer(open, written);
    }
  }

  close(): void {
    this.#isClosed = true;
    for (const open of this.#open) this.#refuse(open);
  }

  /** A stopped origin shows nothing: a head would take a side. */
  #newsFor({ origin, afterSize }: HeadRequest): HeldCertificate | null {
    const { certifier, comparison } = this.#options;
    const held = certifier.heldOf(origin);
    if (held === null || held.treeSize <= afterSize || certifier.isStopped(origin)) return null;
    return comparison.withholds(origin, held.treeSize) ? null : held;
  }

  #isWritten(head: HeldCertificate | null): boolean {
    return head !== null && head.raftIndex <= this.#options.tables.writtenIndex;
  }

  #answer(open: OpenRequest, held: HeldCertificate | null): void {
    this.#open.delete(open);
    open.respond({
      type: "ready_to_read",
      readIndex: held?.raftIndex ?? 0,
      certificates: held === null ? [] : [shownCertificate(held)],
      trustRootVersion: this.#options.trustRootVersion(),
      latest: null,
    });
  }

  #refuse(open: OpenRequest): void {
    this.#open.delete(open);
    const detail = `the node is loading again, and shows no heads of ${bytesToHex(open.origin).slice(0, 16)} now`;
    open.respond({ type: "refused", code: "unavailable", detail, retryAfterMs: RETRY_AFTER_MS });
  }
}
