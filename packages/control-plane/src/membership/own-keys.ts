import type { Signer } from "@event-anchoring/node-crypto";
import { type TrustRoot, equalBytes } from "@event-anchoring/protocol";
import type { NodeIdentity } from "../ports/identity.ts";

/** The key with which this node cosigns under a trust root; null if it is not here. */
export function cosignerUnder(identity: NodeIdentity, root: TrustRoot): Signer | null {
  const line = root.nodes.find(({ nodeId }) => nodeId === identity.nodeId);
  if (line === undefined) return null;
  const { publicKey } = line.cosignerVkey;
  if (equalBytes(publicKey, identity.cosigner.publicKey)) return identity.cosigner;
  return identity.otherSigner?.("cosigner", publicKey) ?? null;
}

/** The key with which this node authenticates itself under a trust root; null if it is not here. */
export function authUnder(identity: NodeIdentity, root: TrustRoot): Signer | null {
  const line = root.nodes.find(({ nodeId }) => nodeId === identity.nodeId);
  if (line === undefined || equalBytes(line.authPublicKey, identity.authSigner.publicKey)) return identity.authSigner;
  return identity.otherSigner?.("auth", line.authPublicKey) ?? null;
}

/** Why this node could not cosign under that trust root; null: it could. */
export function missingKeyUnder(identity: NodeIdentity, root: TrustRoot): string | null {
  if (cosignerUnder(identity, root) === null) return "the cosigner key that the trust root names is not on this node";
  if (authUnder(identity, root) === null) return "the auth key that the trust root names is not on this node";
  return null;
}
