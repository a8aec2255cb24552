/** A leaf as JSON. Hashes are lower-case hex; an empty reference is null. */
import {
  LEAF_KIND,
  REVOCATION_AUTHORITIES,
  REVOCATION_REASONS,
  assertNever,
  bytesToHex,
  isEmptySemanticAnchor,
  isZero,
} from "@event-anchoring/protocol";
import type {
  AnchorId,
  ClaimLeaf,
  EventBody,
  GrantLeaf,
  Leaf,
  RevocationLeaf,
  SemanticAnchor,
} from "@event-anchoring/protocol";
import { ANCHOR_KINDS } from "./anchor-schema.ts";
import type { AnchorJson, AnchorKindName } from "./anchor-schema.ts";
import { LIMITS } from "./limits.ts";
import type { LimitSettings } from "./limits.ts";
import type { LimitsAnswer } from "./node-answers.ts";
import { formatRfc3339 } from "./rfc3339.ts";
import type { RecordStateName } from "./wire.ts";

/** Whether a quorum of nodes has co-signed a tree that holds the anchor, or only a majority has made it durable. */
export type FinalityName = "committed" | "certified";

/** What only the API client that wrote an event may see of it. */
export interface ClientEvent {
  readonly clientEventId: string | null;
  readonly clientEventSalt: Uint8Array | null;
  /** Id and salt were there, and are no more. */
  readonly isErased: boolean;
}

export interface AnchorView {
  readonly leaf: Leaf;
  readonly anchorId: AnchorId;
  readonly finality: FinalityName;
  /** null = the caller may not see it; the two fields are then absent. */
  readonly clientEvent: ClientEvent | null;
  /** State of a claim or a grant; null for every other kind. */
  readonly state: RecordStateName | null;
}

export function kindName(kind: Leaf["kind"]): AnchorKindName {
  return ANCHOR_KINDS[kind];
}

function hexOrNull(bytes: Uint8Array): string | null {
  return isZero(bytes) ? null : bytesToHex(bytes);
}

function semanticAnchorToJson(anchor: SemanticAnchor) {
  if (isEmptySemanticAnchor(anchor)) return null;
  return {
    iris_ref: hexOrNull(anchor.irisRef),
    scroll_ref: hexOrNull(anchor.scrollRef),
    grant_ref: hexOrNull(anchor.grantRef),
    bond_ref: hexOrNull(anchor.bondRef),
    yield_ref: hexOrNull(anchor.yieldRef),
    event_data_hash: hexOrNull(anchor.eventDataHash),
  };
}

function headerToJson({ leaf, anchorId, finality }: AnchorView) {
  return {
    anchor_id: bytesToHex(anchorId),
    origin_fingerprint: bytesToHex(leaf.originFingerprint),
    depth: leaf.depth,
    sequence: leaf.sequence,
    parent_anchor_id: hexOrNull(leaf.parentAnchorId),
    accepted_ms: leaf.acceptedMs,
    accepted_at: formatRfc3339(leaf.acceptedMs),
    finality,
  };
}

function eventToJson(body: EventBody, clientEvent: ClientEvent | null) {
  const salt = clientEvent?.clientEventSalt ?? null;
  return {
    event_hash: bytesToHex(body.eventHash),
    semantic_anchor: semanticAnchorToJson(body.semanticAnchor),
    client_event_commit: hexOrNull(body.clientEventCommit),
    ...(clientEvent === null
      ? {}
      : {
          client_event_id: clientEvent.clientEventId,
          client_event_salt: salt === null ? null : bytesToHex(salt),
          ...(clientEvent.isErased ? { client_event_erased: true as const } : {}),
        }),
  };
}

function claimToJson(leaf: ClaimLeaf) {
  return {
    entity_fingerprint: bytesToHex(leaf.entityFingerprint),
    attribute_type: leaf.attributeType,
    attribute_hash: bytesToHex(leaf.attributeHash),
    issued_at: leaf.issuedAt,
    expires_at: leaf.expiresAt,
    subject_public_key: bytesToHex(leaf.subjectPublicKey),
    subject_signature: bytesToHex(leaf.subjectSignature),
    issuer_public_key: bytesToHex(leaf.issuerPublicKey),
    issuer_signature: bytesToHex(leaf.issuerSignature),
  };
}

function grantToJson(leaf: GrantLeaf) {
  return {
    grantor_claim_ref: bytesToHex(leaf.grantorClaimRef),
    grantee_claim_ref: bytesToHex(leaf.granteeClaimRef),
    parent_grant_ref: hexOrNull(leaf.parentGrantRef),
    scope_hash: bytesToHex(leaf.scopeHash),
    delegation_depth: leaf.delegationDepth,
    issued_at: leaf.issuedAt,
    not_before: leaf.notBefore,
    expires_at: leaf.expiresAt,
    grantor_public_key: bytesToHex(leaf.grantorPublicKey),
    grantor_signature: bytesToHex(leaf.grantorSignature),
    witness_public_key: bytesToHex(leaf.witnessPublicKey),
    witness_signature: bytesToHex(leaf.witnessSignature),
  };
}

