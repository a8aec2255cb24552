/** From the fields of a request to the bytes that its parties sign, the request, and the leaf that comes of it. */
import {
  LEAF_KIND,
  REVOCATION_REASONS,
  ZERO_32,
  anchorIdOf,
  bytesToHex,
  claimIssuerPayload,
  claimPayload,
  clientEventCommit,
  encodeLeaf,
  eventActorPayload,
  grantPayload,
  grantWitnessPayload,
  hexToBytes,
  clientRevoker,
  originFingerprintOf,
  revocationPayload,
  toAnchorId,
  toOriginFingerprint,
} from "@event-anchoring/protocol";
import type { Leaf, LeafHeader, SemanticAnchor } from "@event-anchoring/protocol";
import type { Json } from "../../../../test/vector-builders/json.ts";
import { fill, fixedKey, hashOf, sha256 } from "../../../../test/vector-builders/keys.ts";
import type { FixedKey } from "../../../../test/vector-builders/keys.ts";
import { badClaims, badEvents, badGrants, badRevocations } from "./prepare-input.ts";
import type { BadField, Input } from "./prepare-input.ts";

const SUBJECT = fixedKey(0x61);
const ISSUER = fixedKey(0x62);
const WITNESS = fixedKey(0x63);
const AGENT = fixedKey(0x64);
const ORIGIN = originFingerprintOf(fill(0xc1), fixedKey(0x11).publicKey, sha256);
const API_CLIENT = fill(0xac, 16);
const SALT = fill(0x5a);
const SAFE_MAX = Number.MAX_SAFE_INTEGER;
const ISSUED_AT = 1_767_225_600_000;

/** Where a leaf would stand; every case has the same place. */
const PLACE: LeafHeader = {
  originFingerprint: ORIGIN,
  depth: 7,
  parentAnchorId: toAnchorId(hashOf("leaf before it")),
  sequence: 42,
  acceptedMs: ISSUED_AT + 1_000,
};

const PLACE_JSON: Json = {
  depth: PLACE.depth,
  parent_anchor_id: bytesToHex(PLACE.parentAnchorId),
  sequence: PLACE.sequence,
  accepted_ms: PLACE.acceptedMs,
};

const hex = (content: string): string => bytesToHex(hashOf(content));

function text(input: Input, name: string): string {
  const value = input[name];
  if (typeof value !== "string") throw new TypeError(`${name} is no text`);
  return value;
}

function hash(input: Input, name: string): Uint8Array {
  return hexToBytes(text(input, name), 32);
}

/** Absent, null, empty and zeros are one. */
function reference(input: Input, name: string): Uint8Array {
  const isEmpty = (input[name] ?? "") === "";
  return isEmpty ? ZERO_32 : hash(input, name);
}

function integer(input: Input, name: string): number {
  return Number(input[name] ?? 0);
}

function object(input: Input, name: string): Input {
  return (input[name] ?? {}) as Input;
}

/** One signature with what it is over. */
function signed(who: string, key: FixedKey, payload: Uint8Array): Input {
  return {
    [`${who}_seed`]: bytesToHex(key.seed),
    [`${who}_payload`]: bytesToHex(payload),
    [`${who}_digest`]: bytesToHex(sha256(payload)),
    [`${who}_signature`]: bytesToHex(key.sign(payload)),
  };
}

/** Fields of a request that are not empty. */
function stated(fields: Input): Input {
  const isEmpty = (value: Json | undefined): boolean =>
    value === null || value === undefined || value === "" || value === 0 || value === bytesToHex(ZERO_32);
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => !isEmpty(value)));
}

function lower(input: Input, names: readonly string[]): Input {
  return Object.fromEntries(names.map((name) => [name, text(input, name).toLowerCase()]));
}

function leafJson(leaf: Leaf): Input {
  const bytes = encodeLeaf(leaf);
  return { leaf: bytesToHex(bytes), anchor_id: bytesToHex(anchorIdOf(bytes, sha256)) };
}

function claimCase(name: string, input: Input): Json {
  const content = {
    originFingerprint: ORIGIN,
    entityFingerprint: hash(input, "entity_fingerprint"),
    attributeType: Number(input["attribute_type"]),
    attributeHash: hash(input, "attribute_hash"),
    issuedAt: integer(input, "issued_at"),
    expiresAt: integer(input, "expires_at"),
    subjectPublicKey: SUBJECT.publicKey,
    issuerPublicKey: ISSUER.publicKey,
  };
  const payload = claimPayload(content);
  const subjectSignature = SUBJECT.sign(payload);
  const second = claimIssuerPayload(payload, subjectSignature, sha256);
  const issuerSignature = ISSUER.sign(second);
  const names = ["origin_fingerprint", "entity_fingerprint", "attribute_hash"];
  return {
    name,
    input,
    ...signed("subject", SUBJECT, payload),
    ...signed("issuer", ISSUER, second),
    request: {
      ...lower(input, [...names, "subject_public_key", "issuer_public_key"]),
      attribute_type: content.attributeType,
      subject_signature: bytesToHex(subjectSignature),
      issuer_signature: bytesToHex(issuerSignature),
      ...stated({ issued_at: content.issuedAt, expires_at: content.expiresAt }),
    },
    ...leafJson({ kind: LEAF_KIND.claim, ...PLACE, ...content, subjectSignature, issuerSignature }),
  };
}

