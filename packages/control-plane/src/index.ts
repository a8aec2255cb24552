/** The private process of a node. Programs start it as `main.ts`; tests and the simulator take its parts from here. */
export { CONTROL_PLANE_SETTINGS, loadConfig } from "./config.ts";
export type { ControlPlaneConfig } from "./config.ts";
export type { Clock, Environment, Logger, Timer } from "./environment.ts";
export type { NodeIdentity } from "./identity.ts";
export { trustedRequests } from "./local/local-requests.ts";
export type { Machine, OpenExport, OpenPromiseFile, PromiseVolume } from "./machine.ts";
export type { OpenStateHold } from "./state-heads/session-states.ts";
export { ControlPlaneNode } from "./node.ts";
export { PromiseFile, PromiseFileError } from "./promises/promise-file.ts";
export type { Promises, SlotIo } from "./promises/promise-file.ts";
export { raftIdKey } from "./promises/promises.ts";
export { membershipContext } from "./session/members.ts";
export type { StopReason } from "./stopped-file.ts";
export type { IdentityStorage, LedgerStorage, OpenStorage, RaftLogStorage } from "./storage.ts";
export type { CallAnswer, CallOptions, PeerNetwork, PeerNetworkOptions } from "./transport/network-types.ts";
export { PeerCallError } from "./transport/network-types.ts";
