import { afterAll } from "@jest/globals";
import { eraseSharedCluster } from "../shared-cluster.ts";
import "./cross.ts";
import "./installed.ts";
import "./python.ts";
import "./rust.ts";
import "./typescript.ts";

// All SDKs on one cluster, one after another: npm run jest -- test/sdk -t "Python SDK"

afterAll(eraseSharedCluster, 240_000);
