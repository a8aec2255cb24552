/** Examples of the routes of claims and grants. */
import { LEAF_KIND, REVOCATION_REASONS, bytesToHex } from "@event-anchoring/protocol";
import type { RouteId } from "../routes.ts";
import type { ExampleRecord } from "./example-ledger.ts";
import { TREE_CHECKS, certifiedOf, checks, hopOf, one, passes, requestOf, revocationOf } from "./shown.ts";
import type { RouteExamples, Shown } from "./shown.ts";

const CLAIM_FIELDS = [
  "origin_fingerprint",
  "entity_fingerprint",
  "attribute_type",
  "attribute_hash",
  "subject_public_key",
  "subject_signature",
  "issuer_public_key",
  "issuer_signature",
];
const GRANT_FIELDS = [
  "origin_fingerprint",
  "grantor_claim_ref",
  "grantee_claim_ref",
  "scope_hash",
  "delegation_depth",
  "grantor_public_key",
  "grantor_signature",
  "witness_public_key",
  "witness_signature",
];

function verifiedClaim(shown: Shown): object {
  return {
    valid: false,
    as_of: shown.asOf(9),
    checks: checks([
      ["exists", "pass", "sequence 4, as of sequence 9"],
      ...passes(["subject_signature", "issuer_signature"], "the signature verifies"),
      ...passes(TREE_CHECKS, "as the receipt says"),
      ["revocation", "fail", "revoked at sequence 8"],
      ["superseded", "pass", "not superseded"],
      ["window", "pass", "no end was stated"],
    ]),
    anchor: shown.anchor("agent", { state: "revoked" }),
    receipt: shown.receipt("agent", shown.ledger.heads.after),
    state: "revoked",
    revocations: [revocationOf(shown, "revocation", "agent")],
  };
}

function verifiedGrant(shown: Shown): object {
  return {
    valid: true,
    as_of: shown.asOf(7),
    checks: checks([
      ["exists", "pass", "sequence 5, as of sequence 7"],
      ...passes(["grantor_signature", "witness_signature"], "the signature verifies"),
      ...passes(["delegation_chain", "grantor_claim", "grantee_claim"], "in force"),
      ...passes(TREE_CHECKS, "as the receipt says"),
      ["revocation", "pass", "not revoked"],
      ["superseded", "pass", "not superseded"],
      ["window", "pass", "not bounded"],
      ["root_authority", "not_checked", "no trusted roots were given"],
    ]),
    anchor: shown.anchor("grant"),
    receipt: shown.receipt("grant", shown.ledger.heads.after),
    state: "active",
    revocations: [],
    delegation: [hopOf(shown)],
    delegation_omitted: 0,
  };
}

/** A record that was revoked, alone on its page. */
function history(shown: Shown, record: "agent" | "grant", revocation: "revocation" | "grantRevocation"): object {
  const { sequence } = shown.ledger.leaf(revocation);
  const kind = record === "agent" ? "claim" : "grant";
  const ended = {
    code: `${kind}_revoked`,
    anchor_id: shown.id(record),
    sequence,
    ended_by: shown.id(revocation),
  };
  return {
    items: [{ anchor: shown.anchor(record, { state: "revoked" }), ended }],
    next_cursor: null,
    certified: certifiedOf(shown),
    as_of: shown.asOf(9),
  };
}

function signedRevocation({ ledger }: Shown): object {
  const revocation = ledger.leaf("revocation");
  if (revocation.kind !== LEAF_KIND.revocation) throw new RangeError("no revocation");
  return {
    reason: REVOCATION_REASONS[revocation.reason],
    suspect_since: revocation.suspectSince,
    revoker_public_key: bytesToHex(ledger.revoker.publicKey),
    revoker_signature: bytesToHex(ledger.revoker.signature),
  };
}

export function ofRecords(shown: Shown): Partial<Record<RouteId, RouteExamples>> {
  const organisation = shown.anchor("organisation");
  const entityOf = (record: ExampleRecord): string => {
    const leaf = shown.ledger.leaf(record);
    return leaf.kind === LEAF_KIND.claim ? bytesToHex(leaf.entityFingerprint) : "";
  };
  return {
    createClaimAnchor: {
      requests: one("organisation", "An organisation", requestOf(organisation, CLAIM_FIELDS)),
      answers: shown.statuses("organisation"),
    },
    getClaimAnchor: {
      parameters: { entity_fingerprint: entityOf("organisation"), attribute_type: "0x10" },
      answers: {
        200: {
          ...one("active", "The active claim", {
            anchor: organisation,
            receipt: shown.receipt("organisation", shown.ledger.heads.after),
            state: "active",
          }),
          ...one("history", "With history=true: a claim that was revoked", history(shown, "agent", "revocation")),
        },
      },
    },
    verifyClaimAnchor: {
      requests: one("now", "As of now", { anchor_id: shown.id("agent") }),
      answers: { 200: one("revoked", "Revoked", verifiedClaim(shown)) },
    },
    revokeClaimAnchor: {
      parameters: { anchor_id: shown.id("agent") },
      requests: {
        signed: { summary: "By the claim's subject", value: signedRevocation(shown) },
        own: { summary: "Unsigned, by the API client that has recorded it", value: {} },
      },
      answers: shown.statuses("revocation", { revoked_anchor_id: shown.id("agent") }),
    },
    createGrantAnchor: {
      requests: one("root", "A root grant", requestOf(shown.anchor("grant"), GRANT_FIELDS)),
      answers: shown.statuses("grant"),
    },
    getGrantAnchor: {
      parameters: { grantor_fingerprint: entityOf("organisation"), grantee_fingerprint: entityOf("agent") },
      answers: {
        200: {
          ...one("active", "The grant in force", {
            anchor: shown.anchor("grant"),
            receipt: shown.receipt("grant"),
            state: "active",
            others: 0,
          }),
          ...one("history", "With history=true: a grant that was revoked", history(shown, "grant", "grantRevocation")),
        },
      },
    },
    verifyGrantAnchor: {
      requests: one("then", "As of an earlier position", { anchor_id: shown.id("grant"), as_of: 7 }),
      answers: { 200: one("valid", "It was in force then", verifiedGrant(shown)) },
    },
    revokeGrantAnchor: {
      parameters: { anchor_id: shown.id("grant") },
      requests: one("own", "Unsigned, by the API client that has recorded it", { reason: "privilege_withdrawn" }),
      answers: shown.statuses("grantRevocation", { revoked_anchor_id: shown.id("grant") }),
    },
  };
}
