import { expect, test } from "@jest/globals";
import type { FaultyCluster } from "../src/faults/faulty-cluster.ts";
import { MeanwhileCount } from "../src/faults/judged-history.ts";
import { never } from "../src/faults/nemesis.ts";
import type { Roles } from "../src/faults/nemesis.ts";

test("what clients do while a fault is made or undone is not done under it", async () => {
  let operations = 0;
  const meanwhile = new MeanwhileCount(() => operations);
  const nemesis = meanwhile.counting({
    name: "a fault",
    missing: never,
    inject: async () => {
      operations += 1000;
      return async () => void (operations += 1000);
    },
  });
  const end = await nemesis.inject({} as FaultyCluster, {} as Roles);
  operations += 7;
  await end();
  expect([meanwhile.operations, operations]).toEqual([7, 2007]);
});
