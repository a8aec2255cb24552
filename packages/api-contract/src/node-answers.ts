/** What the routes answer that are about the node and the API themselves. */
import { z } from "zod";
import { LIMITS } from "./limits.ts";
import { count, hex32, rfc3339 } from "./wire.ts";

const trustRootVersion = z
  .strictObject({
    version: count.describe("From 1 on; each is one more than the one before."),
    root_thk: hex32.describe("RootTHK: the hash of the document's text, which readers pin out of band."),
    document: z.string().describe("A signed note."),
  })
  .meta({ id: "TrustRootVersion", description: "One version of the trust root." });

/** `chain` is oldest first and authenticates itself from the version a client has pinned. */
export const trustRootSchema = trustRootVersion
  .extend({ chain: z.array(trustRootVersion).describe("Every version, oldest first.") })
  .meta({ id: "TrustRoot", description: "The newest version, and the chain that leads to it." });

export type TrustRootAnswer = z.infer<typeof trustRootSchema>;

/** The Prime RootTHK sync summary. */
const rootSyncJson = z
  .strictObject({
    role: z.enum(["prime", "replica"]).describe("prime: the leader, with whose trust root the others compare theirs."),
    version: count.describe("The newest version of the trust root that this node has."),
    root_thk: hex32
      .nullable()
      .describe("RootTHK of that version: 32 bytes; null while the control plane does not answer."),
    prime_version: count.nullable().describe("The newest version that the prime has; null: not known."),
    in_sync: z.boolean().describe("A quorum has confirmed that this node's trust root is the newest."),
    last_success_at: rfc3339.nullable().describe("When it was last confirmed; null: not since the start."),
    age_seconds: z.number().min(0).nullable().describe("Since the last success."),
    expires_at: rfc3339
      .nullable()
      .describe("When the trust root expires; null while the control plane does not answer."),
    last_error: z.string().nullable().describe("null: none. Its text is for a key with `read`."),
  })
  .meta({ id: "RootSync", description: "The Prime RootTHK sync summary." });

/** The node's evidence against other nodes. */
const contradictionsJson = z
  .strictObject({
    named: z.array(z.string()).describe("Nodes whose key has signed two roots of one size, as files here prove."),
    origins: z.array(hex32).describe("Origins that have stopped: another certificate than this node's exists."),
    withheld: z
      .array(
        z.strictObject({
          origin_fingerprint: hex32.describe("The origin: 32 bytes."),
          tree_size: count.describe("The size that waits, in leaves."),
        }),
      )
      .describe("Sizes that wait while all nodes exchange what they have signed, for seconds."),
    differing: z.array(z.string()).describe("Peers whose tree or effects differed in the last seconds."),
    evidence: z.array(z.string()).describe("Files in the folder `evidence` beside the promise file; the first 64."),
    evidence_files: count.describe("The total number."),
  })
  .meta({ id: "Contradictions", description: "The node's evidence against other nodes." });

const peerCutOffJson = z
  .strictObject({
    node_id: z.string().describe("The peer's name in the trust root."),
    remaining_seconds: z.number().min(0).describe("How long it is still ignored, in seconds."),
    offences: z
      .array(
        z.strictObject({
          offence: z.string().describe("What it did, in one word."),
          count: count.describe("How often."),
        }),
      )
      .describe("What the peer has done since this process started."),
  })
  .meta({ id: "PeerCutOff", description: "A peer that the node temporarily ignores." });

export const healthSchema = z
  .strictObject({
    status: z
      .enum(["ok", "degraded", "error"])
      .describe("error: the control plane is gone, fenced or halted. degraded: something else is wrong."),
    node_id: z.string().describe("The node's name in the trust root."),
    cluster_id: hex32.describe("The cluster: 32 bytes."),
    origin_fingerprint: hex32.describe(
      "The origin that writes to this node should name: the node's own, or another one while its own accepts nothing.",
    ),
    prime_root_thk: rootSyncJson,
    raft: z
      .strictObject({
        role: z.string().describe("Role in Raft, such as leader or follower."),
        term: count.describe("Raft term."),
        leader: z.string().nullable().describe("Name of the leader; null: none is known."),
        commit_index: count.describe("Raft index of the newest entry that a majority has."),
        applied_index: count.describe("Raft index of the newest entry that this node has executed."),
      })
      .optional()
      .describe("For a key with `read`, while the control plane answers."),
    contradictions: contradictionsJson.optional().describe("For a key with `read`, while the control plane answers."),
    peers_cut_off: z
      .array(peerCutOffJson)
      .optional()
      .describe("For a key with `read`, while the control plane answers."),
    versions: z
      .strictObject({
        api_contract: z.literal("4.2").describe("The contract of this document."),
        locked_code: z.literal("V4.2").describe("The format of leaves, signatures and receipts."),
        service: z.string().describe("The program's release."),
        rules: count
          .optional()
          .describe("The rules by which the node decides the next entry; absent while it does not know them."),
        rules_known: count.optional().describe("The highest that its program can decide by."),
        rules_held_back_by: z.string().optional().describe("Nodes that hold back higher rules; empty: none."),
        entry_version: count.optional().describe("The version of the entries that a leader writes."),
      })
      .describe("What the node runs."),
  })
  .meta({ id: "Health", description: "What the node knows of itself and the cluster." });

