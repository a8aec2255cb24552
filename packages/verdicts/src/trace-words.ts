/** Verdicts on acts, and their reasons, in words. */
import type { Mark } from "./mark.ts";
import { isoMs } from "./times.ts";

/** Names for hashes, where somebody knows them: by their hex digits. */
export type Names = ReadonlyMap<string, string>;

export const NO_NAMES: Names = new Map();
const SHORT_DIGITS = 12;

/** The first digits of a hash: enough to recognise it, too few to copy it by mistake. */
export function short(hex: string): string {
  return hex.length > SHORT_DIGITS ? `${hex.slice(0, SHORT_DIGITS)}…` : hex;
}

/** @param otherwise its name if it has no label */
export function named(hex: string, names: Names, otherwise?: string): string {
  const name = names.get(hex) ?? otherwise;
  return name === undefined ? short(hex) : `${name} ${short(hex)}`;
}

const REASON_TEXTS: Readonly<Record<string, string>> = {
  not_an_event: "only events are acts",
  iris_ref_empty: "the event names no claim of its actor",
  grant_ref_empty: "the event names no grant",
  reference_wrong_kind: "a reference names a record of another kind",
  records_not_loaded: "a record that would decide is missing, or contradicts its leaf",
  actor_key_mismatch: "somebody else than the actor has signed it",
  actor_not_grantee: "the actor is not the one whom the grant names",
  claim_revoked: "the actor's claim is revoked",
  claim_superseded: "a newer claim has taken the place of the actor's",
  claim_expired: "the actor's claim has expired",
  grant_revoked: "the grant is revoked",
  grant_superseded: "a newer grant has taken the place of this one",
  grant_not_yet_valid: "the grant's window has not begun",
  grant_expired: "the grant's window has ended",
  grantor_claim_revoked: "the grantor's claim is revoked",
  grantee_claim_revoked: "the grantee's claim is revoked",
  grantor_not_in_force: "no claim of the grantor is in force",
  grantee_not_in_force: "no claim of the grantee is in force",
};

/** Why a verdict on an act is not true. */
export interface ReasonInWords {
  readonly code: string;
  /** Hex digits of the record at fault, if there is one. */
  readonly anchorId: string | null;
  readonly sequence: number | null;
}

/** `the grant is revoked: 3f9a0c11e2d4…, sequence 19 (grant_revoked)` */
export function reasonText({ code, anchorId, sequence }: ReasonInWords, names: Names = NO_NAMES): string {
  const where = [
    ...(anchorId === null ? [] : [named(anchorId, names)]),
    ...(sequence === null ? [] : [`sequence ${sequence}`]),
  ];
  const place = where.length === 0 ? "" : `: ${where.join(", ")}`;
  return `${REASON_TEXTS[code] ?? code}${place} (${code})`;
}

/** How a verdict on an act is shown. */
export interface ShownVerdict {
  readonly mark: Mark;
  /** One word or two, for a table. */
  readonly word: string;
  /** As a sentence begins. */
  readonly text: string;
}

/** What was authorised and not signed is never shown as what was. */
export function shownVerdict(verdict: boolean | "unknown", isActorProven: boolean): ShownVerdict {
  if (verdict === "unknown") return { mark: "skip", word: "unknown", text: "authorised: unknown" };
  if (!verdict) return { mark: "fail", word: "no", text: "authorised: no" };
  if (!isActorProven) return { mark: "warn", word: "not signed", text: "authorised, not signed" };
  return { mark: "pass", word: "yes", text: "authorised: yes" };
}

/** A window of Unix milliseconds; 0: that end is open. */
export function windowText({
  notBefore,
  expiresAt,
}: {
  readonly notBefore: number;
  readonly expiresAt: number;
}): string {
  const from = notBefore === 0 ? "" : ` from ${isoMs(notBefore)}`;
  const until = expiresAt === 0 ? "" : ` until ${isoMs(expiresAt)}`;
  return from === "" && until === "" ? "at any time" : `${from}${until}`.trimStart();
}

/** `no further hop`, `1 further hop`, `2 further hops` */
export function hopsText(delegationDepth: number): string {
  if (delegationDepth === 0) return "no further hop";
  return `${delegationDepth} further ${delegationDepth === 1 ? "hop" : "hops"}`;
}

/** How far a delegation reaches. */
export interface BoundaryInWords {
  /** Hex digits. */
  readonly scopeHash: string;
  readonly depth: { readonly granted: number; readonly used: number; readonly left: number };
  readonly window: { readonly notBefore: number; readonly expiresAt: number };
}

/** `scope 5f161c914988…, at any time, hops: 2 granted, 1 used, 1 left` */
export function boundaryText({ scopeHash, depth, window }: BoundaryInWords, names: Names = NO_NAMES): string {
  const hops = `${depth.granted} granted, ${depth.used} used, ${depth.left} left`;
  return `scope ${named(scopeHash, names)}, ${windowText(window)}, hops: ${hops}`;
}
