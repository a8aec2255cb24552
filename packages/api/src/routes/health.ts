import { formatRfc3339 } from "@event-anchoring/api-contract";
import type { HealthAnswer, ReadyAnswer } from "@event-anchoring/api-contract";
import type { NodeStatus } from "@event-anchoring/control-contract";
import { bytesToHex } from "@event-anchoring/protocol";
import { within } from "../request/deadline.ts";
import type { Handler, HandlerDependencies } from "./handler.ts";
import type { StatusAnswer, StorageAnswer } from "./node-probe.ts";

/** Together with the checks before it an answer takes less than the second that a gateway waits. */
const KEYS_TIMEOUT_MS = 400;

const UNREACHABLE_ROOT_SYNC = {
  role: "replica",
  version: 0,
  root_thk: null,
  prime_version: null,
  in_sync: false,
  last_success_at: null,
  age_seconds: null,
  expires_at: null,
  last_error: "the control plane of this node is not reachable",
} as const;

/** Strangers learn only that there is an error: its text may name hosts. */
const WITHHELD = "there is an error; a key with the scope read is told which";

function rootSyncJson(sync: NodeStatus["primeRootThk"], isReader: boolean): HealthAnswer["prime_root_thk"] {
  return {
    role: sync.role,
    version: sync.version,
    root_thk: sync.rootThk,
    prime_version: sync.primeVersion,
    in_sync: sync.inSync,
    last_success_at: sync.lastSuccessAtMs === null ? null : formatRfc3339(sync.lastSuccessAtMs),
    age_seconds: sync.ageSeconds === null ? null : Math.round(sync.ageSeconds * 1000) / 1000,
    expires_at: formatRfc3339(sync.expiresAtS * 1000),
    last_error: sync.lastError === null || isReader ? sync.lastError : WITHHELD,
  };
}

/** Fields that a loading control plane does not report are left out. */
function rulesJson(versions: NodeStatus["versions"]): Partial<HealthAnswer["versions"]> {
  const { rules, rules_known: known, rules_held_back_by: holders, entry_version: entryVersion } = versions;
  if (rules === undefined || known === undefined || holders === undefined || entryVersion === undefined) return {};
  return {
    rules: Number(rules),
    rules_known: Number(known),
    rules_held_back_by: holders,
    entry_version: Number(entryVersion),
  };
}

function healthStatus(answer: StatusAnswer): HealthAnswer["status"] {
  if (!answer.isReachable) return "error";
  const { serving, primeRootThk, contradictions } = answer.status;
  if (serving.state === "fenced" || serving.state === "halted") return "error";
  const isTrusted = primeRootThk.inSync && contradictions.named.length + contradictions.origins.length === 0;
  const isWell = serving.state === "running" && serving.failing.length === 0 && isTrusted;
  return isWell ? "ok" : "degraded";
}

type ForReaders = Pick<HealthAnswer, "raft" | "contradictions" | "peers_cut_off">;

/** Only what the control plane reports: nothing is made up for one that is gone. */
function readersJson(answer: StatusAnswer): ForReaders {
  if (!answer.isReachable) return {};
  const { raft, contradictions, peersCutOff } = answer.status;
  const { role, term, leader, commitIndex, appliedIndex } = raft;
  const { named, origins, withheld, differing, evidence, evidenceFiles } = contradictions;
  return {
    raft: { role, term, leader, commit_index: commitIndex, applied_index: appliedIndex },
    contradictions: {
      named,
      origins,
      withheld: withheld.map((head) => ({
        origin_fingerprint: head.originFingerprint,
        tree_size: head.treeSize,
      })),
      differing,
      evidence,
      evidence_files: evidenceFiles,
    },
    peers_cut_off: peersCutOff.map(({ nodeId, remainingMs, offences }) => ({
      node_id: nodeId,
      remaining_seconds: Math.ceil(remainingMs / 1000),
      offences: Object.entries(offences).map(([offence, times]) => ({ offence, count: times })),
    })),
  };
}

/** The node's own origin, or the first of the others while nothing can be written to that. */
function originToWrite(own: string, answer: StatusAnswer): string {
  if (!answer.isReachable) return own;
  const { origins, contradictions } = answer.status;
  const takes = origins.flatMap(({ originFingerprint, status }) =>
    status === "active" && !contradictions.origins.includes(originFingerprint) ? [originFingerprint] : [],
  );
  return takes.includes(own) ? own : (takes[0] ?? own);
}

/**
 * 200 while the process lives, whatever `status` is: it shows which node this is, even when the node is unhealthy. Only
 *     readers see how the node takes part in consensus.
 */
