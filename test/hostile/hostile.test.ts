import { afterAll } from "@jest/globals";
import { eraseSharedCluster } from "../shared-cluster.ts";
import "./revoke-races.ts";
import "./signatures.ts";
import "./takeover.ts";

// On one cluster, one after another: npm run jest -- test/hostile -t takeovers

afterAll(eraseSharedCluster, 240_000);
