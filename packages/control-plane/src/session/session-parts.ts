import type { Certifying } from "./certifying.ts";
import type { Consensus } from "./consensus.ts";
import type { Life } from "./how-a-life-ends.ts";
import type { Membership } from "./membership.ts";
import type { Witnessing } from "./witnessing.ts";
import type { Writes } from "./writes.ts";

/** A session's five assemblies, and its end. */
export interface SessionParts {
  readonly consensus: Consensus;
  readonly membership: Membership;
  readonly certifying: Certifying;
  readonly writes: Writes;
  readonly witnessing: Witnessing;
  readonly life: Life;
}
