import type { EntryDecision, Facts, FactsQuery } from "@event-anchoring/ledger";
import type { OriginFingerprint } from "@event-anchoring/protocol";
import { SimulatedTables, rootIn } from "@event-anchoring/simulator";

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

  async rootAt(origin: OriginFingerprint, treeSize: number): Promise<Uint8Array> {
    const root = rootIn(this.decisions, origin, treeSize);
    if (root === null) throw new Error(`the origin has no ${treeSize} leaves`);
    return root;
  }

  async apply({ decision }: { decision: EntryDecision }): Promise<{ stateRoot: Uint8Array }> {
    this.decisions.push(decision);
    this.rows.apply(decision);
    return { stateRoot: this.rows.stateRoot };
  }
}
