/**
 * Every number a client can run into, published at GET /v1/limits. All maxima are inclusive. A deployment may lower
 * what `LimitSettings` names; it can raise nothing.
 */

export const LIMITS = {
  /** Body of a request that is not a batch. */
  bodyBytesMax: 64 * 1024,
  /** Body of a batch request. */
  batchBodyBytesMax: 2 * 1024 * 1024,
  /** Items of one batch, to create or to verify. */
  batchItemsMax: 1000,
  /** Items of one batch that carry a signature to be verified. */
  batchSignedItemsMax: 256,
  /** Characters of a client_event_id, printable ASCII (U+0020 to U+007E). */
  clientEventIdCharsMax: 128,
  /** Nesting of objects and arrays in a body. */
  jsonDepthMax: 16,
  /** Keys of one object in a body, and characters of one key. */
  jsonObjectKeysMax: 64,
  jsonKeyCharsMax: 128,
  /** Values of a body, objects and lists included: twice what the largest good one has. */
  jsonValuesMax: 32_768,
  /** How long a single write may take. */
  writeTimeoutMs: 5000,
  /** How long a read, a verification or a trace may take. */
  readTimeoutMs: 5000,
  /** How long a batch may take. */
  batchTimeoutMs: 15000,
  /** The range of `Prefer: wait=` in seconds, for writes. */
  preferWaitSecondsMin: 1,
  preferWaitSecondsMax: 30,
  /** An answer leaves at the latest so long after its timeout. */
  timeoutGraceMs: 250,
  /** Within this time a client takes the whole of an answer, or the connection is closed. */
  answerTimeoutMs: 20_000,
  /** How long the latest anchor may be waited for, in seconds. */
  latestWaitSecondsMax: 30,
  /** Feeds that one node serves to keys at a time: in all, and to one key. */
  feedsMax: 256,
  keyFeedsMax: 32,
  /** The same without a key, on a public log: in all, and to one address. */
  publicFeedsMax: 128,
  addressFeedsMax: 8,
  /** Items of one page of a trace's parents. */
  traceParentsDefault: 20,
  traceParentsMax: 100,
  /** Items of one page of a list. */
  listItemsDefault: 20,
  listItemsMax: 100,
  /** Hops of a delegation on one page of a trace, and in the answer to a verification. */
  traceHopsMax: 100,
  /** Hops that all pages of a trace show; what is beyond is counted, and judged all the same. */
  traceDelegationMax: 1000,
  /** Grants from a root grant to the last one below it, both included. */
  delegationLinksMax: 10_000,
  /** Ids of grants that a trace names as possible parents. */
  possibleParentsMax: 100,
  /** Claims that a request may name as trusted roots. */
  trustedRootsMax: 32,
  /** Request line and headers together. */
  headerBytesMax: 8 * 1024,
  headersMax: 64,
  /** Bytes of a whole request target. */
  targetBytesMax: 4096,
  /** Largest integer in any body or query: 2^53 − 1. */
  integerMax: Number.MAX_SAFE_INTEGER,
  /** attribute_type and delegation_depth are unsigned 32-bit integers. */
  unsigned32Max: 0xffff_ffff,
} as const;

/** What an operator may set. */
export interface LimitSettings {
  /** Tokens a second that one API key may use up at one node; a small request costs one. null = no limit. */
  readonly keyRequestsPerSecond: number | null;
  /**
   * Tokens a second that one address without a key may use up at one node of a public log. null = the log is not
   * public: all reads of it take a key.
   */
  readonly publicAddressRequestsPerSecond: number | null;
  /** The same of all addresses together. null likewise. */
  readonly publicRequestsPerSecond: number | null;
}

/** Half of what a node of 2 vCPU has: one key alone cannot take it all. `anchorctl keys create` gives as much. */
export const DEFAULT_LIMIT_SETTINGS: LimitSettings = {
  keyRequestsPerSecond: 500,
  publicAddressRequestsPerSecond: null,
  publicRequestsPerSecond: null,
};
