/** The rows that an entry needs before it is decided: requested in bulk, loaded by the store in one round trip. */
import { EMPTY_SEMANTIC_ANCHOR, assertNever, bytesToHex, isZero } from "@event-anchoring/protocol";
import type { AnchorId, OriginFingerprint, SemanticAnchor, Sha256, TrustRoot } from "@event-anchoring/protocol";
import type {
  ClaimInput,
  Command,
  Entry,
  EraseClientEventCommand,
  GrantInput,
  OperatorActCommand,
  RecordEventsCommand,
  RecordRevocationCommand,
} from "../entry/command.ts";
import { claimContentHash, grantContentHash, revocationContentHashOf } from "./content-hash.ts";
import type { Asker } from "./content-hash.ts";
import { LoadedRecords, claimPairHash, REFERENCE_RULES } from "@event-anchoring/records";
import type { AnchorFact, RecordIndex } from "@event-anchoring/records";
import type { LedgerState } from "../state/state.ts";

export interface ClientEventQuery {
  /** 16 bytes. */
  readonly apiClientId: Uint8Array;
  readonly clientEventId: string;
}

/** The two claims that a new grant names: the newest grant between their lineages is asked for. */
export interface GrantPartiesQuery {
  readonly grantorClaim: AnchorId;
  readonly granteeClaim: AnchorId;
}

/** Without repeats. All empty: there is nothing to load. */
export interface FactsQuery {
  readonly clientEvents: readonly ClientEventQuery[];
  /** Anchors that an event refers to, or whose client event id is to be erased: kind and position are enough. */
  readonly anchors: readonly AnchorId[];
  /** Content hashes of claims, grants and revocations, 32 bytes each. */
  readonly contents: readonly Uint8Array[];
  /** claimPairHash of each pair whose newest claim is asked for. */
  readonly claimPairs: readonly Uint8Array[];
  /**
   * Claims and grants with everything that their force depends on: a grant's ancestors to the root, both claims of each
   * of these, and the newest claim of each claim's lineage. Each is among the anchors found as well.
   */
  readonly records: readonly AnchorId[];
  readonly grantParties: readonly GrantPartiesQuery[];
}

/** The event that a client event id was first used for. */
export interface ClientEventFact {
  readonly anchorId: AnchorId;
  readonly originFingerprint: OriginFingerprint;
  readonly sequence: number;
  /** 32 bytes: contentHashOf the event. It stays when the client event id is erased. */
  readonly contentHash: Uint8Array;
  /** The clear text is gone from the tables. A request that names the id has put it into the log again. */
  readonly isErased: boolean;
}

/** A claim, grant or revocation that has this content already. */
export interface ContentFact {
  readonly anchorId: AnchorId;
  readonly originFingerprint: OriginFingerprint;
  readonly sequence: number;
}

/** An anchor that was asked for. */
export interface FoundAnchor extends AnchorFact {
  /** null: it is not an event, or one without a client event id. */
  readonly clientEvent: FoundClientEvent | null;
}

/** The API client of an event; still known after its client event id is erased. */
export interface FoundClientEvent {
  /** 16 bytes. */
  readonly apiClientId: Uint8Array;
  /** The clear text is gone from the tables. */
  readonly isErased: boolean;
}

/** The rows found, as of the entry before the one to be decided. What is not in a map does not exist. */
export interface Facts {
  /** By clientEventKey. */
  readonly clientEvents: ReadonlyMap<string, ClientEventFact>;
  /** By the hex of the anchor id. */
  readonly anchors: ReadonlyMap<string, FoundAnchor>;
  /** By the hex of the content hash. */
  readonly contents: ReadonlyMap<string, ContentFact>;
  /** Every claim and grant that was asked for, or that one of them depends on. */
  readonly records: RecordIndex;
}

/** The answer to an empty query. */
export const NO_FACTS: Facts = {
  clientEvents: new Map(),
  anchors: new Map(),
  contents: new Map(),
  records: new LoadedRecords([], []),
};

/** Names a client event id of one API client in a map. */
export function clientEventKey(apiClientId: Uint8Array, clientEventId: string): string {
  return clientEventKeyWith(clientKeyPrefix(apiClientId), clientEventId);
}

/** The prefix of one API client's keys. */
export function clientKeyPrefix(apiClientId: Uint8Array): string {
  return `${bytesToHex(apiClientId)}:`;
}

export function clientEventKeyWith(prefix: string, clientEventId: string): string {
  return prefix + clientEventId;
}

/** The part of the state that the queries depend on: an operator's revocation is looked up by the operator's key. */
export type FactsGround = Pick<LedgerState, "sha256" | "trustRootChain">;

/** Commands of an API client with its key, and of an operator by an act. */
type Asked =
  | RecordRevocationCommand
  | RecordRevocationCommand<null>
  | EraseClientEventCommand
  | EraseClientEventCommand<null>;

