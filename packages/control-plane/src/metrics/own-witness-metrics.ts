import { Gauge, type Registry } from "prom-client";
import { PREFIX, scrapedGauge, scrapedTotal } from "./scraped.ts";
import type { Witness } from "../witness/witness.ts";

/** What a node does as a witness of other logs, read when it is scraped. */
export function ownWitnessMetrics(witness: Pick<Witness, "outcomes" | "heads" | "isSpent">, registry: Registry): void {
  const requests = {
    name: "as_witness_requests_total",
    help: "Checkpoints that other logs have submitted to this node as their witness, by what became of them",
    labels: ["outcome"],
  } as const;
  scrapedTotal(registry, requests, () =>
    [...witness.outcomes].map(([outcome, count]) => [{ outcome }, count] as const),
  );
  scrapedGauge(registry, "as_witness_spent", "1 once this node was shown a cosignature of its own that it forgot", () =>
    Number(witness.isSpent),
  );
  ofEachLog(witness, registry, {
    name: "as_witness_tree_size",
    help: "Size of the newest tree of another log that this node has cosigned; 0: none",
    read: (head) => head?.checkpoint.treeSize ?? 0,
  });
  ofEachLog(witness, registry, {
    name: "as_witness_cosigned_timestamp_seconds",
    help: "When this node last cosigned a head of another log; 0: never",
    read: (head) => head?.timeS ?? 0,
  });
}

type CosignedHead = ReturnType<Witness["heads"]> extends ReadonlyMap<string, infer Value> ? Value : never;

/** The logs are those of a file of settings: a closed set. */
function ofEachLog(
  witness: Pick<Witness, "heads">,
  registry: Registry,
  { name, help, read }: { readonly name: string; readonly help: string; readonly read: (head: CosignedHead) => number },
): void {
  const made: Gauge<"log"> = new Gauge({
    name: `${PREFIX}${name}`,
    help,
    labelNames: ["log"],
    registers: [registry],
    collect: () => {
      for (const [log, head] of witness.heads()) made.set({ log }, read(head));
    },
  });
}
