/** What a node says about itself and the API. */
import {
  listOf,
  nullable,
  oneOf,
  optional,
  readCount,
  readFlag,
  readHex32,
  readNumber,
  readObject,
  readText,
  record,
} from "./answer-reader.ts";
import type { Reader } from "./answer-reader.ts";

/** The Prime RootTHK sync summary: whether a quorum has confirmed that this node's trust root is the newest. */
export interface RootSync {
  readonly role: "prime" | "replica";
  readonly version: number;
  readonly rootThk: string | null;
  readonly primeVersion: number | null;
  readonly inSync: boolean;
  readonly lastSuccessAt: string | null;
  /** Since the last success. */
  readonly ageSeconds: number | null;
  readonly expiresAt: string | null;
  readonly lastError: string | null;
}

export interface Health {
  readonly status: "ok" | "degraded" | "error";
  readonly nodeId: string;
  readonly clusterId: string;
  /** What a write to this node names. */
  readonly originFingerprint: string;
  readonly primeRootThk: RootSync;
  /** How the node takes part in consensus. null: shown only to a key with `read`, while the control plane answers. */
  readonly raft: {
    readonly role: string;
    readonly term: number;
    readonly leader: string | null;
    readonly commitIndex: number;
    readonly appliedIndex: number;
  } | null;
  /** The node's evidence against others. null: shown only to a key with `read`. */
  readonly contradictions: {
    /** Nodes whose key has signed two roots of one size. */
    readonly named: readonly string[];
    /** Origins that have stopped: another certificate than the node's exists. */
    readonly origins: readonly string[];
    /** Sizes that wait while all nodes exchange what they have signed. */
    readonly withheld: readonly { readonly originFingerprint: string; readonly treeSize: number }[];
    /** Peers whose tree or effects differed in the last seconds. */
    readonly differing: readonly string[];
    /** Names of files, the first 64. */
    readonly evidence: readonly string[];
    readonly evidenceFiles: number;
  } | null;
  /** Peers that the node temporarily ignores. null: shown only to a key with `read`. */
  readonly peersCutOff: readonly PeerCutOff[] | null;
  /** null: the node cannot say yet, or is of a release that does not. */
  readonly versions: {
    readonly apiContract: string;
    readonly lockedCode: string;
    readonly service: string;
    /** By which it decides the next entry. */
    readonly rules: number | null;
    /** The highest that its program can decide by. */
    readonly rulesKnown: number | null;
    /** Nodes for which higher rules wait; empty: none do. */
    readonly rulesHeldBackBy: string | null;
    /** The version of the entries that a leader writes. */
    readonly entryVersion: number | null;
  };
}

export interface PeerCutOff {
  readonly nodeId: string;
  readonly remainingSeconds: number;
  /** What it has done since the node's process began. */
  readonly offences: readonly { readonly offence: string; readonly count: number }[];
}

export interface Readiness {
  readonly ready: boolean;
  readonly checks: readonly {
    readonly check: string;
    /** `warn`: the node serves, and somebody should look. */
    readonly result: "pass" | "warn" | "fail";
    readonly detail: string;
  }[];
}

/** One version of the trust root: its hash, which is pinned out of band, and the signed note. */
export interface TrustRootVersion {
  readonly version: number;
  readonly rootThk: string;
  readonly document: string;
}

/** The newest version, and the chain that leads to it. Hand `chain` to `verifyTrustRoot` with your pin. */
export interface TrustRootAnswer extends TrustRootVersion {
  /** Every version, oldest first. */
  readonly chain: readonly TrustRootVersion[];
}

/** By the names of docs/API.md, "Limits", in this language's casing. Maxima are inclusive. */
export interface Limits {
  readonly bodyBytesMax: number;
  readonly batchBodyBytesMax: number;
  readonly batchItemsMax: number;
  readonly batchSignedItemsMax: number;
  readonly clientEventIdCharsMax: number;
  readonly jsonDepthMax: number;
  readonly jsonObjectKeysMax: number;
  readonly jsonKeyCharsMax: number;
  readonly jsonValuesMax: number;
  readonly writeTimeoutMs: number;
  readonly readTimeoutMs: number;
  readonly batchTimeoutMs: number;
  readonly preferWaitSecondsMin: number;
  readonly preferWaitSecondsMax: number;
  readonly timeoutGraceMs: number;
  readonly answerTimeoutMs: number;
  readonly latestWaitSecondsMax: number;
  readonly feedsMax: number;
  readonly keyFeedsMax: number;
  readonly publicFeedsMax: number;
  readonly addressFeedsMax: number;
  readonly listItemsMax: number;
  readonly traceParentsMax: number;
  readonly traceHopsMax: number;
  readonly traceDelegationMax: number;
  readonly delegationLinksMax: number;
  readonly possibleParentsMax: number;
  readonly trustedRootsMax: number;
  readonly headerBytesMax: number;
  readonly headersMax: number;
  readonly targetBytesMax: number;
  readonly integerMax: number;
  readonly attributeTypeMax: number;
  readonly delegationDepthMax: number;
  /** Tokens a second at each node, of a key that has no rate of its own; null: no limit. */
  readonly keyRequestsPerSecond: number | null;
  /** null: the log is not public. */
  readonly publicAddressRequestsPerSecond: number | null;
  /** null: the log is not public. */
  readonly publicRequestsPerSecond: number | null;
}

