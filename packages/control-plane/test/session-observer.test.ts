import { expect, test } from "@jest/globals";
import type { Tracer } from "@event-anchoring/telemetry";
import { NodeTimings } from "../src/observing/node-timings.ts";
import { SessionObserver } from "../src/observing/session-observer.ts";
import type { LeaderQueueOptions } from "../src/proposals/leader-queue.ts";
import { StepClock } from "./doubles.ts";

test("a propose that ends the session asks nothing of the engine that is gone", () => {
  const tracer = { start: () => null } as unknown as Tracer;
  const observer = new SessionObserver({
    clock: new StepClock(),
    timings: new NodeTimings(),
    tracer,
    session: () => {
      throw new Error("the engine was freed");
    },
    broadcast: () => {},
  });
  const queue: Pick<LeaderQueueOptions, "propose"> = { propose: () => null };
  expect(observer.queue(queue as LeaderQueueOptions).propose(new Uint8Array(1), [])).toBeNull();
});
