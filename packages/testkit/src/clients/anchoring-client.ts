import { LoadClient } from "./load-client.ts";
import type { LoadAnswer } from "./load-client.ts";
import { until } from "../until.ts";
import type { JsonBody } from "../records/signed-records.ts";

/** Shapes of answers as the interface's documents state them, written without the service's own schemas. */
export interface WireAnchor {
  readonly anchor_id: string;
  readonly kind: string;
  readonly origin_fingerprint: string;
  readonly depth: number;
  readonly sequence: number;
  readonly accepted_ms: number;
  readonly finality: string;
  readonly state?: string;
  readonly [field: string]: unknown;
}

export interface WireAsOf {
  readonly sequence: number | null;
  readonly time_ms: number;
}

export interface WireCheck {
  readonly code: string;
  readonly result: "pass" | "fail" | "not_checked";
  readonly detail: string;
}

export interface WireProblem {
  readonly code: string;
  readonly errors?: readonly { readonly pointer?: string; readonly code: string }[];
  readonly anchor_id?: string;
  readonly state?: string;
}

export interface WireCreated {
  readonly anchor: WireAnchor;
  readonly receipt: unknown;
  readonly replayed: boolean;
  /** What a revocation revokes. */
  readonly revoked_anchor_id?: string;
}

export interface WireFound {
  readonly anchor: WireAnchor;
  readonly receipt: unknown;
  readonly state: string;
  readonly others?: number;
}

export interface WireVerified {
  readonly valid: boolean;
  readonly as_of: WireAsOf;
  readonly checks: readonly WireCheck[];
  readonly anchor: WireAnchor;
  readonly state?: string;
}

export interface WireBatch {
  readonly results: readonly {
    readonly status: number;
    readonly anchor?: WireAnchor;
    readonly replayed?: boolean;
    readonly problem?: WireProblem;
  }[];
  readonly summary: Readonly<Record<string, number>>;
}

export interface WireVerifiedBatch {
  readonly results: readonly { readonly anchor_id: string; readonly valid: boolean }[];
  readonly summary: Readonly<Record<string, number>>;
}

export interface WireTrace {
  readonly anchor: WireAnchor;
  readonly actor_proven: boolean;
  readonly authorised_at_action: boolean | "unknown";
  readonly authorised_now: boolean | "unknown";
  readonly reasons: readonly { readonly verdict: string; readonly code: string; readonly anchor_id: string | null }[];
  readonly actor: {
    readonly claim: WireAnchor | null;
    readonly state: string | null;
    readonly actor_signature: string;
  };
  readonly delegation: readonly { readonly grant: WireAnchor }[];
  readonly boundary: {
    readonly depth: { readonly granted: number; readonly used: number; readonly left: number };
    readonly window: { readonly not_before: number; readonly expires_at: number };
  } | null;
  readonly suspect: boolean;
  readonly root_authority: string;
  readonly possible_parents: readonly string[];
  readonly revocations: readonly { readonly anchor: WireAnchor; readonly target_anchor_id: string }[];
  readonly violations: readonly { readonly code: string; readonly anchor_id: string }[];
  readonly as_of: WireAsOf;
}

export interface WireList {
  readonly items: readonly WireAnchor[];
  readonly next_cursor: string | null;
}

/** A node's answer: `ok` has the requested result, anything else is a problem. */
export type Answer<Body> =
  | { readonly ok: true; readonly status: number; readonly body: Body }
  | { readonly ok: false; readonly status: number; readonly body: WireProblem };

export type RecordKind = "claim" | "grant";
export type QueryFields = Readonly<Record<string, string | number | undefined>>;

/**
 * One node's whole API, one method for each route; answers are parsed and not judged. It is independent of the SDK on
 * purpose: the service's answers are compared with the interface's documents, not with our own client's reading of
 * them.
 */
export class AnchoringClient {
  readonly load: LoadClient;

  constructor(options: { readonly apiUrl: string; readonly apiKey: string; readonly connections?: number }) {
    this.load = new LoadClient({ connections: 1, ...options });
  }

  createClaim(body: JsonBody): Promise<Answer<WireCreated>> {
    return this.#post("/v1/claim-anchors", body);
  }

  createGrant(body: JsonBody): Promise<Answer<WireCreated>> {
    return this.#post("/v1/grant-anchors", body);
  }

  createEvent(body: JsonBody): Promise<Answer<WireCreated>> {
    return this.#post("/v1/event-anchors", body);
  }

