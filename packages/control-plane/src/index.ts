/** The private process of a node. Programs start it as `main.ts`; tests and the simulator take its parts from here. */
export { AppendLane } from "./raft/append-lane.ts";
export type { AppendLaneOptions, AppendTarget } from "./raft/append-lane.ts";
export { ConfigError, loadConfig } from "./config.ts";
export type { ControlPlaneConfig } from "./config.ts";
export type { Clock, Environment, Logger, Random, Timer } from "./environment.ts";
export { Session } from "./session/session.ts";
export type { SessionEnd, SessionNetwork, SessionOptions } from "./session/session.ts";
export { EXIT_FENCED, EXIT_HALTED } from "./stopped-file.ts";
