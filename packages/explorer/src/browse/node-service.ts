/** What the page asks the node that it came from, and nobody else. */
import {
  ApiProblem,
  ConnectionFailed,
  Forbidden,
  RateLimited,
  TimedOut,
  Unauthorized,
  Unavailable,
  UnexpectedAnswer,
  proofFromTiles,
  readers,
} from "@event-anchoring/sdk";
import type { MonitoredService, Reader, WatchedLatest } from "@event-anchoring/sdk";

const { count, flag, hex32, base64, listOf, nullable, object, oneOf, optional, record, text } = readers;

const TIMEOUT_MS = 15_000;
const RECORDS_PER_PAGE = 20;
/** What is shown of a text that the node has written. */
const TEXT_LENGTH_MAX = 300;
const KEY = /^[\x21-\x7e]+$/u;

const hash: Reader<Uint8Array> = (value, path) => {
  const bytes = base64(value, path);
  if (bytes.length === 32) return bytes;
  throw new UnexpectedAnswer(`${path} of the answer is not a hash`);
};

const readTrustRoots = record<{ chain: readonly { version: number; rootThk: string; document: string }[] }>({
  chain: listOf(record({ version: count, rootThk: hex32, document: text })),
});

const readLatest = record<WatchedLatest>({
  originFingerprint: hex32,
  checkpoint: text,
  consistency: optional(record({ fromSize: count, treeSize: count, proof: listOf(hash) })),
});

const readConsistency = record<{ proof: readonly Uint8Array[] }>({ proof: listOf(hash) });

/** The node's word on itself, and on the others as it sees them. */
export interface NodeHealth {
  readonly status: string;
  readonly nodeId: string;
  readonly primeRootThk: { readonly version: number; readonly inSync: boolean; readonly lastError: string | null };
  /** null: shown to a key alone. */
  readonly raft: { readonly role: string; readonly leader: string | null; readonly appliedIndex: number } | null;
  readonly contradictions: { readonly named: readonly string[]; readonly origins: readonly string[] } | null;
  readonly peersCutOff: readonly { readonly nodeId: string }[] | null;
  readonly versions: { readonly service: string };
}

const readHealth = record<NodeHealth>({
  status: text,
  nodeId: text,
  primeRootThk: record({ version: count, inSync: flag, lastError: nullable(text) }),
  raft: optional(record({ role: text, leader: nullable(text), appliedIndex: count })),
  contradictions: optional(record({ named: listOf(text), origins: listOf(hex32) })),
  peersCutOff: optional(listOf(record({ nodeId: text }))),
  versions: record({ service: text }),
});

export interface NodeReadiness {
  readonly ready: boolean;
  readonly checks: readonly {
    readonly check: string;
    readonly result: "pass" | "warn" | "fail";
    readonly detail: string;
  }[];
}

const readReadiness = record<NodeReadiness>({
  ready: flag,
  checks: listOf(record({ check: text, result: oneOf(["pass", "warn", "fail"]), detail: text })),
});

/** A claim or a grant as the node lists it. What is true of it, its receipt proves. */
export interface ListedRecord {
  readonly anchor: {
    readonly anchorId: string;
    readonly kind: string;
    readonly sequence: number;
    readonly acceptedMs: number;
    readonly state: string;
  };
  readonly ended: { readonly code: string; readonly endedBy: string | null; readonly sequence: number | null } | null;
}

export interface RecordPage {
  readonly items: readonly ListedRecord[];
  readonly nextCursor: string | null;
}

const readRecords = record<RecordPage>({
  items: listOf(
    record<ListedRecord>({
      anchor: record({ anchorId: hex32, kind: text, sequence: count, acceptedMs: count, state: text }),
      ended: nullable(record({ code: text, endedBy: nullable(hex32), sequence: nullable(count) })),
    }),
  ),
  nextCursor: nullable(text),
});

