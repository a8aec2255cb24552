import { createHash } from "node:crypto";
import {
  EMPTY_SEMANTIC_ANCHOR,
  ZERO_32,
  bytesToHex,
  hexToBytes,
  toAnchorId,
  toOriginFingerprint,
} from "@event-anchoring/protocol";
import type { OriginFingerprint, SemanticAnchor } from "@event-anchoring/protocol";
import {
  claimBody,
  eventBody,
  grantBody,
  partyOf,
  revocationBody,
  signClaim,
  signEvent,
  signGrant,
  signRevocation,
} from "../records/signed-records.ts";
import type { JsonBody } from "../records/signed-records.ts";
import type { AnchoredKind, AnchoredRecord } from "./recorder.ts";

/** One thing to record. */
export interface WantedRecord {
  readonly kind: AnchoredKind;
  readonly content: string;
  readonly clientEventId: string | null;
}

export interface WantedRequest {
  readonly path: string;
  readonly body: string;
  /** More than one: a batch. */
  readonly records: readonly WantedRecord[];
}

export type Anchored = Pick<AnchoredRecord, "anchorId" | "originFingerprint" | "kind">;

const ATTRIBUTE_TYPE = 1;

/**
 * The records of one writer with its own parties, so that none is ever refused: two claims, a grant between them,
 * events of every kind that name them, a newer claim, and the revocation of the grant; then the same with other
 * parties.
 */
export class RecordMaker {
  readonly #name: string;
  readonly #batchEvents: number;
  #step = 0;

  /** @param name no other maker of the cluster may have it */
  constructor(name: string, batchEvents: number) {
    this.#name = name;
    this.#batchEvents = batchEvents;
  }

  /** @param round what this round's requests have anchored so far, in order; the first of each request */
  next(origin: string, round: readonly Anchored[]): WantedRequest {
    const name = `${this.#name} ${this.#step}`;
    this.#step += 1;
    const originFingerprint = toOriginFingerprint(hexToBytes(origin, 32));
    const party = (role: string): string => `${this.#name} ${this.#step - 1 - round.length} ${role}`;
    const claim = (role: string): WantedRequest => this.#claim(name, originFingerprint, party(role));
    switch (round.length) {
      case 0:
        return claim("grantor");
      case 1:
        return claim("grantee");
      case 2:
        return grantRequest(name, originFingerprint, party("grantor"), round);
      case 3:
        return eventRequest(name, originFingerprint, references(round), null);
      case 4:
        return eventRequest(name, originFingerprint, references(round), party("grantee"));
      case 5:
        return batchRequest(name, originFingerprint, this.#batchEvents);
      case 6:
        return claim("grantee");
      default:
        return revocationRequest(party("grantor"), round[2]);
    }
  }

  /** How many requests a round has. */
  static readonly roundRequests = 8;

  #claim(name: string, originFingerprint: OriginFingerprint, subject: string): WantedRequest {
    const attributeHash = hashOf(name);
    const content = {
      originFingerprint,
      entityFingerprint: hashOf(`entity ${subject}`),
      attributeType: ATTRIBUTE_TYPE,
      attributeHash,
      issuedAt: 0,
      expiresAt: 0,
    };
    const signed = signClaim(content, partyOf(subject), partyOf(`${this.#name} registrar`));
    return requestOf("/v1/claim-anchors", claimBody(signed), "claim", attributeHash, null);
  }
}

function grantRequest(
  name: string,
  originFingerprint: OriginFingerprint,
  grantor: string,
  round: readonly Anchored[],
): WantedRequest {
  const scopeHash = hashOf(name);
  const content = {
    originFingerprint,
    grantorClaimRef: idOf(round[0]),
    granteeClaimRef: idOf(round[1]),
    parentGrantRef: toAnchorId(ZERO_32),
    scopeHash,
    delegationDepth: 1,
    issuedAt: 0,
    notBefore: 0,
    expiresAt: 0,
  };
  const signed = signGrant(content, partyOf(grantor), partyOf(`${grantor} witness`));
  return requestOf("/v1/grant-anchors", grantBody(signed), "grant", scopeHash, null);
}

function eventRequest(
  name: string,
  originFingerprint: OriginFingerprint,
  semanticAnchor: SemanticAnchor,
  actor: string | null,
): WantedRequest {
  const content = { originFingerprint, eventHash: hashOf(name), semanticAnchor };
  const signer = actor === null ? null : signEvent(content, partyOf(actor));
  const body = eventBody({ ...content, clientEventId: name, actor: signer });
  return requestOf("/v1/event-anchors", body, actor === null ? "event" : "signed_event", content.eventHash, name);
}

function batchRequest(name: string, originFingerprint: OriginFingerprint, count: number): WantedRequest {
  const names = Array.from({ length: count }, (_, at) => `${name}/${at}`);
  const events = names.map((one) => ({ event_hash: bytesToHex(hashOf(one)), client_event_id: one }));
  return {
    path: "/v1/event-anchors/batch",
    body: JSON.stringify({ origin_fingerprint: bytesToHex(originFingerprint), events }),
    records: names.map((one) => ({ kind: "event", content: bytesToHex(hashOf(one)), clientEventId: one })),
  };
}

function revocationRequest(revoker: string, target: Anchored | undefined): WantedRequest {
  const targetAnchorId = idOf(target);
  const originFingerprint = toOriginFingerprint(hexToBytes(target?.originFingerprint ?? "", 32));
  const content = { originFingerprint, targetAnchorId, reason: 4, suspectSince: 0, issuedAt: 0 };
  const signer = signRevocation(content, partyOf(revoker));
  const path = `/v1/grant-anchors/${target?.anchorId ?? ""}/revoke`;
  return requestOf(path, revocationBody({ ...content, signer }), "revocation", targetAnchorId, null);
}

function requestOf(
  path: string,
  body: JsonBody,
  kind: AnchoredKind,
  content: Uint8Array,
  clientEventId: string | null,
): WantedRequest {
  return { path, body: JSON.stringify(body), records: [{ kind, content: bytesToHex(content), clientEventId }] };
}

function references(round: readonly Anchored[]): SemanticAnchor {
  return { ...EMPTY_SEMANTIC_ANCHOR, irisRef: idOf(round[1]), grantRef: idOf(round[2]) };
}

function idOf(anchored: Anchored | undefined): ReturnType<typeof toAnchorId> {
  if (anchored === undefined) throw new Error("what is referred to was not anchored");
  return toAnchorId(hexToBytes(anchored.anchorId, 32));
}

function hashOf(name: string): Uint8Array {
  return createHash("sha256").update(name).digest();
}
