/** What verification and tracing answer: the service's own verdicts, never one bare boolean. */
import { utf8ToBytes } from "@event-anchoring/protocol";
import { readAnchor, readClaimAnchor, readGrantAnchor, readRevocationAnchor, readState } from "./anchors.ts";
import type { Anchor, ClaimAnchor, GrantAnchor, RecordState, RevocationAnchor } from "./anchors.ts";
import {
  listOf,
  listOrNone,
  nullable,
  oneOf,
  optional,
  readCount,
  readFlag,
  readHex32,
  readObject,
  readText,
  record,
} from "./answer-reader.ts";
import type { Reader } from "./answer-reader.ts";
import { readCertified, readItemProblem, readReceiptAnswer } from "./answers.ts";
import type { EventList, ItemProblem } from "./answers.ts";
import type { Receipt } from "./receipt.ts";

export type CheckResult = "pass" | "fail" | "not_checked";

/** One check of a verification; docs/PROTOCOL.md, "Verifying", has the codes. There may be more one day. */
export interface VerificationCheck {
  readonly code: string;
  readonly result: CheckResult;
  /** For people. */
  readonly detail: string;
}

/** The position at which was judged. */
export interface AsOfAnswer {
  /** null: a time before the first leaf. */
  readonly sequence: number | null;
  /** Unix milliseconds. */
  readonly timeMs: number;
  /** The same as RFC 3339. */
  readonly time: string;
}

/** What the service says of an anchor. The receipt beside it is what needs no trust in the service. */
export interface Verified {
  /** No deciding check failed, and every one that applies was made. */
  readonly valid: boolean;
  readonly asOf: AsOfAnswer;
  readonly checks: readonly VerificationCheck[];
  readonly anchor: Anchor;
  readonly receipt: Receipt;
  /**
   * If it was asked for: a bundle that proves the verdicts without trust in the service. It was verified, and says what
   * the answer says. Keep it as a file (`*.bundle.json`), for `verifyBundle` or `anchorctl verify`.
   */
  readonly proof: Uint8Array | null;
}

/** A revocation among what was judged. */
export interface RevocationInView {
  readonly anchor: RevocationAnchor;
  readonly targetAnchorId: string;
}

/** What gave a record another state than `active`. */
export interface RecordEnd {
  /** Such as `claim_revoked`; docs/PROTOCOL.md, "In force". There may be more one day. */
  readonly code: string;
  /** The record whose end it was: this one, or one that it depends on. */
  readonly anchorId: string;
  /** The sequence where that record ended; null if time ended it. */
  readonly sequence: number | null;
  /** The anchor at that sequence: a revocation, or the record that superseded it. */
  readonly endedBy: string | null;
}

/** A claim or a grant, and how it has ended. */
export interface HistoryItem<Kind extends Anchor> {
  readonly anchor: Kind;
  /** null while its `state` is `active`. */
  readonly ended: RecordEnd | null;
}

/** A page of claims or grants, ended or not, ascending by sequence. */
export interface RecordHistory<Kind extends Anchor> {
  readonly items: readonly HistoryItem<Kind>[];
  /** null: there is nothing more at the moment. */
  readonly nextCursor: string | null;
  /** How far the list reaches: what each origin had certified. */
  readonly certified: EventList["certified"];
  /** The position at which states were judged. */
  readonly asOf: AsOfAnswer;
}

export type ClaimHistory = RecordHistory<ClaimAnchor>;
export type GrantHistory = RecordHistory<GrantAnchor>;

export interface VerifiedClaim extends Verified {
  readonly anchor: ClaimAnchor;
  /** As of the position judged at. */
  readonly state: RecordState;
  readonly revocations: readonly RevocationInView[];
}

/** One grant of a chain, with the two claims that it names. */
export interface DelegationHop {
  readonly grant: GrantAnchor;
  readonly grantorClaim: ClaimAnchor;
  readonly granteeClaim: ClaimAnchor;
  readonly witnessPublicKey: string;
  readonly witnessIsGrantee: boolean;
}

export interface VerifiedGrant extends Verified {
  readonly anchor: GrantAnchor;
  readonly state: RecordState;
  readonly revocations: readonly RevocationInView[];
  /** From the grant towards the root. */
  readonly delegation: readonly DelegationHop[];
  /** Hops towards the root that are judged and not shown. */
  readonly delegationOmitted: number;
}

