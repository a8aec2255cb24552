/** The parts of GET /v1/event-anchors/{anchor_id}/trace that are shown to a person. docs/PROTOCOL.md, "Tracing". */
import { readers } from "@event-anchoring/sdk";
import type {
  AnchorHeader,
  AsOfAnswer,
  DelegationHop,
  Reader,
  Trace,
  TraceReason,
  Verdict,
} from "@event-anchoring/sdk";

const { count, flag, hex32, listOf, nullable, oneOf, optional, record, text } = readers;

/** A record as the trace shows it. */
export interface ShownRecord extends Pick<AnchorHeader, "anchorId" | "sequence" | "acceptedAt"> {
  readonly kind: string;
  /** State of a claim or a grant. */
  readonly state: string | null;
}

/** What it is about, and whose key it names. */
export interface ShownClaim extends ShownRecord {
  readonly entityFingerprint: string | null;
  readonly subjectPublicKey: string | null;
}

export interface ShownHop extends Pick<DelegationHop, "witnessPublicKey" | "witnessIsGrantee"> {
  readonly grant: ShownRecord & { readonly delegationDepth: number };
  readonly grantorClaim: ShownClaim;
  readonly granteeClaim: ShownClaim;
}

type Boundary = NonNullable<Trace["boundary"]>;

interface ShownRevocation {
  readonly anchor: Omit<ShownRecord, "kind" | "state"> & { readonly reason: string; readonly authority: string };
  readonly targetAnchorId: string;
  readonly beforeAction: boolean;
}

export interface ShownTrace extends Pick<
  Trace,
  | "actorProven"
  | "authorisedAtAction"
  | "authorisedNow"
  | "suspect"
  | "reasons"
  | "delegationOmitted"
  | "boundary"
  | "rootAuthority"
  | "violations"
> {
  readonly anchor: ShownRecord;
  readonly actor: Pick<Trace["actor"], "actorSignature"> & {
    readonly claim: ShownClaim | null;
    readonly state: string | null;
  };
  /** From the grant that the event names to the root grant. */
  readonly delegation: readonly ShownHop[];
  readonly revocations: readonly ShownRevocation[];
  readonly asOf: Pick<AsOfAnswer, "sequence" | "time">;
}

const PLACE = { anchorId: hex32, sequence: count, acceptedAt: text } as const;
const RECORD = { ...PLACE, kind: text, state: optional(text) } as const;

const readRecord = record<ShownRecord>(RECORD);
const readClaim = record<ShownClaim>({
  ...RECORD,
  entityFingerprint: optional(hex32),
  subjectPublicKey: optional(hex32),
});
const readVerdict: Reader<Verdict> = (value, path) => (value === "unknown" ? value : flag(value, path));
const readResult = oneOf(["pass", "fail", "not_checked"]);

/** Reads the whole answer. @throws UnexpectedAnswer */
export const readTrace = record<ShownTrace>({
  anchor: readRecord,
  actorProven: flag,
  authorisedAtAction: readVerdict,
  authorisedNow: readVerdict,
  suspect: flag,
  reasons: listOf(
    record<TraceReason>({
      verdict: oneOf(["at_action", "now"]),
      code: text,
      anchorId: optional(hex32),
      sequence: optional(count),
    }),
  ),
  actor: record<ShownTrace["actor"]>({
    claim: optional(readClaim),
    state: optional(text),
    actorSignature: readResult,
  }),
  delegation: listOf(
    record<ShownHop>({
      grant: record<ShownHop["grant"]>({ ...RECORD, delegationDepth: count }),
      grantorClaim: readClaim,
      granteeClaim: readClaim,
      witnessPublicKey: hex32,
      witnessIsGrantee: flag,
    }),
  ),
  delegationOmitted: count,
  boundary: nullable(
    record<Boundary>({
      scopeHash: hex32,
      depth: record<Boundary["depth"]>({ granted: count, used: count, left: count }),
      window: record<Boundary["window"]>({ notBefore: count, expiresAt: count }),
    }),
  ),
  rootAuthority: readResult,
  revocations: listOf(
    record<ShownRevocation>({
      anchor: record<ShownRevocation["anchor"]>({ ...PLACE, reason: text, authority: text }),
      targetAnchorId: hex32,
      beforeAction: flag,
    }),
  ),
  violations: listOf(record<Trace["violations"][number]>({ code: text, anchorId: hex32, detail: text })),
  asOf: record<ShownTrace["asOf"]>({ sequence: optional(count), time: text }),
});
