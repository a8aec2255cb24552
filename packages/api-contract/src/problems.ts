/**
 * Every problem the public API can answer with. `code` is the contract: clients match on it, never on text. Codes are
 * added, never renamed and never moved to another status. The body is RFC 9457, `application/problem+json`.
 */

export interface ProblemRow {
  readonly status: number;
  /** The same for every occurrence (RFC 9457 section 3.1.3). */
  readonly title: string;
  /** What to tell the client when the occurrence has nothing more exact to say. */
  readonly detail: string;
  /** When it is answered: for the reference page. */
  readonly when: string;
}

/** Said by the HTTP surface itself, in the order in which a request is checked. */
const REQUEST_PROBLEMS = {
  http_invalid: {
    status: 400,
    title: "Not a valid HTTP request",
    detail: "The bytes on the connection are not a valid HTTP/1.1 request.",
    when: "The request cannot be parsed, or its framing is ambiguous. The connection is closed.",
  },
  headers_too_large: {
    status: 431,
    title: "Request headers too large",
    detail: "The request line and headers exceed the limit.",
    when: "Request line and headers exceed `header_bytes_max` or `headers_max`. The connection is closed.",
  },
  request_timeout: {
    status: 408,
    title: "Request not received in time",
    detail: "The request did not arrive completely in time.",
    when: "Headers or body arrive too slowly. The connection is closed.",
  },
  route_not_found: {
    status: 404,
    title: "No such route",
    detail: "There is no such path. Paths are case-sensitive and have no trailing slash.",
    when: "The API has no such path.",
  },
  method_not_allowed: {
    status: 405,
    title: "Method not allowed",
    detail: "This path has no such method; the Allow header lists those it has.",
    when: "The path exists, but not with this method.",
  },
  api_key_invalid: {
    status: 401,
    title: "No valid API key",
    detail: "Present a live API key as `Authorization: Bearer <API_KEY>` or `X-API-Key: <API_KEY>`.",
    when: "The key is missing, malformed, unknown, expired or revoked. The answer does not say which.",
  },
  scope_missing: {
    status: 403,
    title: "API key lacks the scope",
    detail: "The API key does not have the scope this request needs.",
    when: "The key is live but lacks the scope of the route.",
  },
  rate_limited: {
    status: 429,
    title: "Too many requests",
    detail: "This API key, or this address, exceeds its rate. Retry after the time in Retry-After.",
    when: "The key, or without a key the address, has exceeded its rate: too many requests, or too large ones.",
  },
  media_type_unsupported: {
    status: 415,
    title: "Body is not JSON",
    detail: "Send the body as `Content-Type: application/json`, in UTF-8, without a content encoding.",
    when: "The route needs a body, and the body is not declared as plain JSON.",
  },
  body_too_large: {
    status: 413,
    title: "Body too large",
    detail: "The body exceeds the limit of this route.",
    when: "The body exceeds `body_bytes_max`, or `batch_body_bytes_max` for batches.",
  },
  json_invalid: {
    status: 400,
    title: "Body is not acceptable JSON",
    detail: "The body is not acceptable JSON; `errors` says where.",
    when:
      "The body is not UTF-8 or not JSON, is too deep, or has a repeated or forbidden key, too many keys " +
      "or values, a number that is not digits only, or a lone surrogate.",
  },
  invalid_request: {
    status: 400,
    title: "Request has the wrong shape",
    detail: "The request has the wrong shape; `errors` says where.",
    when: "A field or parameter is missing, unknown, of the wrong type or out of range.",
  },
  client_event_id_invalid: {
    status: 400,
    title: "client_event_id is not acceptable",
    detail: "client_event_id has 1 to 128 printable ASCII characters.",
    when: "client_event_id is empty, too long, or contains a character that is not allowed.",
  },
  batch_too_many_signatures: {
    status: 400,
    title: "Too many signed items in one batch",
    detail: "A batch may hold 256 signed items.",
    when: "More than `batch_signed_items_max` items carry a signature.",
  },
  as_of_future: {
    status: 400,
    title: "as_of lies in the future",
    detail: "as_of is above the newest applied sequence, or later than this node's clock.",
    when: "`as_of` names a position that does not exist yet.",
  },
} as const satisfies Record<string, ProblemRow>;

