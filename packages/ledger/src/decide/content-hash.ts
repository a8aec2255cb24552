/**
 * What makes two records the same, regardless of new signatures and repeated requests. docs/PROTOCOL.md, "Idempotency".
 */
import {
  ByteWriter,
  LEAF_KIND,
  claimPayload,
  clientRevoker,
  grantPayload,
  operatorRevoker,
  revocationPayload,
} from "@event-anchoring/protocol";
import type {
  ClaimContent,
  ClaimLeaf,
  EventLeaf,
  GrantContent,
  GrantLeaf,
  OriginFingerprint,
  RevocationContent,
  RevocationLeaf,
  Sha256,
  SignedEventLeaf,
} from "@event-anchoring/protocol";
import type { EventInput, RevocationInput } from "../entry/command.ts";

const HASH_BYTES = 32;

/** Reused for every event: an array for each would cost the garbage collector more than the hash costs. */
const CONTENT = new Uint8Array(1 + 8 * HASH_BYTES);
const UNSIGNED_CONTENT = CONTENT.subarray(0, 1 + 7 * HASH_BYTES);

/**
 * What makes two events with one client event id the same: H(kind ‖ the seven hashes ‖ actor key). The origin is not
 * content, as a retry through a gateway may name another node's; neither are signatures and salt.
 * @param actorPublicKey null unless the event is signed by its actor
 */
export function contentHashOf(
  event: Pick<EventInput, "eventHash" | "semanticAnchor">,
  actorPublicKey: Uint8Array | null,
  sha256: Sha256,
): Uint8Array {
  const { semanticAnchor: anchor } = event;
  CONTENT[0] = actorPublicKey === null ? LEAF_KIND.event : LEAF_KIND.signedEvent;
  setField(0, event.eventHash);
  setField(1, anchor.irisRef);
  setField(2, anchor.scrollRef);
  setField(3, anchor.grantRef);
  setField(4, anchor.bondRef);
  setField(5, anchor.yieldRef);
  setField(6, anchor.eventDataHash);
  if (actorPublicKey === null) return sha256(UNSIGNED_CONTENT);
  setField(7, actorPublicKey);
  return sha256(CONTENT);
}

function setField(position: number, field: Uint8Array): void {
  if (field.length !== HASH_BYTES) throw new RangeError(`a content field has 32 bytes, got ${field.length}`);
  CONTENT.set(field, 1 + position * HASH_BYTES);
}

/** contentHashOf the event that a leaf holds. */
export function eventContentHash(leaf: EventLeaf | SignedEventLeaf, sha256: Sha256): Uint8Array {
  return contentHashOf(leaf, leaf.kind === LEAF_KIND.signedEvent ? leaf.actorPublicKey : null, sha256);
}

/** H(claim_payload): everything but the signatures. */
export function claimContentHash(claim: ClaimContent, sha256: Sha256): Uint8Array {
  return sha256(claimPayload(claim));
}

/** H(grant_payload): everything but the signatures. */
export function grantContentHash(grant: GrantContent, sha256: Sha256): Uint8Array {
  return sha256(grantPayload(grant));
}

/** Who revokes: an unsigned revocation is another record than one that a party has signed. */
export interface Revoker {
  readonly isSigned: boolean;
  /** The revoker's public key, clientRevoker(...) or operatorRevoker(...). */
  readonly revoker: Uint8Array;
}

/** Who requests a revocation or an erasure: an API client by its key, or an operator by an act. */
export type Asker =
  | { readonly kind: "client"; /** 16 bytes. */ readonly apiClientId: Uint8Array }
  | { readonly kind: "operator"; /** 32 bytes. */ readonly publicKey: Uint8Array };

/**
 * H(revocation payload ‖ u8 (0 unsigned, 1 signed) ‖ revoker).
 * @param revocation names the origin of its target, as the revoker's signed payload does
 */
function revocationContentHash(
  revocation: RevocationContent,
  { isSigned, revoker }: Revoker,
  sha256: Sha256,
): Uint8Array {
  const payload = revocationPayload(revocation);
  const writer = new ByteWriter(payload.length + 1 + HASH_BYTES).bytes(payload);
  return sha256(
    writer
      .u8(isSigned ? 1 : 0)
      .bytes(revoker, HASH_BYTES)
      .finish(),
  );
}

/** The revoker: the party that has signed, else the asker. */
export function revokerOf({ signer }: Pick<RevocationInput, "signer">, asker: Asker, sha256: Sha256): Revoker {
  if (signer !== null) return { isSigned: true, revoker: signer.publicKey };
  const revoker =
    asker.kind === "client" ? clientRevoker(asker.apiClientId, sha256) : operatorRevoker(asker.publicKey, sha256);
  return { isSigned: false, revoker };
}

/** The content hash of a requested revocation, with the target's origin as the request names it. */
export function revocationContentHashOf(revocation: RevocationInput, asker: Asker, sha256: Sha256): Uint8Array {
  const content = { ...revocation, originFingerprint: revocation.targetOriginFingerprint };
  return revocationContentHash(content, revokerOf(revocation, asker, sha256), sha256);
}

/** Looks up the claim or grant that a revocation names, by its anchor id. */
export interface TargetOrigins {
  find(anchorId: Uint8Array): { readonly originFingerprint: OriginFingerprint } | null;
}

/**
 * The content hash of a record, from its leaf.
 * @param records a RecordBook that holds the records that the leaf names: a revocation's leaf does not hold its
 * target's origin
 * @returns null for a revocation whose target is missing
 */
export function contentHashOfRecord(
  leaf: ClaimLeaf | GrantLeaf | RevocationLeaf,
  records: TargetOrigins,
  sha256: Sha256,
): Uint8Array | null {
  if (leaf.kind === LEAF_KIND.claim) return claimContentHash(leaf, sha256);
  if (leaf.kind === LEAF_KIND.grant) return grantContentHash(leaf, sha256);
  const target = records.find(leaf.targetAnchorId);
  if (target === null) return null;
  const content = { ...leaf, originFingerprint: target.originFingerprint };
  return revocationContentHash(content, { isSigned: leaf.authority !== 0, revoker: leaf.revoker }, sha256);
}
