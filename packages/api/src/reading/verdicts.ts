import { LIMITS } from "@event-anchoring/ledger";
import { signaturesOfLeaf, rememberVerdicts } from "@event-anchoring/records";
import type { VerdictMemo } from "@event-anchoring/records";
import { verifyAsync } from "@event-anchoring/node-crypto";
import { decodeLeaf } from "@event-anchoring/protocol";
import type { Crypto } from "@event-anchoring/protocol";
import { RefusedError } from "../control-plane/control-plane.ts";
import type { Deadline } from "../request/deadline.ts";

/** More than the threads of the pool run at a time; few enough not to delay another request for long. */
const IN_FLIGHT_MAX = 32;

/**
 * More than the longest delegation has: each link and each claim has two signatures. A read of it may end at its
 * deadline before all are verified; the next one goes on from there. With fewer, the second half would push out the
 * first, and no read would ever be answered.
 */
const VERDICTS_MAX = 5 * LIMITS.delegationLinksMax;

const memos = new WeakMap<Crypto, VerdictMemo>();

/** The same cryptography with one memo for all requests: most signatures have been verified before. */
export function rememberingCrypto(crypto: Crypto): VerdictMemo {
  const known = memos.get(crypto);
  if (known !== undefined) return known;
  const memo = rememberVerdicts(crypto, VERDICTS_MAX);
  memos.set(crypto, memo);
  return memo;
}

/**
 * Verifies the signatures of leaves in the thread pool, so that judging them later finds the verdicts: the links of a
 * long delegation would hold up every other request of this process.
 * @throws RefusedError `deadline_exceeded`
 */
export async function verifyAhead(
  rows: readonly { readonly bytes: Uint8Array }[],
  memo: VerdictMemo,
  deadline: Deadline,
): Promise<void> {
  const waiting = new Set<Promise<void>>();
  for (const { bytes } of rows) {
    for (const { publicKey, message, signature } of signaturesOfLeaf(decodeLeaf(bytes), memo.sha256)) {
      const name = memo.nameOf({ publicKey, message, signature });
      if (name === null || memo.has(name)) continue;
      const verdict = verifyAsync(publicKey, message, signature).then((isGood) => memo.remember(name, isGood));
      const settled = verdict.finally(() => waiting.delete(settled));
      waiting.add(settled);
    }
    if (waiting.size < IN_FLIGHT_MAX) continue;
    await Promise.all(waiting);
    if (deadline.remainingMs <= 0) throw new RefusedError("deadline_exceeded", "signatures of a long delegation");
  }
  await Promise.all(waiting);
}