function grantCase(name: string, input: Input): Json {
  const content = {
    originFingerprint: ORIGIN,
    grantorClaimRef: hash(input, "grantor_claim_ref"),
    granteeClaimRef: hash(input, "grantee_claim_ref"),
    parentGrantRef: reference(input, "parent_grant_ref"),
    scopeHash: hash(input, "scope_hash"),
    delegationDepth: integer(input, "delegation_depth"),
    issuedAt: integer(input, "issued_at"),
    notBefore: integer(input, "not_before"),
    expiresAt: integer(input, "expires_at"),
    grantorPublicKey: SUBJECT.publicKey,
    witnessPublicKey: WITNESS.publicKey,
  };
  const payload = grantPayload(content);
  const grantorSignature = SUBJECT.sign(payload);
  const second = grantWitnessPayload(payload, grantorSignature, sha256);
  const witnessSignature = WITNESS.sign(second);
  const names = ["origin_fingerprint", "grantor_claim_ref", "grantee_claim_ref", "scope_hash"];
  return {
    name,
    input,
    ...signed("grantor", SUBJECT, payload),
    ...signed("witness", WITNESS, second),
    request: {
      ...lower(input, [...names, "grantor_public_key", "witness_public_key"]),
      delegation_depth: content.delegationDepth,
      grantor_signature: bytesToHex(grantorSignature),
      witness_signature: bytesToHex(witnessSignature),
      ...stated({
        parent_grant_ref: bytesToHex(content.parentGrantRef),
        issued_at: content.issuedAt,
        not_before: content.notBefore,
        expires_at: content.expiresAt,
      }),
    },
    ...leafJson({ kind: LEAF_KIND.grant, ...PLACE, ...content, grantorSignature, witnessSignature }),
  };
}

function semanticAnchorOf(input: Input): SemanticAnchor {
  const fields = object(input, "semantic_anchor");
  return {
    irisRef: reference(fields, "iris_ref"),
    scrollRef: reference(fields, "scroll_ref"),
    grantRef: reference(fields, "grant_ref"),
    bondRef: reference(fields, "bond_ref"),
    yieldRef: reference(fields, "yield_ref"),
    eventDataHash: reference(fields, "event_data_hash"),
  };
}

