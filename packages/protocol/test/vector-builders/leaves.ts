/** Leaves of every kind in one origin, and the payloads that parties sign. */
import { createSigner } from "@event-anchoring/node-crypto";
import type { Signer } from "@event-anchoring/node-crypto";
import {
  EMPTY_SEMANTIC_ANCHOR,
  anchorIdOf,
  bytesToHex,
  claimIssuerPayload,
  claimPayload,
  clientEventCommit,
  encodeLeaf,
  eventActorPayload,
  grantPayload,
  grantWitnessPayload,
  clientRevoker,
  revocationPayload,
  toAnchorId,
} from "@event-anchoring/protocol";
import type { Leaf, SemanticAnchor } from "@event-anchoring/protocol";
import { clusterId, fill, hashOf, nodeA, pinnedRootThk, sha256 } from "./fixtures.ts";
import type { Json } from "../../../../test/vector-builders/json.ts";

const { originFingerprint } = nodeA;
const subject = createSigner(fill(0x41));
const issuer = createSigner(fill(0x42));
const grantee = createSigner(fill(0x43));
const witness = createSigner(fill(0x44));

export const leaves: Leaf[] = [];
export const leafBytes: Uint8Array[] = [];

type Unplaced<L> = L extends Leaf
  ? Omit<L, "originFingerprint" | "depth" | "parentAnchorId" | "sequence" | "acceptedMs">
  : never;

function append(body: Unplaced<Leaf>): Uint8Array {
  const depth = leaves.length;
  const last = leafBytes[depth - 1];
  const parentAnchorId = last === undefined ? toAnchorId(fill(0)) : anchorIdOf(last, sha256);
  const placed = {
    originFingerprint,
    depth,
    parentAnchorId,
    sequence: depth * 3,
    acceptedMs: 1_770_000_000_000 + depth,
  };
  const leaf = { ...placed, ...body } as Leaf;
  const bytes = encodeLeaf(leaf);
  leaves.push(leaf);
  leafBytes.push(bytes);
  return anchorIdOf(bytes, sha256);
}

function claimOf(holder: Signer, name: string): Unplaced<Leaf> {
  const content = {
    originFingerprint,
    entityFingerprint: hashOf(`entity ${name}`),
    attributeType: 0xfedcba98,
    attributeHash: hashOf(`attribute ${name}`),
    issuedAt: 1_769_999_000_000,
    expiresAt: 0,
    subjectPublicKey: holder.publicKey,
    issuerPublicKey: issuer.publicKey,
  };
  const payload = claimPayload(content);
  const subjectSignature = holder.sign(payload);
  const issuerSignature = issuer.sign(claimIssuerPayload(payload, subjectSignature, sha256));
  return { kind: 2, ...content, subjectSignature, issuerSignature };
}

append({ kind: 0, clusterId, rootThk: pinnedRootThk });
append({
  kind: 1,
  eventHash: hashOf("event 1"),
  semanticAnchor: EMPTY_SEMANTIC_ANCHOR,
  clientEventCommit: fill(0),
});
const grantorClaim = append(claimOf(subject, "grantor"));
const granteeClaim = append(claimOf(grantee, "grantee"));

const grantContent = {
  originFingerprint,
  grantorClaimRef: grantorClaim,
  granteeClaimRef: granteeClaim,
  parentGrantRef: fill(0),
  scopeHash: hashOf("scope"),
  delegationDepth: 3,
  issuedAt: 0,
  notBefore: 1_769_000_000_000,
  expiresAt: Number.MAX_SAFE_INTEGER,
  grantorPublicKey: subject.publicKey,
  witnessPublicKey: witness.publicKey,
};
const grantorSignature = subject.sign(grantPayload(grantContent));
const witnessSignature = witness.sign(grantWitnessPayload(grantPayload(grantContent), grantorSignature, sha256));
const grant = append({ kind: 3, ...grantContent, grantorSignature, witnessSignature });

const semanticAnchor: SemanticAnchor = {
  irisRef: granteeClaim,
  scrollRef: hashOf("scroll"),
  grantRef: grant,
  bondRef: hashOf("bond"),
  yieldRef: hashOf("yield"),
  eventDataHash: hashOf("event 5 content"),
};
const eventContent = { originFingerprint, eventHash: hashOf("event 5"), semanticAnchor };
append({
  kind: 6,
  eventHash: eventContent.eventHash,
  semanticAnchor,
  clientEventCommit: clientEventCommit(fill(0x5a), "order-42", sha256),
  actorPublicKey: grantee.publicKey,
  actorSignature: grantee.sign(eventActorPayload(eventContent)),
});

const revocationContent = {
  originFingerprint,
  targetAnchorId: toAnchorId(granteeClaim),
  reason: 1,
  suspectSince: 1_769_500_000_000,
  issuedAt: 1_770_000_000_000,
};
append({
  kind: 4,
  ...revocationContent,
  authority: 1,
  revoker: issuer.publicKey,
  signature: issuer.sign(revocationPayload(revocationContent)),
});
append({
  kind: 4,
  targetAnchorId: toAnchorId(grant),
  reason: 0,
  suspectSince: 0,
  issuedAt: 0,
  authority: 0,
  revoker: clientRevoker(fill(0xac, 16), sha256),
  signature: fill(0, 64),
});
append({ kind: 5, version: 2, rootThk: hashOf("some later trust root") });

/** snake_case fields, hex for bytes: what the SDKs call them. */
function fieldsOf(value: object): Json {
  const fields: Record<string, Json> = {};
  for (const [name, field] of Object.entries(value)) {
    const snake = name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
    if (field instanceof Uint8Array) fields[snake] = bytesToHex(field);
    else if (typeof field === "number") fields[snake] = field;
    else if (typeof field === "object" && field !== null) fields[snake] = fieldsOf(field as object);
    else throw new TypeError(`${name} has no JSON form`);
  }
  return fields;
}

