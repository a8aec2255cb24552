import { Gauge, type Registry } from "prom-client";
import type { ControlPlaneNode } from "../node/node.ts";
import { WITNESS_FAILURES } from "../witnessing/submit-head.ts";
import { PREFIX, scrapedTotal } from "./scraped.ts";

/** Read from the node when they are scraped, for each witness of the newest trust root. */
export function witnessMetrics(node: ControlPlaneNode, registry: Registry): void {
  const { known, counts } = node;
  const names = (): readonly string[] => known.newest.witnesses.map(({ name }) => name);
  const failures = {
    name: "witness_failures_total",
    help: "Requests to a witness that gave no line, by reason; only the leader makes requests",
    labels: ["witness", "failure"],
  } as const;
  scrapedTotal(registry, failures, () =>
    names().flatMap((witness) =>
      WITNESS_FAILURES.map((failure) => {
        return [{ witness, failure }, counts.witnessFailures.get(witness)?.get(failure) ?? 0] as const;
      }),
    ),
  );
  const made: Gauge<"witness"> = new Gauge({
    name: `${PREFIX}witness_owes_seconds`,
    help: "Age of the oldest certified head that no line of the witness covers; 0: it owes nothing",
    labelNames: ["witness"],
    registers: [registry],
    collect: () => {
      made.reset();
      const seconds = node.session?.witnessing.delays.seconds();
      for (const witness of names()) made.set({ witness }, seconds?.get(witness) ?? 0);
    },
  });
}
