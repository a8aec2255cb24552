/** What queries take. */
import { InvalidInput } from "./errors.ts";
import { attributeType, clientEventId, count, hex32 } from "./inputs.ts";
import type { Bytes32 } from "./inputs.ts";

/** A position: a sequence, a Date, or an RFC 3339 text with offset. */
export type AsOfInput = number | Date | string;

/** Exactly one of these. */
export type EventFilter =
  | { readonly eventHash: Bytes32 }
  | { readonly irisRef: Bytes32 }
  | { readonly grantRef: Bytes32 }
  /** An event of your own API client. */
  | { readonly clientEventId: string };

/** Whose claims a history holds. */
export interface ClaimFilter {
  readonly entityFingerprint: Bytes32;
  /** Default: every type. */
  readonly attributeType?: number | string | undefined;
}

/** Whose grants a history holds: one of the two, or both. */
export interface GrantFilter {
  readonly grantorFingerprint?: Bytes32 | undefined;
  readonly granteeFingerprint?: Bytes32 | undefined;
}

/** What a verdict is about. */
export interface AsOfQuestion {
  /** The position to judge at. Default: now. */
  readonly asOf?: AsOfInput | undefined;
}

/** A verdict that may be proved. */
export interface ProvableQuestion extends AsOfQuestion {
  /**
   * true: the result has a `proof` of its verdicts, which was verified offline by the client's `trustRoot`. It is as of
   * a state that a quorum signs for it, up to two seconds later. Default: false.
   */
  readonly proof?: boolean | undefined;
}

export interface VerifyEventQuestion extends ProvableQuestion {
  /** What you believe was anchored. */
  readonly eventHash?: Bytes32 | undefined;
}

export interface ChainQuestion extends ProvableQuestion {
  /** Claims whose lineages are trusted to grant without a parent. */
  readonly trustedRoots?: readonly Bytes32[] | undefined;
}

/** One anchor of a batch to verify. */
export interface AnchorToVerify {
  readonly anchorId: Bytes32;
  readonly eventHash?: Bytes32 | undefined;
}

export interface LatestQuestion {
  /** Default: that of the node that answers. */
  readonly originFingerprint?: Bytes32 | undefined;
  /** The tree size that you have pinned, to be shown that it is the beginning of this one. */
  readonly fromSize?: number | undefined;
  /** Waits until the tree is larger than this, `waitSeconds` long: the answer is then what there is, larger or not. */
  readonly afterSize?: number | undefined;
  /** 1 to 30, with `afterSize`. */
  readonly waitSeconds?: number | undefined;
}

export interface ConsistencyQuestion {
  readonly fromSize: number;
  /** Default: the newest certified. */
  readonly toSize?: number | undefined;
  /** Default: that of the node that answers. */
  readonly originFingerprint?: Bytes32 | undefined;
}

/** A page of a list. */
export interface PageInput {
  /** `nextCursor` of the page before. */
  readonly cursor?: string | null | undefined;
  /** Default: 20. At most 100. */
  readonly limit?: number | undefined;
}

/** @throws InvalidInput */
export function latestQuery({ originFingerprint, fromSize, afterSize, waitSeconds }: LatestQuestion): {
  readonly origin_fingerprint: string | null;
  readonly from_size: number | null;
  readonly after_size: number | null;
  readonly wait: number | null;
} {
  const counted = (field: string, value: number | undefined): number | null =>
    value === undefined ? null : count(field, value);
  return {
    origin_fingerprint: originFingerprint === undefined ? null : hex32("originFingerprint", originFingerprint),
    from_size: counted("fromSize", fromSize),
    after_size: counted("afterSize", afterSize),
    wait: counted("waitSeconds", waitSeconds),
  };
}

/** @throws InvalidInput */
export function consistencyQuery({ fromSize, toSize, originFingerprint }: ConsistencyQuestion): {
  readonly origin_fingerprint: string | null;
  readonly from_size: number;
  readonly to_size: number | null;
} {
  return {
    origin_fingerprint: originFingerprint === undefined ? null : hex32("originFingerprint", originFingerprint),
    from_size: count("fromSize", fromSize),
    to_size: toSize === undefined ? null : count("toSize", toSize),
  };
}

const RFC_3339 = /^\d{4}-\d{2}-\d{2}[Tt]\d{2}:\d{2}:\d{2}(\.\d+)?([Zz]|[+-]\d{2}:\d{2})$/;

function position(asOf: AsOfInput): number | string {
  if (typeof asOf === "number") return count("asOf", asOf);
  if (asOf instanceof Date && !Number.isNaN(asOf.getTime())) return asOf.toISOString();
  // Digits as text would be a sequence in one place and a time in the other.
  if (typeof asOf === "string" && RFC_3339.test(asOf)) return asOf;
  throw new InvalidInput("asOf", "expected a sequence, a Date, or an RFC 3339 time with offset");
}

/** As a member of a body. @throws InvalidInput */
export function asOfBody(asOf: AsOfInput | undefined): { readonly as_of?: number | string } {
  return asOf === undefined ? {} : { as_of: position(asOf) };
}

/** As a query parameter; null: none. @throws InvalidInput */
export function asOfQuery(asOf: AsOfInput | undefined): number | string | null {
  return asOf === undefined ? null : position(asOf);
}

/** @throws InvalidInput */
export function hexList(field: string, values: readonly Bytes32[]): string[] {
  return values.map((value, at) => hex32(`${field}[${at}]`, value));
}

const FILTERS = [
  ["eventHash", "event_hash"],
  ["irisRef", "iris_ref"],
  ["grantRef", "grant_ref"],
  ["clientEventId", "client_event_id"],
] as const;

/** The one query parameter of a filter. @throws InvalidInput */
export function filterOf(filter: EventFilter): Readonly<Record<string, string>> {
  const given: Readonly<Record<string, unknown>> = { ...filter };
  const found = FILTERS.filter(([name]) => given[name] !== undefined);
  const [only] = found;
  if (only === undefined || found.length > 1) {
    throw new InvalidInput("filter", `expected exactly one of ${FILTERS.map(([name]) => name).join(", ")}`);
  }
  const [name, wire] = only;
  return { [wire]: name === "clientEventId" ? clientEventId(name, given[name]) : hex32(name, given[name]) };
}

/** @throws InvalidInput */
export function claimFilterOf(filter: ClaimFilter): Readonly<Record<string, string | number>> {
  const { entityFingerprint, attributeType: type } = filter;
  return {
    entity_fingerprint: hex32("entityFingerprint", entityFingerprint),
    ...(type === undefined ? {} : { attribute_type: attributeType("attributeType", type) }),
  };
}

/** @throws InvalidInput */
export function grantFilterOf(filter: GrantFilter): Readonly<Record<string, string>> {
  const { grantorFingerprint: grantor, granteeFingerprint: grantee } = filter;
  if (grantor === undefined && grantee === undefined)
    throw new InvalidInput("filter", "expected grantorFingerprint, granteeFingerprint or both");
  return {
    ...(grantor === undefined ? {} : { grantor_fingerprint: hex32("grantorFingerprint", grantor) }),
    ...(grantee === undefined ? {} : { grantee_fingerprint: hex32("granteeFingerprint", grantee) }),
  };
}

/** The path of one anchor. @throws InvalidInput */
export function anchorPath(anchorId: Bytes32): string {
  return `/v1/event-anchors/${hex32("anchorId", anchorId)}`;
}
