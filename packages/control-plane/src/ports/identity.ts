import type { Signer } from "@event-anchoring/node-crypto";
import type { OriginFingerprint, TrustRoot } from "@event-anchoring/protocol";
import type { RaftId } from "raft-ts";

/** The identity of a node. Secrets are inside the signers and do not print. */
export interface NodeIdentity {
  readonly nodeId: string;
  readonly clusterId: Uint8Array;
  readonly raftId: RaftId;
  readonly originFingerprint: OriginFingerprint;
  readonly authSigner: Signer;
  readonly cosigner: Signer;
  /** The signer of an origin's log line; every node of the cluster has it. */
  readonly logSignerOf: (origin: OriginFingerprint) => Signer;
  /** The trust root this node was set up with, checked against its pin. */
  readonly configured: { readonly document: string; readonly version: number; readonly rootThk: Uint8Array };
  /** That of `configured`. */
  readonly trustRoot: TrustRoot;
  /** Documents of later versions that are stored beside it, oldest first. */
  readonly laterTrustRoots?: readonly string[];
  /** A key of this node beside the two above, for a trust root that names another one; null: it is not here. */
  readonly otherSigner?: (name: KeyName, publicKey: Uint8Array) => Signer | null;
}

export type KeyName = "auth" | "cosigner";