/** Gathers what an entry needs, each item once. */
class FactsGatherer {
  readonly #sha256: Sha256;
  readonly #trustRoot: TrustRoot | null;
  readonly #clientEvents = new Map<string, ClientEventQuery>();
  readonly #anchors = new Map<string, AnchorId>();
  readonly #contents = new Map<string, Uint8Array>();
  readonly #claimPairs = new Map<string, Uint8Array>();
  readonly #records = new Map<string, AnchorId>();
  readonly #grantParties = new Map<string, GrantPartiesQuery>();

  constructor({ sha256, trustRootChain }: FactsGround) {
    this.#sha256 = sha256;
    this.#trustRoot = trustRootChain?.newest.trustRoot ?? null;
  }

  addCommand(command: Command): void {
    switch (command.kind) {
      case "record_events":
        return this.#addEvents(command);
      case "record_claim":
        return this.#addClaim(command.claim);
      case "record_grant":
        return this.#addGrant(command.grant);
      case "record_revocation":
      case "erase_client_event": {
        const { credential } = command;
        if (credential !== null) this.#addAsked(command, { kind: "client", apiClientId: credential.apiClientId });
        return;
      }
      case "operator_act":
        return this.#addAct(command);
      case "genesis":
      case "trust_root":
      case "create_api_key":
      case "revoke_api_key":
      case "rotate_api_key":
      case "mark_certify_point":
      case "mark_state_point":
      case "raise_rules":
        return;
      default:
        assertNever(command);
    }
  }

  /** An act that is unsigned, or signed by a key that is no operator's, needs no facts. */
  #addAct({ operator: name, command }: OperatorActCommand): void {
    const operator = this.#trustRoot?.operators.find((listed) => listed.name === name);
    if (operator === undefined) return;
    if (command.kind !== "record_revocation" && command.kind !== "erase_client_event") return;
    this.#addAsked(command, { kind: "operator", publicKey: operator.vkey.publicKey });
  }

  #addAsked(command: Asked, asker: Asker): void {
    if (command.kind === "erase_client_event") {
      this.#anchors.set(bytesToHex(command.anchorId), command.anchorId);
      return;
    }
    this.#addContent(revocationContentHashOf(command.revocation, asker, this.#sha256));
    this.#addRecord(command.revocation.targetAnchorId);
  }

  #addEvents({ credential, events }: RecordEventsCommand): void {
    const { apiClientId } = credential;
    let prefix: string | null = null;
    for (const { clientEventId, semanticAnchor } of events) {
      if (clientEventId !== null) {
        prefix ??= clientKeyPrefix(apiClientId);
        this.#clientEvents.set(clientEventKeyWith(prefix, clientEventId), { apiClientId, clientEventId });
      }
      // Decoding gives every event without references the same object.
      if (semanticAnchor !== EMPTY_SEMANTIC_ANCHOR) this.#addReferences(semanticAnchor);
    }
  }

  #addReferences(anchor: SemanticAnchor): void {
    for (const { field } of REFERENCE_RULES) {
      const reference = anchor[field];
      if (!isZero(reference)) this.#anchors.set(bytesToHex(reference), reference as AnchorId);
    }
  }

  #addClaim(claim: ClaimInput): void {
    this.#addContent(claimContentHash(claim, this.#sha256));
    const pairHash = claimPairHash(claim, this.#sha256);
    this.#claimPairs.set(bytesToHex(pairHash), pairHash);
  }

  #addGrant(grant: GrantInput): void {
    this.#addContent(grantContentHash(grant, this.#sha256));
    const grantorClaim = this.#addRecord(grant.grantorClaimRef);
    const granteeClaim = this.#addRecord(grant.granteeClaimRef);
    if (!isZero(grant.parentGrantRef)) this.#addRecord(grant.parentGrantRef);
    const name = `${bytesToHex(grantorClaim)}:${bytesToHex(granteeClaim)}`;
    this.#grantParties.set(name, { grantorClaim, granteeClaim });
  }

  #addContent(contentHash: Uint8Array): void {
    this.#contents.set(bytesToHex(contentHash), contentHash);
  }

  #addRecord(reference: Uint8Array): AnchorId {
    const anchorId = reference as AnchorId;
    this.#records.set(bytesToHex(anchorId), anchorId);
    return anchorId;
  }

  query(): FactsQuery {
    return {
      clientEvents: [...this.#clientEvents.values()],
      anchors: [...this.#anchors.values()],
      contents: [...this.#contents.values()],
      claimPairs: [...this.#claimPairs.values()],
      records: [...this.#records.values()],
      grantParties: [...this.#grantParties.values()],
    };
  }
}

/** Which rows have to be loaded before the entry is decided. @param ground the state before it */
export function factsNeeded(entry: Entry, ground: FactsGround): FactsQuery {
  const gatherer = new FactsGatherer(ground);
  for (const group of entry.groups) for (const command of group.commands) gatherer.addCommand(command);
  return gatherer.query();
}

/** True if there is nothing to load: NO_FACTS answers it. */
export function asksNothing(query: FactsQuery): boolean {
  return Object.values(query).every((asked: readonly unknown[]) => asked.length === 0);
}
