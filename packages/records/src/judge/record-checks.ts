/** Checks that claims and grants have beyond those of every anchor. */
import { LEAF_KIND, bytesToHex, equalBytes } from "@event-anchoring/protocol";
import type { AnchorId } from "@event-anchoring/protocol";
import { deciding, positionText } from "./anchor-checks.ts";
import type { AsOf } from "../book/as-of.ts";
import type { WeighedCheck } from "./checks.ts";
import type { LeafRows } from "./leaf-rows.ts";
import type { ClaimRecord, GrantRecord } from "../book/records.ts";

/** The first revocation of an anchor among leaves, up to a position: its sequence and id. */
function firstRevocation(
  target: AnchorId,
  revocations: LeafRows,
  at: AsOf,
): { sequence: number; anchorId: AnchorId } | null {
  for (const { leaf, anchorId } of revocations.all()) {
    if (leaf.kind !== LEAF_KIND.revocation || leaf.sequence > at.sequence) continue;
    if (equalBytes(leaf.targetAnchorId, target)) return { sequence: leaf.sequence, anchorId };
  }
  return null;
}

/**
 * Fails if the record is marked as revoked, and also if there is a revocation that the record does not have.
 * @param revocations leaves that revoke it
 */
export function checkRevocation(
  record: ClaimRecord | GrantRecord,
  revocations: LeafRows,
  at: AsOf,
): WeighedCheck<"revocation"> {
  const code = "revocation";
  const first = firstRevocation(record.anchorId, revocations, at);
  if (first !== null)
    return deciding(code, false, `revoked at sequence ${first.sequence} by ${bytesToHex(first.anchorId)}`);
  const { revokedAt } = record;
  if (revokedAt !== null && revokedAt <= at.sequence) return deciding(code, false, `revoked at sequence ${revokedAt}`);
  const detail = revokedAt === null ? "" : `; revoked later, at sequence ${revokedAt}`;
  return deciding(code, true, `not revoked as of ${positionText(at)}${detail}`);
}

/** @param successor sequence of the claim that superseded it; null: none is known */
export function checkSuperseded(successor: number | null, at: AsOf): WeighedCheck<"superseded"> {
  const code = "superseded";
  if (successor !== null && successor <= at.sequence)
    return deciding(code, false, `superseded at sequence ${successor}`);
  const detail = successor === null ? "" : `; superseded later, at sequence ${successor}`;
  return deciding(code, true, `not superseded as of ${positionText(at)}${detail}`);
}

/** Whether a time lies in [notBefore, expiresAt); 0 bounds nothing. */
export function checkWindow(
  window: { readonly notBefore: number; readonly expiresAt: number },
  at: AsOf,
): WeighedCheck<"window"> {
  const { notBefore, expiresAt } = window;
  const isInside = at.timeMs >= notBefore && (expiresAt === 0 || at.timeMs < expiresAt);
  const from = notBefore === 0 ? "any time" : `${notBefore} ms`;
  const to = expiresAt === 0 ? "any time" : `${expiresAt} ms, which is not in it`;
  return deciding("window", isInside, `${at.timeMs} ms, window from ${from} to ${to}`);
}
