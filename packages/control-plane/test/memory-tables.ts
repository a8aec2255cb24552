import type { EntryDecision, Facts, FactsQuery } from "@event-anchoring/ledger";
import { SimulatedTables } from "@event-anchoring/testkit";

/** The simulated tables, and what was applied to them. */
export class MemoryTables {
  readonly decisions: EntryDecision[] = [];
  readonly rows = new SimulatedTables();

  async loadFacts(query: FactsQuery): Promise<Facts> {
    return this.rows.facts(query);
  }

  async thinCertificates({ after }: { readonly after: number }): Promise<{ after: number; deleted: number }> {
    return { after, deleted: 0 };
  }

  async apply({ decision }: { decision: EntryDecision }): Promise<{ stateRoot: Uint8Array }> {
    this.decisions.push(decision);
    this.rows.apply(decision);
    return { stateRoot: this.rows.stateRoot };
  }
}
