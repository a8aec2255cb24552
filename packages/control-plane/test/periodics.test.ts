import { expect, test } from "@jest/globals";
import { BEAT_MS, Periodics } from "../src/session/periodics.ts";
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

test("an idle session sets one timer, and each work has its own period", () => {
  const clock = new StepClock();
  const periodics = new Periodics(clock);
  const runs = { tick: 0, look: 0, report: 0 };
  periodics.every(1, () => (runs.tick += 1));
  periodics.every(2, () => (runs.look += 1));
  periodics.every(10, () => (runs.report += 1));
  periodics.start();
  clock.advance(BEAT_MS * 10 - 1);
  expect([runs, clock.timerCount]).toEqual([{ tick: 9, look: 4, report: 0 }, 1]);
  clock.advance(1);
  expect([runs, clock.timerCount]).toEqual([{ tick: 10, look: 5, report: 1 }, 1]);
});

test("a work that ends the session is the last", () => {
  const clock = new StepClock();
  const periodics = new Periodics(clock);
  let later = 0;
  periodics.every(1, () => periodics.close());
  periodics.every(1, () => (later += 1));
  periodics.start();
  clock.advance(1000);
  expect([later, clock.timerCount]).toEqual([0, 0]);
});
