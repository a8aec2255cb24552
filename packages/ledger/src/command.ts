/** What can be proposed, already parsed and bounded. Claims, grants and revocations are further members of Command. */
import type { OriginFingerprint, SemanticAnchor } from "@event-anchoring/protocol";

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
}

/** What an API key may be used for, in the order of their bits 1, 2, 4, 8. */
export const SCOPES = ["read", "write", "revoke", "admin"] as const;
export type Scope = (typeof SCOPES)[number];

/** Version 1 of the trust root, as a signed note. The first one applied brings the ledger to life. */
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

export interface CreateApiKeyCommand {
  readonly kind: "create_api_key";
  /** Who made the key, for the record: 1 to 128 printable ASCII characters. */
  readonly operator: string;
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
  };
}

/** Appends nothing: it gives its entry the certify bit, so that uncovered leaves get a certify point. */
export interface MarkCertifyPointCommand {
  readonly kind: "mark_certify_point";
}

export type Command =
  | GenesisCommand
  | TrustRootCommand
  | RecordEventsCommand
  | CreateApiKeyCommand
  | MarkCertifyPointCommand;

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
  readonly version: 1;
  /** True: the end of this entry is a certify point. Set whenever a command may append a leaf. */
  readonly certify: boolean;
  /** The leader's stamp, Unix milliseconds. */
  readonly acceptedMs: number;
  readonly certificates: readonly Certificate[];
  readonly groups: readonly ProposalGroup[];
}
