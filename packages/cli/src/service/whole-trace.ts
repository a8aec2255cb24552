/** A trace comes in pages of hops; people and bundles want the whole chain. */
import { readers } from "@event-anchoring/sdk";
import type { RawRequest } from "@event-anchoring/sdk";
import { CliError, EXIT } from "../terminal/cli-error.ts";
import { expectStatus } from "./service.ts";
import type { Answer, Service } from "./service.ts";

/** Ten are enough for all that a service shows. */
const PAGES_MAX = 100;

const readPage = readers.record({
  delegation: readers.listOf<unknown>((hop) => hop),
  delegationNextCursor: readers.optional(readers.text),
});

/**
 * The answer to a trace with the hops of all its pages, as if it were one.
 * @param ofFirst what only the first page is asked for
 * @throws CliError as the service refuses, `answer_malformed`
 */
export async function askWholeTrace(
  service: Service,
  anchorId: string,
  query: NonNullable<RawRequest["query"]> = {},
  ofFirst: NonNullable<RawRequest["query"]> = {},
): Promise<Answer> {
  const path = `/v1/event-anchors/${anchorId}/trace`;
  const hops: unknown[] = [];
  let cursor: string | null = null;
  let first: Answer | null = null;
  for (let page = 0; page < PAGES_MAX; page++) {
    const ofPage = cursor === null ? ofFirst : { delegation_cursor: cursor };
    const answer = expectStatus(await service.ask({ path, query: { ...query, ...ofPage } }), 200);
    const { delegation, delegationNextCursor } = answer.read(readPage);
    first ??= answer;
    hops.push(...delegation);
    if (delegationNextCursor === null) {
      const { delegation_omitted } = answer.body;
      return first.with({ delegation: hops, delegation_omitted, delegation_next_cursor: null });
    }
    cursor = delegationNextCursor;
  }
  throw new CliError(EXIT.unavailable, "answer_malformed", "the service's answer has no end of its delegation");
}
