/** What can be proposed, already parsed and bounded. */
import type {
  AnchorId,
  ClaimBody,
  GrantBody,
  OriginFingerprint,
  RevocationBody,
  SemanticAnchor,
} from "@event-anchoring/protocol";

/** Who proposes a record. Both are looked up again when the command is decided. */
export interface Credential {
  /** 16 bytes. */
  readonly apiClientId: Uint8Array;
  /** 16 bytes: the first half of the hash of the API key. */
  readonly keyId: Uint8Array;
}

export interface EventInput {
  readonly originFingerprint: OriginFingerprint;
  /** 32 bytes. */
  readonly eventHash: Uint8Array;
  /** All zeros when the request has none. */
  readonly semanticAnchor: SemanticAnchor;
  /** 1 to 128 printable ASCII characters. */
  readonly clientEventId: string | null;
  /** 32 random bytes drawn by the proposing node; present if and only if clientEventId is. */
  readonly clientEventSalt: Uint8Array | null;
  /** Who acted, and their signature over eventActorPayload; null: an event of kind 1, which is unsigned. */
  readonly actor: Signer | null;
}

/** A public key and what its holder has signed. */
export interface Signer {
  /** 32 bytes. */
  readonly publicKey: Uint8Array;
  /** 64 bytes. */
  readonly signature: Uint8Array;
}

export interface ClaimInput extends ClaimBody {
  readonly originFingerprint: OriginFingerprint;
}

export interface GrantInput extends GrantBody {
  readonly originFingerprint: OriginFingerprint;
}

export interface RevocationInput extends Pick<
  RevocationBody,
  "targetAnchorId" | "reason" | "suspectSince" | "issuedAt"
> {
  /** What the target must be. */
  readonly targetKind: "claim" | "grant";
  /** Origin of the target, as its proposer read it: the revoker's signed payload names it. */
  readonly targetOriginFingerprint: OriginFingerprint;
  /**
   * The origin that the request names; null: none. It is used if the target's origin is lost, and must agree with it
   * otherwise.
   */
  readonly originFingerprint: OriginFingerprint | null;
  /** null: none of the target's parties has signed. */
  readonly signer: Signer | null;
}

/** The scopes of API keys, in the order of their bits 1, 2, 4, 8. */
export const SCOPES = ["read", "write", "revoke", "admin"] as const;
export type Scope = (typeof SCOPES)[number];

/** Version 1 of the trust root, as a signed note. The first one applied initialises the ledger. */
export interface GenesisCommand {
  readonly kind: "genesis";
  readonly document: string;
}

/** The version after the newest one, as a signed note. Alone in its entry. */
export interface TrustRootCommand {
  readonly kind: "trust_root";
  readonly document: string;
}

/** 1 to 1,000 events; a single event is a batch of one. */
export interface RecordEventsCommand {
  readonly kind: "record_events";
  readonly credential: Credential;
  /** True: if one item is refused, nothing is anchored. */
  readonly atomic: boolean;
  readonly events: readonly EventInput[];
}

/** One claim. */
export interface RecordClaimCommand {
  readonly kind: "record_claim";
  readonly credential: Credential;
  readonly claim: ClaimInput;
}

/** One grant. */
export interface RecordGrantCommand {
  readonly kind: "record_grant";
  readonly credential: Credential;
  readonly grant: GrantInput;
}

/**
 * One revocation of a claim or a grant. Without a party's signature an API client can revoke its own records, and an
 * operator (credential null) any.
 */
export interface RecordRevocationCommand<By extends Credential | null = Credential> {
  readonly kind: "record_revocation";
  readonly credential: By;
  readonly revocation: RevocationInput;
}

/**
 * Removes the clear text of a client event id and its salt from the ledger; the leaf stays. An API client needs the
 * scope admin and can name its own events, an operator (credential null) any.
 */
export interface EraseClientEventCommand<By extends Credential | null = Credential> {
  readonly kind: "erase_client_event";
  readonly credential: By;
  /** The event's anchor id: so the id to be erased does not go through the log again. */
  readonly anchorId: AnchorId;
}

export interface CreateApiKeyCommand {
  readonly kind: "create_api_key";
  readonly key: {
    /** 32 bytes: H(tag "api-key" ‖ secret). Its first 16 bytes are the key id. */
    readonly keyHash: Uint8Array;
    /** 16 bytes. */
    readonly apiClientId: Uint8Array;
    /** 0 to 128 printable ASCII characters. */
    readonly label: string;
    /** At least one, none twice; the codec puts them into the order of SCOPES. */
    readonly scopes: readonly Scope[];
    /** Unix milliseconds, 0 = never. */
    readonly expiresMs: number;
    /** Requests per second it may make at each node, u32; 0 = the node's configured rate. */
    readonly requestsPerSecond: number;
  };
}