/** The lists of an entity: what is claimed of it, what it grants, what is granted to it. */
export const RECORD_LISTS = {
  claims: { path: "v1/claim-anchors", parameter: "entity_fingerprint" },
  granted: { path: "v1/grant-anchors", parameter: "grantor_fingerprint" },
  received: { path: "v1/grant-anchors", parameter: "grantee_fingerprint" },
} as const;

export type RecordList = keyof typeof RECORD_LISTS;

interface Asked {
  readonly path: string;
  readonly query?: Readonly<Record<string, string | number | undefined>>;
  readonly accept?: string;
  /** Further statuses that are answers. */
  readonly also?: number;
}

interface HeadAsked {
  readonly originFingerprint: string;
  /** Size of the tree that was seen before. */
  readonly fromSize?: number | undefined;
}

interface GrowthAsked {
  readonly originFingerprint: string;
  readonly fromSize: number;
  readonly toSize: number;
}

/** Null: the page was not served by a node, so there is nobody to ask. */
export function nodeAddress({ protocol, href }: Pick<Location, "protocol" | "href">): string | null {
  return protocol === "https:" || protocol === "http:" ? new URL(".", href).href : null;
}

/** Whether it can be sent at all. Which keys are good, the node knows. */
export function isKeyLike(key: string): boolean {
  return KEY.test(key);
}

/** Asks the node, with a key that is kept in memory and nowhere else. */
export class NodeService implements MonitoredService {
  readonly #address: string;
  readonly #key: string | null;
  /** The trust roots that were answered last. */
  documents: readonly string[] = [];

  /** @param key null: what the node shows to everybody */
  constructor(address: string, key: string | null) {
    this.#address = address;
    this.#key = key;
  }

  get hasKey(): boolean {
    return this.#key !== null;
  }

  async trustRoot(): Promise<{ readonly chain: readonly { readonly document: string }[] }> {
    const answer = await this.#askJson({ path: "v1/trust-root" }, readTrustRoots);
    this.documents = answer.chain.map(({ document }) => document);
    return answer;
  }

  /** Without a key by the checkpoint alone, which a public log shows to everybody. */
  async latest({ originFingerprint, fromSize }: HeadAsked): Promise<WatchedLatest> {
    if (this.#key === null) {
      return { originFingerprint, checkpoint: await this.getCheckpoint(originFingerprint), consistency: null };
    }
    const query = { origin_fingerprint: originFingerprint, from_size: fromSize };
    return this.#askJson({ path: "v1/event-anchors/latest", query }, readLatest);
  }

  /** Without a key made here from tiles: who verifies it sees whether it is one. */
  async consistency({ originFingerprint, fromSize, toSize }: GrowthAsked) {
    if (this.#key === null) {
      const fetchTile = (path: string): Promise<Uint8Array | null> =>
        this.#askFile({ path: `v1/origins/${originFingerprint}/${path}`, accept: "application/octet-stream" });
      return { proof: await proofFromTiles(fromSize, toSize, fetchTile) };
    }
    const query = { origin_fingerprint: originFingerprint, from_size: fromSize, to_size: toSize };
    return this.#askJson({ path: "v1/event-anchors/consistency", query }, readConsistency);
  }

  getCheckpoint(originFingerprint: string): Promise<string> {
    return this.#askText({ path: `v1/origins/${originFingerprint}/checkpoint`, accept: "text/plain" });
  }

  health(): Promise<NodeHealth> {
    return this.#askJson({ path: "healthz" }, readHealth);
  }

  readiness(): Promise<NodeReadiness> {
    return this.#askJson({ path: "readyz", also: 503 }, readReadiness);
  }

  /** Its receipt as JSON, of which nothing is read yet. */
  receiptOf(anchorId: string): Promise<Readonly<Record<string, unknown>>> {
    return this.#askJson({ path: `v1/event-anchors/${anchorId}/receipt` }, object);
  }

