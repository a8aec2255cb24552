/** What a history consists of, named by plain numbers and words: neither bytes nor the service's own types. */

/** A sequence number; NOWHERE: an id that no anchor has; null: empty. */
export type Reference = number | null;

export const NOWHERE = -1;

/** The API key that an operation is proposed with. */
export interface Proposer {
  /** Names the key itself. */
  readonly key: string;
  readonly client: string;
  readonly scopes: readonly string[];
  readonly isLive: boolean;
}

/** An operator's signed act, in which something is asked for instead of with an API key. */
export interface Act {
  /** Whom the ledger may or may not know as an operator. */
  readonly operator: string;
  /** Numbers an operator's acts, upwards. */
  readonly counter: number;
  readonly isForged: boolean;
}

interface Proposed {
  readonly by: Proposer;
  readonly origin: string;
  /** Unix milliseconds, 0 = not stated. */
  readonly issuedAt: number;
}

export interface ClaimOperation extends Proposed {
  readonly kind: "claim";
  readonly entity: string;
  readonly attributeType: number;
  readonly attribute: string;
  readonly expiresAt: number;
  readonly subject: string;
  readonly issuer: string;
  /** Whose signature is not good; the issuer's is made over it all the same. */
  readonly forged: "subject" | "issuer" | null;
}

export interface GrantOperation extends Proposed {
  readonly kind: "grant";
  readonly grantor: number;
  readonly grantee: number;
  readonly parent: Reference;
  readonly scope: string;
  readonly delegationDepth: number;
  readonly notBefore: number;
  readonly expiresAt: number;
  readonly grantorKey: string;
  readonly witnessKey: string;
  readonly forged: "grantor" | "witness" | null;
}

export interface RevocationOperation extends Omit<Proposed, "origin"> {
  readonly kind: "revocation";
  readonly target: number;
  readonly targetKind: "claim" | "grant";
  /** The origin that the request names; null: none. */
  readonly origin: string | null;
  readonly reason: number;
  readonly suspectSince: number;
  /** Which party has signed; null: none. */
  readonly revoker: string | null;
  readonly isForged: boolean;
  /** null: with the API key. In an act no party signs. */
  readonly act: Act | null;
}

/** That the client event id of an event is forgotten. */
export interface ErasureOperation {
  readonly kind: "erasure";
  readonly by: Proposer;
  readonly act: Act | null;
  readonly target: number;
}

export interface EventOperation extends Omit<Proposed, "issuedAt"> {
  readonly kind: "event";
  readonly hash: string;
  readonly iris: Reference;
  readonly scroll: Reference;
  readonly grant: Reference;
  readonly bond: Reference;
  readonly yield: Reference;
  /** What event_data_hash names; null: empty. */
  readonly eventDataHash: string | null;
  readonly clientEventId: string | null;
  /** null: nobody has signed. */
  readonly actor: string | null;
  readonly isForged: boolean;
}

/** What becomes a record. */
export type RecordOperation = ClaimOperation | GrantOperation | RevocationOperation | EventOperation;

export type Operation = RecordOperation | ErasureOperation;

/** What an operation is answered with. */
export type Verdict =
  | { readonly result: "accepted"; readonly origin: string }
  | { readonly result: "replayed"; readonly sequence: number }
  /** An erasure was done, or there was nothing to do. */
  | { readonly result: "applied" | "unchanged" }
  | { readonly result: "refused"; readonly code: string; readonly pointer: string | null };

/** A sequence number and the time that goes with it. */
export interface Position {
  readonly sequence: number;
  /** Unix milliseconds. */
  readonly timeMs: number;
}