/** Said of records that are asked for. */
const LOOKUP_PROBLEMS = {
  anchor_not_found: {
    status: 404,
    title: "No such anchor",
    detail: "No anchor with this id is committed in this cluster.",
    when: "No anchor has this id. The read was linearizable.",
  },
  no_anchor_yet: {
    status: 404,
    title: "No anchor yet",
    detail: "Nothing but the genesis leaf is certified in this origin.",
    when: "The origin has no certified anchor yet, so it has no latest anchor (EEA).",
  },
  tile_not_found: {
    status: 404,
    title: "No such tile",
    detail: "The certified tree of this origin does not reach that far.",
    when: "The tile, or a partial tile of that width, is beyond the certified size.",
  },
  no_active_claim: {
    status: 404,
    title: "No active ClaimAnchor",
    detail: "No ClaimAnchor of this pair is active.",
    when: "The newest claim of the pair, if any, is revoked or expired.",
  },
  no_active_grant: {
    status: 404,
    title: "No active GrantAnchor",
    detail: "No GrantAnchor of this pair is in force.",
    when: "No grant between the two entities is in force.",
  },
  client_event_id_erased: {
    status: 410,
    title: "client_event_id was erased",
    detail: "Your API client has used this client_event_id for the event in `anchor_id`; its clear text was erased.",
    when: "The client_event_id of this event was erased. The event is still anchored.",
  },
  wrong_kind: {
    status: 409,
    title: "Record of another kind",
    detail: "The record exists and is not of the kind this route is for.",
    when: "The anchor has the wrong kind: for example, an event on a route of claims, or a claim in `grant_ref`.",
  },
  origin_lost: {
    status: 409,
    title: "Never certified",
    detail: "The origin was lost before a certificate covered this anchor: no receipt of it will ever exist.",
    when:
      "The anchor is one of the last of an origin that was given up, in a restore or by the root keys. It " +
      "stays `committed` for good.",
  },
  proof_too_large: {
    status: 409,
    title: "Too many hops for a proof",
    detail: "The delegation has more hops than a proof holds. `anchorctl bundle` proves it by the leaves of the log.",
    when: "A proof is asked for, and the delegation has more than `trace_delegation_max` hops.",
  },
  from_size_ahead: {
    status: 409,
    title: "Size beyond the certified tree",
    detail: "The certified tree is smaller than that. Keep the checkpoint you hold: it may be evidence.",
    when: "The client's pinned head, or a size in the request, is larger than the newest certified size.",
  },
} as const satisfies Record<string, ProblemRow>;

