/** What writes, queries and lists answer. */
import {
  readAnchor,
  readClaimAnchor,
  readEventAnchor,
  readGrantAnchor,
  readRevocationAnchor,
  readState,
} from "./anchors.ts";
import type {
  Anchor,
  ClaimAnchor,
  EventAnchor,
  GrantAnchor,
  RecordState,
  RevocationAnchor,
  SignedEventAnchor,
} from "./anchors.ts";
import {
  listOf,
  nullable,
  optional,
  readCount,
  readFlag,
  readHash,
  readHex32,
  readObject,
  readText,
  record,
} from "./answer-reader.ts";
import type { Reader } from "./answer-reader.ts";
import { UnexpectedAnswer, VerificationError } from "./errors.ts";
import type { ProblemItem } from "./errors.ts";
import { Receipt } from "./receipt.ts";
import { withWholeReceipts } from "./shared-receipts.ts";

/** A result, and the request that it answers. */
export type Answered<Result> = Result & {
  /** `X-Request-Id`, to be quoted to the operators of the service. */
  readonly requestId: string;
};

/** One record that was written, or was there already. */
export interface Created<Kind extends Anchor = Anchor> {
  readonly anchor: Kind;
  /** null: committed and not yet certified (202). `getAnchor` answers with it once there is one. */
  readonly receipt: Receipt | null;
  /** It was recorded before, and this is that record as it is now. */
  readonly replayed: boolean;
}

/** An event that was written. */
export interface CreatedEvent extends Created<EventAnchor | SignedEventAnchor> {
  /** What it was sent with: ask again with it. null if the caller forbade one. */
  readonly clientEventId: string | null;
}

/** A revocation that was written; `anchor` is its record. */
export interface Revoked extends Created<RevocationAnchor> {
  readonly revokedAnchorId: string;
}

/** Why an item of a batch was refused. */
export interface ItemProblem {
  readonly type: string;
  readonly status: number;
  readonly code: string;
  readonly title: string;
  readonly detail: string;
  readonly errors: readonly ProblemItem[];
}

/** One item of a batch: an anchor, or a problem. */
export interface BatchItem {
  /** What the item would have been answered alone: 201, 200, 202, or that of its problem. */
  readonly status: number;
  readonly anchor: Anchor | null;
  readonly receipt: Receipt | null;
  readonly replayed: boolean;
  readonly problem: ItemProblem | null;
}

export interface BatchSummary {
  readonly total: number;
  readonly created: number;
  readonly replayed: number;
  readonly committed: number;
  readonly refused: number;
}

/** `results` are in the order of the request. */
export interface CreatedBatch {
  readonly results: readonly BatchItem[];
  readonly summary: BatchSummary;
}

/** An anchor with a receipt of now; null while it is not certified. */
export interface FoundAnchor {
  readonly anchor: Anchor;
  readonly receipt: Receipt | null;
}

/** The active claim of an entity and an attribute type. */
export interface ActiveClaim {
  readonly anchor: ClaimAnchor;
  readonly receipt: Receipt;
  readonly state: RecordState;
}

/** The grant in force between two entities. */
export interface ActiveGrant {
  readonly anchor: GrantAnchor;
  readonly receipt: Receipt;
  readonly state: RecordState;
  /** Further grants in force between other lineages of the same two. */
  readonly others: number;
}

/** A page of certified events, ascending by sequence. */
export interface EventList {
  readonly items: readonly (EventAnchor | SignedEventAnchor)[];
  /** null: there is nothing more at the moment. */
  readonly nextCursor: string | null;
  /** How far the list reaches: what each origin had certified. */
  readonly certified: readonly { readonly originFingerprint: string; readonly treeSize: number }[];
}

/** Shows that a smaller tree is the beginning of a larger one. */
export interface ConsistencyWithPin {
  readonly fromSize: number;
  readonly treeSize: number;
  readonly proof: readonly Uint8Array[];
}

/** The latest certified anchor (EEA) of one origin. */
export interface LatestAnchor {
  readonly originFingerprint: string;
  readonly depth: number;
  readonly treeSize: number;
  readonly anchor: Anchor;
  readonly rootHash: string;
  readonly certifiedAt: string;
  /** The signed note. */
  readonly checkpoint: string;
  readonly quorum: {
    readonly threshold: number;
    readonly trustRootVersion: number;
    readonly cosigners: readonly {
      readonly name: string;
      /** Unix seconds. */
      readonly time: number;
    }[];
  };
  readonly receipt: Receipt;
  /** null unless `fromSize` was given. */
  readonly consistency: ConsistencyWithPin | null;
}