/** Checks and anchor; or a problem, for an id that does not exist. */
export interface VerifiedItem {
  readonly anchorId: string;
  readonly valid: boolean;
  readonly checks: readonly VerificationCheck[] | null;
  readonly anchor: Anchor | null;
  readonly problem: ItemProblem | null;
}

/** `results` are in the order of the request. */
export interface VerifiedBatch {
  readonly asOf: AsOfAnswer;
  readonly results: readonly VerifiedItem[];
  readonly summary: {
    readonly total: number;
    readonly valid: number;
    readonly invalid: number;
    readonly notFound: number;
  };
}

export type Verdict = boolean | "unknown";

/** Why a verdict is not true. */
export interface TraceReason {
  readonly verdict: "at_action" | "now";
  readonly code: string;
  /** The record at fault. */
  readonly anchorId: string | null;
  /** Where it ended; null for a matter of time. */
  readonly sequence: number | null;
}

/** From an act back to who acted, who delegated, and within what bounds. docs/PROTOCOL.md, "Tracing". */
export interface Trace {
  readonly anchor: Anchor;
  /**
   * The subject of the claim that the event names has signed it. false: who acted is the word of whoever recorded it,
   * also where it was authorised.
   */
  readonly actorProven: boolean;
  /** Judged at the event's own position. */
  readonly authorisedAtAction: Verdict;
  /** Judged at `asOf`. */
  readonly authorisedNow: Verdict;
  /** A revocation in view names a `suspectSince` that is not after the event. */
  readonly suspect: boolean;
  readonly reasons: readonly TraceReason[];
  readonly actor: {
    readonly claim: Anchor | null;
    readonly state: RecordState | null;
    /** `not_checked`: the event is unsigned. */
    readonly actorSignature: CheckResult;
  };
  readonly delegation: readonly DelegationHop[];
  readonly delegationOmitted: number;
  /** For each lineage in the chain, the newest claim at the event and at `asOf`, unless it is shown elsewhere. */
  readonly lineageClaims: readonly Anchor[];
  readonly boundary: {
    readonly scopeHash: string;
    readonly depth: { readonly granted: number; readonly used: number; readonly left: number };
    /** Unix milliseconds; 0: unbounded. */
    readonly window: { readonly notBefore: number; readonly expiresAt: number };
  } | null;
  /** `not_checked` unless trusted roots were given. */
  readonly rootAuthority: CheckResult;
  readonly possibleParents: readonly string[];
  readonly revocations: readonly (RevocationInView & { readonly beforeAction: boolean })[];
  /** What the rules exclude: a row was altered, or a rule broken. */
  readonly violations: readonly { readonly code: string; readonly anchorId: string; readonly detail: string }[];
  /** The references that are not empty; `field` is a wire name, such as `iris_ref`. */
  readonly references: readonly {
    readonly field: string;
    readonly anchorId: string;
    readonly exists: boolean;
    readonly kind: string | null;
  }[];
  /** Leaves of the same origin before the anchor, deepest first. */
  readonly parents: { readonly items: readonly Anchor[]; readonly nextCursor: string | null };
  /** The latest certified anchor of the origin, in brief. */
  readonly eea: {
    readonly originFingerprint: string;
    readonly anchorId: string;
    readonly depth: number;
    readonly treeSize: number;
    readonly rootHash: string;
    readonly certifiedAt: string;
  };
  readonly asOf: AsOfAnswer;
  readonly receipt: Receipt;
  /**
   * If it was asked for: a bundle that proves the verdicts without trust in the service. It was verified, and says what
   * the answer says. Keep it as a file (`*.bundle.json`), for `verifyBundle` or `anchorctl verify`.
   */
  readonly proof: Uint8Array | null;
}

const readResult = oneOf(["pass", "fail", "not_checked"]);
const readChecks = listOf(record<VerificationCheck>({ code: readText, result: readResult, detail: readText }));
const readAsOf = record<AsOfAnswer>({ sequence: nullable(readCount), timeMs: readCount, time: readText });

function historyReader<Kind extends Anchor>(read: Reader<Kind>): Reader<RecordHistory<Kind>> {
  const ended = record<RecordEnd>({
    code: readText,
    anchorId: readHex32,
    sequence: nullable(readCount),
    endedBy: nullable(readHex32),
  });
  return record<RecordHistory<Kind>>({
    items: listOf(record<HistoryItem<Kind>>({ anchor: read, ended: nullable(ended) })),
    nextCursor: nullable(readText),
    certified: readCertified,
    asOf: readAsOf,
  });
}

