import { bytesToHex, eventActorPayload, isEmptySemanticAnchor, toOriginFingerprint } from "@event-anchoring/protocol";
import type { OriginFingerprint, SemanticAnchor } from "@event-anchoring/protocol";
import { InvalidInput } from "./errors.ts";
import { absentOr, bytes32, bytes64, clientEventId, contentOf, reference } from "./inputs.ts";
import type { Bytes32, Bytes64, Door, Reference } from "./inputs.ts";
import { jsonBody } from "./json-body.ts";
import type { JsonBody } from "./json-body.ts";
import { Payload } from "./payload.ts";
import type { PreparedRequest } from "./prepared-request.ts";
import { checkSignature } from "./signing.ts";

/** What an event refers to. What is absent, null, "" or zeros is empty. */
export interface SemanticAnchorInput {
  /** Who acted: anchor id of the agent's ClaimAnchor. */
  readonly irisRef?: Reference;
  /** Any anchor. */
  readonly scrollRef?: Reference;
  /** Under which GrantAnchor. */
  readonly grantRef?: Reference;
  /** Any anchor. */
  readonly bondRef?: Reference;
  /** Any anchor. */
  readonly yieldRef?: Reference;
  /** Equal to the event hash in the documented flow. */
  readonly eventDataHash?: Reference;
}

/** What an event anchor says, without the actor's signature. */
export interface EventAnchorContent {
  /** The target origin: `(await client.healthz()).originFingerprint`. It is signed. */
  readonly originFingerprint: Bytes32;
  /** SHA-256 of the event. */
  readonly eventHash: Bytes32;
  readonly semanticAnchor?: SemanticAnchorInput | null | undefined;
  /** 1 to 128 printable ASCII characters, yours to choose. It is not signed. */
  readonly clientEventId?: string | null | undefined;
  /** The actor, who will sign; absent: an unsigned event. */
  readonly actorPublicKey?: Bytes32 | null | undefined;
}

/** An event as it was read. */
export interface EventFields {
  readonly originFingerprint: OriginFingerprint;
  readonly eventHash: Uint8Array;
  readonly semanticAnchor: SemanticAnchor;
  readonly clientEventId: string | null;
  readonly actorPublicKey: Uint8Array | null;
}

/** An event, to be signed by its actor or to be sent as it is. */
export class PreparedEventAnchor implements PreparedRequest {
  readonly signingOrder = ["actor"] as const;
  readonly fields: EventFields;
  /** What the actor signs: 289 bytes. The `clientEventId` is no part of it. */
  readonly actorPayload: Payload;

  constructor(fields: EventFields) {
    this.fields = Object.freeze(fields);
    this.actorPayload = new Payload("actor", fields.actorPublicKey, eventActorPayload(fields));
  }

  /** The body without its signature. */
  get unsigned(): JsonBody {
    const { fields } = this;
    return jsonBody({
      origin_fingerprint: fields.originFingerprint,
      event_hash: fields.eventHash,
      semantic_anchor: semanticBody(fields.semanticAnchor),
      client_event_id: fields.clientEventId,
      actor_public_key: fields.actorPublicKey,
    });
  }

  /** What is signed after these signatures; null: the actor has signed, or there is none. */
  nextPayload(signatures: readonly Bytes64[]): Payload | null {
    return this.fields.actorPublicKey === null || signatures.length > 0 ? null : this.actorPayload;
  }

  /** The body to POST. @throws InvalidInput if signature and key are not together; SigningFailed if it is not good */
  request(actorSignature?: Bytes64 | null): JsonBody {
    const signature =
      actorSignature === undefined || actorSignature === null ? null : bytes64("actorSignature", actorSignature);
    if ((signature === null) !== (this.fields.actorPublicKey === null)) {
      throw new InvalidInput("actorSignature", "goes with actorPublicKey, or not at all");
    }
    if (signature === null) return this.unsigned;
    checkSignature(this.actorPayload, signature);
    return { ...this.unsigned, actor_signature: bytesToHex(signature) };
  }
}

function semanticBody(anchor: SemanticAnchor): JsonBody | null {
  if (isEmptySemanticAnchor(anchor)) return null;
  const refs = {
    iris_ref: anchor.irisRef,
    scroll_ref: anchor.scrollRef,
    grant_ref: anchor.grantRef,
    bond_ref: anchor.bondRef,
    yield_ref: anchor.yieldRef,
    event_data_hash: anchor.eventDataHash,
  };
  return jsonBody(refs, Object.keys(refs));
}

const readSemanticAnchor: Door<SemanticAnchor> = (field, value) => {
  const doors = {
    irisRef: reference,
    scrollRef: reference,
    grantRef: reference,
    bondRef: reference,
    yieldRef: reference,
    eventDataHash: reference,
  };
  return contentOf<SemanticAnchor>(value ?? {}, doors, field);
};

/**
 * Prepares an event anchor, offline: the exact bytes that its actor signs, and the body to send.
 * @throws InvalidInput `field` names the member, such as `semanticAnchor.irisRef`
 */
export function prepareEventAnchor(content: EventAnchorContent): PreparedEventAnchor {
  const fields = contentOf<EventFields>(content, {
    originFingerprint: (field, value) => toOriginFingerprint(bytes32(field, value)),
    eventHash: bytes32,
    semanticAnchor: readSemanticAnchor,
    clientEventId: absentOr(clientEventId),
    actorPublicKey: absentOr(bytes32),
  });
  return new PreparedEventAnchor(fields);
}
