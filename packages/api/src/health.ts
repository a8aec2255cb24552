import { formatRfc3339 } from "@event-anchoring/api-contract";
import type { HealthAnswer, ReadyAnswer } from "@event-anchoring/api-contract";
import type { NodeStatus } from "@event-anchoring/control-contract";
import { bytesToHex } from "@event-anchoring/protocol";
import type { Handler, HandlerDependencies } from "./handler.ts";
import type { StatusAnswer, StorageAnswer } from "./node-probe.ts";
import { within } from "./within.ts";

/** Together with the checks before it an answer stays below a gateway's patience of a second. */
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

/** What strangers are told of an error: that there is one. Its text may name hosts. */
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

/** What a control plane that is loading does not say is left out. */
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
  const { serving, primeRootThk } = answer.status;
  if (serving.state === "fenced" || serving.state === "halted") return "error";
  const isWell = serving.state === "running" && serving.failing.length === 0 && primeRootThk.inSync;
  return isWell ? "ok" : "degraded";
}

/** Only where the control plane says it: nothing is made up for one that is gone. */
function raftJson(answer: StatusAnswer): Pick<HealthAnswer, "raft"> {
  if (!answer.isReachable) return {};
  const { role, term, leader, commitIndex, appliedIndex } = answer.status.raft;
  return { raft: { role, term, leader, commit_index: commitIndex, applied_index: appliedIndex } };
}

/**
 * 200 while the process lives, whatever `status` says: it answers who this node is, also on a bad day. How the node
 * takes part in consensus is for readers.
 */
export const getHealth: Handler = async ({ caller }, { probe, node }) => {
  const answer = await probe.status();
  const isReader = caller !== null;
  const json: HealthAnswer = {
    status: healthStatus(answer),
    node_id: node.nodeId,
    cluster_id: node.clusterId,
    origin_fingerprint: bytesToHex(node.originFingerprint),
    prime_root_thk: answer.isReachable ? rootSyncJson(answer.status.primeRootThk, isReader) : UNREACHABLE_ROOT_SYNC,
    ...(isReader ? raftJson(answer) : {}),
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
  // The state alone must be enough: a node that is not running is not ready, whatever list comes with it.
  if (state !== "running" && checks.length === 0) {
    checks.push({ check: state, result: "fail", detail: `the node is ${state}` });
  }
  return [connected, ...checks];
}

/** Loading goes on when the time is over: the next answer of a node that begins is a better one. */
async function keysCheck(keys: HandlerDependencies["keys"]): Promise<ReadyCheck> {
  const isAtHand = await within(keys.isAtHand(), KEYS_TIMEOUT_MS, false);
  if (isAtHand) return { check: "api_keys", result: "pass", detail: "the table of keys can be read" };
  return { check: "api_keys", result: "fail", detail: "the table of keys cannot be read in time" };
}

/** 200, or 503 with the checks that fail, by name. */
export const getReadiness: Handler = async (_request, { probe, keys, isStopping }) => {
  const [status, storage] = await Promise.all([probe.status(), probe.storage()]);
  const checks = [...controlPlaneChecks(status), storageCheck(storage)];
  if (checks.every(({ result }) => result === "pass")) checks.push(await keysCheck(keys));
  if (isStopping()) {
    checks.unshift({ check: "stopping", result: "fail", detail: "the process is shutting down" });
  }
  const isReady = checks.every(({ result }) => result === "pass");
  const json: ReadyAnswer = { ready: isReady, checks };
  return { status: isReady ? 200 : 503, json, ...(isReady ? {} : { headers: { "Retry-After": "1" } }) };
};
