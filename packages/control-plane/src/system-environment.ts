import { randomFillSync } from "node:crypto";
import { verifyAsync } from "@event-anchoring/node-crypto";
import { pino } from "pino";
import type { Clock, Environment, Logger, Random } from "./environment.ts";

const systemClock: Clock = {
  wallMs: () => Date.now(),
  monotonicMs: () => performance.now(),
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

/** The machine's clock, randomness and thread pool; a logger that writes one JSON line per event to standard output. */
export function systemEnvironment(level: string, nodeId: string): Environment {
  const sink = pino({ level, base: { node: nodeId }, timestamp: pino.stdTimeFunctions.isoTime });
  const logger: Logger = {
    debug: (event, fields = {}) => sink.debug(fields, event),
    info: (event, fields = {}) => sink.info(fields, event),
    warn: (event, fields = {}) => sink.warn(fields, event),
    error: (event, fields = {}) => sink.error(fields, event),
  };
  return { clock: systemClock, random: systemRandom, logger, verify: verifyAsync };
}
