/** The identity in a TLS certificate: its one URI SAN. README.md, "Certificate identities". */
import { bytesToHex, hexToBytes, isNodeId } from "@event-anchoring/protocol";

export type CertificateRole = "node" | "api" | "operator";

export interface CertificateIdentity {
  readonly role: CertificateRole;
  readonly clusterId: Uint8Array;
  /** Node id, or operator id of the same grammar. */
  readonly id: string;
}

const URN = /^urn:event-anchoring:([0-9a-f]{64}):(node|api|operator):([a-z][a-z0-9-]{0,31})$/;

/** `urn:event-anchoring:<cluster id hex>:<role>:<id>`. @throws RangeError for an id or cluster id that is not one */
export function formatIdentity(identity: CertificateIdentity): string {
  if (identity.clusterId.length !== 32) throw new RangeError("a cluster id has 32 bytes");
  if (!isNodeId(identity.id)) throw new RangeError(`not a node or operator id: ${identity.id}`);
  return `urn:event-anchoring:${bytesToHex(identity.clusterId)}:${identity.role}:${identity.id}`;
}

/** Null for anything but exactly one identity as formatIdentity prints it. */
export function parseIdentity(urn: string): CertificateIdentity | null {
  const match = URN.exec(urn);
  if (match === null) return null;
  const [, clusterId = "", role = "", id = ""] = match;
  return { role: role as CertificateRole, clusterId: hexToBytes(clusterId, 32), id };
}