export const getHealth: Handler = async ({ caller }, { probe, node }) => {
  const answer = await probe.status();
  const isReader = caller !== null;
  const json: HealthAnswer = {
    status: healthStatus(answer),
    node_id: node.nodeId,
    cluster_id: node.clusterId,
    origin_fingerprint: originToWrite(bytesToHex(node.originFingerprint), answer),
    prime_root_thk: answer.isReachable ? rootSyncJson(answer.status.primeRootThk, isReader) : UNREACHABLE_ROOT_SYNC,
    ...(isReader ? readersJson(answer) : {}),
    versions: {
      api_contract: "4.2",
      locked_code: "V4.2",
      service: node.serviceVersion,
      ...(answer.isReachable ? rulesJson(answer.status.versions) : {}),
    },
  };
  return { status: 200, json };
};

type ReadyCheck = ReadyAnswer["checks"][number];

function storageCheck(answer: StorageAnswer): ReadyCheck {
  if (!answer.isReachable) return { check: "storage", result: "fail", detail: answer.detail };
  return { check: "storage", result: "pass", detail: `applied up to ${answer.appliedIndex}` };
}

/** A node with evidence of a contradiction still serves: only the origin concerned has stopped. */
function contradictionsCheck({ contradictions, origins }: NodeStatus): ReadyCheck {
  const { named, origins: stopped, withheld, differing, evidenceFiles } = contradictions;
  const says = [
    ...stopped.map((origin) => `origin ${origin} has stopped: two certificates contradict each other`),
    ...named.map((nodeId) => `${nodeId} has signed two roots of one size`),
    ...(withheld.length === 0 ? [] : ["writes wait while the nodes exchange what they have signed"]),
    ...(differing.length === 0 ? [] : [`another tree or other effects: ${differing.join(", ")}`]),
    ...(evidenceFiles === 0 ? [] : [`files of evidence: ${evidenceFiles}`]),
  ];
  if (says.length > 0) return { check: "contradictions", result: "warn", detail: says.join("; ") };
  return { check: "contradictions", result: "pass", detail: `none in ${origins.length} origins` };
}

function controlPlaneChecks(answer: StatusAnswer): ReadyCheck[] {
  if (!answer.isReachable) {
    const gone: ReadyCheck = {
      check: "control_plane",
      result: "fail",
      detail: "the control plane of this node does not answer",
    };
    if (answer.stopped === null) return [gone];
    const { reason, check, detail } = answer.stopped;
    return [{ check: reason, result: "fail", detail: `${check}: ${detail}` }, gone];
  }
  const connected: ReadyCheck = { check: "control_plane", result: "pass", detail: "connected" };
  const { state, failing } = answer.status.serving;
  if (state === "fenced" || state === "halted") {
    const why = failing.map(({ check, detail }) => `${check}: ${detail}`).join("; ");
    return [{ check: state, result: "fail", detail: why === "" ? `the node is ${state}` : why }, connected];
  }
  const checks: ReadyCheck[] = failing.map(({ check, detail }) => ({ check, result: "fail", detail }));
  // The state alone must be enough: a node that is not running is not ready, even if no check fails.
  if (state !== "running" && checks.length === 0) {
    checks.push({ check: state, result: "fail", detail: `the node is ${state}` });
  }
  return [connected, ...checks, contradictionsCheck(answer.status)];
}

/** Loading continues after the timeout, so a later check of a starting node can succeed. */
async function keysCheck(keys: HandlerDependencies["keys"]): Promise<ReadyCheck> {
  const isAtHand = await within(keys.isAtHand(), KEYS_TIMEOUT_MS, false);
  if (isAtHand) return { check: "api_keys", result: "pass", detail: "the table of keys can be read" };
  return { check: "api_keys", result: "fail", detail: "the table of keys cannot be read in time" };
}

/** 200, or 503 with the checks that fail, by name. A warning is for operators: the node serves. */
export const getReadiness: Handler = async (_request, { probe, keys, isStopping }) => {
  const [status, storage] = await Promise.all([probe.status(), probe.storage()]);
  const checks = [...controlPlaneChecks(status), storageCheck(storage)];
  if (checks.every(({ result }) => result !== "fail")) checks.push(await keysCheck(keys));
  if (isStopping()) {
    checks.unshift({ check: "stopping", result: "fail", detail: "the process is shutting down" });
  }
  const isReady = checks.every(({ result }) => result !== "fail");
  const json: ReadyAnswer = { ready: isReady, checks };
  return { status: isReady ? 200 : 503, json, ...(isReady ? {} : { headers: { "Retry-After": "1" } }) };
};
