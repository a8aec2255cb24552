import { ETCD_SCENARIOS } from "./etcd-puts.ts";
import type { Scenario } from "./scenario.ts";
import { CATCH_UP, SNAPSHOT_CATCH_UP } from "./catch-up.ts";
import { CLAIMS } from "./claims.ts";
import { DELAYED_LINKS } from "./delayed-links.ts";
import { EVENT_SCENARIOS } from "./events.ts";
import { FOLLOWERS_OF_THE_FEED } from "./followers.ts";
import { GRANTS } from "./grants.ts";
import { GROWTH } from "./growth.ts";
import { HOSTILE_BODIES } from "./hostile-bodies.ts";
import { IDLE_CLUSTER } from "./idle-cluster.ts";
import { LEADER_KILL } from "./leader-kill.ts";
import { READ_SCENARIOS } from "./reads.ts";
import { RECEIPT_VERIFICATION } from "./receipt-verification.ts";
import { RECORD_CALLS } from "./record-calls.ts";
import { SHARED_RECEIPT_SCENARIOS } from "./shared-receipts.ts";
import { SIMULATED_LIVES } from "./simulator.ts";
import { USUAL_EVENT_SCENARIOS } from "./usual-events.ts";

/** In the order they are run: what stops nodes comes after what does not, and etcd when the cluster is gone. */
export const ALL_SCENARIOS: readonly Scenario[] = [
  ...EVENT_SCENARIOS,
  ...SHARED_RECEIPT_SCENARIOS,
  ...USUAL_EVENT_SCENARIOS,
  ...READ_SCENARIOS,
  CLAIMS,
  GRANTS,
  IDLE_CLUSTER,
  RECEIPT_VERIFICATION,
  HOSTILE_BODIES,
  LEADER_KILL,
  CATCH_UP,
  SNAPSHOT_CATCH_UP,
  ...ETCD_SCENARIOS,
  RECORD_CALLS,
  SIMULATED_LIVES,
  DELAYED_LINKS,
  FOLLOWERS_OF_THE_FEED,
  GROWTH,
];
