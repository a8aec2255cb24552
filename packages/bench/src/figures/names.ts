/** Names of rows and measures that goals look for. */
export const RECORD_CALLS_NAME = "record() of 512 bytes, TypeScript";
export const RECORD_P50 = "p50 until it returns";
export const RECORD_P99 = "p99 until it returns";
export const ROUND_TRIP_MS = 20;
export const DELAYED_P50 = "p50 of one client";
export const DELAYED_RATE_RATIO = "rate of 256 clients ÷ without the delay";
export const GROWTH_COST_RATIO = "processor time of a single write, at the end ÷ at the beginning";
export const HOSTILE_BODIES_NAME = "hostile bodies of 2 MiB, parsed";
export const IDLE_CPU = "processor time of all processes";
export const LONGEST_GAP = "longest gap of any client";
export const SIMULATED_SECONDS = "simulated seconds for a core-second";
