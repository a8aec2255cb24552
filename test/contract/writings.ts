import { randomBytes } from "node:crypto";
import { bytesToHex, hexToBytes, toAnchorId, toOriginFingerprint } from "@event-anchoring/protocol";
import type { OriginFingerprint } from "@event-anchoring/protocol";
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
} from "@event-anchoring/testkit/records";
import type { JsonBody, Party } from "@event-anchoring/testkit/records";

const ZERO = new Uint8Array(32);

function random32(): Uint8Array {
  return Uint8Array.from(randomBytes(32));
}

/** Unix milliseconds; 0 and absent: none. */
interface Times {
  readonly issuedAt?: number;
  readonly notBefore?: number;
  readonly expiresAt?: number;
}

export interface ClaimOptions extends Times {
  /** 64 hex digits; absent: a new one. */
  readonly entity?: string;
  readonly issuer?: Party;
}

export interface GrantOptions extends Times {
  readonly parent?: string;
  readonly depth?: number;
  readonly grantor?: Party;
  readonly witness?: Party;
}

export interface EventOptions {
  readonly clientEventId?: string;
  readonly isSigned?: boolean;
}

/** Signed bodies for one origin. Each is new, and so are the parties of each instance. */
export class Writings {
  readonly #origin: OriginFingerprint;
  readonly subject: Party;
  readonly issuer: Party;
  readonly witness: Party;

  /** @param origin 64 hex digits */
  constructor(origin: string) {
    this.#origin = toOriginFingerprint(hexToBytes(origin, 32));
    const mark = bytesToHex(random32());
    this.subject = partyOf(`subject ${mark}`);
    this.issuer = partyOf(`issuer ${mark}`);
    this.witness = partyOf(`witness ${mark}`);
  }

  claim({ entity, issuer = this.issuer, issuedAt = 0, expiresAt = 0 }: ClaimOptions = {}): JsonBody {
    const content = {
      originFingerprint: this.#origin,
      entityFingerprint: entity === undefined ? random32() : hexToBytes(entity, 32),
      attributeType: 7,
      attributeHash: random32(),
      issuedAt,
      expiresAt,
    };
    return claimBody(signClaim(content, this.subject, issuer));
  }

  grant(grantorClaim: string, granteeClaim: string, options: GrantOptions = {}): JsonBody {
    const { parent, depth = 3, grantor = this.subject, witness = this.witness } = options;
    const content = {
      originFingerprint: this.#origin,
      grantorClaimRef: hexToBytes(grantorClaim, 32),
      granteeClaimRef: hexToBytes(granteeClaim, 32),
      parentGrantRef: parent === undefined ? ZERO : hexToBytes(parent, 32),
      scopeHash: random32(),
      delegationDepth: depth,
      issuedAt: options.issuedAt ?? 0,
      notBefore: options.notBefore ?? 0,
      expiresAt: options.expiresAt ?? 0,
    };
    return grantBody(signGrant(content, grantor, witness));
  }

  event(iris: string, grant: string, { clientEventId, isSigned = false }: EventOptions = {}): JsonBody {
    const semanticAnchor = {
      irisRef: hexToBytes(iris, 32),
      scrollRef: ZERO,
      grantRef: hexToBytes(grant, 32),
      bondRef: ZERO,
      yieldRef: ZERO,
      eventDataHash: ZERO,
    };
    const content = { originFingerprint: this.#origin, eventHash: random32(), semanticAnchor };
    const actor = isSigned ? signEvent(content, this.subject) : null;
    return eventBody({ ...content, clientEventId: clientEventId ?? null, actor });
  }

  /** By the subject, for key_compromise. */
  revocation(target: string): JsonBody {
    const content = { reason: 1, suspectSince: 0, issuedAt: 0 };
    const targetAnchorId = toAnchorId(hexToBytes(target, 32));
    const signer = signRevocation({ ...content, originFingerprint: this.#origin, targetAnchorId }, this.subject);
    return revocationBody({ ...content, originFingerprint: null, signer });
  }
}
