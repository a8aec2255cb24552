import { Counter, Gauge, type Registry } from "prom-client";

/** What the name of every metric begins with. */
export const PREFIX = "anchoring_";

/** A value that is read when it is scraped. */
export function scrapedGauge(registry: Registry, name: string, help: string, read: () => number): void {
  const made: Gauge = new Gauge({
    name: `${PREFIX}${name}`,
    help,
    registers: [registry],
    collect: () => made.set(read()),
  });
}

/** A total that something else counts for the life of the process; it is set anew at each scrape. */
export function scrapedTotal<Label extends string>(
  registry: Registry,
  counter: { readonly name: string; readonly help: string; readonly labels: readonly Label[] },
  read: () => Iterable<readonly [Record<Label, string>, number]>,
): void {
  const made: Counter<Label> = new Counter({
    name: `${PREFIX}${counter.name}`,
    help: counter.help,
    labelNames: counter.labels,
    registers: [registry],
    collect: () => {
      made.reset();
      for (const [labels, value] of read()) made.inc(labels, value);
    },
  });
}
