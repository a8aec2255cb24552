import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { CLOCK_NEMESES, NETWORK_NEMESES, PROCESS_NEMESES, STORAGE_NEMESES } from "@event-anchoring/testkit/faults";
import { ClusterUnderFaults, START_TIMEOUT_MS, FAULT_TIMEOUT_MS } from "./cluster-under-faults.ts";

describe.each([
  { title: "whose network fails", nemeses: NETWORK_NEMESES },
  { title: "whose processes are killed and stand still", nemeses: PROCESS_NEMESES },
  { title: "whose databases and disks fail", nemeses: STORAGE_NEMESES },
  { title: "whose clocks jump", nemeses: CLOCK_NEMESES },
])("a cluster $title", ({ nemeses }) => {
  let cluster: ClusterUnderFaults;

  beforeAll(async () => {
    cluster = await ClusterUnderFaults.start();
  }, START_TIMEOUT_MS);

  afterAll(async () => {
    await cluster.end();
  }, START_TIMEOUT_MS);

  test.each(nemeses)(
    "goes on when $name",
    async (nemesis) => {
      expect(await cluster.inject([nemesis])).toEqual([]);
    },
    FAULT_TIMEOUT_MS,
  );

  test(
    "has lost, doubled and contradicted nothing",
    async () => {
      expect(await cluster.audit()).toEqual([]);
    },
    FAULT_TIMEOUT_MS,
  );
});
