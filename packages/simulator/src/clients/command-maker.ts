import type { Command, Credential, EventInput, OperatorCommand } from "@event-anchoring/ledger";
import { nodeCrypto } from "@event-anchoring/node-crypto";
import {
  type AnchorId,
  EMPTY_SEMANTIC_ANCHOR,
  type OriginFingerprint,
  type SemanticAnchor,
  ZERO_32,
  bytesToHex,
  equalBytes,
  toAnchorId,
  utf8ToBytes,
} from "@event-anchoring/protocol";
import { type Party, signClaim, signEvent, signGrant, signRevocation } from "@event-anchoring/testkit/records";
import { KeyRing } from "../trust/key-ring.ts";
import type { Seeded } from "../world/seeded.ts";
import { simulatedSigner } from "../trust/simulated-crypto.ts";

/** A claim or grant that was acknowledged. */
interface KnownRecord {
  readonly kind: "claim" | "grant";
  readonly anchorId: AnchorId;
  readonly originFingerprint: OriginFingerprint;
  /** Its subject, or its grantor. */
  readonly holder: string;
  /** Who recorded it. */
  readonly credential: Credential;
  /** A revocation of it was acknowledged. */
  isRevoked: boolean;
}

/** An acknowledged event with its client event id. */
interface KnownEvent {
  readonly anchorId: AnchorId;
  readonly clientEventId: string;
  readonly credential: Credential;
  isErased: boolean;
}

/** The invariant that an acceptance would break. */
export type Forbidden =
  | "whatIsRevokedStaysRevoked"
  | "aRevokedKeyIsPowerless"
  | "anotherBodyUnderAKnownIdIsRefused"
  | "whatIsAnothersIsLeftAlone"
  | "whatNoOperatorSignedIsRefused";

export interface MadeCommand {
  readonly command: Command;
  /** Sending it again cannot anchor it again. */
  readonly isIdempotent: boolean;
  /** Why it must not be accepted, given what was acknowledged before this moment; null: it may be. */
  readonly forbidden: Forbidden | null;
  /** What distinguishes its leaves, in hex; empty: nothing does. */
  readonly contents: readonly string[];
}

export interface CommandMakerOptions {
  readonly random: Seeded;
  readonly origins: readonly OriginFingerprint[];
  /** The signed document of a version of the trust root. */
  readonly trustRootOf: (version: number) => string;
  /** Whether the cluster can do without the node that this version removes. */
  readonly mayPropose: (version: number) => boolean;
  /** Whether client event ids are ever erased in this life. */
  readonly erases: boolean;
}

const SUBJECTS = 12;
const TRUST_ROOT_VERSIONS = 5;
const REGISTRAR = "registrar";
const NOTARY = "notary";

/** Draws commands of every kind, each of which fits what was acknowledged before it. */
export class CommandMaker {
  readonly #options: CommandMakerOptions;
  readonly #random: Seeded;
  readonly #origins: readonly OriginFingerprint[];
  readonly #keys: KeyRing;
  readonly #records: KnownRecord[] = [];
  readonly #events: KnownEvent[] = [];
  #trustRootVersion = 1;

  constructor(options: CommandMakerOptions) {
    this.#options = options;
    this.#random = options.random;
    this.#origins = options.origins;
    this.#keys = new KeyRing(options.random);
  }

  next(name: string): MadeCommand {
    const draw = this.#random.unit();
    if (draw < 0.03) return this.trustRoot() ?? this.#keyCommand(name);
    if (draw < 0.1) return this.#keyCommand(name);
    const { credential, isPowerless } = this.#keys.draw();
    const made = this.#record(name, credential);
    const isMadeWithIt = "credential" in made.command && made.command.credential === credential;
    return isPowerless && isMadeWithIt ? { ...made, forbidden: "aRevokedKeyIsPowerless" } : made;
  }

