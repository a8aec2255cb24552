import { z } from "zod";

/** The status that a node reports to its api process, to operators and to its peers. One schema for every path. */

const count = z.int().min(0);
const hex32 = z.string().regex(/^[0-9a-f]{64}$/);

const nodeName = z.string().min(1).max(32);

/** Contradictions that a node knows of; none of them keeps the node from serving. */
const contradictions = z.strictObject({
  /**
   * Nodes whose cosigner key has signed two roots of one size, as a file here proves. This node does not count them any
   * more.
   */
  named: z.array(nodeName).max(32),
  /** Origins that have stopped: another certificate than this node's exists. */
  origins: z.array(hex32).max(1024),
  /** Sizes for which no client gets `201` while all nodes exchange their signatures, for some seconds. */
  withheld: z.array(z.strictObject({ originFingerprint: hex32, treeSize: count })).max(64),
  /** Peers whose tree or effects differed from this node's in the last seconds. */
  differing: z.array(nodeName).max(32),
  /** Names of the files in the folder `evidence` beside the promise file; the first 64. */
  evidence: z.array(z.string().max(255)).max(64),
  /** Their number. */
  evidenceFiles: count,
});

/** A peer that this node has cut off for a while. */
const peerCutOff = z.strictObject({
  nodeId: nodeName,
  remainingMs: z.number().min(0),
  /** Its offences since this process began, by kind. */
  offences: z.record(z.string().min(1).max(64), count),
});

const failingCheck = z.strictObject({ check: z.string().min(1).max(64), detail: z.string().max(1000) });

export const nodeStatusSchema = z.strictObject({
  nodeId: z.string().min(1).max(32),
  clusterId: hex32,
  originFingerprint: hex32,
  raft: z.strictObject({
    role: z.enum(["leader", "follower", "candidate", "pre_candidate"]),
    term: count,
    /** Node id of the leader known to this node. */
    leader: z.string().min(1).max(32).nullable(),
    commitIndex: count,
    appliedIndex: count,
    lastIndex: count,
  }),
  serving: z.strictObject({
    state: z.enum(["starting", "running", "unavailable", "fenced", "halted"]),
    /** Why the node is not ready, in order of importance. Empty while it is. */
    failing: z.array(failingCheck).max(32),
  }),
  primeRootThk: z.strictObject({
    role: z.enum(["prime", "replica"]),
    version: count,
    rootThk: hex32,
    primeVersion: count.nullable(),
    inSync: z.boolean(),
    lastSuccessAtMs: count.nullable(),
    ageSeconds: z.number().min(0).nullable(),
    expiresAtS: count,
    lastError: z.string().max(1000).nullable(),
  }),
  origins: z
    .array(
      z.strictObject({
        originFingerprint: hex32,
        treeSize: count,
        certifiedSize: count,
        status: z.enum(["active", "closed", "lost"]),
      }),
    )
    .max(1024),
  contradictions,
  peersCutOff: z.array(peerCutOff).max(32),
  /** Counts of the walk over the node's own tables since the process began. Absent: there is none. */
  scrub: z.strictObject({ rows: count, passes: count, lastPassAtMs: count.nullable(), differences: count }).optional(),
  /** Rises by one at every start of the node. */
  incarnation: count,
  versions: z.record(z.string().min(1).max(64), z.string().max(64)),
});

export type NodeStatus = z.infer<typeof nodeStatusSchema>;
export type ServingState = NodeStatus["serving"]["state"];
