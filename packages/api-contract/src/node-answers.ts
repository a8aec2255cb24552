/** What the routes answer that are about the node and the API themselves. */
import { z } from "zod";
import { LIMITS } from "./limits.ts";
import { count, hex32, rfc3339 } from "./wire.ts";

const trustRootVersion = z
  .strictObject({
    version: count,
    root_thk: hex32.describe("RootTHK: the hash of the document's text, which readers pin out of band."),
    document: z.string().describe("A signed note."),
  })
  .meta({ id: "TrustRootVersion" });

/** `chain` is oldest first and authenticates itself from the version a client has pinned. */
export const trustRootSchema = trustRootVersion
  .extend({ chain: z.array(trustRootVersion).describe("Every version, oldest first.") })
  .meta({ id: "TrustRoot", description: "The newest version, and the chain that leads to it." });

export type TrustRootAnswer = z.infer<typeof trustRootSchema>;

/** The Prime RootTHK sync summary. */
const rootSyncJson = z
  .strictObject({
    role: z.enum(["prime", "replica"]),
    version: count,
    root_thk: hex32.nullable(),
    prime_version: count.nullable(),
    in_sync: z.boolean().describe("A quorum has confirmed that this node's trust root is the newest."),
    last_success_at: rfc3339.nullable(),
    age_seconds: z.number().min(0).nullable().describe("Since the last success."),
    expires_at: rfc3339.nullable(),
    last_error: z.string().nullable().describe("null: none. Its text is for a key with `read`."),
  })
  .meta({ id: "RootSync", description: "The Prime RootTHK sync summary." });

/** The node's evidence against other nodes. */
const contradictionsJson = z
  .strictObject({
    named: z.array(z.string()).describe("Nodes whose key has signed two roots of one size, as files here prove."),
    origins: z.array(hex32).describe("Origins that have stopped: another certificate than this node's exists."),
    withheld: z
      .array(z.strictObject({ origin_fingerprint: hex32, tree_size: count }))
      .describe("Sizes that wait while all nodes exchange what they have signed, for seconds."),
    differing: z.array(z.string()).describe("Peers whose tree or effects differed in the last seconds."),
    evidence: z.array(z.string()).describe("Files in the folder `evidence` beside the promise file; the first 64."),
    evidence_files: count.describe("The total number."),
  })
  .meta({ id: "Contradictions", description: "The node's evidence against other nodes." });

const peerCutOffJson = z
  .strictObject({
    node_id: z.string(),
    remaining_seconds: z.number().min(0),
    offences: z
      .array(z.strictObject({ offence: z.string(), count }))
      .describe("What the peer has done since this process started."),
  })
  .meta({ id: "PeerCutOff", description: "A peer that the node temporarily ignores." });

export const healthSchema = z
  .strictObject({
    status: z.enum(["ok", "degraded", "error"]),
    node_id: z.string(),
    cluster_id: hex32,
    origin_fingerprint: hex32.describe(
      "The origin that writes to this node should name: the node's own, or another one while its own accepts nothing.",
    ),
    prime_root_thk: rootSyncJson,
    raft: z
      .strictObject({
        role: z.string(),
        term: count,
        leader: z.string().nullable(),
        commit_index: count,
        applied_index: count,
      })
      .optional()
      .describe("For a key with `read`, while the control plane answers."),
    contradictions: contradictionsJson.optional().describe("For a key with `read`, while the control plane answers."),
    peers_cut_off: z
      .array(peerCutOffJson)
      .optional()
      .describe("For a key with `read`, while the control plane answers."),
    versions: z.strictObject({
      api_contract: z.literal("4.2"),
      locked_code: z.literal("V4.2"),
      service: z.string(),
      rules: count
        .optional()
        .describe("The rules by which the node decides the next entry; absent while it does not know them."),
      rules_known: count.optional().describe("The highest that its program can decide by."),
      rules_held_back_by: z.string().optional().describe("Nodes that hold back higher rules; empty: none."),
      entry_version: count.optional().describe("The version of the entries that a leader writes."),
    }),
  })
  .meta({ id: "Health" });

export type HealthAnswer = z.infer<typeof healthSchema>;

export const readySchema = z
  .strictObject({
    ready: z.boolean(),
    checks: z.array(
      z.strictObject({ check: z.string(), result: z.enum(["pass", "warn", "fail"]), detail: z.string() }),
    ),
  })
  .meta({ id: "Ready" });

export type ReadyAnswer = z.infer<typeof readySchema>;

const rate = z.int().min(1).max(LIMITS.unsigned32Max).nullable();

export const limitsSchema = z
  .strictObject({
    body_bytes_max: count,
    batch_body_bytes_max: count,
    batch_items_max: count,
    batch_signed_items_max: count,
    client_event_id_chars_max: count,
    json_depth_max: count,
    json_object_keys_max: count,
    json_key_chars_max: count,
    json_values_max: count,
    write_timeout_ms: count,
    read_timeout_ms: count,
    batch_timeout_ms: count,
    prefer_wait_seconds_min: count,
    prefer_wait_seconds_max: count,
    timeout_grace_ms: count,
    answer_timeout_ms: count,
    latest_wait_seconds_max: count,
    feeds_max: count,
    key_feeds_max: count,
    public_feeds_max: count,
    address_feeds_max: count,
    list_items_max: count,
    trace_parents_max: count,
    trace_hops_max: count,
    trace_delegation_max: count,
    delegation_links_max: count,
    possible_parents_max: count,
    trusted_roots_max: count,
    header_bytes_max: count,
    headers_max: count,
    target_bytes_max: count,
    integer_max: count,
    attribute_type_max: count,
    delegation_depth_max: count,
    key_requests_per_second: rate.describe(
      "Tokens a second, at each node, of a key that has no rate of its own; null: no limit.",
    ),
    public_address_requests_per_second: rate.describe(
      "Tokens a second, at each node, of one address without a key; null: the log is not public.",
    ),
    public_requests_per_second: rate.describe("The same of all addresses together; null: the log is not public."),
  })
  .meta({ id: "Limits", description: "Maxima are inclusive." });

export type LimitsAnswer = z.infer<typeof limitsSchema>;

/** The document describes itself: what it holds is the OpenAPI specification's matter. */
export const openApiSchema = z
  .looseObject({ openapi: z.string(), info: z.looseObject({ title: z.string(), version: z.string() }) })
  .meta({ id: "OpenApi", description: "An OpenAPI 3.1 document." });
