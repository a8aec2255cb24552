/** A service that records what it is sent, and nothing else: its answers hold together, and prove nothing. */
import { anchorIdOf, bytesToHex, clientEventCommit, encodeLeaf, hexToBytes } from "@event-anchoring/protocol";
import { sha256 } from "../src/index.ts";
import type { Anchor, KnownAnchor } from "../src/index.ts";
import { wireName } from "../src/wire-names.ts";
import { leafOf } from "../src/shown-leaf.ts";
import type { Reaction } from "./fake-transport.ts";

type Body = Readonly<Record<string, unknown>>;
type Without<Kind extends Anchor> = Kind extends Anchor ? Omit<Kind, "anchorId"> : never;

const SALT = "5a".repeat(32);
const HEAD = {
  depth: 4,
  sequence: 6,
  parentAnchorId: "1b".repeat(32),
  acceptedMs: 1_767_225_600_060,
  acceptedAt: "2026-01-01T00:00:00.060Z",
  finality: "committed",
} as const;

/** Members by their wire names, at every depth. */
function wire(value: unknown): unknown {
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [wireName(name), wire(member)]));
}

/** An anchor as JSON, with the id that it has. */
function named(shown: Without<KnownAnchor>): Body {
  const anchor = { ...shown, anchorId: "" } as KnownAnchor;
  const anchorId = bytesToHex(anchorIdOf(encodeLeaf(leafOf(anchor)), sha256));
  return wire({ ...anchor, anchorId }) as Body;
}

const hex = (value: unknown): string | null => (typeof value === "string" ? value : null);
const at = (value: unknown): number => (typeof value === "number" ? value : 0);

export function eventOf(body: Body, head: Partial<typeof HEAD> = {}): Body {
  const refs = (body["semantic_anchor"] ?? null) as Body | null;
  const id = hex(body["client_event_id"]);
  const actor = hex(body["actor_public_key"]);
  const facts = {
    ...HEAD,
    ...head,
    originFingerprint: String(body["origin_fingerprint"]),
    eventHash: String(body["event_hash"]),
    semanticAnchor: refs === null ? null : semanticAnchor(refs),
    clientEventCommit: id === null ? null : bytesToHex(clientEventCommit(hexToBytes(SALT, 32), id, sha256)),
    clientEventId: id,
    clientEventSalt: id === null ? null : SALT,
    clientEventErased: false,
  };
  if (actor === null) return named({ kind: "event", ...facts });
  return named({
    kind: "signed_event",
    ...facts,
    actorPublicKey: actor,
    actorSignature: String(body["actor_signature"]),
  });
}

function semanticAnchor(refs: Body) {
  return {
    irisRef: hex(refs["iris_ref"]),
    scrollRef: hex(refs["scroll_ref"]),
    grantRef: hex(refs["grant_ref"]),
    bondRef: hex(refs["bond_ref"]),
    yieldRef: hex(refs["yield_ref"]),
    eventDataHash: hex(refs["event_data_hash"]),
  };
}

function claimOf(body: Body): Body {
  return named({
    kind: "claim",
    ...HEAD,
    state: "active",
    originFingerprint: String(body["origin_fingerprint"]),
    entityFingerprint: String(body["entity_fingerprint"]),
    attributeType: at(body["attribute_type"]),
    attributeHash: String(body["attribute_hash"]),
    issuedAt: at(body["issued_at"]),
    expiresAt: at(body["expires_at"]),
    subjectPublicKey: String(body["subject_public_key"]),
    subjectSignature: String(body["subject_signature"]),
    issuerPublicKey: String(body["issuer_public_key"]),
    issuerSignature: String(body["issuer_signature"]),
  });
}

function grantOf(body: Body): Body {
  return named({
    kind: "grant",
    ...HEAD,
    state: "active",
    originFingerprint: String(body["origin_fingerprint"]),
    grantorClaimRef: String(body["grantor_claim_ref"]),
    granteeClaimRef: String(body["grantee_claim_ref"]),
    parentGrantRef: hex(body["parent_grant_ref"]),
    scopeHash: String(body["scope_hash"]),
    delegationDepth: at(body["delegation_depth"]),
    issuedAt: at(body["issued_at"]),
    notBefore: at(body["not_before"]),
    expiresAt: at(body["expires_at"]),
    grantorPublicKey: String(body["grantor_public_key"]),
    grantorSignature: String(body["grantor_signature"]),
    witnessPublicKey: String(body["witness_public_key"]),
    witnessSignature: String(body["witness_signature"]),
  });
}

function revocationOf(target: string, body: Body): Body {
  const signature = hex(body["revoker_signature"]);
  return named({
    kind: "revocation",
    ...HEAD,
    originFingerprint: "0a".repeat(32),
    targetAnchorId: target,
    reason: (body["reason"] ?? "unspecified") as "unspecified",
    suspectSince: at(body["suspect_since"]),
    issuedAt: at(body["issued_at"]),
    authority: signature === null ? "operator" : "issuer",
    revoker: hex(body["revoker_public_key"]) ?? "7c".repeat(32),
    signature,
  });
}

function batchOf(body: Body): Body {
  const events = body["events"] as readonly Body[];
  const origin = { origin_fingerprint: body["origin_fingerprint"] };
  const results = events.map((event) => ({ status: 202, anchor: eventOf({ ...origin, ...event }), receipt: null }));
  const total = results.length;
  return { results, summary: { total, created: 0, replayed: 0, committed: total, refused: 0 } };
}

/** What a service answers that has committed what it was sent, and not certified it. */
export function recorded(path: string, body: Body): Reaction {
  const answer = (anchor: Body, more: Body = {}): Reaction => ({
    status: 202,
    json: { anchor, receipt: null, replayed: false, ...more },
  });
  if (path.endsWith("/event-anchors/batch")) return { status: 200, json: batchOf(body) };
  if (path.endsWith("/event-anchors")) return answer(eventOf(body));
  if (path.endsWith("/claim-anchors")) return answer(claimOf(body));
  if (path.endsWith("/grant-anchors")) return answer(grantOf(body));
  const target = path.split("/").at(-2) ?? "";
  return answer(revocationOf(target, body), { revoked_anchor_id: target });
}
