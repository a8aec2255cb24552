/** Examples of requests and answers, all of one small ledger: what one answers, another asks for. */
import {
  REVOCATION_REASONS,
  bytesToBase64,
  bytesToHex,
  formatProof,
  isZero,
  nobleCrypto,
  receiptToJson,
} from "@event-anchoring/protocol";
import type { Leaf } from "@event-anchoring/protocol";
import { anchorToJson, limitsToJson } from "../anchor-json.ts";
import type { AnchorJson, ReceiptAnswer } from "../anchor-schema.ts";
import { DEFAULT_LIMIT_SETTINGS } from "../limits.ts";
import { problemBody } from "../problems.ts";
import { formatRfc3339 } from "../rfc3339.ts";
import type { RouteId } from "../routes.ts";
import type { RecordStateName } from "../wire.ts";
import type { ExampleHead, ExampleLedger, ExampleRecord } from "./example-ledger.ts";

/** JSON, or the text of a body of another type. */
export interface Example {
  readonly summary: string;
  readonly value: unknown;
}

export interface RouteExamples {
  /** Of parameters, by their names. */
  readonly parameters?: Readonly<Record<string, string | number | readonly string[]>>;
  readonly requests?: Readonly<Record<string, Example>>;
  /** By status. */
  readonly answers?: Readonly<Record<number, Readonly<Record<string, Example>>>>;
  /** Of answers in another media type. */
  readonly texts?: Readonly<Record<string, string>>;
}

const { sha256 } = nobleCrypto;
const TRUST_ROOT_VERSION = 1;

/** What examples are made of. */
class Shown {
  readonly ledger: ExampleLedger;

  constructor(ledger: ExampleLedger) {
    this.ledger = ledger;
  }

  get origin(): string {
    return bytesToHex(this.ledger.origin);
  }

  id(record: ExampleRecord): string {
    return bytesToHex(this.ledger.id(record));
  }

  anchor(record: ExampleRecord, options: { state?: RecordStateName; isCommitted?: boolean } = {}): AnchorJson {
    const leaf = this.ledger.leaf(record);
    const isRecord = leaf.kind === 2 || leaf.kind === 3;
    return anchorToJson({
      leaf,
      anchorId: this.ledger.id(record),
      finality: options.isCommitted === true ? "committed" : "certified",
      clientEvent: record === "event" ? { ...this.ledger.clientEvent, isErased: false } : null,
      state: isRecord ? (options.state ?? "active") : null,
    });
  }

  receipt(record: ExampleRecord, head: ExampleHead = this.ledger.heads.before): ReceiptAnswer {
    const { inclusion, ...rest } = receiptToJson(this.ledger.receipt(record, head), TRUST_ROOT_VERSION, sha256);
    return { ...rest, inclusion: [...inclusion] };
  }

  created(record: ExampleRecord): object {
    return { anchor: this.anchor(record), receipt: this.receipt(record), replayed: false };
  }

  /** The three good answers of a route that appends one record. */
  statuses(record: ExampleRecord, rest: object = {}): NonNullable<RouteExamples["answers"]> {
    const head = this.ledger.heads[record === "revocation" || record === "grantRevocation" ? "after" : "before"];
    const certified = { anchor: this.anchor(record), ...rest, receipt: this.receipt(record, head) };
    const committed = { anchor: this.anchor(record, { isCommitted: true }), ...rest, receipt: null };
    return {
      200: one("replay", "The same was recorded before", { ...certified, replayed: true }),
      201: one("created", "Durable, and co-signed", { ...certified, replayed: false }),
      202: one("committed", "Durable, and not yet co-signed", { ...committed, replayed: false }),
    };
  }

  asOf(sequence: number): object {
    const timeMs = this.ledger.heads.after.certifiedAtS * 1000;
    return { sequence, time_ms: timeMs, time: formatRfc3339(timeMs) };
  }

  get certifiedAt(): string {
    return formatRfc3339(this.ledger.heads.after.certifiedAtS * 1000);
  }
}

function one(name: string, summary: string, value: unknown): Record<string, Example> {
  return { [name]: { summary, value } };
}

/** The fields of an anchor that its creation names. */
function requestOf(anchor: AnchorJson, names: readonly string[]): Record<string, unknown> {
  const fields: Readonly<Record<string, unknown>> = anchor;
  return Object.fromEntries(names.map((name) => [name, fields[name]]));
}

const EVENT_FIELDS = ["origin_fingerprint", "event_hash", "semantic_anchor"];
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

