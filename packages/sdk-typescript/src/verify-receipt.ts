import { anchorIdOf, bytesToHex, equalBytes, hexToBytes, verifyReceipt as verify } from "@event-anchoring/protocol";
import type {
  Leaf,
  ReceiptStep,
  ReceiptStepCode,
  ReceiptVerification,
  TrustRootChain,
  Witnessing,
} from "@event-anchoring/protocol";
import { crypto, sha256 } from "./crypto.ts";
import { InvalidInput, VerificationError } from "./errors.ts";
import { bytes32 } from "./inputs.ts";
import type { Bytes32 } from "./inputs.ts";
import { Receipt } from "./receipt.ts";

/** What a receipt is judged by, and what you know by other means. */
export interface ReceiptCheck {
  /** From `verifyTrustRoot`. Never taken from where the receipt came from without its pin. */
  readonly trustRoot: TrustRootChain;
  /** SHA-256 of your own event: what makes the receipt about *this* event. */
  readonly eventHash?: Bytes32 | undefined;
  /** What the first signer of a claim, grant, revocation or signed event signed. */
  readonly payload?: Uint8Array | undefined;
  readonly anchorId?: Bytes32 | undefined;
  /** A later checkpoint of the same origin, and the proof that leads to it. */
  readonly renewal?: { readonly checkpoint: string; readonly consistency: readonly Uint8Array[] } | undefined;
  /** Fail if only an older version of the trust root is satisfied. Default: false. */
  readonly requireCurrent?: boolean | undefined;
  /**
   * Fail unless as many witnesses have signed as the newest trust root asks for: `not_witnessed`, or `no_witnesses` if
   * it lists none. Default: false.
   */
  readonly requireWitnessed?: boolean | undefined;
}

/** What a good receipt says. */
export interface VerifiedReceipt extends Witnessing {
  /** 64 hex digits. */
  readonly anchorId: string;
  readonly leaf: Leaf;
  readonly treeSize: number;
  /** Good, but only under this older version of the trust root: renew it. null: under the newest. */
  readonly supersededTrustRoot: number | null;
  /** The newest trust root marks the origin `lost`. */
  readonly originLost: boolean;
  /** Names of the nodes that have cosigned. */
  readonly cosigners: readonly string[];
  /**
   * What was checked, in order; `content` is `not_checked` unless you gave a hash or a payload, `witnesses` if too few
   * have signed.
   */
  readonly steps: readonly ReceiptStep[];
}

/** What the leaf has to hash to: the id that you know, and the one that the receipt states, if it does not itself. */
function expectedId(receipt: Receipt, known: Uint8Array | null): Uint8Array {
  const stated = hexToBytes(receipt.anchorId, 32);
  return known === null || equalBytes(known, anchorIdOf(receipt.leaf, sha256)) ? stated : known;
}

/** What looking at a receipt has shown, good or bad. One that has a `failure` proves nothing. */
export interface ReceiptReport extends Witnessing {
  /** Where it fails; null: it is good. */
  readonly failure: { readonly step: ReceiptStepCode; readonly code: string } | null;
  /** What was checked, in order. */
  readonly steps: readonly ReceiptStep[];
  /** 64 hex digits; null where it was not reached. */
  readonly anchorId: string | null;
  /** null if it is malformed. */
  readonly leaf: Leaf | null;
  readonly treeSize: number;
  /** Only this older version of the trust root is satisfied; null: the newest, or it was not reached. */
  readonly supersededTrustRoot: number | null;
  readonly originLost: boolean;
  /** Names of the nodes that have cosigned, once the step `log_signature` has passed. */
  readonly cosigners: readonly string[];
}

/** What was looked at, and how it ended: a superseded one is refused if a current one is required. */
function conclusionOf(
  { failure, steps, supersededTrustRoot, witnessed }: ReceiptVerification,
  requireCurrent: boolean,
): Pick<ReceiptReport, "failure" | "steps" | "witnessed"> {
  if (supersededTrustRoot === undefined || !requireCurrent) return { failure, steps, witnessed };
  const at = steps.findIndex(({ code }) => code === "trust_root");
  const refused = steps.map((step, position): ReceiptStep => {
    if (position < at) return step;
    if (position === at) return { ...step, result: "fail" };
    return { ...step, result: "not_checked", detail: "an earlier step failed" };
  });
  return { failure: { step: "trust_root", code: "trust_root_superseded" }, steps: refused, witnessed: false };
}

/**
 * Looks at a receipt as `verifyReceipt` does, and reports on a bad one as on a good one: for programs that show what is
 * wrong.
 * @param source a Receipt, tlog-proof text, JSON text, or parsed JSON; may be attacker-controlled
 * @throws VerificationError `proof_…` if it cannot be read as a receipt at all; InvalidInput
 */
export function inspectReceipt(source: unknown, check: ReceiptCheck): ReceiptReport {
  const { eventHash, payload, anchorId, renewal, requireCurrent = false, requireWitnessed = false } = check;
  if (payload !== undefined && !(payload instanceof Uint8Array)) throw new InvalidInput("payload", "expected bytes");
  const receipt = Receipt.parse(source);
  const verification = verify(
    {
      receipt: receipt.parts,
      trustRoots: check.trustRoot,
      expect: {
        eventHash: eventHash === undefined ? undefined : bytes32("eventHash", eventHash),
        payload,
        anchorId: expectedId(receipt, anchorId === undefined ? null : bytes32("anchorId", anchorId)),
      },
      requireWitnessed,
      ...(renewal === undefined ? {} : { renewal }),
    },
    crypto,
  );
  const { leaf, verified, originLost } = verification;
  return {
    ...conclusionOf(verification, requireCurrent),
    anchorId: verification.anchorId === null ? null : bytesToHex(verification.anchorId),
    leaf,
    treeSize: receipt.treeSize,
    supersededTrustRoot: verification.supersededTrustRoot ?? null,
    originLost,
    cosigners: verified.filter(({ timeS }) => timeS !== null).map(({ vkey }) => vkey.name),
    witnesses: verification.witnesses,
    witnessesNeeded: verification.witnessesNeeded,
  };
}

/**
 * Verifies a receipt, offline. docs/PROTOCOL.md, "Receipt", has the steps. A good one says that the leaf is in a tree
 * that a quorum has cosigned; not that signatures inside the leaf are good, nor that a claim is still in force.
 * @param source a Receipt, tlog-proof text, JSON text, or parsed JSON; may be attacker-controlled
 * @throws VerificationError for every receipt that is not good: `code`, the `step` that failed, all `steps`, and the
 * ReceiptReport in `result`. To look at a bad one without an error: `inspectReceipt`. InvalidInput
 */
export function verifyReceipt(source: unknown, check: ReceiptCheck): VerifiedReceipt {
  const report = inspectReceipt(source, check);
  const { failure, anchorId, leaf, ...rest } = report;
  if (failure !== null) {
    const detail = report.steps.find(({ code }) => code === failure.step)?.detail ?? "";
    const context = { step: failure.step, steps: report.steps, result: report };
    throw new VerificationError(failure.code, `the receipt fails at ${failure.step}: ${detail}`, context);
  }
  if (leaf === null || anchorId === null) throw new RangeError("a good receipt has a leaf");
  return { anchorId, leaf, ...rest };
}
