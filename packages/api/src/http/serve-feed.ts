/** GET /v1/origins/{origin_fingerprint}/feed: an answer that goes on for as long as its reader reads. */
import type { IncomingMessage, ServerResponse } from "node:http";
import {
  RETRY_TEXT,
  endEventText,
  feedQuerySchema,
  lastEventIdSchema,
  originPathSchema,
  parsePath,
  parseQuery,
} from "@event-anchoring/api-contract";
import type { Feeds } from "../feed/feeds.ts";
import type { Follower } from "../feed/origin-feed.ts";
import type { Deadline } from "../request/deadline.ts";
import { parsed, problemError } from "../request/problem-error.ts";
import type { HandlerRequest } from "../routes/handler.ts";
import type { Account } from "./account.ts";
import type { ApiMetrics } from "./api-metrics.ts";
import type { Exchange } from "./exchange.ts";
import { beginStream } from "./respond.ts";
import { StreamReader } from "./stream-reader.ts";

export interface FeedDependencies {
  readonly feeds: Feeds;
  readonly metrics: ApiMetrics;
}

interface FeedRequest {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly pathParameters: HandlerRequest["pathParameters"];
  readonly search: string;
  readonly account: Account;
  readonly deadline: Deadline;
  readonly exchange: Exchange;
}

/** The size that the reader knows; null: none. Attacker-controlled. @throws ProblemError `invalid_request` */
function knownSize(request: IncomingMessage, search: string): number | null {
  const { afterSize } = parsed(parseQuery(feedQuerySchema, search));
  const header = request.headers["last-event-id"];
  if (header === undefined || header === "") return afterSize;
  const size = lastEventIdSchema.safeParse(header);
  if (size.success) return size.data;
  const detail = "the id of an event, which is a tree size, is expected";
  throw problemError("invalid_request", [{ parameter: "Last-Event-ID", code: "wrong_format", detail }]);
}

/** Also if it is closed already. */
function whenClosed(response: ServerResponse, then: () => void): void {
  if (response.closed || response.destroyed) then();
  else response.once("close", then);
}

function followerOf({ response, account }: FeedRequest, fromSize: number | null, metrics: ApiMetrics): Follower {
  const reader = new StreamReader(response, () => metrics.followerDropped());
  const { reads, isAllowed } = account;
  return {
    fromSize,
    reads,
    isAllowed,
    send: (bytes) => reader.send(bytes),
    end: (code) => reader.end(endEventText({ code })),
  };
}

/** @throws ProblemError, RefusedError before the first byte of the answer; nothing afterwards */
export async function serveFeed(asked: FeedRequest, { feeds, metrics }: FeedDependencies): Promise<void> {
  const { request, response, account, deadline, exchange } = asked;
  const { originFingerprint } = parsed(parsePath(originPathSchema, asked.pathParameters));
  const fromSize = knownSize(request, asked.search);
  const giveBack = account.takeFeed();
  whenClosed(response, giveBack);
  const feed = await account.run(() => feeds.enter(originFingerprint, deadline));
  const follower = followerOf(asked, fromSize, metrics);
  whenClosed(response, () => feed.leave(follower));
  if (fromSize !== null) await account.run(() => feed.assertNotAhead(fromSize, deadline.remainingMs));
  if (response.closed || response.destroyed) return;
  beginStream(response, exchange);
  if (request.method === "HEAD") {
    response.end();
    return;
  }
  response.write(RETRY_TEXT);
  metrics.followerCame(account.isVisit);
  whenClosed(response, () => metrics.followerLeft(account.isVisit));
  feed.follow(follower);
  exchange.settle();
}
