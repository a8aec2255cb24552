import type { ReceiptVerification } from "@event-anchoring/protocol";
import { receiptSteps } from "@event-anchoring/verdicts";
import { printPin } from "./describe-pin.ts";
import type { Printer } from "../terminal/printer.ts";
import type { HeldTrustRoots } from "../files/trust-roots.ts";

/**
 * Every step with its result. Without a pin none is shown as good: all hang on it.
 * @param content what the leaf was compared with
 */
export function printSteps(
  printer: Printer,
  verification: ReceiptVerification,
  held: HeldTrustRoots,
  content?: string,
): void {
  printPin(printer, held);
  for (const { mark, label, detail } of receiptSteps(verification, held, content)) printer.check(mark, label, detail);
}
