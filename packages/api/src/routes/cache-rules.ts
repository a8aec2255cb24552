/** For how long an answer may be kept, and by whom. What is not listed here is kept by nobody. */
import type { Headers, HandlerRequest } from "./handler.ts";

/** Answers that depend on whether a key was shown: with one they are linearizable, and never out of a cache. */
const BY_KEY = "Authorization, X-API-Key";

interface CacheRule {
  /** Without a key, on a public log. */
  readonly visit: Headers;
  /** With a key. Not for shared caches: every request must be authorised. */
  readonly keyed: Headers;
}

const CACHE_RULES = {
  /** A full tile never changes. */
  fullTile: {
    visit: { "Cache-Control": "public, max-age=31536000, immutable" },
    keyed: { "Cache-Control": "private, max-age=31536000, immutable" },
  },
  /** Nor does a partial one, but it is of no use once the tile is full. */
  partialTile: { visit: { "Cache-Control": "public, max-age=3600, immutable" }, keyed: {} },
  /** Superseded by the next one. A second takes a crowd's requests off the node. */
  checkpoint: { visit: { "Cache-Control": "public, max-age=1", Vary: BY_KEY }, keyed: {} },
  /** Good for ever, although a later one is under a newer checkpoint. */
  receipt: { visit: { "Cache-Control": "public, max-age=3600", Vary: `Accept, Prefer, ${BY_KEY}` }, keyed: {} },
  /** A new version must be seen soon: it may end a key. */
  trustRoot: { visit: { "Cache-Control": "public, max-age=60" }, keyed: {} },
} as const satisfies Readonly<Record<string, CacheRule>>;

export function cacheHeaders(what: keyof typeof CACHE_RULES, { isVisit }: Pick<HandlerRequest, "isVisit">): Headers {
  const { visit, keyed } = CACHE_RULES[what];
  return isVisit ? visit : keyed;
}
