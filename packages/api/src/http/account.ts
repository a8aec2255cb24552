/** Who a request is charged to: the key that it shows, a visitor's address, or nobody. */
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Route } from "@event-anchoring/api-contract";
import type { Admission } from "../access/admission.ts";
import { authenticate, isStillAllowed, readerOf, showsKey } from "../access/auth.ts";
import type { Caller } from "../access/auth.ts";
import type { KeyTable } from "../access/key-table.ts";
import type { PublicLog } from "../access/public-log.ts";
import type { RateLimiter } from "../access/rate-limiter.ts";
import { costOf } from "../access/request-cost.ts";
import type { Work } from "../access/request-cost.ts";
import type { OpenableReads } from "../reading/node-reads.ts";
import type { Deadline } from "../request/deadline.ts";
import type { Headers } from "../routes/handler.ts";

/** A public log, and its own way to the tables. */
export interface OpenLog {
  readonly publicLog: PublicLog;
  /** Connections that no request with a key shares. */
  readonly reads: OpenableReads;
}

export interface AccountDependencies {
  readonly keys: KeyTable;
  readonly limiter: RateLimiter;
  readonly admission: Admission;
  readonly reads: OpenableReads;
  /** null: the log is not public. */
  readonly openLog: OpenLog | null;
}

export interface Account {
  /** null: no key was shown. */
  readonly caller: Caller | null;
  readonly isVisit: boolean;
  /** Where its reads are made. */
  readonly reads: OpenableReads;
  readonly spend: (work: Work) => void;
  /** Counts bytes of the answer until the exchange is over. */
  readonly count: (bytes: number) => void;
  /** A place for a feed; returns a function that gives it back. @throws RefusedError `overloaded` */
  readonly takeFeed: () => () => void;
  /** Whether the same request would still be let in: keys end. */
  readonly isAllowed: () => Promise<boolean>;
  /** Runs the handler. @throws RefusedError `overloaded` if there is no room for it */
  readonly run: <T>(handle: () => Promise<T>) => Promise<T>;
}

/** On every answer of a route that a public log opens, so that any page may read it, and on no other. */
const OPEN_TO_PAGES: Headers = {
  "Access-Control-Allow-Origin": "*",
  "Access-Control-Expose-Headers": "Retry-After, X-Request-Id",
};

const NONE: Headers = {};

/**
 * No page of another site can send a key: that takes a preflight, which no route answers.
 * @param openLog null: the log is not public
 */
export function crossOriginHeaders({ isOpenOnPublicLog }: Route, openLog: OpenLog | null): Headers {
  return isOpenOnPublicLog && openLog !== null ? OPEN_TO_PAGES : NONE;
}

interface Asked {
  readonly route: Route;
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
}

function visitOf({ request, response }: Asked, { publicLog, reads }: OpenLog): Account {
  const visitor = publicLog.visitorOf(request);
  return {
    caller: null,
    isVisit: true,
    reads,
    spend: (work) => publicLog.charge(visitor, costOf(work)),
    count: (bytes) => publicLog.count(response, visitor, bytes),
    takeFeed: () => publicLog.feeds.take(visitor.address),
    isAllowed: async () => true,
    run: (handle) => publicLog.run(visitor, handle),
  };
}

/** @throws ProblemError `api_key_invalid`, `scope_missing`, `rate_limited`, in this order; RefusedError */
export async function accountOf(asked: Asked, deadline: Deadline, dependencies: AccountDependencies): Promise<Account> {
  const { route, request, response } = asked;
  const { keys, limiter, admission, reads, openLog } = dependencies;
  const isOpen = route.isOpenOnPublicLog && openLog !== null;
  // A route that never takes a key ignores one.
  if (isOpen && (route.scopes === null || !showsKey(request))) return visitOf(asked, openLog);
  let caller: Caller | null = null;
  if (route.scopes !== null) caller = await authenticate(request, route.scopes, deadline, { keys, limiter });
  else if (route.tellsReadersMore) caller = await readerOf(request, keys);
  return {
    caller,
    isVisit: false,
    reads,
    spend: (work) => {
      if (caller !== null) limiter.charge(caller.credential.keyId, costOf(work));
    },
    count: (bytes) => {
      if (caller !== null) admission.count(response, caller, bytes);
    },
    takeFeed: () => admission.takeFeed(caller),
    isAllowed: () => isStillAllowed(request, route, keys),
    run: (handle) => handle(),
  };
}
