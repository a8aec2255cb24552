import type { ControlPlaneNode } from "../node/node.ts";

/** The log and its bounds, recorded certificates, and the rules by which entries are decided. */
export function upkeepMetrics(
  node: ControlPlaneNode,
  gauge: (name: string, help: string, read: () => number) => void,
): void {
  const upkeep = (): NonNullable<ControlPlaneNode["session"]>["upkeep"] | null => node.session?.upkeep ?? null;
  gauge("log_entries_owed_to_erasures", "Entries in this node's log that an erasure has promised to forget", () => {
    return upkeep()?.compaction.owedEntries ?? 0;
  });
  gauge("log_entries", "Entries in this node's log", () => upkeep()?.compaction.held.entries ?? 0);
  gauge("log_bytes", "Bytes of this node's log: payloads, and 170 an entry", () => {
    return upkeep()?.compaction.held.bytes ?? 0;
  });
  gauge("certificates_thinned", "Old certificates deleted since this node last loaded its tables", () => {
    return upkeep()?.thinning.deleted ?? 0;
  });
  gauge("rules", "Rules by which this node decides the next entry", () => upkeep()?.rules.inForce.number ?? 0);
  gauge("rules_known", "The highest rules that this program can decide by", () => node.ruleTable.max);
  gauge("rules_holders", "Nodes by which the highest rules that this program knows are held back", () => {
    return upkeep()?.rules.heldBackBy().length ?? 0;
  });
}
