import type { LedgerState } from "@event-anchoring/ledger";
import type { TrustRoot } from "@event-anchoring/protocol";
import type { Term } from "raft-ts";

/** Elections that any cluster may have held, however young it is. */
const TERMS_AT_ONCE = 2 ** 20;
/** Elections cannot follow each other faster for long: an election timeout is a second or more. */
const TERMS_PER_SECOND = 10;

/**
 * The highest term that is accepted from a peer. Terms only rise and end at 2^53: an implausibly high one would be kept
 * for ever, and the next election could not be held.
 *
 * Time counts from the issue of the first trust root to the later of this node's clock and the newest accepted time: a
 * clock that is behind must not keep this node out of a group that has had many terms. A node that has not learnt yet
 * when its cluster began counts from 1970, so that it is let in; that is still 2^53 · 10^-5 at the most.
 */
export function termMax(
  wallMs: number,
  state: Pick<LedgerState, "trustRootChain" | "lastAcceptedMs">,
  configured: TrustRoot,
): Term {
  const first = state.trustRootChain?.versions[0]?.trustRoot ?? (configured.version === 1 ? configured : null);
  const beganMs = (first?.issuedS ?? 0) * 1000;
  const lastedMs = Math.max(0, Math.max(wallMs, state.lastAcceptedMs) - beganMs);
  return TERMS_AT_ONCE + Math.floor((lastedMs / 1000) * TERMS_PER_SECOND);
}
