import { bytesToHex } from "@event-anchoring/protocol";
import type { ReceiptStepCode, ReceiptVerification, TrustRootChain } from "@event-anchoring/protocol";
import { printPin } from "./describe-pin.ts";
import type { Mark, Printer } from "../terminal/printer.ts";
import type { HeldTrustRoots } from "../files/trust-roots.ts";

const LABELS: Readonly<Record<ReceiptStepCode, string>> = {
  leaf: "leaf",
  content: "content",
  anchor_id: "anchor id",
  checkpoint: "checkpoint",
  origin: "origin",
  index: "index",
  inclusion: "inclusion",
  log_signature: "log signature",
  cosignatures: "cosignatures",
  trust_root: "trust root",
};

const MARKS: Readonly<Record<"pass" | "fail" | "not_checked", Mark>> = {
  pass: "pass",
  fail: "fail",
  not_checked: "skip",
};

const UNPINNED_MARKS: typeof MARKS = { ...MARKS, pass: "skip" };

export interface Cosigner {
  readonly name: string;
  /** Unix seconds, as the node signed it. */
  readonly timeS: number;
}

/** Nodes whose good signature the checkpoint carries. */
export function cosignersOf(verification: ReceiptVerification): readonly Cosigner[] {
  return verification.verified.flatMap(({ vkey, timeS }) => (timeS === null ? [] : [{ name: vkey.name, timeS }]));
}

/**
 * When the quorum was complete: the k-th smallest time of the cosignatures, k being the quorum. Null if there are
 * fewer. Unix seconds.
 */
export function certifiedAtS(verification: ReceiptVerification, chain: TrustRootChain): number | null {
  const times = cosignersOf(verification).map(({ timeS }) => timeS);
  return times.toSorted((a, b) => a - b)[chain.newest.trustRoot.quorum - 1] ?? null;
}

/**
 * Every step with its result, each cosignature on its own line. Without a pin none is shown as good: all hang on it.
 * @param content what the leaf was compared with
 */
export function printSteps(
  printer: Printer,
  verification: ReceiptVerification,
  held: HeldTrustRoots,
  content = "the SHA-256 of this file",
): void {
  const { chain, pin } = held;
  const marks = pin === null ? UNPINNED_MARKS : MARKS;
  printPin(printer, held);
  for (const { code, result, detail } of verification.steps) {
    printer.check(
      marks[result],
      LABELS[code],
      result === "pass" ? passDetail(code, detail, verification, chain, content) : detail,
    );
    if (code !== "cosignatures" || result !== "pass") continue;
    for (const { name, timeS } of cosignersOf(verification)) {
      printer.check(marks.pass, "", `${name} signed at ${isoSeconds(timeS)}`);
    }
  }
}

function passDetail(
  code: ReceiptStepCode,
  detail: string,
  verification: ReceiptVerification,
  chain: TrustRootChain,
  content: string,
): string {
  const { leaf } = verification;
  const { trustRoot, rootThk } = chain.newest;
  const active = trustRoot.nodes.filter((node) => node.status === "active").length;
  if (code === "leaf" && leaf !== null) {
    return `depth ${leaf.depth} of its origin, sequence ${leaf.sequence}, accepted ${isoMs(leaf.acceptedMs)}`;
  }
  if (code === "content") return `the leaf holds ${content}`;
  if (code === "cosignatures")
    return `${cosignersOf(verification).length} good, ${trustRoot.quorum} of ${active} needed`;
  if (code === "trust_root") return `version ${trustRoot.version}, root_thk ${bytesToHex(rootThk)}`;
  return detail;
}

export function isoMs(ms: number): string {
  return new Date(ms).toISOString();
}

export function isoSeconds(seconds: number): string {
  return new Date(seconds * 1000).toISOString().replace(".000Z", "Z");
}
