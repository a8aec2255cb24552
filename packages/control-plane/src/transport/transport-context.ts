import { IncarnationMemory, NonceMemory } from "@event-anchoring/control-contract";
import type { AuthClaims } from "@event-anchoring/control-contract";
import { TransportCounters } from "./counters.ts";
import type { PeerNetworkOptions } from "./network-types.ts";
import type { TlsMaterial } from "./tls-material.ts";

/** What all parts of one network share. */
export interface TransportContext {
  readonly options: PeerNetworkOptions;
  readonly counters: TransportCounters;
  readonly incarnations: IncarnationMemory;
  readonly nonces: NonceMemory;
  /** The material in use; replaced by a reload. */
  readonly material: () => TlsMaterial;
}

export function createTransportContext(
  options: PeerNetworkOptions,
  isPeer: (nodeId: string) => boolean,
  material: () => TlsMaterial,
): TransportContext {
  return {
    options,
    counters: new TransportCounters(isPeer),
    incarnations: new IncarnationMemory(),
    nonces: new NonceMemory(),
    material,
  };
}

/** What every header of this node claims. */
export function claimsTo(context: TransportContext, to: string, sequence: number): AuthClaims {
  const { options } = context;
  const nonce = new Uint8Array(16);
  options.environment.random.fill(nonce);
  return {
    clusterId: options.self.clusterId,
    from: options.self.nodeId,
    to,
    incarnation: options.self.incarnation,
    trustRootVersion: options.trustRootVersion(),
    sequence,
    nonce,
  };
}
