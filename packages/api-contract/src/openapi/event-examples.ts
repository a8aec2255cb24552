/** Examples of the routes of events. */
import { LEAF_KIND, bytesToBase64, bytesToHex, formatProof } from "@event-anchoring/protocol";
import { problemBody } from "../problems.ts";
import type { RouteId } from "../routes.ts";
import {
  TREE_CHECKS,
  TRUST_ROOT_VERSION,
  certifiedOf,
  checks,
  hopOf,
  one,
  passes,
  requestOf,
  revocationOf,
} from "./shown.ts";
import type { RouteExamples, Shown } from "./shown.ts";

const EVENT_FIELDS = ["origin_fingerprint", "event_hash", "semantic_anchor"];

function verifiedEvent(shown: Shown): object {
  const { ledger } = shown;
  const place = `sequence ${ledger.leaf("event").sequence}, as of sequence 9`;
  return {
    valid: true,
    as_of: shown.asOf(9),
    checks: checks([
      ["exists", "pass", place],
      ["event_hash", "not_checked", "no event hash was given"],
      ...passes(TREE_CHECKS, "as the receipt says"),
      ["actor_signature", "not_checked", "an event of kind 1 carries no signature of its actor"],
      ["actor_is_iris_subject", "not_checked", "it carries no signature of its actor"],
      ["event_data_hash_matches", "pass", "equal to event_hash"],
      ["depth", "pass", "depth 4 in a tree of 8 leaves"],
    ]),
    anchor: shown.anchor("event"),
    receipt: shown.receipt("event", ledger.heads.after),
  };
}

function eeaOf(shown: Shown): object {
  const { after } = shown.ledger.heads;
  return {
    origin_fingerprint: shown.origin,
    anchor_id: shown.id("grantRevocation"),
    depth: after.treeSize - 1,
    tree_size: after.treeSize,
    root_hash: bytesToHex(after.rootHash),
    certified_at: shown.certifiedAt,
  };
}

function referencesOf(shown: Shown): object[] {
  return [
    { field: "iris_ref", anchor_id: shown.id("agent"), exists: true, kind: "claim" },
    { field: "grant_ref", anchor_id: shown.id("grant"), exists: true, kind: "grant" },
  ];
}

function trace(shown: Shown): object {
  const grant = shown.ledger.leaf("grant");
  return {
    anchor: shown.anchor("signedEvent"),
    actor_proven: true,
    authorised_at_action: true,
    authorised_now: false,
    suspect: true,
    reasons: [
      { verdict: "now", code: "claim_revoked", anchor_id: shown.id("agent"), sequence: 8 },
      { verdict: "now", code: "grant_revoked", anchor_id: shown.id("grant"), sequence: 9 },
    ],
    actor: { claim: shown.anchor("agent", { state: "revoked" }), state: "revoked", actor_signature: "pass" },
    delegation: [
      {
        ...hopOf(shown),
        grant: shown.anchor("grant", { state: "revoked" }),
        grantee_claim: shown.anchor("agent", { state: "revoked" }),
      },
    ],
    delegation_omitted: 0,
    delegation_next_cursor: null,
    boundary: {
      scope_hash: grant.kind === LEAF_KIND.grant ? bytesToHex(grant.scopeHash) : null,
      depth: { granted: 1, used: 0, left: 1 },
      window: { not_before: 0, expires_at: 0 },
    },
    root_authority: "not_checked",
    possible_parents: [],
    revocations: [
      { ...revocationOf(shown, "revocation", "agent"), before_action: false },
      { ...revocationOf(shown, "grantRevocation", "grant"), before_action: false },
    ],
    violations: [],
    references: referencesOf(shown),
    parents: { items: [shown.anchor("event")], next_cursor: "4" },
    eea: eeaOf(shown),
    as_of: shown.asOf(9),
    receipt: shown.receipt("signedEvent", shown.ledger.heads.after),
  };
}

function latest(shown: Shown): object {
  const { after } = shown.ledger.heads;
  const { anchor_id: _id, ...brief } = eeaOf(shown) as Record<string, unknown>;
  return {
    ...brief,
    anchor: shown.anchor("grantRevocation"),
    checkpoint: after.checkpoint,
    quorum: { threshold: 2, trust_root_version: TRUST_ROOT_VERSION, cosigners: after.cosigners },
    receipt: shown.receipt("grantRevocation", after),
  };
}

function consistency(shown: Shown): object {
  const { before, after } = shown.ledger.heads;
  return {
    origin_fingerprint: shown.origin,
    from: { tree_size: before.treeSize, root_hash: bytesToHex(before.rootHash) },
    to: { tree_size: after.treeSize, root_hash: bytesToHex(after.rootHash), checkpoint: after.checkpoint },
    proof: shown.ledger.consistency().map(bytesToBase64),
  };
}

/** The example of an item that a batch refuses. */
export function refusedItem(pointer: string): object {
  const code = "reference_not_found";
  const errors = [{ pointer, code, detail: "iris_ref names no anchor" }];
  return { status: 422, problem: problemBody({ code, errors }, null) };
}