/** An event, signed by its actor if the input names one. */
function eventCase(name: string, input: Input): Json {
  const isSigned = (input["actor_public_key"] ?? null) !== null;
  const semanticAnchor = semanticAnchorOf(input);
  const id = input["client_event_id"] ?? null;
  const content = { eventHash: hash(input, "event_hash"), semanticAnchor };
  const payload = eventActorPayload({ originFingerprint: ORIGIN, ...content });
  const clientEventCommitment = typeof id === "string" ? clientEventCommit(SALT, id, sha256) : ZERO_32;
  const body = { ...PLACE, ...content, clientEventCommit: clientEventCommitment };
  const actor = { actorPublicKey: AGENT.publicKey, actorSignature: AGENT.sign(payload) };
  const references = stated(
    Object.fromEntries(
      Object.entries(semanticAnchor).map(([field, bytes]) => [
        field.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`),
        bytesToHex(bytes as Uint8Array),
      ]),
    ),
  );
  return {
    name,
    input,
    ...(isSigned ? signed("actor", AGENT, payload) : {}),
    request: {
      ...lower(input, ["origin_fingerprint", "event_hash"]),
      ...(Object.keys(references).length === 0 ? {} : { semantic_anchor: references }),
      ...stated({ client_event_id: id }),
      ...(isSigned
        ? {
            actor_public_key: bytesToHex(actor.actorPublicKey),
            actor_signature: bytesToHex(actor.actorSignature),
          }
        : {}),
    },
    client_event_salt: id === null ? null : bytesToHex(SALT),
    ...leafJson(isSigned ? { kind: LEAF_KIND.signedEvent, ...body, ...actor } : { kind: LEAF_KIND.event, ...body }),
  };
}

const REVOKERS: Readonly<Record<string, readonly [authority: number, key: FixedKey]>> = {
  issuer: [1, ISSUER],
  subject: [2, SUBJECT],
  grantor: [3, SUBJECT],
  witness: [4, WITNESS],
};

/** @param authority as it is named in answers */
function revocationCase(name: string, authority: string, input: Input): Json {
  const content = {
    targetAnchorId: toAnchorId(hash(input, "target_anchor_id")),
    reason: REVOCATION_REASONS.indexOf((input["reason"] ?? "unspecified") as (typeof REVOCATION_REASONS)[number]),
    suspectSince: integer(input, "suspect_since"),
    issuedAt: integer(input, "issued_at"),
  };
  const payload = revocationPayload({
    originFingerprint: toOriginFingerprint(hash(input, "target_origin_fingerprint")),
    ...content,
  });
  const [number, key] = REVOKERS[authority] ?? [0, null];
  const signature = key === null ? fill(0, 64) : key.sign(payload);
  const revoker = key === null ? clientRevoker(API_CLIENT, sha256) : key.publicKey;
  return {
    name,
    input,
    authority,
    ...(key === null ? { api_client_id: bytesToHex(API_CLIENT) } : signed("revoker", key, payload)),
    request: {
      ...stated({
        reason: content.reason === 0 ? null : (REVOCATION_REASONS[content.reason] ?? null),
        suspect_since: content.suspectSince,
        issued_at: content.issuedAt,
      }),
      ...(key === null ? {} : { revoker_public_key: bytesToHex(revoker), revoker_signature: bytesToHex(signature) }),
    },
    ...leafJson({ kind: LEAF_KIND.revocation, ...PLACE, ...content, authority: number, revoker, signature }),
  };
}

const CLAIM: Input = {
  origin_fingerprint: bytesToHex(ORIGIN),
  entity_fingerprint: hex("entity"),
  attribute_type: 4_275_878_552,
  attribute_hash: hex("attribute"),
  subject_public_key: bytesToHex(SUBJECT.publicKey),
  issuer_public_key: bytesToHex(ISSUER.publicKey),
};

const GRANT: Input = {
  origin_fingerprint: bytesToHex(ORIGIN),
  grantor_claim_ref: hex("claim of the grantor"),
  grantee_claim_ref: hex("claim of the grantee"),
  scope_hash: hex("scope"),
  delegation_depth: 3,
  grantor_public_key: bytesToHex(SUBJECT.publicKey),
  witness_public_key: bytesToHex(WITNESS.publicKey),
};

const EVENT: Input = { origin_fingerprint: bytesToHex(ORIGIN), event_hash: hex("event") };
const SIGNED: Input = { ...EVENT, actor_public_key: bytesToHex(AGENT.publicKey) };

const REFERENCES: Input = {
  iris_ref: hex("iris"),
  scroll_ref: hex("scroll"),
  grant_ref: hex("grant"),
  bond_ref: hex("bond"),
  yield_ref: hex("yield"),
  event_data_hash: hex("event"),
};

const REVOCATION: Input = {
  target_origin_fingerprint: bytesToHex(ORIGIN),
  target_anchor_id: hex("target"),
};

function by(key: FixedKey): Input {
  return { ...REVOCATION, revoker_public_key: bytesToHex(key.publicKey) };
}

/** Every text in upper case. */
function upper(input: Input): Input {
  return Object.fromEntries(
    Object.entries(input).map(([name, value]) => [name, typeof value === "string" ? value.toUpperCase() : value]),
  );
}

function goodClaims(): Json[] {
  const times = { issued_at: ISSUED_AT, expires_at: ISSUED_AT + 86_400_000 };
  return [
    claimCase("the fields that are needed", CLAIM),
    claimCase("with times", { ...CLAIM, ...times }),
    claimCase("times that are null are 0", { ...CLAIM, issued_at: null, expires_at: null }),
    claimCase("times of 0", { ...CLAIM, issued_at: 0, expires_at: 0 }),
    claimCase("the largest integers", {
      ...CLAIM,
      attribute_type: 0xffff_ffff,
      issued_at: SAFE_MAX,
      expires_at: SAFE_MAX,
    }),
    claimCase("upper-case hex is the same", upper(CLAIM)),
    claimCase("attribute type 0", { ...CLAIM, attribute_type: 0 }),
    claimCase("attribute type in hex", { ...CLAIM, attribute_type: "0xfedcba98" }),
    claimCase("attribute type in upper-case hex", { ...CLAIM, attribute_type: "0xFEDCBA98" }),
    claimCase("attribute type of one hex digit", { ...CLAIM, attribute_type: "0x1" }),
    claimCase("attribute type with leading zeros", { ...CLAIM, attribute_type: "0x00000001" }),
  ];
}

function goodGrants(): Json[] {
  const window = { not_before: ISSUED_AT, expires_at: ISSUED_AT + 86_400_000 };
  return [
    grantCase("a root grant", GRANT),
    grantCase("under a parent, with times", {
      ...GRANT,
      parent_grant_ref: hex("parent"),
      issued_at: ISSUED_AT,
      ...window,
    }),
    grantCase("a parent that is null is none", { ...GRANT, parent_grant_ref: null }),
    grantCase("a parent that is empty is none", { ...GRANT, parent_grant_ref: "" }),
    grantCase("a parent of zeros is none", { ...GRANT, parent_grant_ref: "0".repeat(64) }),
    grantCase("depth 0", { ...GRANT, delegation_depth: 0 }),
    grantCase("the largest integers", {
      ...GRANT,
      delegation_depth: 0xffff_ffff,
      issued_at: SAFE_MAX,
      not_before: SAFE_MAX - 1,
      expires_at: SAFE_MAX,
    }),
    grantCase("upper-case hex is the same", upper(GRANT)),
  ];
}

function goodEvents(): Json[] {
  const none = Object.fromEntries(Object.keys(REFERENCES).map((name) => [name, null]));
  const zeros = Object.fromEntries(Object.keys(REFERENCES).map((name) => [name, "0".repeat(64)]));
  return [
    eventCase("unsigned", EVENT),
    eventCase("unsigned, with everything", { ...EVENT, semantic_anchor: REFERENCES, client_event_id: "order-42" }),
    eventCase("signed", SIGNED),
    eventCase("signed, with everything", { ...SIGNED, semantic_anchor: REFERENCES, client_event_id: "order-42" }),
    eventCase("the client event id is not signed", { ...SIGNED, client_event_id: "order-43" }),
    eventCase("a semantic anchor that is null", { ...SIGNED, semantic_anchor: null }),
    eventCase("a semantic anchor without a field", { ...SIGNED, semantic_anchor: {} }),
    eventCase("references that are null", { ...SIGNED, semantic_anchor: none }),
    eventCase("references of zeros", { ...SIGNED, semantic_anchor: zeros }),
    eventCase("one reference, the others empty", {
      ...SIGNED,
      semantic_anchor: { iris_ref: "", yield_ref: hex("yield") },
    }),
    eventCase("upper-case hex is the same", upper(SIGNED)),
    eventCase("a client event id of 128 characters", { ...SIGNED, client_event_id: "~".repeat(128) }),
    eventCase("a client event id of one space", { ...SIGNED, client_event_id: " " }),
  ];
}

function goodRevocations(): Json[] {
  const everything = { reason: "key_compromise", suspect_since: ISSUED_AT - 5, issued_at: ISSUED_AT };
  return [
    revocationCase("of a claim, by its issuer", "issuer", by(ISSUER)),
    revocationCase("of a claim, by its subject, with everything", "subject", { ...by(SUBJECT), ...everything }),
    revocationCase("of a grant, by its grantor", "grantor", { ...by(SUBJECT), reason: "privilege_withdrawn" }),
    revocationCase("of a grant, by its witness", "witness", { ...by(WITNESS), reason: "issued_in_error" }),
    ...REVOCATION_REASONS.map((reason) => revocationCase(`reason ${reason}`, "issuer", { ...by(ISSUER), reason })),
    revocationCase("a reason that is null is unspecified", "issuer", { ...by(ISSUER), reason: null }),
    revocationCase("upper-case hex is the same", "issuer", upper(by(ISSUER))),
    revocationCase("by an operator, whom no signature shows", "operator", { ...REVOCATION, ...everything }),
  ];
}

function bad(fields: readonly BadField[]): Json[] {
  return fields.map(({ name, field, input }) => ({ name, error: "invalid_input", field, input }));
}

export function prepareVectors(): Json {
  return {
    about:
      "What SDKs prepare, offline. `input` is in the wire form of docs/API.md. payload, digest (its SHA-256), " +
      "seed and signature are hex; the issuer (witness) signs what the subject (grantor) has signed. `request` " +
      "is the body with empty optional fields left out. `leaf` and `anchor_id` are what comes of it at `place`. " +
      "A bad input is refused before anything is signed or sent; one that the types of a language cannot hold " +
      "is refused by them.",
    place: PLACE_JSON,
    claims: { good: goodClaims(), bad: bad(badClaims(CLAIM)) },
    grants: { good: goodGrants(), bad: bad(badGrants(GRANT)) },
    events: { good: goodEvents(), bad: bad(badEvents(SIGNED)) },
    revocations: { good: goodRevocations(), bad: bad(badRevocations(by(ISSUER))) },
  };
}
