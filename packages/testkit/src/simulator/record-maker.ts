import type { Command, Credential, EventInput } from "@event-anchoring/ledger";
import { nodeCrypto } from "@event-anchoring/node-crypto";
import {
  type AnchorId,
  EMPTY_SEMANTIC_ANCHOR,
  type OriginFingerprint,
  type SemanticAnchor,
  ZERO_32,
  bytesToHex,
  toAnchorId,
  utf8ToBytes,
} from "@event-anchoring/protocol";
import { type Party, signClaim, signEvent, signGrant, signRevocation } from "../party.ts";
import type { Seeded } from "./seeded.ts";
import { simulatedSigner } from "./simulated-crypto.ts";

/** A claim or grant that was acknowledged. */
interface KnownRecord {
  readonly kind: "claim" | "grant";
  readonly anchorId: AnchorId;
  readonly originFingerprint: OriginFingerprint;
  /** Who is its subject, or its grantor. */
  readonly holder: string;
  /** A revocation of it was acknowledged. */
  isRevoked: boolean;
}

export interface MadeCommand {
  readonly command: Command;
  /** Saying it again cannot anchor it again. */
  readonly isIdempotent: boolean;
  /** It is a grant on a claim whose revocation was acknowledged before this moment. */
  readonly revokedBefore: boolean;
  /** What its leaves are told apart by, in hex; empty: they are not. */
  readonly contents: readonly string[];
}

const SUBJECTS = 12;
const REGISTRAR = "registrar";
const NOTARY = "notary";

/** Draws commands of every kind, each of which fits what was acknowledged before it. */
export class RecordMaker {
  readonly #random: Seeded;
  readonly #origins: readonly OriginFingerprint[];
  readonly #records: KnownRecord[] = [];

  constructor(random: Seeded, origins: readonly OriginFingerprint[]) {
    this.#random = random;
    this.#origins = origins;
  }

  next(name: string, credential: Credential): MadeCommand {
    const draw = this.#random.unit();
    if (draw < 0.45) return this.#events(name, credential, 1);
    if (draw < 0.6) return this.#events(name, credential, 2 + this.#random.below(12));
    if (draw < 0.78) return this.#claim(name, credential);
    if (draw < 0.9) return this.#grant(name, credential) ?? this.#claim(name, credential);
    return this.#revocation(credential) ?? this.#claim(name, credential);
  }

  /** One event with a client event id. */
  event(name: string, credential: Credential): MadeCommand {
    return this.#eventsOf(name, credential, 1, true);
  }

  /** The command's record was acknowledged under this id. */
  learn(command: Command, anchorId: AnchorId): void {
    if (command.kind === "record_claim") {
      const { originFingerprint, subjectPublicKey } = command.claim;
      const holder = nameOf(subjectPublicKey);
      this.#records.push({ kind: "claim", anchorId, originFingerprint, holder, isRevoked: false });
    } else if (command.kind === "record_revocation") {
      const target = bytesToHex(command.revocation.targetAnchorId);
      for (const record of this.#records) if (bytesToHex(record.anchorId) === target) record.isRevoked = true;
    }
  }

  #events(name: string, credential: Credential, count: number): MadeCommand {
    return this.#eventsOf(name, credential, count, this.#random.chance(0.8));
  }

  #eventsOf(name: string, credential: Credential, count: number, isIdempotent: boolean): MadeCommand {
    // As the api makes them: one origin for a whole batch.
    const origin = this.#random.pick(this.#origins);
    const events = Array.from({ length: count }, (_, at) => this.#event(`${name}/${at}`, origin, isIdempotent));
    const contents = events.map(({ eventHash }) => bytesToHex(eventHash));
    const atomic = this.#random.chance(0.3);
    return {
      command: { kind: "record_events", credential, atomic, events },
      isIdempotent,
      revokedBefore: false,
      contents,
    };
  }

