import type { NodeFlags } from "@event-anchoring/dev-cluster";
import type { Scrape } from "@event-anchoring/testkit/clients";

/** What a process tells of itself among the metrics of its node. */
export interface ProcessTold {
  readonly residentBytes: number;
  /** Collections of its old generation, since it was started. */
  readonly majorCollections: number;
}

/** @returns null: the node tells no metrics, or the process none */
export function toldOf(scrape: Scrape | null, name: keyof NodeFlags): ProcessTold | null {
  const prefix = `anchoring_${name.replace("-", "_")}_`;
  const residentBytes = scrape?.sumOf(`${prefix}process_resident_memory_bytes`) ?? 0;
  if (scrape === null || residentBytes === 0) return null;
  const majorCollections = scrape.sumOf(`${prefix}nodejs_gc_duration_seconds_count`, 'kind="major"');
  return { residentBytes, majorCollections };
}
