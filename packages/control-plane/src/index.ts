/** The private process of a node. Programs start it as `main.ts`; tests and the simulator take its parts from here. */
export { loadConfig } from "./node/config.ts";
export type { ControlPlaneConfig } from "./node/config.ts";
export type { Environment, Timer, TimerClock } from "./ports/environment.ts";
export type { NodeIdentity } from "./ports/identity.ts";
export { trustedRequests } from "./local/local-requests.ts";
export type { Machine } from "./node/machine.ts";
export type { OpenPromiseFile, PromiseVolume } from "./promises/promise-volume.ts";
export type { OpenExport } from "./snapshots/snapshot-exporter.ts";
export type { OpenStateHold } from "./session/signed-states.ts";
export { ControlPlaneNode } from "./node/node.ts";
export { PromiseFile, PromiseFileError } from "./promises/promise-file.ts";
export type { Promises, SlotIo } from "./promises/promise-file.ts";
export { raftIdKey } from "./promises/promises.ts";
export { membershipContext } from "./membership/members.ts";
export type { StopReason } from "./session/how-a-life-ends.ts";
export { openStorage } from "./process/open-storage.ts";
export type {
  IdentityStorage,
  LedgerStorage,
  OpenStorage,
  RaftLogStorage,
  WitnessedHeadStorage,
} from "./ports/storage.ts";
export type { WitnessAnswer, WitnessTransport } from "./witnessing/witness-transport.ts";
export type { CallAnswer, CallOptions, PeerNetwork, PeerNetworkOptions } from "./transport/network-types.ts";
export { PeerCallError } from "./transport/network-types.ts";
export { Witness } from "./witness/witness.ts";
export { WitnessFile } from "./witness/witness-file.ts";
