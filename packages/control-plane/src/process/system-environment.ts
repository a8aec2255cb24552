import { randomFillSync } from "node:crypto";
import { openLog, systemClock } from "@event-anchoring/telemetry";
import type { ControlPlaneConfig } from "../node/config.ts";
import type { TimerClock, Environment, Random } from "../ports/environment.ts";

const timerClock: TimerClock = {
  ...systemClock,
  startTimer(delayMs, action) {
    const timer = setTimeout(action, delayMs);
    return { cancel: () => clearTimeout(timer) };
  },
  afterTurn: (action) => {
    setImmediate(action);
  },
};

const systemRandom: Random = {
  fill: (bytes) => {
    randomFillSync(bytes);
  },
};

/** The machine's clock and randomness; a logger that writes one JSON line per event to standard output. */
export function systemEnvironment(
  level: ControlPlaneConfig["log_level"],
  node: string,
): Omit<Environment, "verify" | "tracer"> {
  const logger = openLog({ level, node, process: "control-plane" });
  return { clock: timerClock, random: systemRandom, logger };
}
