/** GET /v1/event-anchors/latest with `after_size` and `wait`: the answer is made when there is news, or in the end. */
import type { ServerResponse } from "node:http";
import { LIMITS, latestQuerySchema, parseQuery } from "@event-anchoring/api-contract";
import type { OriginFingerprint } from "@event-anchoring/protocol";
import type { Clock } from "@event-anchoring/telemetry";
import type { Feeds } from "../feed/feeds.ts";
import { Deadline } from "../request/deadline.ts";
import { parsed } from "../request/problem-error.ts";
import type { Account } from "./account.ts";

export interface WaitDependencies {
  readonly feeds: Feeds;
  readonly clock: Clock;
  readonly node: { readonly originFingerprint: OriginFingerprint };
}

interface Waiting {
  readonly search: string;
  readonly response: ServerResponse;
  readonly account: Account;
  readonly deadline: Deadline;
}

/**
 * Returns when the tree is larger than the caller knows, when the time is over, or when the caller has gone; with the
 * deadline for the answer. Who waits takes the place of a follower, and costs as much as one.
 * @throws ProblemError, RefusedError
 */
export async function waitForGrowth(waiting: Waiting, { feeds, clock, node }: WaitDependencies): Promise<Deadline> {
  const { search, response, account, deadline } = waiting;
  if (search === "") return deadline;
  const { originFingerprint, growth } = parsed(parseQuery(latestQuerySchema, search));
  if (growth === null || growth.waitS === 0) return deadline;
  const giveBack = account.takeFeed();
  try {
    const feed = await feeds.enter(originFingerprint ?? node.originFingerprint, deadline);
    const gone = new AbortController();
    const onClose = (): void => gone.abort();
    response.once("close", onClose);
    try {
      await feed.grownBeyond(growth.afterSize, growth.waitS * 1000, gone.signal);
    } finally {
      response.off("close", onClose);
      feed.leave(null);
    }
  } finally {
    giveBack();
  }
  return new Deadline(clock, LIMITS.readTimeoutMs);
}
