/** What a node answers as a witness of other logs; the statuses are those of tlog-witness. */
import { DecodeError, assertNever } from "@event-anchoring/protocol";
import type { ByteReader, ByteWriter } from "@event-anchoring/protocol";
import { readLongText, writeText } from "./fields.ts";

/**
 * - `cosigned` (200): signature lines, as tlog-witness has the body.
 * - `size_differs` (409): the size of the newest tree of that log that was cosigned.
 * - `malformed` (400): not a request of the standard, or the old size is above the checkpoint's.
 * - `untrusted` (403): no key of the log has signed it, or a line of such a key is bad.
 * - `log_unknown` (404): the node does not witness this log.
 * - `inconsistent` (422): the proof does not lead from what was cosigned to this checkpoint.
 * - `limited` (429): the log has had more heads cosigned than it may.
 */
export type WitnessAnswer =
  | { readonly kind: "cosigned"; readonly lines: string }
  | { readonly kind: "size_differs"; readonly treeSize: number }
  | { readonly kind: "malformed" | "untrusted" | "log_unknown" | "inconsistent" }
  | { readonly kind: "limited"; readonly retryAfterMs: number };

/** The position in this list is the byte on the wire. */
const KINDS = ["cosigned", "size_differs", "malformed", "untrusted", "log_unknown", "inconsistent", "limited"] as const;

export function writeWitnessAnswer(writer: ByteWriter, answer: WitnessAnswer): void {
  writer.u8(KINDS.indexOf(answer.kind));
  switch (answer.kind) {
    case "cosigned":
      writeText(writer, answer.lines);
      break;
    case "size_differs":
      writer.u64(answer.treeSize);
      break;
    case "limited":
      writer.u32(answer.retryAfterMs);
      break;
    case "malformed":
    case "untrusted":
    case "log_unknown":
    case "inconsistent":
      break;
    default:
      assertNever(answer);
  }
}

/** @throws DecodeError */
export function readWitnessAnswer(reader: ByteReader): WitnessAnswer {
  const byte = reader.u8();
  const kind = KINDS[byte];
  switch (kind) {
    case undefined:
      throw new DecodeError("kind_unknown", `witness answer ${byte}`);
    case "cosigned":
      return { kind, lines: readLongText(reader) };
    case "size_differs":
      return { kind, treeSize: reader.u64() };
    case "limited":
      return { kind, retryAfterMs: reader.u32() };
    case "malformed":
    case "untrusted":
    case "log_unknown":
    case "inconsistent":
      return { kind };
    default:
      return assertNever(kind);
  }
}
