import type { TestCluster } from "./test-cluster.ts";

/** Whether a node says that it can serve. */
export async function isReady(setup: TestCluster, nodeId: string): Promise<boolean> {
  try {
    return (await fetch(`${setup.entry(nodeId).api_url}/readyz`, { signal: AbortSignal.timeout(2000) })).status === 200;
  } catch {
    // Nobody listens yet.
    return false;
  }
}