  records(list: RecordList, entity: string, cursor: string | null): Promise<RecordPage> {
    const { path, parameter } = RECORD_LISTS[list];
    const query = { [parameter]: entity, history: "true", limit: RECORDS_PER_PAGE, cursor: cursor ?? undefined };
    return this.#askJson({ path, query }, readRecords);
  }

  async #askJson<Answer>(asked: Asked, read: Reader<Answer>): Promise<Answer> {
    const value = objectOf(await this.#askText(asked));
    if (value === null) throw new UnexpectedAnswer("it is no JSON object");
    return read(value, "the body");
  }

  async #askText(asked: Asked): Promise<string> {
    return textOf(await this.#ask(asked));
  }

  /** Null: there is none. */
  async #askFile(asked: Asked): Promise<Uint8Array | null> {
    try {
      return await this.#ask(asked);
    } catch (error) {
      if (error instanceof ApiProblem && error.status === 404) return null;
      throw error;
    }
  }

  /** @throws ConnectionFailed, TimedOut, ApiProblem */
  async #ask({ path, query = {}, accept = "application/json", also }: Asked): Promise<Uint8Array> {
    const pairs = Object.entries(query).flatMap(([name, value]) =>
      value === undefined ? [] : [`${name}=${encodeURIComponent(value)}`],
    );
    const search = pairs.length === 0 ? "" : `?${pairs.join("&")}`;
    const { response, body } = await this.#fetch(`${this.#address}${path}${search}`, accept);
    if (response.ok || response.status === also) return body;
    throw problemOf(response, textOf(body), this.#key);
  }

  async #fetch(address: string, accept: string): Promise<{ readonly response: Response; readonly body: Uint8Array }> {
    const authorization = this.#key === null ? {} : { authorization: `Bearer ${this.#key}` };
    try {
      const response = await fetch(address, {
        headers: { accept, ...authorization },
        cache: "no-store",
        credentials: "omit",
        mode: "same-origin",
        redirect: "error",
        referrerPolicy: "no-referrer",
        signal: AbortSignal.timeout(TIMEOUT_MS),
      });
      return { response, body: new Uint8Array(await response.arrayBuffer()) };
    } catch (error) {
      if (error instanceof DOMException && error.name === "TimeoutError") {
        throw new TimedOut(`no answer in ${TIMEOUT_MS / 1000} s`, { cause: error });
      }
      throw new ConnectionFailed("no connection, or it was lost", { cause: error });
    }
  }
}

/** What is no UTF-8 is no JSON and no signed note either. */
function textOf(body: Uint8Array): string {
  return new TextDecoder().decode(body);
}

/** Null: it is no JSON object. */
function objectOf(body: string): Readonly<Record<string, unknown>> | null {
  try {
    return object(JSON.parse(body), "the body");
  } catch (error) {
    if (error instanceof SyntaxError || error instanceof UnexpectedAnswer) return null;
    throw error;
  }
}

const PROBLEMS: ReadonlyMap<number, typeof ApiProblem> = new Map([
  [401, Unauthorized],
  [403, Forbidden],
  [429, RateLimited],
]);

/** A refusal, also where something in between has answered for the node. Its words may repeat the key. */
function problemOf({ status, headers }: Response, body: string, key: string | null): ApiProblem {
  const members = objectOf(body) ?? {};
  const shown = (value: unknown): string => {
    const whole = typeof value === "string" ? value : "";
    return (key === null ? whole : whole.replaceAll(key, "<API_KEY>")).slice(0, TEXT_LENGTH_MAX);
  };
  const seconds = Number(headers.get("retry-after") ?? "");
  const Problem = PROBLEMS.get(status) ?? (status >= 500 ? Unavailable : ApiProblem);
  return new Problem(shown(members["code"]) || `http_${status}`, shown(members["detail"]), {
    status,
    retryAfter: seconds > 0 ? seconds : undefined,
  });
}