  #record(name: string, credential: Credential): MadeCommand {
    const draw = this.#random.unit();
    if (draw < 0.4) return this.#anyEvents(name, credential, 1);
    if (draw < 0.54) return this.#anyEvents(name, credential, 2 + this.#random.below(12));
    if (draw < 0.72) return this.#claim(name, credential);
    if (draw < 0.84) return this.#grant(name, credential) ?? this.#claim(name, credential);
    if (draw < 0.92) return this.#revocation(credential) ?? this.#claim(name, credential);
    if (draw < 0.96) return this.#otherBody(name) ?? this.#anyEvents(name, credential, 1);
    return this.#erasure() ?? this.#anyEvents(name, credential, 1);
  }

  /** One event with a client event id. */
  event(name: string): MadeCommand {
    return this.#eventsOf(name, this.#keys.first, 1, true);
  }

  /** One event that is a new one each time it is sent. */
  plainEvent(name: string): MadeCommand {
    return this.#eventsOf(name, this.#keys.first, 1, false);
  }

  /** The version after the newest one that was acknowledged; null: there are enough. */
  trustRoot(): MadeCommand | null {
    const version = this.#trustRootVersion + 1;
    if (version > TRUST_ROOT_VERSIONS || !this.#options.mayPropose(version)) return null;
    return commandOf({ kind: "trust_root", document: this.#options.trustRootOf(version) });
  }

  /** The newest version that was acknowledged. */
  get trustRootVersion(): number {
    return this.#trustRootVersion;
  }

  /** One record of the command was acknowledged under this id. */
  learn(command: Command, at: number, anchorId: AnchorId): void {
    if (command.kind === "record_claim") {
      const { originFingerprint, subjectPublicKey } = command.claim;
      const holder = nameOf(subjectPublicKey);
      const { credential } = command;
      this.#records.push({ kind: "claim", anchorId, originFingerprint, holder, credential, isRevoked: false });
    } else if (command.kind === "record_revocation") {
      const target = bytesToHex(command.revocation.targetAnchorId);
      for (const record of this.#records) if (bytesToHex(record.anchorId) === target) record.isRevoked = true;
    } else if (command.kind === "record_events") {
      const clientEventId = command.events[at]?.clientEventId ?? null;
      if (clientEventId === null) return;
      this.#events.push({ anchorId, clientEventId, credential: command.credential, isErased: false });
    }
  }

  /** A command without records has its outcome. */
  settle(command: Command, isApplied: boolean): void {
    this.#keys.learn(command, isApplied);
    if (isApplied && command.kind === "trust_root") this.#learnVersion(command.document);
  }

  #learnVersion(document: string): void {
    const next = this.#trustRootVersion + 1;
    if (this.#options.trustRootOf(next) === document) this.#trustRootVersion = next;
  }

  #keyCommand(name: string): MadeCommand {
    return this.#random.chance(0.8) ? commandOf(this.#keys.command(name)) : unsignedOf(this.#keys.foreign(name));
  }

  /** An operator's command; now and then, a forged one in an operator's name. */
  #operators(command: OperatorCommand): MadeCommand {
    return this.#random.chance(0.8) ? commandOf(command) : unsignedOf(command);
  }

  /** An earlier event's id with other content. */
  #otherBody(name: string): MadeCommand | null {
    if (this.#events.length === 0) return null;
    const { clientEventId, credential } = this.#random.pick(this.#events);
    const event = { ...this.#event(name, this.#random.pick(this.#origins), true), clientEventId };
    const contents = [bytesToHex(event.eventHash)];
    const command: Command = { kind: "record_events", credential, atomic: false, events: [event] };
    return { command, isIdempotent: true, forbidden: "anotherBodyUnderAKnownIdIsRefused", contents };
  }

  #erasure(): MadeCommand | null {
    const kept = this.#events.filter(({ isErased }) => !isErased);
    if (!this.#options.erases || kept.length === 0) return null;
    const event = this.#random.pick(kept);
    const { anchorId } = event;
    const { credential } = this.#keys.draw();
    if (!isSameClient(credential, event.credential) && this.#random.chance(0.5)) {
      return { ...commandOf({ kind: "erase_client_event", credential, anchorId }), forbidden: OTHERS };
    }
    const isFirsts = isSameClient(this.#keys.first, event.credential);
    if (!isFirsts || this.#random.chance(0.3)) {
      const made = this.#operators({ kind: "erase_client_event", credential: null, anchorId });
      event.isErased = made.forbidden === null;
      return made;
    }
    event.isErased = true;
    return commandOf({ kind: "erase_client_event", credential: this.#keys.first, anchorId });
  }

  #anyEvents(name: string, credential: Credential, count: number): MadeCommand {
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
      forbidden: null,
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
    return { ...commandOf({ kind: "record_claim", credential, claim }), contents };
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
    const forbidden = grantor.isRevoked || grantee.isRevoked ? "whatIsRevokedStaysRevoked" : null;
    return { ...commandOf({ kind: "record_grant", credential, grant }), forbidden };
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
    const by = this.#random.pick(["subject", "subject", "operator", "client"] as const);
    const signed = { ...content, originFingerprint };
    const signer = by === "subject" ? signRevocation(signed, partyNamed(target.holder)) : null;
    const revocation = {
      ...content,
      targetKind: target.kind,
      targetOriginFingerprint: originFingerprint,
      originFingerprint: null,
      signer,
    };
    if (by === "operator") return this.#operators({ kind: "record_revocation", credential: null, revocation });
    const made = commandOf({ kind: "record_revocation", credential, revocation });
    return by === "client" && !isSameClient(credential, target.credential) ? { ...made, forbidden: OTHERS } : made;
  }
}

/** Sent twice it is done once, and its leaves, if any, are not distinguished. */
function commandOf(command: Command): MadeCommand {
  return { command, isIdempotent: true, forbidden: null, contents: [] };
}

/** An operator's command, forged in one of several ways. */
function unsignedOf(command: OperatorCommand): MadeCommand {
  return { ...commandOf(command), forbidden: "whatNoOperatorSignedIsRefused" };
}

function isSameClient(one: Credential, other: Credential): boolean {
  return equalBytes(one.apiClientId, other.apiClientId);
}

const OTHERS: Forbidden = "whatIsAnothersIsLeftAlone";

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