  /** @param body `{origin_fingerprint, events, atomic?}` */
  createEvents(body: JsonBody): Promise<Answer<WireBatch>> {
    return this.#post("/v1/event-anchors/batch", body);
  }

  revoke(kind: RecordKind, anchorId: string, body: JsonBody = {}): Promise<Answer<WireCreated>> {
    return this.#post(`/v1/${kind}-anchors/${anchorId}/revoke`, body);
  }

  eraseClientEventId(anchorId: string): Promise<Answer<{ readonly erased: boolean }>> {
    return this.#post(`/v1/event-anchors/${anchorId}/erase-client-event-id`, {});
  }

  claimOf(entityFingerprint: string, attributeType: number): Promise<Answer<WireFound>> {
    return this.#get("/v1/claim-anchors", { entity_fingerprint: entityFingerprint, attribute_type: attributeType });
  }

  grantBetween(grantorFingerprint: string, granteeFingerprint: string): Promise<Answer<WireFound>> {
    const query = { grantor_fingerprint: grantorFingerprint, grantee_fingerprint: granteeFingerprint };
    return this.#get("/v1/grant-anchors", query);
  }

  /** @param body `{anchor_id, as_of?}`, for events `event_hash?`, for grants `trusted_roots?` */
  verify(kind: RecordKind | "event", body: JsonBody): Promise<Answer<WireVerified>> {
    return this.#post(`/v1/${kind}-anchors:verify`, body);
  }

  /** @param body `{anchors: [{anchor_id, event_hash?}], as_of?}` */
  verifyBatch(body: JsonBody): Promise<Answer<WireVerifiedBatch>> {
    return this.#post("/v1/event-anchors:batchVerify", body);
  }

  /** @param query `as_of`, `trusted_roots`, `cursor`, `limit` */
  trace(anchorId: string, query: QueryFields = {}): Promise<Answer<WireTrace>> {
    return this.#get(`/v1/event-anchors/${anchorId}/trace`, query);
  }

  anchor(anchorId: string): Promise<Answer<{ readonly anchor: WireAnchor; readonly receipt: unknown }>> {
    return this.#get(`/v1/event-anchors/${anchorId}`, {});
  }

  /** @param query exactly one of `event_hash`, `iris_ref`, `grant_ref`, `client_event_id`; with `cursor`, `limit` */
  events(query: QueryFields): Promise<Answer<WireList>> {
    return this.#get("/v1/event-anchors", query);
  }

  /** @param query `from_size`, with `origin_fingerprint`, `to_size` */
  consistency(query: QueryFields): Promise<Answer<JsonBody>> {
    return this.#get("/v1/event-anchors/consistency", query);
  }

  close(): Promise<void> {
    return this.load.close();
  }

  async #post<Body>(path: string, body: JsonBody): Promise<Answer<Body>> {
    return answerOf<Body>(await this.load.post(path, JSON.stringify(body), REQUEST_TIMEOUT_MS));
  }

  async #get<Body>(path: string, query: QueryFields): Promise<Answer<Body>> {
    const fields = Object.entries(query).flatMap(([name, value]) =>
      value === undefined ? [] : [`${name}=${encodeURIComponent(value)}`],
    );
    const target = fields.length === 0 ? path : `${path}?${fields.join("&")}`;
    return answerOf<Body>(await this.load.get(target, REQUEST_TIMEOUT_MS));
  }
}

const REQUEST_TIMEOUT_MS = 20_000;

/** @throws SyntaxError if the body is no JSON: no route answers anything else to these requests */
function answerOf<Body>({ status, text }: LoadAnswer): Answer<Body> {
  const body: unknown = JSON.parse(text);
  if (status >= 200 && status < 300) return { ok: true, status, body: body as Body };
  return { ok: false, status, body: body as WireProblem };
}

/** The body of a good answer. @throws with the problem otherwise */
export function expectOk<Body>(answer: Answer<Body>): Body {
  if (!answer.ok) throw new Error(`answered ${answer.status}: ${JSON.stringify(answer.body)}`);
  return answer.body;
}

const SERVED_WITHIN_MS = 60_000;

/** Retries for as long as the node answers 503. */
export async function served<Said extends { readonly status: number }>(ask: () => Promise<Said>): Promise<Said> {
  return until(
    "a node serves",
    async () => {
      const answer = await ask();
      return answer.status === 503 ? null : answer;
    },
    SERVED_WITHIN_MS,
  );
}
