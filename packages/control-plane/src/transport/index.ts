/** The network between nodes: what the rest of the control plane may use of it. */
export { createPeerNetwork } from "./peer-network.ts";
export { PeerCallError, REFUSED_AFTER_MS, TLS_RELOAD_MS } from "./network-types.ts";
export { TlsMaterialError } from "./tls-material.ts";
export type { TlsMaterialCode } from "./tls-material.ts";
export type {
  CallAnswer,
  CallErrorCode,
  CallOptions,
  PeerAddress,
  PeerDown,
  PeerNetwork,
  PeerNetworkOptions,
  SessionEnd,
  TlsFiles,
  TransportCounter,
  TransportEvent,
  UnaryAnswer,
  UnaryHandler,
  UnaryIdentity,
  UnaryRequest,
} from "./network-types.ts";
