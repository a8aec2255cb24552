/** Operators' acts. An act counts only with the operator's signature, whichever node proposes it. */
import { assertNever } from "@event-anchoring/protocol";
import type { OperatorActCommand } from "../entry/command.ts";
import { decideCreateApiKey, decideRevokeApiKey, decideRotateApiKey } from "./decide-api-key.ts";
import { judgeSignatures, refused } from "./decide-checks.ts";
import { decideErasure } from "./decide-erasure.ts";
import { decideRevocation } from "./decide-revocation.ts";
import type { DecisionDraft } from "./decision-draft.ts";
import type { CommandOutcome } from "./decision.ts";
import { operatorActSignature, usedCounterText } from "../entry/operator-act.ts";
import { reject } from "./rejection.ts";

/** An operator's command without a signature. */
export function decideUnsigned(): CommandOutcome {
  return refused(reject("operator_signature_missing", "an operator must sign this: it is no command of its own"));
}

/**
 * The trust root in force before the entry judges the signature. The counter is used up even if the command is refused:
 * a refused act cannot be replayed later, when it would have an effect.
 */
export function decideOperatorAct(act: OperatorActCommand, draft: DecisionDraft): CommandOutcome {
  const { operator, counter, command } = act;
  const trustRoot = draft.state.trustRootChain?.newest.trustRoot;
  const signature = trustRoot === undefined ? null : operatorActSignature(act, trustRoot);
  if (signature === null) {
    return refused(reject("operator_unknown", `the trust root lists no operator ${operator}`, "/operator"));
  }
  const unproven = judgeSignatures([signature], draft);
  if (unproven !== null) return refused(unproven);
  const last = draft.operatorCounter(operator);
  if (counter <= last) {
    return refused(reject("operator_counter_used", usedCounterText({ operator, counter: last }), "/counter"));
  }
  draft.useOperatorCounter({ operator, counter });
  switch (command.kind) {
    case "create_api_key":
      return decideCreateApiKey(command, act, draft);
    case "revoke_api_key":
      return decideRevokeApiKey(command, act, draft);
    case "rotate_api_key":
      return decideRotateApiKey(command, act, draft);
    case "record_revocation":
      return decideRevocation(command.revocation, { kind: "operator", publicKey: signature.publicKey }, draft);
    case "erase_client_event":
      return decideErasure(command.anchorId, { kind: "operator", publicKey: signature.publicKey }, draft);
    default:
      return assertNever(command);
  }
}
