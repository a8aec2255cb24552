import { LEAF_KIND } from "@event-anchoring/protocol";
import type { AnchorId } from "@event-anchoring/protocol";
import type { EraseClientEventCommand } from "../entry/command.ts";
import type { Asker } from "./content-hash.ts";
import { isAskers, judgeCredential, judgeReference, notOwnRecord, refused } from "./decide-checks.ts";
import type { DecisionDraft } from "./decision-draft.ts";
import type { CommandOutcome } from "./decision.ts";

/** An erasure that an API client asks for. */
export function decideEraseClientEvent(
  { credential, anchorId }: EraseClientEventCommand,
  draft: DecisionDraft,
): CommandOutcome {
  const powerless = judgeCredential(credential, ["admin"], draft);
  if (powerless !== null) return refused(powerless);
  return decideErasure(anchorId, { kind: "client", apiClientId: credential.apiClientId }, draft);
}

/**
 * Erases the clear text of a client event id. Its hash stays, so that the id keeps naming this one event, and so does
 * the API client.
 * @param asker its API key has passed check 1, or its act is verified
 */
export function decideErasure(anchorId: AnchorId, asker: Asker, draft: DecisionDraft): CommandOutcome {
  const found = draft.earlierAnchor(anchorId);
  const kind = found?.kind === LEAF_KIND.signedEvent ? LEAF_KIND.signedEvent : LEAF_KIND.event;
  const rejection = judgeReference(found, kind, "/anchor_id");
  if (rejection !== null) return refused(rejection);
  if (found === null || found.clientEvent === null) return { kind: "unchanged" };
  const { apiClientId, isErased } = found.clientEvent;
  if (!isAskers(asker, apiClientId)) return refused(notOwnRecord("the event"));
  if (isErased || draft.isErased(anchorId)) return { kind: "unchanged" };
  draft.addErasure({ anchorId, sequence: found.sequence });
  return { kind: "applied" };
}
