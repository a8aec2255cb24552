import { Histogram, type Metric } from "prom-client";
import { CosignatureTimings } from "./cosignature-timings.ts";

/** Seconds, from a fast flush to the longest that a client waits by default. */
const BUCKETS = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5];

function histogram<Label extends string = never>(
  name: `anchoring_${string}_seconds`,
  help: string,
  labelNames: readonly Label[] = [],
): Histogram<Label> {
  return new Histogram({ name, help, labelNames, buckets: BUCKETS, registers: [] });
}

/** How long things take on this node, since its process began. */
export class NodeTimings {
  readonly submit = histogram(
    "anchoring_submit_seconds",
    "From a command of this node's api process to its answer, by what the answer is",
    ["outcome"],
  );
  readonly append = histogram(
    "anchoring_log_append_seconds",
    "One transaction of the raft log in Postgres, its flush included",
  );
  readonly decide = histogram(
    "anchoring_entry_decide_seconds",
    "From an entry's turn until it is decided: the facts it asks for, signatures not verified yet",
  );
  readonly apply = histogram("anchoring_entry_apply_seconds", "One transaction of entries' effects in Postgres");
  readonly promise = histogram("anchoring_promise_write_seconds", "One write of the promise file, its flush included");
  readonly certify = histogram(
    "anchoring_certify_seconds",
    "From an entry decided on this node until enough cosignatures of every tree it has grown are here",
  );
  readonly cosignature = histogram(
    "anchoring_cosignature_seconds",
    "How long after this node's decision a peer's cosignature of the same entry came; 0 if it came before",
    ["peer"],
  );
  readonly cosignatures = new CosignatureTimings((peer, seconds) => this.cosignature.observe({ peer }, seconds));

  get metrics(): readonly Metric[] {
    return [this.submit, this.append, this.decide, this.apply, this.promise, this.certify, this.cosignature];
  }
}