export const readHealth = record<Health>({
  status: oneOf(["ok", "degraded", "error"]),
  nodeId: readText,
  clusterId: readHex32,
  originFingerprint: readHex32,
  primeRootThk: record<RootSync>({
    role: oneOf(["prime", "replica"]),
    version: readCount,
    rootThk: nullable(readHex32),
    primeVersion: nullable(readCount),
    inSync: readFlag,
    lastSuccessAt: nullable(readText),
    ageSeconds: nullable(readNumber),
    expiresAt: nullable(readText),
    lastError: nullable(readText),
  }),
  raft: optional(
    record<NonNullable<Health["raft"]>>({
      role: readText,
      term: readCount,
      leader: nullable(readText),
      commitIndex: readCount,
      appliedIndex: readCount,
    }),
  ),
  contradictions: optional(
    record<NonNullable<Health["contradictions"]>>({
      named: listOf(readText),
      origins: listOf(readHex32),
      withheld: listOf(record({ originFingerprint: readHex32, treeSize: readCount })),
      differing: listOf(readText),
      evidence: listOf(readText),
      evidenceFiles: readCount,
    }),
  ),
  peersCutOff: optional(
    listOf(
      record<PeerCutOff>({
        nodeId: readText,
        remainingSeconds: readNumber,
        offences: listOf(record({ offence: readText, count: readCount })),
      }),
    ),
  ),
  versions: record<Health["versions"]>({
    apiContract: readText,
    lockedCode: readText,
    service: readText,
    rules: optional(readCount),
    rulesKnown: optional(readCount),
    rulesHeldBackBy: optional(readText),
    entryVersion: optional(readCount),
  }),
});

/** A node that does not serve answers 503, with its checks. */
export const isReadiness = (status: number): boolean => status === 200 || status === 503;

export const readReadiness = record<Readiness>({
  ready: readFlag,
  checks: listOf(
    record<Readiness["checks"][number]>({ check: readText, result: oneOf(["pass", "warn", "fail"]), detail: readText }),
  ),
});

const VERSION = { version: readCount, rootThk: readHex32, document: readText } as const;

export const readTrustRoot = record<TrustRootAnswer>({ ...VERSION, chain: listOf(record<TrustRootVersion>(VERSION)) });

export const readLimits = record<Limits>({
  bodyBytesMax: readCount,
  batchBodyBytesMax: readCount,
  batchItemsMax: readCount,
  batchSignedItemsMax: readCount,
  clientEventIdCharsMax: readCount,
  jsonDepthMax: readCount,
  jsonObjectKeysMax: readCount,
  jsonKeyCharsMax: readCount,
  jsonValuesMax: readCount,
  writeTimeoutMs: readCount,
  readTimeoutMs: readCount,
  batchTimeoutMs: readCount,
  preferWaitSecondsMin: readCount,
  preferWaitSecondsMax: readCount,
  timeoutGraceMs: readCount,
  answerTimeoutMs: readCount,
  latestWaitSecondsMax: readCount,
  feedsMax: readCount,
  keyFeedsMax: readCount,
  publicFeedsMax: readCount,
  addressFeedsMax: readCount,
  listItemsMax: readCount,
  traceParentsMax: readCount,
  traceHopsMax: readCount,
  traceDelegationMax: readCount,
  delegationLinksMax: readCount,
  possibleParentsMax: readCount,
  trustedRootsMax: readCount,
  headerBytesMax: readCount,
  headersMax: readCount,
  targetBytesMax: readCount,
  integerMax: readCount,
  attributeTypeMax: readCount,
  delegationDepthMax: readCount,
  keyRequestsPerSecond: nullable(readCount),
  publicAddressRequestsPerSecond: nullable(readCount),
  publicRequestsPerSecond: nullable(readCount),
});

/** The document as it is: what it holds is the OpenAPI specification's matter. */
export const readOpenApi: Reader<{ readonly document: Readonly<Record<string, unknown>> }> = (value, path) => ({
  document: readObject(value, path),
});