/** Decided by the replicated ledger, in the order in which it checks. */
const REJECTION_PROBLEMS = {
  origin_unknown: {
    status: 409,
    title: "Unknown origin",
    detail: "origin_fingerprint is not an origin of this cluster. Read it from GET /healthz of the target node.",
    when: "No trust root of this cluster lists the origin. Nothing is written.",
  },
  origin_mismatch: {
    status: 409,
    title: "Another origin than the record's",
    detail: "origin_fingerprint is not the origin of the record that the request names.",
    when: "The revocation names another origin than its target's.",
  },
  signature_invalid: {
    status: 422,
    title: "Signature does not verify",
    detail: "A signature does not verify; `errors` says which.",
    when: "A signature is wrong, or its key is not acceptable.",
  },
  not_own_record: {
    status: 403,
    title: "Recorded by another API client",
    detail: "Another API client has recorded this. Have a party sign the revocation, or ask an operator.",
    when: "Another API client recorded the anchor, and the request would revoke it unsigned, or erase it.",
  },
  client_event_id_conflict: {
    status: 409,
    title: "client_event_id was used for another event",
    detail: "This client_event_id already belongs to an event with other content. Nothing is written.",
    when: "The API client has already used this client_event_id with other content.",
  },
  origin_closed: {
    status: 409,
    title: "Origin takes no new records",
    detail: "This origin is closed or lost. Write to an active origin of this cluster.",
    when: "The trust root marks the origin closed or lost.",
  },
  reference_not_found: {
    status: 422,
    title: "Referenced anchor does not exist",
    detail: "A reference names an anchor that does not exist; `errors` says which.",
    when: "A reference names an anchor that does not exist at a lower sequence.",
  },
  reference_wrong_kind: {
    status: 422,
    title: "Referenced anchor has another kind",
    detail: "A reference names an anchor of another kind; `errors` says which.",
    when: "A reference names an anchor of the wrong kind: for example, iris_ref names an event.",
  },
  issued_in_future: {
    status: 422,
    title: "issued_at lies in the future",
    detail: "issued_at is more than 300,000 ms after the time the cluster accepted the request.",
    when: "issued_at is too far ahead: the signer's clock is wrong.",
  },
  window_invalid: {
    status: 422,
    title: "Window of validity is empty",
    detail: "not_before must be smaller than expires_at, and expires_at must lie ahead.",
    when: "The window contains no time at which the record could be in force.",
  },
  window_outside_parent: {
    status: 422,
    title: "Window exceeds the parent grant's",
    detail: "The window must lie inside that of the parent grant.",
    when: "A non-zero bound of the window is outside the parent's window.",
  },
  claim_conflict: {
    status: 409,
    title: "Claim belongs to another issuer",
    detail: "The newest ClaimAnchor of this pair was issued by another key.",
    when: "Another issuer has issued the newest claim of this pair.",
  },
  claim_not_in_force: {
    status: 422,
    title: "Referenced ClaimAnchor is not in force",
    detail: "A referenced ClaimAnchor is superseded, revoked or expired; `errors` says which.",
    when: "The claim is not in force at the position of the request.",
  },
  grant_not_in_force: {
    status: 422,
    title: "Referenced GrantAnchor is not in force",
    detail: "A referenced GrantAnchor is superseded, revoked or outside its window; `errors` says which.",
    when: "The grant is not in force at the position of the request.",
  },
  grantor_key_mismatch: {
    status: 422,
    title: "Grantor key is not the claim's",
    detail: "grantor_public_key is not the subject key of the grantor's ClaimAnchor.",
    when: "The grantor signed with another key than its claim names.",
  },
  witness_is_grantor: {
    status: 422,
    title: "Witness and grantor are the same key",
    detail: "witness_public_key must differ from grantor_public_key.",
    when: "The grant names the same key as grantor and as witness.",
  },
  parent_mismatch: {
    status: 422,
    title: "Parent grant is not to this grantor",
    detail: "The grantee of the parent grant and this grantor are not of one lineage.",
    when: "parent_grant_ref names a grant to another grantee than this grantor.",
  },
  depth_exceeded: {
    status: 422,
    title: "Delegation depth exhausted",
    detail: "delegation_depth must be smaller than the parent grant's, and a chain has at most 10,000 grants.",
    when: "The parent grant allows fewer further hops, or the chain has `delegation_links_max` grants.",
  },
  batch_refused: {
    status: 409,
    title: "Atomic batch refused",
    detail: "At least one item is refused, so nothing of this batch is anchored; `results` says why, item by item.",
    when: "The batch has `atomic: true` and an item is refused.",
  },
} as const satisfies Record<string, ProblemRow>;

/** Not now: nothing is promised. Every one carries Retry-After. */
const UNAVAILABLE_PROBLEMS = {
  outcome_unknown: {
    status: 503,
    title: "Outcome unknown",
    detail:
      "The request may or may not take effect. Ask again: the same client_event_id, or the same record, counts once.",
    when: "The deadline passed, or the connection to the control plane was lost, after the request was forwarded.",
  },
  deadline_exceeded: {
    status: 503,
    title: "Deadline exceeded",
    detail: "The request was not begun in time. Nothing is written.",
    when: "The deadline passed before the request was submitted to the log, or before a read could be answered.",
  },
  overloaded: {
    status: 503,
    title: "Overloaded",
    detail: "Too much is waiting. Nothing is written.",
    when: "This node has too many requests in progress, or a queue of this node or the leader is full.",
  },
  no_leader: {
    status: 503,
    title: "No leader",
    detail: "The cluster has no leader at the moment. Nothing is written.",
    when: "An election is in progress, or no majority is reachable.",
  },
  certification_stalled: {
    status: 503,
    title: "Certification stalled",
    detail: "Too few nodes co-sign at the moment.",
    when: "Committed leaves wait too long for certification: new ones are refused, or a read cannot be certified.",
  },
  state_not_signed: {
    status: 503,
    title: "State not signed",
    detail:
      "No quorum has signed the state in time, so there is no proof. The verdict alone can be had without proof=true.",
    when: "A proof is asked for, and too few nodes sign the state in time, or too many proofs are waited for.",
  },
  origin_contradicted: {
    status: 503,
    title: "Origin contradicted",
    detail:
      "Two certificates of an origin that is named here contradict each other. Nothing is written to it until the " +
      "holders of the root keys have decided; other origins go on. What has stopped is in /readyz and anchorctl " +
      "status, what to do in docs/operating/contradictions.md.",
    when: "A quorum has signed another tree of the origin than this node's. Other origins are not affected.",
  },
  clock_unsafe: {
    status: 503,
    title: "Clock unsafe",
    detail: "The leader's clock disagrees with the cluster's. Nothing is written.",
    when: "The leader's clock differs too much from the other nodes' clocks, or too few nodes have reported theirs.",
  },
  not_initialised: {
    status: 503,
    title: "Cluster not initialised",
    detail: "The cluster has no genesis entry yet.",
    when: "The cluster is new and not initialised yet.",
  },
  unavailable: {
    status: 503,
    title: "Node unavailable",
    detail: "This node cannot serve at the moment.",
    when: "Storage, peers or the control plane of this node are unavailable.",
  },
  fenced: {
    status: 503,
    title: "Node out of service",
    detail: "This node has been taken out of service. Use another node.",
    when: "The node has forgotten a promise, or has left the cluster: its identity must not be used again.",
  },
  halted: {
    status: 503,
    title: "Node halted",
    detail: "This node has stopped until a person has looked at it. Use another node.",
    when: "The node must not continue: a row is corrupt, results differ, or the program is too old for the log.",
  },
  storage_full: {
    status: 503,
    title: "Storage full",
    detail: "This cluster or node is out of disk space. Nothing is written.",
    when: "A disk is full.",
  },
  internal_error: {
    status: 500,
    title: "Internal error",
    detail: "Something went wrong inside. A write may or may not have taken effect.",
    when: "A fault of the service. Search the logs for the request id.",
  },
} as const satisfies Record<string, ProblemRow>;

