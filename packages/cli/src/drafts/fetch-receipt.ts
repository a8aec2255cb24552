import type { StatedReceipt } from "@event-anchoring/protocol";
import { readers } from "@event-anchoring/sdk";
import { parseStated } from "../reports/check-receipt.ts";
import type { Question, Service } from "../service/service.ts";
import { CliError, EXIT } from "../terminal/cli-error.ts";

export interface ReceiptQuestion extends Pick<Question, "witnessedWithinS"> {
  /** What a person does if there is no receipt. */
  readonly hint?: string;
}

/** The receipt of now. @throws CliError `not_certified_yet` while there is none */
export async function fetchReceipt(
  service: Service,
  anchorId: string,
  { hint, ...asked }: ReceiptQuestion = {},
): Promise<StatedReceipt> {
  try {
    const path = `/v1/event-anchors/${anchorId}/receipt`;
    return parseStated(await service.read({ path, ...asked }, readers.object));
  } catch (error) {
    if (!(error instanceof CliError) || error.exitCode !== EXIT.unavailable) throw error;
    const said = hint ?? `No receipt of ${anchorId} could be had: it may not be certified yet. Ask again.`;
    throw new CliError(EXIT.unavailable, "not_certified_yet", `${error.message}\n${said}`);
  }
}
