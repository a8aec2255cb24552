import { setTimeout as pause } from "node:timers/promises";
import type { ShownCertificate } from "@event-anchoring/control-contract";
import { bytesToHex } from "@event-anchoring/protocol";
import type { OriginFingerprint } from "@event-anchoring/protocol";
import { StoreError } from "@event-anchoring/store";
import type { StoredOriginHead } from "@event-anchoring/store";
import { RefusedError } from "../control-plane/control-plane.ts";
import type { ControlPlane, ReadyToRead } from "../control-plane/control-plane.ts";
import { within } from "../request/deadline.ts";
import type { Deadline } from "../request/deadline.ts";
import type { AnchorReads, AtIndex, OpenableReads } from "./node-reads.ts";

/** First and longest pause before the tables are read again: apply is some milliseconds behind at most. */
const PAUSE_FIRST_MS = 1;
const PAUSE_MAX_MS = 20;

/** Where a read gets its index and certificates, and its rows. */
export interface ReadSources {
  readonly controlPlane: Pick<ControlPlane, "read">;
  readonly reads: OpenableReads;
}

/**
 * One linearizable read. Its read index was confirmed by a quorum after the request came in; whatever `select` returns
 * was applied up to that index at least, and up to what earlier selects of the same read saw: a database that crashed
 * and lost asynchronous applies in between is noticed and waited for.
 */
export class ConsistentRead {
  readonly #reads: OpenableReads;
  readonly #deadline: Deadline;
  readonly #certificates = new Map<string, ShownCertificate>();
  /** Invariant: never falls. */
  #floorIndex: number;
  readonly trustRootVersion: number;

  private constructor(reads: OpenableReads, deadline: Deadline, ready: ReadyToRead) {
    this.#reads = reads;
    this.#deadline = deadline;
    this.#floorIndex = ready.readIndex;
    this.trustRootVersion = ready.trustRootVersion;
    for (const certificate of ready.certificates) {
      this.#certificates.set(bytesToHex(certificate.originFingerprint), certificate);
    }
  }

  /**
   * @param origins those whose newest certificate the answer shows
   * @param patienceMs how long the read index and the certificates may take, if not as long as everything else
   * @throws RefusedError
   */
  static async begin(
    dependencies: ReadSources,
    origins: readonly OriginFingerprint[] | "all" | "none",
    deadline: Deadline,
    patienceMs: number = deadline.remainingMs,
  ): Promise<ConsistentRead> {
    return ConsistentRead.from(await dependencies.controlPlane.read(origins, patienceMs), dependencies, deadline);
  }

  /** The read that the control plane has made ready. */
  static from(ready: ReadyToRead, { reads }: Pick<ReadSources, "reads">, deadline: Deadline): ConsistentRead {
    return new ConsistentRead(reads, deadline, ready);
  }

  /** The newest certificate held for an origin; null if the origin has none yet. */
  certificateOf(origin: OriginFingerprint): ShownCertificate | null {
    return this.#certificates.get(bytesToHex(origin)) ?? null;
  }

  /**
   * Repeats a query until its snapshot is recent enough.
   * @throws RefusedError `deadline_exceeded`; StoreError
   */
  select<T extends AtIndex>(query: (reads: AnchorReads) => Promise<T>): Promise<T> {
    return this.selectUntil(query, () => true);
  }

  /**
   * Repeats a query until its snapshot also holds something that a certificate covers: certificates may be a moment
   * ahead of the tables.
   * @throws RefusedError `deadline_exceeded`; StoreError
   */
  async selectUntil<T extends AtIndex>(
    query: (reads: AnchorReads) => Promise<T>,
    isEnough: (found: T) => boolean,
  ): Promise<T> {
    for (let pauseMs = PAUSE_FIRST_MS; ; pauseMs = Math.min(pauseMs * 2, PAUSE_MAX_MS)) {
      const found = await this.#inTime(() => this.#reads.opened().then(query));
      if (found.appliedIndex >= this.#floorIndex && isEnough(found)) {
        this.#floorIndex = found.appliedIndex;
        return found;
      }
      if (this.#deadline.remainingMs <= pauseMs) {
        const detail = `tables at ${found.appliedIndex}, read index ${this.#floorIndex}`;
        throw new RefusedError("deadline_exceeded", detail);
      }
      await pause(pauseMs);
    }
  }

  /**
   * A statement may hang until this read is over, or until its own timeout: a process that stood still meanwhile finds
   * both, and the read was too late in either case.
   */
  async #inTime<T extends AtIndex>(select: () => Promise<T>): Promise<T> {
    const found = await within(select(), this.#deadline.remainingMs, "late").catch((error: unknown) => {
      const isUnavailable = error instanceof StoreError && error.code === "unavailable";
      if (isUnavailable && this.#deadline.remainingMs === 0) return "late" as const;
      throw error;
    });
    if (found === "late") throw new RefusedError("deadline_exceeded", "the tables did not answer in time");
    return found;
  }

  /**
   * The origins, from a snapshot in which every tree reaches the size of its certificate: certificates may be a moment
   * ahead of the tables, and the proofs under them are made from the tables.
   */
  async origins(): Promise<readonly StoredOriginHead[]> {
    const { origins } = await this.selectUntil(
      (reads) => reads.origins(),
      (found) => found.origins.every((head) => this.#reachesCertificate(head)),
    );
    return origins;
  }

  #reachesCertificate({ originFingerprint, treeSize }: StoredOriginHead): boolean {
    const certificate = this.certificateOf(originFingerprint);
    return certificate === null || treeSize >= certificate.treeSize;
  }
}
