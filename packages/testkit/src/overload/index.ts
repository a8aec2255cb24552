export { HOLD_MS_MAX, hostileBodies, hostileHolds } from "./hostile-bodies.ts";
export { slownessOf } from "./machine-pace.ts";
export { checkReadiness, othersShare, storm } from "./overload.ts";
export type { Check, Storm } from "./overload.ts";
export {
  CLIENT,
  clusterGroups,
  forgetPeaks,
  ownGroup,
  readMainThreadMs,
  readPeaksMb,
  readWakeUps,
  wakeUpsBetween,
} from "./process-usage.ts";
export { processesOf, readCpu } from "./process-usage.ts";
export type { CpuReading } from "./process-usage.ts";
export type { ProcessGroup, WakeUps } from "./process-usage.ts";