  #event(name: string, originFingerprint: OriginFingerprint, isIdempotent: boolean): EventInput {
    const content = {
      originFingerprint,
      eventHash: hashOf(`event ${name}`),
      semanticAnchor: this.#references(),
    };
    const salt = new Uint8Array(32);
    this.#random.fill(salt);
    return {
      ...content,
      clientEventId: isIdempotent ? name : null,
      clientEventSalt: isIdempotent ? salt : null,
      actor: this.#random.chance(0.3) ? signEvent(content, partyNamed("subject 1")) : null,
    };
  }

  #references(): SemanticAnchor {
    const claims = this.#records.filter(({ kind }) => kind === "claim");
    if (claims.length === 0 || this.#random.chance(0.6)) return EMPTY_SEMANTIC_ANCHOR;
    return { ...EMPTY_SEMANTIC_ANCHOR, irisRef: this.#random.pick(claims).anchorId };
  }

  #claim(name: string, credential: Credential): MadeCommand {
    const subject = `subject ${this.#random.below(SUBJECTS)}`;
    const attributeHash = hashOf(`attribute ${name}`);
    const content = {
      originFingerprint: this.#random.pick(this.#origins),
      entityFingerprint: hashOf(`entity ${subject}`),
      attributeType: 1,
      attributeHash,
      issuedAt: 0,
      expiresAt: 0,
    };
    const claim = signClaim(content, partyNamed(subject), partyNamed(REGISTRAR));
    const contents = [bytesToHex(attributeHash)];
    return { command: { kind: "record_claim", credential, claim }, isIdempotent: true, revokedBefore: false, contents };
  }

  #grant(name: string, credential: Credential): MadeCommand | null {
    const claims = this.#records.filter(({ kind }) => kind === "claim");
    if (claims.length < 2) return null;
    const revoked = claims.filter(({ isRevoked }) => isRevoked);
    const grantor =
      revoked.length > 0 && this.#random.chance(0.4) ? this.#random.pick(revoked) : this.#random.pick(claims);
    const grantee = this.#random.pick(claims);
    if (grantor.holder === grantee.holder) return null;
    const content = {
      originFingerprint: this.#random.pick(this.#origins),
      grantorClaimRef: grantor.anchorId,
      granteeClaimRef: grantee.anchorId,
      parentGrantRef: toAnchorId(ZERO_32),
      scopeHash: hashOf(`scope ${name}`),
      delegationDepth: 1,
      issuedAt: 0,
      notBefore: 0,
      expiresAt: 0,
    };
    const grant = signGrant(content, partyNamed(grantor.holder), partyNamed(NOTARY));
    const revokedBefore = grantor.isRevoked || grantee.isRevoked;
    return { command: { kind: "record_grant", credential, grant }, isIdempotent: true, revokedBefore, contents: [] };
  }

  #revocation(credential: Credential): MadeCommand | null {
    const target = this.#records.at(-1 - this.#random.below(8));
    if (target === undefined) return null;
    const content = {
      targetAnchorId: target.anchorId,
      reason: 1,
      suspectSince: 0,
      issuedAt: 0,
    };
    const { originFingerprint } = target;
    const bySubject = this.#random.chance(0.5);
    const signer = bySubject ? signRevocation({ ...content, originFingerprint }, partyNamed(target.holder)) : null;
    const revocation = {
      ...content,
      targetKind: target.kind,
      targetOriginFingerprint: originFingerprint,
      originFingerprint: null,
      signer,
    };
    const command: Command = { kind: "record_revocation", credential, revocation };
    return { command, isIdempotent: true, revokedBefore: false, contents: [] };
  }
}

const NAMES = new Map<string, string>();

function partyNamed(name: string): Party {
  const signer = simulatedSigner(name);
  const publicKeyHex = bytesToHex(signer.publicKey);
  NAMES.set(publicKeyHex, name);
  return { publicKey: signer.publicKey, publicKeyHex, sign: (message) => signer.sign(message) };
}

function nameOf(publicKey: Uint8Array): string {
  return NAMES.get(bytesToHex(publicKey)) ?? "";
}

function hashOf(name: string): Uint8Array {
  return nodeCrypto.sha256(utf8ToBytes(name));
}
