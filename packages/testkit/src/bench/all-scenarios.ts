import { ETCD_SCENARIOS } from "./etcd/etcd-puts.ts";
import type { Scenario } from "./scenario.ts";
import { CATCH_UP, SNAPSHOT_CATCH_UP } from "./scenarios/catch-up.ts";
import { CLAIMS } from "./scenarios/claims.ts";
import { EVENT_SCENARIOS } from "./scenarios/events.ts";
import { GRANTS } from "./scenarios/grants.ts";
import { HOSTILE_BODIES } from "./scenarios/hostile-bodies.ts";
import { LEADER_KILL } from "./scenarios/leader-kill.ts";
import { READ_SCENARIOS } from "./scenarios/reads.ts";
import { RECEIPT_VERIFICATION } from "./scenarios/receipt-verification.ts";

/** In the order they are run: what stops nodes comes after what does not, and etcd when the cluster is gone. */
export const ALL_SCENARIOS: readonly Scenario[] = [
  ...EVENT_SCENARIOS,
  ...READ_SCENARIOS,
  CLAIMS,
  GRANTS,
  RECEIPT_VERIFICATION,
  HOSTILE_BODIES,
  LEADER_KILL,
  CATCH_UP,
  SNAPSHOT_CATCH_UP,
  ...ETCD_SCENARIOS,
];
