/** What speaks against a service, and the signed notes that show it. */
import { Rollback, SplitView } from "./errors.ts";
import type { VerificationError } from "./errors.ts";
import type { TreeHead } from "./verify-checkpoint.ts";

/** `trust_root_…` are about the trust root, the others about the log of one origin. */
export type AlarmCode =
  | "rollback"
  | "split_view"
  | "inconsistent"
  | "checkpoint_invalid"
  | "trust_root_rollback"
  | "trust_root_fork";

/** Why a service must not be trusted until it is explained. */
export interface Alarm {
  readonly code: AlarmCode;
  /** Who has shown it: its place among the Monitor's clients. */
  readonly node: number;
  /** null: it is about the trust root. */
  readonly originFingerprint: string | null;
  /** For people. */
  readonly detail: string;
  /** Signed notes that contradict one another, as far as there are any: evidence against their signers. */
  readonly evidence: readonly string[];
  /** What `Monitor.update` throws. */
  readonly error: VerificationError;
}

/** What is held of an origin, and what a node shows of it. */
export interface Shown {
  readonly node: number;
  readonly originFingerprint: string;
  /** The signed note that was seen before; undefined: none. */
  readonly held: string | undefined;
  /** That of the node; null: it shows none. */
  readonly latest: string | null;
}

/** `1 leaf`, `2 leaves`. */
function leaves(count: number): string {
  return count === 1 ? "1 leaf" : `${count} leaves`;
}

interface Cause {
  readonly code: AlarmCode;
  readonly detail: string;
  readonly error: (message: string, result: unknown) => VerificationError;
}

function alarm({ node, originFingerprint, held, latest }: Shown, { code, detail, error }: Cause): Alarm {
  const evidence = [held ?? null, latest].filter((note) => note !== null);
  const result = { originFingerprint, held, latest: latest ?? undefined };
  return {
    code,
    node,
    originFingerprint,
    detail,
    evidence,
    error: error(`origin ${originFingerprint}: ${detail}`, result),
  };
}

/** @param now how many leaves the node shows; null: it only says that there are less */
export function rollbackAlarm(shown: Shown, seen: number, now: number | null): Alarm {
  const less = now === null ? "the service has a smaller one" : `one of ${now}`;
  const error = (message: string, result: unknown): VerificationError => new Rollback("rollback", message, { result });
  return alarm(shown, { code: "rollback", detail: `a tree of ${leaves(seen)} was seen, now ${less}`, error });
}

/** Two trees that cannot both be of one log. */
export function splitViewAlarm(shown: Shown, from: TreeHead, to: TreeHead, cause: unknown): Alarm {
  const isSameSize = from.treeSize === to.treeSize;
  const detail = isSameSize
    ? `two trees of ${leaves(to.treeSize)} have different roots`
    : `the tree of ${leaves(from.treeSize)} is not shown to be the beginning of that of ${to.treeSize}`;
  const error = (message: string, result: unknown): VerificationError =>
    new SplitView("split_view", message, { result, cause });
  return alarm(shown, { code: isSameSize ? "split_view" : "inconsistent", detail, error });
}

/** A checkpoint that is not good. */
export function checkpointAlarm(shown: Shown, error: VerificationError): Alarm {
  return alarm(shown, { code: "checkpoint_invalid", detail: `${error.message} (${error.code})`, error: () => error });
}

/** @param version the newest that the node shows */
export function trustRootAlarm(node: number, version: number, error: Rollback | SplitView): Alarm {
  const isRollback = error instanceof Rollback;
  const detail = isRollback
    ? `the service's newest trust root is version ${version}, and a higher one was seen`
    : `the service has another trust root than the one seen, its newest is version ${version}`;
  const code = isRollback ? "trust_root_rollback" : "trust_root_fork";
  return { code, node, originFingerprint: null, detail, evidence: [], error };
}
