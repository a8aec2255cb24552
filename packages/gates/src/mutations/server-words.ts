/** What a node's processes say where the SDKs give the reasons of docs/PROTOCOL.md, and what it has to be. */
import { isDeepStrictEqual } from "node:util";
import type { CrosscheckAnswer } from "@event-anchoring/testkit/sdks";
import type { Question } from "./draw.ts";

/** Longer texts, and more than three lines, are allowed to other logs, or not: the SDKs judge this service's alone. */
const TEXT_LENGTH_MAX = 4096;
const TEXT_LINES = 3;

interface Said {
  /** What it says of the log's line. */
  readonly witness: string;
  /** Versions of the trust root by whose nodes it is a certificate; null: the node cannot say. */
  readonly certified_by: readonly number[] | null;
  readonly newest: number;
}

/** A node is given trust roots and checkpoints, and judges no receipt and no bundle that somebody else made. */
export function isForServer({ op, checkpoint }: Question): boolean {
  if (op !== "verify_checkpoint") return op === "verify_trust_root";
  const text = String(checkpoint);
  const split = text.lastIndexOf("\n\n");
  return split < 0 || (split < TEXT_LENGTH_MAX && text.slice(0, split).split("\n").length <= TEXT_LINES);
}

/** Whether the node says by its own words what an SDK says. Of trust roots both have the same codes. */
export function agreesWithServer(
  answer: CrosscheckAnswer,
  sdk: CrosscheckAnswer,
  { op, checkpoint }: Question,
): boolean {
  if (op !== "verify_checkpoint" || sdk.ok === undefined) return isDeepStrictEqual(answer, sdk);
  if (answer.ok === undefined) return false;
  return agrees(answer.ok as unknown as Said, sdk.ok, String(checkpoint));
}

function agrees({ witness, certified_by: by, newest }: Said, sdk: Question, checkpoint: string): boolean {
  switch (sdk["code"]) {
    case null: {
      const judge = Number(sdk["superseded_trust_root"] ?? newest);
      return witness === "cosigned" && by?.includes(judge) !== false;
    }
    case "checkpoint_malformed":
      return witness === "malformed" && (by ?? []).length === 0;
    case "origin_differs":
    case "origin_unknown":
      return witness === "log_unknown";
    case "log_signature_missing":
      return witness === "untrusted";
    // A line of the log alone concerns the witness.
    case "signature_invalid":
    case "signature_repeated":
      return witness === "untrusted" || (witness === "cosigned" && !isOfLogAlone(checkpoint));
    case "quorum_not_met":
      return witness === "cosigned" && (by ?? []).length === 0;
    case "cosigner_distrusted":
      return witness === "cosigned" && by?.length !== 0;
    default:
      return false;
  }
}

function isOfLogAlone(checkpoint: string): boolean {
  const [origin = ""] = checkpoint.split("\n", 1);
  const lines = checkpoint.slice(checkpoint.lastIndexOf("\n\n") + 2, -1).split("\n");
  return lines.every((line) => line.startsWith(`\u2014 ${origin} `));
}