/** The whole table, in the order of the checks. */
export const PROBLEMS = {
  ...REQUEST_PROBLEMS,
  ...LOOKUP_PROBLEMS,
  ...REJECTION_PROBLEMS,
  ...UNAVAILABLE_PROBLEMS,
} as const satisfies Record<string, ProblemRow>;

export type ProblemCode = keyof typeof PROBLEMS;

export const PROBLEM_CODES: readonly ProblemCode[] = Object.keys(PROBLEMS) as ProblemCode[];

/** Codes after which the same request may succeed, also on another node; they carry Retry-After. */
export const RETRYABLE_PROBLEMS: ReadonlySet<ProblemCode> = new Set<ProblemCode>([
  "rate_limited",
  ...(Object.keys(UNAVAILABLE_PROBLEMS) as (keyof typeof UNAVAILABLE_PROBLEMS)[]).filter(
    (code) => code !== "internal_error",
  ),
]);

export function isProblemCode(code: string): code is ProblemCode {
  return Object.hasOwn(PROBLEMS, code);
}

/** Where a request is wrong, and why. */
export interface ProblemItem {
  /** RFC 6901 pointer into the body; absent for what is not in the body. */
  readonly pointer?: string;
  /** Name of the query parameter, path parameter or header; absent for what is in the body. */
  readonly parameter?: string;
  /** What kind of fault, for example `duplicate_key`, `wrong_format`, `unknown_field`. */
  readonly code: string;
  readonly detail: string;
}

/** A problem as the service thinks of it, before it becomes a body. */
export interface Problem {
  readonly code: ProblemCode;
  /** What happened this time; the table's text if absent. Never names internals. */
  readonly detail?: string;
  readonly errors?: readonly ProblemItem[];
  /** Hint for Retry-After, milliseconds. */
  readonly retryAfterMs?: number | null;
}

/** RFC 9457 body. */
export interface ProblemBody {
  readonly type: string;
  readonly title: string;
  readonly status: number;
  readonly detail: string;
  readonly code: ProblemCode;
  readonly request_id?: string;
  readonly errors?: readonly ProblemItem[];
}

/** The body of a problem. Inside the results of a batch there is no request id of its own: pass null. */
export function problemBody(problem: Problem, requestId: string | null): ProblemBody {
  const row: ProblemRow = PROBLEMS[problem.code];
  return {
    type: `urn:event-anchoring:problem:${problem.code}`,
    title: row.title,
    status: row.status,
    detail: problem.detail ?? row.detail,
    code: problem.code,
    ...(requestId === null ? {} : { request_id: requestId }),
    ...(problem.errors === undefined || problem.errors.length === 0 ? {} : { errors: problem.errors }),
  };
}