function patched(bytes: Uint8Array | undefined, offset: number, ...replacement: number[]): Uint8Array {
  const copy = Uint8Array.from(bytes ?? []);
  copy.set(replacement, offset);
  return copy;
}

function badLeaves(): [string, string, Uint8Array][] {
  const [genesis, event, claim, , granted, signed, revocation, byOperator, trustRoot] = leafBytes;
  const none = new Uint8Array(0);
  return [
    ["no bytes", "truncated", none],
    ["the tag alone", "truncated", (event ?? none).slice(0, 26)],
    ["tag of another version", "tag_unknown", patched(event, 19, 0x33)],
    ["tag without its zero byte", "tag_unknown", patched(event, 25, 0x20)],
    ["kind 7", "kind_unknown", patched(event, 26, 7)],
    ["kind 255", "kind_unknown", patched(event, 26, 255)],
    ["an event that says it is a claim", "length_wrong", patched(event, 26, 2)],
    ["an event that says it is signed", "length_wrong", patched(event, 26, 6)],
    ["a signed event that says it is not", "length_wrong", patched(signed, 26, 1)],
    ["event one byte short", "length_wrong", (event ?? none).slice(0, -1)],
    ["event one byte long", "length_wrong", Uint8Array.from([...(event ?? none), 0])],
    ["claim one byte short", "length_wrong", (claim ?? none).slice(0, -1)],
    ["grant one byte long", "length_wrong", Uint8Array.from([...(granted ?? none), 0])],
    ["depth above 2^53 - 1", "integer_unsafe", patched(event, 59, 0, 0x20, 0, 0, 0, 0, 0, 0)],
    ["sequence above 2^53 - 1", "integer_unsafe", patched(event, 99, 0xff)],
    ["expires_at of a claim above 2^53 - 1", "integer_unsafe", patched(claim, 191, 0x80)],
    ["genesis at depth 1", "value_invalid", patched(genesis, 66, 1)],
    ["event at depth 0", "value_invalid", patched(event, 59, 0, 0, 0, 0, 0, 0, 0, 0)],
    ["genesis with a parent", "value_invalid", patched(genesis, 67, 1)],
    ["event without a parent", "value_invalid", patched(event, 67, ...fill(0))],
    ["trust-root version 0", "value_invalid", patched(trustRoot, 115, 0, 0, 0, 0)],
    ["revocation reason 6", "value_invalid", patched(revocation, 147, 6)],
    ["revocation authority 5", "value_invalid", patched(revocation, 164, 5)],
    ["an operator with a signature", "value_invalid", patched(byOperator, 260, 1)],
    ["an issuer without a signature", "value_invalid", patched(revocation, 197, ...fill(0, 64))],
  ];
}

export function leafVectors(): Json {
  return {
    about: "Leaves. `leaf` is hex; a good one decodes to `fields` and encodes back; anchor_id = SHA-256(0x00 | leaf).",
    good: leaves.map((leaf, depth) => {
      const bytes = leafBytes[depth] ?? fill(0);
      return { fields: fieldsOf(leaf), leaf: bytesToHex(bytes), anchor_id: bytesToHex(anchorIdOf(bytes, sha256)) };
    }),
    bad: badLeaves().map(([name, error, leaf]) => ({ name, error, leaf: bytesToHex(leaf) })),
  };
}

interface Signed {
  readonly payload: string;
  readonly publicKey: Uint8Array;
  readonly message: Uint8Array;
  readonly signature: Uint8Array;
}

function signedPayloads(): Signed[] {
  const claim = leaves[2];
  if (claim?.kind !== 2) throw new TypeError("leaf 2 is a claim");
  const { subjectSignature, issuerSignature } = claim;
  const claimed = claimPayload(claim);
  const granted = grantPayload(grantContent);
  const second = (signature: Uint8Array): Uint8Array => claimIssuerPayload(claimed, signature, sha256);
  const witnessed = grantWitnessPayload(granted, grantorSignature, sha256);
  const revoked = revocationPayload(revocationContent);
  const acted = eventActorPayload(eventContent);
  const { publicKey: issuerKey } = issuer;
  return [
    { payload: "claim", publicKey: subject.publicKey, message: claimed, signature: subjectSignature },
    { payload: "claim-issuer", publicKey: issuerKey, message: second(subjectSignature), signature: issuerSignature },
    { payload: "grant", publicKey: subject.publicKey, message: granted, signature: grantorSignature },
    { payload: "grant-witness", publicKey: witness.publicKey, message: witnessed, signature: witnessSignature },
    { payload: "revocation", publicKey: issuerKey, message: revoked, signature: issuer.sign(revoked) },
    { payload: "event-actor", publicKey: grantee.publicKey, message: acted, signature: grantee.sign(acted) },
  ];
}

/** Every signature against every payload: only its own may verify, under the key that made it. */
export function payloadVectors(): Json {
  const all = signedPayloads();
  const entry = (signed: Signed, made: Signed): Json => ({
    name: signed.payload === made.payload ? signed.payload : `signature over ${made.payload} under ${signed.payload}`,
    payload: signed.payload,
    public_key: bytesToHex(made.publicKey),
    message: bytesToHex(signed.message),
    signature: bytesToHex(made.signature),
  });
  return {
    about:
      "What parties sign. The fields are those of the leaves in leaf.json. A bad one is a signature moved elsewhere.",
    good: all.map((signed) => entry(signed, signed)),
    bad: all.flatMap((signed) => all.filter((made) => made !== signed).map((made) => entry(signed, made))),
  };
}
