/** What a node says about itself and the API. */
import {
  listOf,
  nullable,
  oneOf,
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
  readonly raft: {
    readonly role: string;
    readonly term: number;
    readonly leader: string | null;
    readonly commitIndex: number;
    readonly appliedIndex: number;
  };
  readonly versions: { readonly apiContract: string; readonly lockedCode: string; readonly service: string };
}

export interface Readiness {
  readonly ready: boolean;
  readonly checks: readonly {
    readonly check: string;
    readonly result: "pass" | "fail";
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
export type Limits = { readonly [Name in (typeof LIMIT_NAMES)[number]]: number } & {
  /** Of a key that has no rate of its own; null: none. */
  readonly keyRequestsPerSecond: number | null;
};

const LIMIT_NAMES = [
  "bodyBytesMax",
  "batchBodyBytesMax",
  "batchItemsMax",
  "batchSignedItemsMax",
  "clientEventIdCharsMax",
  "jsonDepthMax",
  "writeTimeoutMs",
  "readTimeoutMs",
  "batchTimeoutMs",
  "preferWaitSecondsMin",
  "preferWaitSecondsMax",
  "timeoutGraceMs",
  "listItemsMax",
  "traceParentsMax",
  "traceDelegationMax",
  "delegationLinksMax",
  "possibleParentsMax",
  "trustedRootsMax",
  "headerBytesMax",
  "headersMax",
  "targetBytesMax",
  "integerMax",
  "attributeTypeMax",
  "delegationDepthMax",
] as const;

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
  raft: record<Health["raft"]>({
    role: readText,
    term: readCount,
    leader: nullable(readText),
    commitIndex: readCount,
    appliedIndex: readCount,
  }),
  versions: record<Health["versions"]>({ apiContract: readText, lockedCode: readText, service: readText }),
});

export const readReadiness = record<Readiness>({
  ready: readFlag,
  checks: listOf(
    record<Readiness["checks"][number]>({ check: readText, result: oneOf(["pass", "fail"]), detail: readText }),
  ),
});

const VERSION = { version: readCount, rootThk: readHex32, document: readText } as const;

export const readTrustRoot = record<TrustRootAnswer>({ ...VERSION, chain: listOf(record<TrustRootVersion>(VERSION)) });

export const readLimits: Reader<Limits> = record<Limits>({
  ...(Object.fromEntries(LIMIT_NAMES.map((name) => [name, readCount])) as Record<
    (typeof LIMIT_NAMES)[number],
    Reader<number>
  >),
  keyRequestsPerSecond: nullable(readNumber),
});

/** The document as it is: what it holds is the OpenAPI specification's matter. */
export const readOpenApi: Reader<{ readonly document: Readonly<Record<string, unknown>> }> = (value, path) => ({
  document: readObject(value, path),
});
