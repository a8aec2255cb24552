import type { Answered } from "./answers.ts";
import type { DelegationHop, Trace, TracePage } from "./authority-answers.ts";
import { UnexpectedAnswer } from "./errors.ts";

/** Ten are enough for all that a service shows. */
const PAGES_MAX = 100;

/**
 * The pages of a trace as one. Each judges the whole chain at the same position: what is not hops is the first one's.
 * @param ask for the page that begins there; null: the first one
 * @throws UnexpectedAnswer if the pages have no end
 */
export async function wholeTrace(
  ask: (cursor: string | null) => Promise<Answered<TracePage>>,
): Promise<Answered<Trace>> {
  const { delegationNextCursor, ...first } = await ask(null);
  const hops: DelegationHop[] = [...first.delegation];
  let { delegationOmitted } = first;
  let next = delegationNextCursor;
  for (let page = 1; next !== null; page++) {
    if (page === PAGES_MAX) {
      throw new UnexpectedAnswer("the hops of the delegation have no end", { requestId: first.requestId });
    }
    const more = await ask(next);
    hops.push(...more.delegation);
    ({ delegationOmitted, delegationNextCursor: next } = more);
  }
  return { ...first, delegation: hops, delegationOmitted };
}
