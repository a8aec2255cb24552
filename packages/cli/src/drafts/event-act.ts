/** What an event says beside its hash: on what authority it is done, and whose signature it bears. */
import { nodeCrypto } from "@event-anchoring/node-crypto";
import type { Signer } from "@event-anchoring/node-crypto";
import { LEAF_KIND, bytesToHex, eventActorPayload } from "@event-anchoring/protocol";
import type { Leaf, SemanticAnchor } from "@event-anchoring/protocol";
import type { JsonBody } from "@event-anchoring/sdk";
import { CliError, EXIT } from "../terminal/cli-error.ts";
import { draftOf, prepare, requestOf, signedBy } from "./draft.ts";

export interface Act {
  /** Wire fields, checked; null: no references. */
  readonly references: JsonBody | null;
  /** What they are in a leaf. */
  readonly semanticAnchor: SemanticAnchor;
  /** Null: unsigned. */
  readonly actor: Signer | null;
}

/** @param references wire fields as they were given @throws CliError `invalid_input` naming the field */
export function actOf(references: Readonly<Record<string, unknown>>, actor: Signer | null): Act {
  const zeros = "0".repeat(64);
  const asked = { origin_fingerprint: zeros, event_hash: zeros, semantic_anchor: references };
  const { fields, unsigned } = prepare("event", asked);
  const { semanticAnchor } = fields;
  return { references: (unsigned["semantic_anchor"] ?? null) as JsonBody | null, semanticAnchor, actor };
}

export interface EventToAnchor {
  /** 64 hex digits, like the hash. */
  readonly originFingerprint: string;
  readonly eventHash: string;
  readonly clientEventId: string;
}

/** The body that is sent, signed if somebody signs. */
export function eventBody({ references, actor }: Act, event: EventToAnchor): JsonBody {
  const draft = draftOf("event", {
    origin_fingerprint: event.originFingerprint,
    event_hash: event.eventHash,
    semantic_anchor: references,
    client_event_id: event.clientEventId,
    ...(actor === null ? {} : { actor_public_key: bytesToHex(actor.publicKey) }),
  });
  return requestOf(signedBy(draft, actor === null ? [] : [actor])).body;
}

/**
 * Holds the leaf of a verified receipt against what was to be anchored. The origin is left out: what was asked before,
 * and is anchored once, may stand in another one.
 * @throws CliError `content_differs`: the service must not be believed
 */
export function assertRecorded({ semanticAnchor, actor }: Act, leaf: Leaf | null): void {
  if (leaf === null || (leaf.kind !== LEAF_KIND.event && leaf.kind !== LEAF_KIND.signedEvent))
    throw differs("an event");
  const isSame = (["irisRef", "scrollRef", "grantRef", "bondRef", "yieldRef", "eventDataHash"] as const).every(
    (name) => bytesToHex(leaf.semanticAnchor[name]) === bytesToHex(semanticAnchor[name]),
  );
  if (!isSame) throw differs("with these references");
  if (actor === null) return;
  const isSigned =
    leaf.kind === LEAF_KIND.signedEvent &&
    bytesToHex(leaf.actorPublicKey) === bytesToHex(actor.publicKey) &&
    nodeCrypto.ed25519Verify(leaf.actorPublicKey, eventActorPayload(leaf), leaf.actorSignature);
  if (!isSigned) throw differs("signed by the actor");
}

function differs(what: string): CliError {
  const message = `the service sent a receipt of something that is not ${what}: do not trust it`;
  return new CliError(EXIT.invalid, "content_differs", message);
}

/** For --json and reports. */
export function actJson({ references, actor }: Act): {
  readonly semantic_anchor: JsonBody | null;
  readonly actor_public_key: string | null;
} {
  return { semantic_anchor: references, actor_public_key: actor === null ? null : bytesToHex(actor.publicKey) };
}
