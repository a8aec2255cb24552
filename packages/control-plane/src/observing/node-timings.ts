import { CosignatureTimings } from "./cosignature-timings.ts";
import { Distribution } from "./distribution.ts";

/** Seconds. From a fast flush to the longest that a client waits. */
const SECONDS = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5];

/** How long things take on this node, and how often they happen, since its process began. */
export class NodeTimings {
  /** One transaction of the raft log, flush included. */
  readonly append = new Distribution(SECONDS);
  /** From an entry's turn until it is decided: the facts it asks for, signatures that are not verified yet. */
  readonly decide = new Distribution(SECONDS);
  /** The transaction of an entry's effects. */
  readonly apply = new Distribution(SECONDS);
  /** From an entry decided until every tree it has grown is certified here. */
  readonly certify = new Distribution(SECONDS);
  /** From a submission of the api process to its answer. */
  readonly submit = new Distribution(SECONDS);
  /** One write of the promise file, flush included. */
  readonly promise = new Distribution(SECONDS);
  /** By peer. */
  readonly cosignatures = new CosignatureTimings(SECONDS);
  /** How often another node led than before, or none. */
  leaderChanges = 0;
}
