import { afterAll } from "@jest/globals";
import { eraseSharedCluster } from "../shared-cluster.ts";
import "./bad-input-and-outages.ts";
import "./leader-kill.ts";
import "./power-loss.ts";

// What one cluster lives through and is whole after: npm run jest -- test/cluster/crash-recovery -t "leader is killed"

afterAll(eraseSharedCluster, 240_000);