export type HealthAnswer = z.infer<typeof healthSchema>;

export const readySchema = z
  .strictObject({
    ready: z.boolean().describe("Whether the node takes requests."),
    checks: z
      .array(
        z.strictObject({
          check: z.string().describe("What was looked at, in one word."),
          result: z.enum(["pass", "warn", "fail"]).describe("warn: it is ready all the same."),
          detail: z.string().describe("For people; what is secret is for a key with `read`."),
        }),
      )
      .describe("Each thing that it depends on."),
  })
  .meta({ id: "Ready", description: "Whether the node takes requests, and why not." });

export type ReadyAnswer = z.infer<typeof readySchema>;

const rate = z.int().min(1).max(LIMITS.unsigned32Max).nullable();

export const limitsSchema = z
  .strictObject({
    body_bytes_max: count.describe("Bytes of the body of any request that is not a batch."),
    batch_body_bytes_max: count.describe("Bytes of the body of a batch."),
    batch_items_max: count.describe("Items of a batch, to create or to verify."),
    batch_signed_items_max: count.describe("Items of a batch that carry a signature."),
    client_event_id_chars_max: count.describe("Printable ASCII characters of a client_event_id."),
    json_depth_max: count.describe("Nesting of a body."),
    json_object_keys_max: count.describe("Names in one object of a body."),
    json_key_chars_max: count.describe("Characters of a name."),
    json_values_max: count.describe("Values of a body, objects and lists included."),
    write_timeout_ms: count.describe(
      "Milliseconds that a write may take that is no batch, unless `Prefer: wait=` says otherwise.",
    ),
    read_timeout_ms: count.describe("Milliseconds that reads, verification and traces may take."),
    batch_timeout_ms: count.describe("Milliseconds that a batch may take, to create or to verify."),
    prefer_wait_seconds_min: count.describe("Seconds: a smaller `Prefer: wait=` is ignored."),
    prefer_wait_seconds_max: count.describe("Seconds: a larger `Prefer: wait=` counts as this."),
    timeout_grace_ms: count.describe("Milliseconds after its timeout within which an answer leaves."),
    answer_timeout_ms: count.describe(
      "Milliseconds: an answer that is not taken whole within this time ends with its connection.",
    ),
    latest_wait_seconds_max: count.describe("Seconds that `wait` of the latest anchor may be."),
    feeds_max: count.describe("Feeds of API keys at one node."),
    key_feeds_max: count.describe("Feeds of one API key at one node."),
    public_feeds_max: count.describe("Feeds without a key at one node, on a public log."),
    address_feeds_max: count.describe("Feeds of one address without a key at one node."),
    list_items_max: count.describe("`limit` of a list."),
    trace_parents_max: count.describe("`limit` of a trace."),
    trace_hops_max: count.describe("Hops of a delegation on a page of a trace, and in the verification of a grant."),
    trace_delegation_max: count.describe("Hops on all pages of a trace; the others are counted and judged."),
    delegation_links_max: count.describe("Grants of a chain, from the root grant on."),
    possible_parents_max: count.describe("Grants that a trace names as possible parents."),
    trusted_roots_max: count.describe("Claims that a request names as trusted roots."),
    header_bytes_max: count.describe("Bytes of request line and headers."),
    headers_max: count.describe("Header lines of a request."),
    target_bytes_max: count.describe("Bytes of the request target."),
    integer_max: count.describe("Any integer: 2^53 − 1."),
    attribute_type_max: count.describe("The highest attribute_type: 2^32 − 1."),
    delegation_depth_max: count.describe("The highest delegation_depth: 2^32 − 1."),
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
  .looseObject({
    openapi: z.string().describe("The version of the OpenAPI specification."),
    info: z
      .looseObject({
        title: z.string().describe("Its name."),
        version: z.string().describe("The version of its contract."),
      })
      .describe("Which API it is."),
  })
  .meta({ id: "OpenApi", description: "An OpenAPI 3.1 document." });