/** @throws RangeError for a number that has no name: a leaf that was decoded has none */
function nameAt<Name extends string>(names: readonly Name[], index: number): Name {
  const name = names[index];
  if (name === undefined) throw new RangeError(`nothing is numbered ${index}`);
  return name;
}

function stateOf({ state, leaf }: AnchorView): RecordStateName {
  if (state === null) throw new RangeError(`an anchor of kind ${leaf.kind} has a state`);
  return state;
}

function revocationToJson(leaf: RevocationLeaf) {
  return {
    target_anchor_id: bytesToHex(leaf.targetAnchorId),
    reason: nameAt(REVOCATION_REASONS, leaf.reason),
    suspect_since: leaf.suspectSince,
    issued_at: leaf.issuedAt,
    authority: nameAt(REVOCATION_AUTHORITIES, leaf.authority),
    revoker: bytesToHex(leaf.revoker),
    signature: hexOrNull(leaf.signature),
  };
}

/** @throws RangeError for a leaf whose time has no RFC 3339 text, and for a claim or grant without a state */
export function anchorToJson(view: AnchorView): AnchorJson {
  const { leaf } = view;
  const header = headerToJson(view);
  switch (leaf.kind) {
    case LEAF_KIND.genesis:
      return {
        kind: "genesis",
        ...header,
        cluster_id: bytesToHex(leaf.clusterId),
        root_thk: bytesToHex(leaf.rootThk),
      };
    case LEAF_KIND.event:
      return { kind: "event", ...header, ...eventToJson(leaf, view.clientEvent) };
    case LEAF_KIND.claim:
      return { kind: "claim", ...header, state: stateOf(view), ...claimToJson(leaf) };
    case LEAF_KIND.grant:
      return { kind: "grant", ...header, state: stateOf(view), ...grantToJson(leaf) };
    case LEAF_KIND.revocation:
      return { kind: "revocation", ...header, ...revocationToJson(leaf) };
    case LEAF_KIND.trustRoot:
      return { kind: "trust_root", ...header, version: leaf.version, root_thk: bytesToHex(leaf.rootThk) };
    case LEAF_KIND.signedEvent:
      return {
        kind: "signed_event",
        ...header,
        ...eventToJson(leaf, view.clientEvent),
        actor_public_key: bytesToHex(leaf.actorPublicKey),
        actor_signature: bytesToHex(leaf.actorSignature),
      };
    default:
      return assertNever(leaf);
  }
}

/** The answer of GET /v1/limits. */
export function limitsToJson(settings: LimitSettings): LimitsAnswer {
  return {
    body_bytes_max: LIMITS.bodyBytesMax,
    batch_body_bytes_max: LIMITS.batchBodyBytesMax,
    batch_items_max: LIMITS.batchItemsMax,
    batch_signed_items_max: LIMITS.batchSignedItemsMax,
    client_event_id_chars_max: LIMITS.clientEventIdCharsMax,
    json_depth_max: LIMITS.jsonDepthMax,
    json_object_keys_max: LIMITS.jsonObjectKeysMax,
    json_key_chars_max: LIMITS.jsonKeyCharsMax,
    json_values_max: LIMITS.jsonValuesMax,
    write_timeout_ms: LIMITS.writeTimeoutMs,
    read_timeout_ms: LIMITS.readTimeoutMs,
    batch_timeout_ms: LIMITS.batchTimeoutMs,
    prefer_wait_seconds_min: LIMITS.preferWaitSecondsMin,
    prefer_wait_seconds_max: LIMITS.preferWaitSecondsMax,
    timeout_grace_ms: LIMITS.timeoutGraceMs,
    answer_timeout_ms: LIMITS.answerTimeoutMs,
    latest_wait_seconds_max: LIMITS.latestWaitSecondsMax,
    feeds_max: LIMITS.feedsMax,
    key_feeds_max: LIMITS.keyFeedsMax,
    public_feeds_max: LIMITS.publicFeedsMax,
    address_feeds_max: LIMITS.addressFeedsMax,
    list_items_max: LIMITS.listItemsMax,
    trace_parents_max: LIMITS.traceParentsMax,
    trace_hops_max: LIMITS.traceHopsMax,
    trace_delegation_max: LIMITS.traceDelegationMax,
    delegation_links_max: LIMITS.delegationLinksMax,
    possible_parents_max: LIMITS.possibleParentsMax,
    trusted_roots_max: LIMITS.trustedRootsMax,
    header_bytes_max: LIMITS.headerBytesMax,
    headers_max: LIMITS.headersMax,
    target_bytes_max: LIMITS.targetBytesMax,
    integer_max: LIMITS.integerMax,
    attribute_type_max: LIMITS.unsigned32Max,
    delegation_depth_max: LIMITS.unsigned32Max,
    key_requests_per_second: settings.keyRequestsPerSecond,
    public_address_requests_per_second: settings.publicAddressRequestsPerSecond,
    public_requests_per_second: settings.publicRequestsPerSecond,
  };
}
