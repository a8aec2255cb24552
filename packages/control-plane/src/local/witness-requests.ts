import { RETRY_AFTER_MS } from "@event-anchoring/control-contract";
import type { LocalRequest, LocalResponse } from "@event-anchoring/control-contract";
import type { Logger } from "@event-anchoring/telemetry";
import { WitnessUnavailableError } from "../witness/witness.ts";
import type { Witness } from "../witness/witness.ts";

/** Another log asks this node as its witness. It needs no session: the node may have lost its cluster. */
export function addCheckpoint(
  { witness = null, logger }: { readonly witness?: Witness | null; readonly logger?: Logger },
  { requestId, body }: Extract<LocalRequest, { type: "add_checkpoint" }>,
  respond: (response: LocalResponse) => void,
): void {
  if (witness === null) {
    respond({ type: "checkpoint_added", requestId, answer: { kind: "log_unknown" } });
    return;
  }
  witness.add(body).then(
    (answer) => respond({ type: "checkpoint_added", requestId, answer }),
    (error: unknown) => {
      const isExpected = error instanceof WitnessUnavailableError;
      if (!isExpected) logger?.error("witness_failed", { error });
      const code = isExpected && error.code === "overloaded" ? "overloaded" : "unavailable";
      const detail = error instanceof Error ? error.message : String(error);
      respond({ type: "refused", requestId, code, detail, retryAfterMs: RETRY_AFTER_MS });
    },
  );
}
