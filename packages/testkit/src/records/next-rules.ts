import { RuleTable } from "@event-anchoring/ledger";

/**
 * What a release after this one could decide by: rules 2 exist in tests alone. They decide as rules 1 do; entries and
 * effects tell them apart.
 */
export const NEXT_RULES = new RuleTable([1, 2]);