export const readClaimHistory = historyReader(readClaimAnchor);
export const readGrantHistory = historyReader(readGrantAnchor);

/** The text of a bundle, unverified. */
const readProof: Reader<Uint8Array> = (value, path) => utf8ToBytes(`${JSON.stringify(readObject(value, path))}\n`);

const VERIFIED = {
  valid: readFlag,
  asOf: readAsOf,
  checks: readChecks,
  receipt: readReceiptAnswer,
  proof: optional(readProof),
} as const;

export const readVerified = record<Verified>({ ...VERIFIED, anchor: readAnchor });

const readRevocationInView = { anchor: readRevocationAnchor, targetAnchorId: readHex32 } as const;

const RECORD = { state: readState, revocations: listOf(record<RevocationInView>(readRevocationInView)) } as const;

export const readVerifiedClaim = record<VerifiedClaim>({ ...VERIFIED, anchor: readClaimAnchor, ...RECORD });

const DELEGATION = {
  delegation: listOf(
    record<DelegationHop>({
      grant: readGrantAnchor,
      grantorClaim: readClaimAnchor,
      granteeClaim: readClaimAnchor,
      witnessPublicKey: readHex32,
      witnessIsGrantee: readFlag,
    }),
  ),
  delegationOmitted: readCount,
} as const;

export const readVerifiedGrant = record<VerifiedGrant>({
  ...VERIFIED,
  anchor: readGrantAnchor,
  ...RECORD,
  ...DELEGATION,
});

export const readVerifiedBatch = record<VerifiedBatch>({
  asOf: readAsOf,
  results: listOf(
    record<VerifiedItem>({
      anchorId: readHex32,
      valid: readFlag,
      checks: optional(readChecks),
      anchor: optional(readAnchor),
      problem: optional(readItemProblem),
    }),
  ),
  summary: record<VerifiedBatch["summary"]>({
    total: readCount,
    valid: readCount,
    invalid: readCount,
    notFound: readCount,
  }),
});

const readVerdict: Reader<Verdict> = (value, path) => (value === "unknown" ? value : readFlag(value, path));

const readBoundary = record<NonNullable<Trace["boundary"]>>({
  scopeHash: readHex32,
  depth: record<NonNullable<Trace["boundary"]>["depth"]>({ granted: readCount, used: readCount, left: readCount }),
  window: record<NonNullable<Trace["boundary"]>["window"]>({ notBefore: readCount, expiresAt: readCount }),
});

/** A trace with some of its hops, and where the others begin. */
export interface TracePage extends Trace {
  /** null: there are no others. */
  readonly delegationNextCursor: string | null;
}

export const readTracePage = record<TracePage>({
  anchor: readAnchor,
  actorProven: readFlag,
  authorisedAtAction: readVerdict,
  authorisedNow: readVerdict,
  suspect: readFlag,
  reasons: listOf(
    record<TraceReason>({
      verdict: oneOf(["at_action", "now"]),
      code: readText,
      anchorId: nullable(readHex32),
      sequence: nullable(readCount),
    }),
  ),
  actor: record<Trace["actor"]>({
    claim: nullable(readAnchor),
    state: nullable(readState),
    actorSignature: readResult,
  }),
  ...DELEGATION,
  delegationNextCursor: optional(readText),
  lineageClaims: listOrNone(readAnchor),
  boundary: nullable(readBoundary),
  rootAuthority: readResult,
  possibleParents: listOf(readHex32),
  revocations: listOf(record<Trace["revocations"][number]>({ ...readRevocationInView, beforeAction: readFlag })),
  violations: listOf(record<Trace["violations"][number]>({ code: readText, anchorId: readHex32, detail: readText })),
  references: listOf(
    record<Trace["references"][number]>({
      field: readText,
      anchorId: readHex32,
      exists: readFlag,
      kind: nullable(readText),
    }),
  ),
  parents: record<Trace["parents"]>({ items: listOf(readAnchor), nextCursor: nullable(readText) }),
  eea: record<Trace["eea"]>({
    originFingerprint: readHex32,
    anchorId: readHex32,
    depth: readCount,
    treeSize: readCount,
    rootHash: readHex32,
    certifiedAt: readText,
  }),
  asOf: readAsOf,
  receipt: readReceiptAnswer,
  proof: optional(readProof),
});