export interface ConsistencyAnswer {
  readonly originFingerprint: string;
  readonly from: { readonly treeSize: number; readonly rootHash: string };
  readonly to: {
    readonly treeSize: number;
    readonly rootHash: string;
    /** null unless this is the newest certified size. */
    readonly checkpoint: string | null;
  };
  readonly proof: readonly Uint8Array[];
}

export interface Erased {
  readonly anchor: Anchor;
  /** False: there was nothing to erase, or it was erased before. */
  readonly erased: boolean;
}

export const readReceiptAnswer: Reader<Receipt> = (value, path) => {
  try {
    return Receipt.parse(readObject(value, path));
  } catch (error) {
    if (!(error instanceof VerificationError)) throw error;
    throw new UnexpectedAnswer(`${path} of the answer is ${error.message}`, { cause: error });
  }
};

/** A receipt that is the whole answer. */
export const readBareReceipt: Reader<{ readonly receipt: Receipt }> = (value, path) => ({
  receipt: readReceiptAnswer(value, path),
});

function createdReader<Kind extends Anchor>(read: Reader<Kind>): Reader<Created<Kind>> {
  return record<Created<Kind>>({ anchor: read, receipt: nullable(readReceiptAnswer), replayed: readFlag });
}

export const readCreatedEvent = createdReader(readEventAnchor);
export const readCreatedClaim = createdReader(readClaimAnchor);
export const readCreatedGrant = createdReader(readGrantAnchor);

export const readRevoked = record<Revoked>({
  anchor: readRevocationAnchor,
  receipt: nullable(readReceiptAnswer),
  replayed: readFlag,
  revokedAnchorId: readHex32,
});

const readProblemItem = record<ProblemItem>({
  pointer: optional(readText),
  parameter: optional(readText),
  code: readText,
  detail: readText,
});

export const readItemProblem = record<ItemProblem>({
  type: readText,
  status: readCount,
  code: readText,
  title: readText,
  detail: readText,
  errors: (value, path) => (value === undefined ? [] : listOf(readProblemItem)(value, path)),
});

const readAnyBatch = record<CreatedBatch>({
  results: listOf(
    record<BatchItem>({
      status: readCount,
      anchor: optional(readAnchor),
      receipt: optional(readReceiptAnswer),
      replayed: (value, path) => value !== undefined && readFlag(value, path),
      problem: optional(readItemProblem),
    }),
  ),
  summary: record<BatchSummary>({
    total: readCount,
    created: readCount,
    replayed: readCount,
    committed: readCount,
    refused: readCount,
  }),
});

/** @param sent how many events: there is one result for each */
export function readCreatedBatch(sent: number): Reader<CreatedBatch> {
  return (value, path) => {
    const batch = readAnyBatch(withWholeReceipts(value, path), path);
    if (batch.results.length === sent) return batch;
    throw new UnexpectedAnswer(`${sent} events were sent, and the answer is about ${batch.results.length}`);
  };
}

export const readFoundAnchor = record<FoundAnchor>({ anchor: readAnchor, receipt: nullable(readReceiptAnswer) });

export const readActiveClaim = record<ActiveClaim>({
  anchor: readClaimAnchor,
  receipt: readReceiptAnswer,
  state: readState,
});

export const readActiveGrant = record<ActiveGrant>({
  anchor: readGrantAnchor,
  receipt: readReceiptAnswer,
  state: readState,
  others: readCount,
});

export const readCertified: Reader<EventList["certified"]> = listOf(
  record<EventList["certified"][number]>({ originFingerprint: readHex32, treeSize: readCount }),
);

export const readEventList = record<EventList>({
  items: listOf(readEventAnchor),
  nextCursor: nullable(readText),
  certified: readCertified,
});

export const readLatest = record<LatestAnchor>({
  originFingerprint: readHex32,
  depth: readCount,
  treeSize: readCount,
  anchor: readAnchor,
  rootHash: readHex32,
  certifiedAt: readText,
  checkpoint: readText,
  quorum: record<LatestAnchor["quorum"]>({
    threshold: readCount,
    trustRootVersion: readCount,
    cosigners: listOf(record<LatestAnchor["quorum"]["cosigners"][number]>({ name: readText, time: readCount })),
  }),
  receipt: readReceiptAnswer,
  consistency: optional(
    record<ConsistencyWithPin>({ fromSize: readCount, treeSize: readCount, proof: listOf(readHash) }),
  ),
});

export const readConsistency = record<ConsistencyAnswer>({
  originFingerprint: readHex32,
  from: record<ConsistencyAnswer["from"]>({ treeSize: readCount, rootHash: readHex32 }),
  to: record<ConsistencyAnswer["to"]>({ treeSize: readCount, rootHash: readHex32, checkpoint: nullable(readText) }),
  proof: listOf(readHash),
});

export const readErased = record<Erased>({ anchor: readAnchor, erased: readFlag });