/** The same answer, its first item's receipt without its checkpoint. */
function sharing({ results: [first, ...others], summary }: { results: object[]; summary: object }): object {
  const { receipt, replayed, ...rest } = first as { receipt: Record<string, unknown>; replayed: boolean };
  const { leaf, index, inclusion, tree_size, checkpoint, trust_root_version } = receipt;
  const item = { ...rest, shared_receipt: { leaf, index, inclusion, checkpoint: 0 }, replayed };
  return { results: [item, ...others], summary, checkpoints: [{ tree_size, checkpoint, trust_root_version }] };
}

export function writesOfEvents(shown: Shown): Partial<Record<RouteId, RouteExamples>> {
  const { clientEventId } = shown.ledger.clientEvent;
  const event = requestOf(shown.anchor("event"), EVENT_FIELDS);
  const { origin_fingerprint: origin, ...item } = event;
  const signed = requestOf(shown.anchor("signedEvent"), [...EVENT_FIELDS, "actor_public_key", "actor_signature"]);
  const unknown = { ...item, semantic_anchor: { iris_ref: "ab".repeat(32) } };
  const done = { anchor: shown.anchor("event"), receipt: shown.receipt("event"), replayed: false };
  const results = [{ status: 201, ...done }, refusedItem("/events/1/semantic_anchor/iris_ref")];
  const summary = { total: 2, created: 1, replayed: 0, committed: 0, refused: 1 };
  const { client_event_id: _id, client_event_salt: _salt, ...rest } = shown.anchor("event") as Record<string, unknown>;
  const erased = { ...rest, client_event_id: null, client_event_salt: null, client_event_erased: true };
  return {
    createEventAnchor: {
      requests: {
        responsible: {
          summary: "With a responsibility chain",
          value: { ...event, client_event_id: clientEventId },
        },
        plain: { summary: "A hash alone", value: { origin_fingerprint: origin, event_hash: event["event_hash"] } },
        signed: { summary: "Signed by who acts", value: signed },
      },
      answers: shown.statuses("event"),
    },
    createEventAnchors: {
      requests: one("two", "Two events", {
        origin_fingerprint: origin,
        events: [{ ...item, client_event_id: clientEventId }, unknown],
        atomic: false,
      }),
      answers: {
        200: {
          ...one("mixed", "One is created, one refused", { results, summary }),
          ...one("shared", "With `receipts: shared`", sharing({ results, summary })),
        },
      },
    },
    eraseClientEventId: {
      parameters: { anchor_id: shown.id("event") },
      requests: one("nothing", "Nothing has to be said", {}),
      answers: { 200: one("erased", "Erased on every node", { anchor: erased, erased: true }) },
    },
  };
}

export function verificationsOfEvents(shown: Shown): Partial<Record<RouteId, RouteExamples>> {
  const eventId = shown.id("event");
  const { receipt: _receipt, as_of: asOf, ...verified } = verifiedEvent(shown) as Record<string, unknown>;
  const missing = {
    anchor_id: "ab".repeat(32),
    valid: false,
    problem: problemBody({ code: "anchor_not_found" }, null),
  };
  return {
    verifyEventAnchor: {
      requests: one("now", "As of now", { anchor_id: eventId }),
      answers: { 200: one("valid", "Valid", verifiedEvent(shown)) },
    },
    verifyEventAnchors: {
      requests: one("two", "Two anchors", { anchors: [{ anchor_id: eventId }, { anchor_id: "ab".repeat(32) }] }),
      answers: {
        200: one("mixed", "One is valid, one does not exist", {
          as_of: asOf,
          results: [{ anchor_id: eventId, ...verified }, missing],
          summary: { total: 2, valid: 1, invalid: 0, not_found: 1 },
        }),
      },
    },
  };
}

export function readsOfEvents(shown: Shown): Partial<Record<RouteId, RouteExamples>> {
  const eventId = shown.id("event");
  const { heads } = shown.ledger;
  return {
    listEventAnchors: {
      parameters: { grant_ref: shown.id("grant"), limit: 20 },
      answers: {
        200: one("page", "The only page", {
          items: [shown.anchor("event"), shown.anchor("signedEvent")],
          next_cursor: null,
          certified: certifiedOf(shown),
        }),
      },
    },
    getLatestEventAnchor: {
      parameters: { origin_fingerprint: shown.origin },
      answers: { 200: one("latest", "The newest certified anchor", latest(shown)) },
    },
    getConsistency: {
      parameters: { from_size: heads.before.treeSize, to_size: heads.after.treeSize },
      answers: { 200: one("grown", "Two leaves more", consistency(shown)) },
    },
    getEventAnchor: {
      parameters: { anchor_id: eventId },
      answers: {
        200: {
          certified: {
            summary: "Certified",
            value: { anchor: shown.anchor("event"), receipt: shown.receipt("event", heads.after) },
          },
          committed: {
            summary: "Not yet certified, with Prefer: respond-async",
            value: { anchor: shown.anchor("event", { isCommitted: true }), receipt: null },
          },
        },
      },
    },
    getReceipt: {
      parameters: { anchor_id: eventId },
      answers: { 200: one("receipt", "Under the newest certificate", shown.receipt("event", heads.after)) },
      texts: { "text/plain": formatProof(shown.ledger.receipt("event", heads.after)) },
    },
    traceEventAnchor: {
      parameters: { anchor_id: shown.id("signedEvent"), limit: 1 },
      answers: { 200: one("trace", "Authorised when it was done, and no longer", trace(shown)) },
    },
  };
}