type CheckRow = readonly [code: string, result: "pass" | "fail" | "not_checked", detail: string];

function checks(rows: readonly CheckRow[]): object[] {
  return rows.map(([code, result, detail]) => ({ code, result, detail }));
}

function passes(codes: readonly string[], detail: string): CheckRow[] {
  return codes.map((code) => [code, "pass", detail]);
}

const TREE_CHECKS = ["leaf", "parent", "inclusion", "certificate"];

function sequenceOf(leaf: Leaf): number {
  return leaf.sequence;
}

function verifiedEvent(shown: Shown): object {
  const { ledger } = shown;
  const place = `sequence ${sequenceOf(ledger.leaf("event"))}, as of sequence 9`;
  return {
    valid: true,
    as_of: shown.asOf(9),
    checks: checks([
      ["exists", "pass", place],
      ["event_hash", "not_checked", "no event hash was given"],
      ...passes(TREE_CHECKS, "as the receipt says"),
      ["actor_signature", "not_checked", "an event of kind 1 carries no signature of its actor"],
      ["actor_is_iris_subject", "not_checked", "nobody has signed"],
      ["event_data_hash_matches", "pass", "equal to event_hash"],
      ["depth", "pass", "depth 4 in a tree of 8 leaves"],
    ]),
    anchor: shown.anchor("event"),
    receipt: shown.receipt("event", ledger.heads.after),
  };
}

function revocationOf(shown: Shown, record: "revocation" | "grantRevocation", target: ExampleRecord): object {
  return { anchor: shown.anchor(record), target_anchor_id: shown.id(target) };
}

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

