import { startTestCluster } from "@event-anchoring/testkit/cluster";
import type { TestCluster } from "@event-anchoring/testkit/cluster";

let shared: Promise<TestCluster> | null = null;

/**
 * One cluster for all suites of a test file: starting one takes as long as many of them run. They leave it healthy, and
 * have parties and keys of their own.
 */
export async function sharedCluster(): Promise<TestCluster> {
  shared ??= startTestCluster();
  const setup = await shared;
  await setup.leader();
  return setup;
}

/** In the end, by the file. */
export async function eraseSharedCluster(): Promise<void> {
  if (shared !== null) await (await shared).erase();
}
