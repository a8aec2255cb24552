import { LEAF_KIND } from "@event-anchoring/protocol";
import type { EraseClientEventCommand } from "./command.ts";
import { judgeCredential, judgeReference, refused } from "./decide-checks.ts";
import type { DecisionDraft } from "./decision-draft.ts";
import type { CommandOutcome } from "./decision.ts";

/** Forgets the clear text of a client event id. Its hash stays, so that the id keeps naming the one event. */
export function decideEraseClientEvent(command: EraseClientEventCommand, draft: DecisionDraft): CommandOutcome {
  const powerless = judgeCredential(command.credential, ["admin"], draft);
  if (powerless !== null) return refused(powerless);
  const { anchorId } = command;
  const found = draft.earlierAnchor(anchorId);
  const kind = found?.kind === LEAF_KIND.signedEvent ? LEAF_KIND.signedEvent : LEAF_KIND.event;
  const rejection = judgeReference(found, kind, "/anchor_id");
  if (rejection !== null) return refused(rejection);
  if (found?.hasClientEventId !== true || draft.isErased(anchorId)) return { kind: "unchanged" };
  draft.addErasure({ anchorId, sequence: found.sequence });
  return { kind: "applied" };
}
