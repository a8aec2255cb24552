import { expect, test } from "@jest/globals";
import { Periodics } from "../src/session/periodics.ts";
import { StepClock } from "./doubles.ts";

test("work for what is open runs until nothing is, and sets no timer meanwhile", () => {
  const clock = new StepClock();
  const periodics = new Periodics(clock);
  let open = 0;
  let sweeps = 0;
  const isOpen = (): boolean => open > 0;
  const sweepSoon = periodics.whileOpen(25, isOpen, () => {
    sweeps += 1;
    open -= 1;
  });
  clock.advance(1000);
  expect([sweeps, clock.timerCount]).toEqual([0, 0]);
  open = 3;
  sweepSoon();
  sweepSoon();
  expect(clock.timerCount).toBe(1);
  clock.advance(24);
  expect(sweeps).toBe(0);
  clock.advance(1000);
  expect([sweeps, clock.timerCount]).toEqual([3, 0]);
  open = 1;
  sweepSoon();
  periodics.close();
  sweepSoon();
  clock.advance(1000);
  expect([sweeps, clock.timerCount]).toEqual([3, 0]);
});
