/**
 * Raises the rules (the cluster's feature level). The leader proposes it when every node has said that it knows them.
 */
import type { RaiseRulesCommand } from "../entry/command.ts";
import type { DecisionDraft } from "./decision-draft.ts";
import type { CommandOutcome } from "./decision.ts";

/**
 * The new rules apply from the next entry on. Rules that are in force already, or lower ones, change nothing.
 * @throws LedgerHaltError `rules_unknown`
 */
export function decideRaiseRules({ rules }: RaiseRulesCommand, draft: DecisionDraft): CommandOutcome {
  if (rules <= draft.rulesAfter) return { kind: "unchanged" };
  draft.rulesAfter = draft.state.ruleTable.of(rules).number;
  return { kind: "applied" };
}
