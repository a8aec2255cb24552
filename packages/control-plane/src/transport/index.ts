/** The network between nodes: what the rest of the control plane may use of it. */
export { createPeerNetwork } from "./peer-network.ts";
export { PeerCallError } from "./network-types.ts";
export type { PeerDown, PeerNetwork, TlsFiles, UnaryHandler, UnaryRequest } from "./network-types.ts";
