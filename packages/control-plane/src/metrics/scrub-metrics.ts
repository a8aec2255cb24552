import type { Registry } from "prom-client";
import { scrapedGauge, scrapedTotal } from "./scraped.ts";
import type { Scrub } from "../scrub/scrub.ts";

/** Read from the scrub when they are scraped. */
export function scrubMetrics(scrub: Pick<Scrub, "counts" | "rowsPerSecond">, registry: Registry): void {
  const total = (name: string, help: string, read: () => number): void =>
    scrapedTotal(registry, { name, help, labels: [] }, () => [[{}, read()]]);
  const gauge = (name: string, help: string, read: () => number): void => scrapedGauge(registry, name, help, read);
  total(
    "scrub_rows_checked_total",
    "Leaves, claims, grants and log entries that were derived again and compared",
    () => {
      return scrub.counts.rows;
    },
  );
  total("scrub_passes_total", "Walks over all tables of this node that found nothing", () => scrub.counts.passes);
  total("scrub_differences_total", "Rows that were not as the leaves make them; the node halts at the first", () => {
    return scrub.counts.differences;
  });
  total("scrub_interruptions_total", "Steps that could not be made, as the database was not there or too slow", () => {
    return scrub.counts.interruptions;
  });
  gauge(
    "scrub_last_pass_timestamp_seconds",
    "When a walk over all tables last ended and had found nothing; 0: never",
    () => {
      return (scrub.counts.lastPassMs ?? 0) / 1000;
    },
  );
  gauge("scrub_rows_per_second", "How many rows the scrub may look at in a second, as it is set; 0: none", () => {
    return scrub.rowsPerSecond;
  });
}