/** A revoked key is powerless from here on and never comes back. */
export interface RevokeApiKeyCommand {
  readonly kind: "revoke_api_key";
  /** 16 bytes. */
  readonly keyId: Uint8Array;
}

/** A new secret for the same API client, label, scopes and rate; the old one stays valid for a while. */
export interface RotateApiKeyCommand {
  readonly kind: "rotate_api_key";
  /** 16 bytes: the key that is replaced. */
  readonly keyId: Uint8Array;
  /** 32 bytes: of the new key. */
  readonly keyHash: Uint8Array;
  /** How long the old key stays valid, milliseconds; never longer than its own expiry. */
  readonly overlapMs: number;
  /** When the new key ends, Unix milliseconds, 0 = never. */
  readonly expiresMs: number;
}

/** Commands of operators only. Outside a signed operator's act they are refused. */
export type OperatorCommand =
  | CreateApiKeyCommand
  | RevokeApiKeyCommand
  | RotateApiKeyCommand
  | RecordRevocationCommand<null>
  | EraseClientEventCommand<null>;

/** The operator, and the number of the act. */
export interface OperatorAct {
  /** The operator's name in the trust root: `[a-z][a-z0-9-]{0,31}`. */
  readonly operator: string;
  /** Above that of every act of this operator decided before; clients take Unix milliseconds. */
  readonly counter: number;
}

/** A command that an operator has signed: operatorActMessage. */
export interface OperatorActCommand extends OperatorAct {
  readonly kind: "operator_act";
  /** 64 bytes. */
  readonly signature: Uint8Array;
  readonly command: OperatorCommand;
}

/** Appends nothing: it gives its entry the certify bit, so that uncovered leaves get a certify point. */
export interface MarkCertifyPointCommand {
  readonly kind: "mark_certify_point";
}

/** Appends nothing: every node signs the state head after its entry. */
export interface MarkStatePointCommand {
  readonly kind: "mark_state_point";
}

/** From the next entry on the ledger is decided by these rules (feature level). Proposed only by leaders. */
export interface RaiseRulesCommand {
  readonly kind: "raise_rules";
  /** u16. */
  readonly rules: number;
}

export type Command =
  | GenesisCommand
  | TrustRootCommand
  | RecordEventsCommand
  | RecordClaimCommand
  | RecordGrantCommand
  | RecordRevocationCommand
  | EraseClientEventCommand
  | OperatorCommand
  | OperatorActCommand
  | MarkCertifyPointCommand
  | MarkStatePointCommand
  | RaiseRulesCommand;

export type CommandKind = Command["kind"];

/** Exactly once: the same id is decided once, however often the group is proposed. */
export interface GroupId {
  /** Raft id of the proposing node, u64. */
  readonly node: bigint;
  /** Incarnation of that node. */
  readonly incarnation: number;
  /** Counts the groups of that incarnation. */
  readonly counter: number;
}

/** Commands that travel to the leader together and are decided in one entry, in this order. Never split. */
export interface ProposalGroup {
  readonly id: GroupId;
  /** Last raft index at which the group may be decided: commit index known to the sender + groupIdEntriesKept. */
  readonly notAfter: number;
  readonly commands: readonly Command[];
}

export interface Cosignature {
  readonly nodeId: string;
  /** Unix seconds. */
  readonly timeS: number;
  /** 64 bytes. */
  readonly signature: Uint8Array;
}

/** Cosignatures over one checkpoint, proposed to be recorded. */
export interface Certificate {
  readonly originFingerprint: OriginFingerprint;
  readonly treeSize: number;
  /** 32 bytes. */
  readonly rootHash: Uint8Array;
  readonly cosignatures: readonly Cosignature[];
}

/** The payload of one raft log entry. Certificates are judged first, then the groups in order. */
export interface Entry {
  readonly version: number;
  /** True: the end of this entry is a certify point. Set whenever a command may append a leaf. */
  readonly certify: boolean;
  /** The leader's stamp, Unix milliseconds. */
  readonly acceptedMs: number;
  readonly certificates: readonly Certificate[];
  readonly groups: readonly ProposalGroup[];
}