function hopOf(shown: Shown): object {
  const leaf = shown.ledger.leaf("grant");
  return {
    grant: shown.anchor("grant"),
    grantor_claim: shown.anchor("organisation"),
    grantee_claim: shown.anchor("agent"),
    witness_public_key: leaf.kind === 3 ? bytesToHex(leaf.witnessPublicKey) : null,
    witness_is_grantee: false,
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
    boundary: {
      scope_hash: grant.kind === 3 ? bytesToHex(grant.scopeHash) : null,
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
function refusedItem(pointer: string): object {
  const code = "reference_not_found";
  const errors = [{ pointer, code, detail: "iris_ref names no anchor" }];
  return { status: 422, problem: problemBody({ code, errors }, null) };
}

function writesOfEvents(shown: Shown): Partial<Record<RouteId, RouteExamples>> {
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
      answers: { 200: one("mixed", "One is created, one refused", { results, summary }) },
    },
    eraseClientEventId: {
      parameters: { anchor_id: shown.id("event") },
      requests: one("nothing", "Nothing has to be said", {}),
      answers: { 200: one("erased", "Erased on every node", { anchor: erased, erased: true }) },
    },
  };
}

function readsOfEvents(shown: Shown): Partial<Record<RouteId, RouteExamples>> {
  const eventId = shown.id("event");
  const { heads, origins } = shown.ledger;
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
    listEventAnchors: {
      parameters: { grant_ref: shown.id("grant"), limit: 20 },
      answers: {
        200: one("page", "The only page", {
          items: [shown.anchor("event"), shown.anchor("signedEvent")],
          next_cursor: null,
          certified: origins.map(({ originFingerprint, treeSize }) => ({
            origin_fingerprint: bytesToHex(originFingerprint),
            tree_size: treeSize,
          })),
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

function ofRecords(shown: Shown): Partial<Record<RouteId, RouteExamples>> {
  const organisation = shown.anchor("organisation");
  const { origin, revoker } = shown.ledger;
  const entityOf = (record: ExampleRecord): string => {
    const leaf = shown.ledger.leaf(record);
    return leaf.kind === 2 ? bytesToHex(leaf.entityFingerprint) : "";
  };
  const revocation = shown.ledger.leaf("revocation");
  if (revocation.kind !== 4 || isZero(origin)) throw new RangeError("no revocation");
  const signedRevocation = {
    reason: REVOCATION_REASONS[revocation.reason],
    suspect_since: revocation.suspectSince,
    revoker_public_key: bytesToHex(revoker.publicKey),
    revoker_signature: bytesToHex(revoker.signature),
  };
  return {
    createClaimAnchor: {
      requests: one("organisation", "An organisation", requestOf(organisation, CLAIM_FIELDS)),
      answers: shown.statuses("organisation"),
    },
    getClaimAnchor: {
      parameters: { entity_fingerprint: entityOf("organisation"), attribute_type: "0x10" },
      answers: {
        200: one("active", "The active claim", {
          anchor: organisation,
          receipt: shown.receipt("organisation", shown.ledger.heads.after),
          state: "active",
        }),
      },
    },
    verifyClaimAnchor: {
      requests: one("now", "As of now", { anchor_id: shown.id("agent") }),
      answers: { 200: one("revoked", "Revoked", verifiedClaim(shown)) },
    },
    revokeClaimAnchor: {
      parameters: { anchor_id: shown.id("agent") },
      requests: {
        signed: { summary: "By the claim's subject", value: signedRevocation },
        operator: { summary: "By the API client, as operator", value: {} },
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
        200: one("active", "The grant in force", {
          anchor: shown.anchor("grant"),
          receipt: shown.receipt("grant"),
          state: "active",
          others: 0,
        }),
      },
    },
    verifyGrantAnchor: {
      requests: one("then", "As of an earlier position", { anchor_id: shown.id("grant"), as_of: 7 }),
      answers: { 200: one("valid", "It was in force then", verifiedGrant(shown)) },
    },
    revokeGrantAnchor: {
      parameters: { anchor_id: shown.id("grant") },
      requests: one("operator", "By the API client, as operator", { reason: "privilege_withdrawn" }),
      answers: shown.statuses("grantRevocation", { revoked_anchor_id: shown.id("grant") }),
    },
  };
}

function health(shown: Shown): object {
  return {
    status: "ok",
    node_id: "n1",
    cluster_id: bytesToHex(shown.ledger.clusterId),
    origin_fingerprint: shown.origin,
    prime_root_thk: {
      role: "replica",
      version: TRUST_ROOT_VERSION,
      root_thk: bytesToHex(shown.ledger.trustRoot.rootThk),
      prime_version: TRUST_ROOT_VERSION,
      in_sync: true,
      last_success_at: shown.certifiedAt,
      age_seconds: 1.25,
      expires_at: "2036-01-01T00:00:00.000Z",
      last_error: null,
    },
    raft: { role: "follower", term: 3, leader: "n2", commit_index: 12, applied_index: 12 },
    versions: { api_contract: "4.2", locked_code: "V4.2", service: "4.2.0" },
  };
}

function ofNode(shown: Shown): Partial<Record<RouteId, RouteExamples>> {
  const { document, rootThk, version } = shown.ledger.trustRoot;
  const newest = { version, root_thk: bytesToHex(rootThk), document };
  const good = [
    { check: "storage", result: "pass", detail: "reachable" },
    { check: "leader", result: "pass", detail: "n2" },
  ];
  const bad = [good[0], { check: "leader", result: "fail", detail: "no leader is known" }];
  return {
    getTrustRoot: { answers: { 200: one("first", "The first version", { ...newest, chain: [newest] }) } },
    getLimits: { answers: { 200: one("limits", "As configured", limitsToJson(DEFAULT_LIMIT_SETTINGS)) } },
    getHealth: { answers: { 200: one("ok", "A replica in sync", health(shown)) } },
    getReadiness: {
      answers: {
        200: one("ready", "Ready", { ready: true, checks: good }),
        503: one("unready", "No leader", { ready: false, checks: bad }),
      },
    },
    getOpenApi: {
      answers: {
        200: one("begin", "How it begins", {
          openapi: "3.1.1",
          info: { title: "Event Anchoring API", version: "4.2.0" },
        }),
      },
    },
    getDocs: { texts: { "text/html": "<!doctype html>" } },
    getDocsAsset: { parameters: { asset: "swagger-ui.css" } },
  };
}

export function routeExamples(ledger: ExampleLedger): Partial<Record<RouteId, RouteExamples>> {
  const shown = new Shown(ledger);
  return { ...writesOfEvents(shown), ...readsOfEvents(shown), ...ofRecords(shown), ...ofNode(shown) };
}

/** What a problem's document says beyond the common members, by code. */
export function problemExtensions(ledger: ExampleLedger): Readonly<Record<string, object>> {
  const shown = new Shown(ledger);
  const results = [refusedItem("/events/0/semantic_anchor/iris_ref")];
  const summary = { total: 1, created: 0, replayed: 0, committed: 0, refused: 1 };
  return {
    no_active_claim: { anchor_id: shown.id("agent"), state: "revoked" },
    no_active_grant: { anchor_id: shown.id("grant"), state: "revoked" },
    client_event_id_erased: { anchor_id: shown.id("event") },
    batch_refused: { results, summary },
  };
}
