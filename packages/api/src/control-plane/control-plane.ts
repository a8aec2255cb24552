/** What this process asks its control plane, and how the control plane refuses. */
import type {
  CallContext,
  CallerKey,
  Finality,
  LatestAnchor,
  ShownCertificate,
  NodeStatus,
  RefusalCode,
  SubmittedOutcome,
} from "@event-anchoring/control-contract";
import type { Command } from "@event-anchoring/ledger";
import type { OriginFingerprint } from "@event-anchoring/protocol";

/**
 * Why it refused: a code of the control plane; `halted` if it has halted and does not answer any more;
 * `state_not_signed` if it has no state for a proof.
 */
export type UnservedCode = RefusalCode | "halted" | "state_not_signed";

/**
 * The control plane did not take, or cannot answer for, a request. `detail` is for the log: it may name internals and
 * never leaves the node.
 */
export class RefusedError extends Error {
  readonly code: UnservedCode;
  readonly retryAfterMs: number | null;
  constructor(code: UnservedCode, detail: string, retryAfterMs: number | null = null) {
    super(detail);
    this.name = "RefusedError";
    this.code = code;
    this.retryAfterMs = retryAfterMs;
  }
}

export interface ReadyToRead {
  /** A snapshot of the tables may answer this read if its applied index is at least this. */
  readonly readIndex: number;
  /** Newest held per wanted origin. They cover every leaf up to the read index, and may be newer than the tables. */
  readonly certificates: readonly ShownCertificate[];
  readonly trustRootVersion: number;
  /** The answer to `readLatest`; null if it has to be read from the tables, and after `read`. */
  readonly latest: LatestAnchor | null;
}

export interface SubmitOptions {
  readonly remainingMs: number;
  readonly answer: Finality;
  /** Whose request it is. */
  readonly call: CallContext;
}

/** The node's own control plane. A call ends with an answer or a RefusedError, shortly after its time at the latest. */
export interface ControlPlane {
  submit(command: Command, options: SubmitOptions): Promise<SubmittedOutcome>;
  read(origins: readonly OriginFingerprint[] | "all" | "none", remainingMs: number): Promise<ReadyToRead>;
  readLatest(origin: OriginFingerprint, remainingMs: number): Promise<ReadyToRead>;
  /**
   * The newest certificate of an origin that this node holds, as soon as it is above a size: in `certificates`, which
   * is empty if there is none in time. Not linearizable. Asked at once again, it is answered 250 ms later at the
   * earliest.
   */
  awaitHead(origin: OriginFingerprint, afterSize: number, remainingMs: number): Promise<ReadyToRead>;
  /** The same for heads that enough witnesses have cosigned. One that is there is answered at once. */
  awaitWitnessed(origin: OriginFingerprint, afterSize: number, remainingMs: number): Promise<ReadyToRead>;
  /** The whole key table as of a read index that was asked for after the call. The same object until it changes. */
  apiKeys(remainingMs: number): Promise<readonly CallerKey[]>;
  status(remainingMs: number): Promise<NodeStatus>;
  metrics(remainingMs: number): Promise<string>;
}
