import { formatRfc3339 } from "@event-anchoring/api-contract";
import type { HealthAnswer, ReadyAnswer } from "@event-anchoring/api-contract";
import type { NodeStatus } from "@event-anchoring/control-contract";
import { bytesToHex } from "@event-anchoring/protocol";
import type { Handler, HandlerDependencies } from "./handler.ts";
import type { StatusAnswer, StorageAnswer } from "./node-probe.ts";
import { within } from "./within.ts";

/** Together with the checks before it an answer stays below a gateway's patience of a second. */
const KEYS_TIMEOUT_MS = 400;

const UNREACHABLE_RAFT = { role: "unknown", term: 0, leader: null, commit_index: 0, applied_index: 0 } as const;

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

function rootSyncJson(sync: NodeStatus["primeRootThk"]): HealthAnswer["prime_root_thk"] {
  return {
    role: sync.role,
    version: sync.version,
    root_thk: sync.rootThk,
    prime_version: sync.primeVersion,
    in_sync: sync.inSync,
    last_success_at: sync.lastSuccessAtMs === null ? null : formatRfc3339(sync.lastSuccessAtMs),
    age_seconds: sync.ageSeconds === null ? null : Math.round(sync.ageSeconds * 1000) / 1000,
    expires_at: formatRfc3339(sync.expiresAtS * 1000),
    last_error: sync.lastError,
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

/** 200 while the process lives, whatever `status` says: it answers who this node is, also on a bad day. */
export const getHealth: Handler = async (_request, { probe, node }) => {
  const answer = await probe.status();
  const raft = answer.isReachable ? answer.status.raft : null;
  const json: HealthAnswer = {
    status: healthStatus(answer),
    node_id: node.nodeId,
    cluster_id: node.clusterId,
    origin_fingerprint: bytesToHex(node.originFingerprint),
    prime_root_thk: answer.isReachable ? rootSyncJson(answer.status.primeRootThk) : UNREACHABLE_ROOT_SYNC,
    raft:
      raft === null
        ? UNREACHABLE_RAFT
        : {
            role: raft.role,
            term: raft.term,
            leader: raft.leader,
            commit_index: raft.commitIndex,
            applied_index: raft.appliedIndex,
          },
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
    const detail = "the control plane of this node does not answer";
    return [{ check: "control_plane", result: "fail", detail }];
  }
  const { serving } = answer.status;
  const checks: ReadyCheck[] = serving.failing.map(({ check, detail }) => ({ check, result: "fail", detail }));
  // The state alone must be enough: a node that is not running is not ready, whatever list comes with it.
  if (serving.state !== "running" && checks.length === 0) {
    checks.push({ check: serving.state, result: "fail", detail: `the node is ${serving.state}` });
  }
  return [{ check: "control_plane", result: "pass", detail: "connected" }, ...checks];
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
