/** Whether an anchor is what it shows: the anchor id is the hash of the leaf, and an anchor shows every field of it. */
import {
  EMPTY_SEMANTIC_ANCHOR,
  LEAF_KIND,
  REVOCATION_AUTHORITIES,
  REVOCATION_REASONS,
  anchorIdOf,
  assertNever,
  bytesToHex,
  clientEventCommit,
  encodeLeaf,
  hexToBytes,
  toAnchorId,
  toOriginFingerprint,
} from "@event-anchoring/protocol";
import type { EventBody, Leaf, LeafHeader, SemanticAnchor } from "@event-anchoring/protocol";
import type { Anchor, EventAnchor, KnownAnchor, SemanticAnchorAnswer, SignedEventAnchor } from "./anchors.ts";
import { sha256 } from "./crypto.ts";

/** Readers have let through hex of the right length only. Absent is zeros. */
function bytes(hex: string | null, length = 32): Uint8Array {
  return hex === null ? new Uint8Array(length) : hexToBytes(hex, length);
}

function headerOf(anchor: KnownAnchor): LeafHeader {
  return {
    originFingerprint: toOriginFingerprint(bytes(anchor.originFingerprint)),
    depth: anchor.depth,
    parentAnchorId: toAnchorId(bytes(anchor.parentAnchorId)),
    sequence: anchor.sequence,
    acceptedMs: anchor.acceptedMs,
  };
}

function semanticHashes(shown: SemanticAnchorAnswer | null): SemanticAnchor {
  if (shown === null) return EMPTY_SEMANTIC_ANCHOR;
  return {
    irisRef: bytes(shown.irisRef),
    scrollRef: bytes(shown.scrollRef),
    grantRef: bytes(shown.grantRef),
    bondRef: bytes(shown.bondRef),
    yieldRef: bytes(shown.yieldRef),
    eventDataHash: bytes(shown.eventDataHash),
  };
}

function eventBody(anchor: EventAnchor | SignedEventAnchor): EventBody {
  return {
    eventHash: bytes(anchor.eventHash),
    semanticAnchor: semanticHashes(anchor.semanticAnchor),
    clientEventCommit: bytes(anchor.clientEventCommit),
  };
}

/** The leaf that an anchor shows. */
export function leafOf(anchor: KnownAnchor): Leaf {
  const header = headerOf(anchor);
  switch (anchor.kind) {
    case "genesis":
      return { kind: LEAF_KIND.genesis, ...header, clusterId: bytes(anchor.clusterId), rootThk: bytes(anchor.rootThk) };
    case "event":
      return { kind: LEAF_KIND.event, ...header, ...eventBody(anchor) };
    case "signed_event": {
      const actor = {
        actorPublicKey: bytes(anchor.actorPublicKey),
        actorSignature: bytes(anchor.actorSignature, 64),
      };
      return { kind: LEAF_KIND.signedEvent, ...header, ...eventBody(anchor), ...actor };
    }
    case "claim":
      return {
        kind: LEAF_KIND.claim,
        ...header,
        entityFingerprint: bytes(anchor.entityFingerprint),
        attributeType: anchor.attributeType,
        attributeHash: bytes(anchor.attributeHash),
        issuedAt: anchor.issuedAt,
        expiresAt: anchor.expiresAt,
        subjectPublicKey: bytes(anchor.subjectPublicKey),
        subjectSignature: bytes(anchor.subjectSignature, 64),
        issuerPublicKey: bytes(anchor.issuerPublicKey),
        issuerSignature: bytes(anchor.issuerSignature, 64),
      };
    case "grant":
      return {
        kind: LEAF_KIND.grant,
        ...header,
        grantorClaimRef: bytes(anchor.grantorClaimRef),
        granteeClaimRef: bytes(anchor.granteeClaimRef),
        parentGrantRef: bytes(anchor.parentGrantRef),
        scopeHash: bytes(anchor.scopeHash),
        delegationDepth: anchor.delegationDepth,
        issuedAt: anchor.issuedAt,
        notBefore: anchor.notBefore,
        expiresAt: anchor.expiresAt,
        grantorPublicKey: bytes(anchor.grantorPublicKey),
        grantorSignature: bytes(anchor.grantorSignature, 64),
        witnessPublicKey: bytes(anchor.witnessPublicKey),
        witnessSignature: bytes(anchor.witnessSignature, 64),
      };
    case "revocation":
      return {
        kind: LEAF_KIND.revocation,
        ...header,
        targetAnchorId: toAnchorId(bytes(anchor.targetAnchorId)),
        reason: REVOCATION_REASONS.indexOf(anchor.reason),
        suspectSince: anchor.suspectSince,
        issuedAt: anchor.issuedAt,
        authority: REVOCATION_AUTHORITIES.indexOf(anchor.authority),
        revoker: bytes(anchor.revoker),
        signature: bytes(anchor.signature, 64),
      };
    case "trust_root":
      return { kind: LEAF_KIND.trustRoot, ...header, version: anchor.version, rootThk: bytes(anchor.rootThk) };
    default:
      return assertNever(anchor);
  }
}

/** null: no leaf has such fields. */
function idOf(anchor: KnownAnchor): string | null {
  try {
    return bytesToHex(anchorIdOf(encodeLeaf(leafOf(anchor)), sha256));
  } catch (error) {
    if (error instanceof RangeError) return null;
    throw error;
  }
}

/** Whether the client event id, where it is shown, is the one that the leaf commits to. */
function opens({
  clientEventId,
  clientEventSalt,
  clientEventCommit: commit,
}: EventAnchor | SignedEventAnchor): boolean {
  if (clientEventId === null || clientEventSalt === null) return clientEventId === clientEventSalt;
  const isAscii = /^[\x20-\x7e]+$/.test(clientEventId);
  return isAscii && bytesToHex(clientEventCommit(bytes(clientEventSalt), clientEventId, sha256)) === commit;
}

function rfc3339(timeMs: number): string {
  const date = new Date(timeMs);
  return Number.isNaN(date.getTime()) ? "" : date.toISOString();
}

/** Whether the anchor id is the hash of what the anchor shows. For an unknown kind it cannot be checked. */
export function isWhatItShows(anchor: Anchor): boolean {
  if (anchor.kind === "unknown") return true;
  if (idOf(anchor) !== anchor.anchorId || rfc3339(anchor.acceptedMs) !== anchor.acceptedAt) return false;
  return anchor.kind === "event" || anchor.kind === "signed_event" ? opens(anchor) : true;
}
