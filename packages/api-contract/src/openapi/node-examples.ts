/** Examples of the routes about the node and the API themselves. */
import { bytesToBase64, bytesToHex } from "@event-anchoring/protocol";
import { limitsToJson } from "../anchor-json.ts";
import { headEventText } from "../event-stream.ts";
import { DEFAULT_LIMIT_SETTINGS } from "../limits.ts";
import type { RouteId } from "../routes.ts";
import { TRUST_ROOT_VERSION, one } from "./shown.ts";
import type { RouteExamples, Shown } from "./shown.ts";

function health(shown: Shown): object {
  return {
    status: "ok",
    node_id: "n1",
    cluster_id: bytesToHex(shown.ledger.clusterId),
    origin_fingerprint: shown.origin,
    prime_root_thk: {
      role: "replica",
      version: TRUST_ROOT_VERSION,
      root_thk: bytesToHex(shown.ledger.trustRoot.rootThk),
      prime_version: TRUST_ROOT_VERSION,
      in_sync: true,
      last_success_at: shown.certifiedAt,
      age_seconds: 1.25,
      expires_at: "2036-01-01T00:00:00.000Z",
      last_error: null,
    },
    raft: { role: "follower", term: 3, leader: "n2", commit_index: 12, applied_index: 12 },
    contradictions: {
      named: [],
      origins: [],
      withheld: [{ origin_fingerprint: shown.origin, tree_size: 12 }],
      differing: ["n3"],
      evidence: ["0f1e2d3c4b5a6978-12-1122334455667788-99aabbccddeeff00.notes"],
      evidence_files: 1,
    },
    peers_cut_off: [{ node_id: "n3", remaining_seconds: 4, offences: [{ offence: "impossible_message", count: 3 }] }],
    versions: {
      api_contract: "4.2",
      locked_code: "V4.2",
      service: "4.2.0",
      rules: 1,
      rules_known: 1,
      rules_held_back_by: "",
      entry_version: 1,
    },
  };
}

function headText({ ledger, origin, certifiedAt }: Shown): string {
  const { before, after } = ledger.heads;
  return headEventText({
    origin_fingerprint: origin,
    tree_size: after.treeSize,
    root_hash: bytesToHex(after.rootHash),
    certified_at: certifiedAt,
    trust_root_version: TRUST_ROOT_VERSION,
    checkpoint: after.checkpoint,
    consistency: {
      from_size: before.treeSize,
      tree_size: after.treeSize,
      proof: ledger.consistency().map(bytesToBase64),
    },
  });
}

function ofLog(shown: Shown): Partial<Record<RouteId, RouteExamples>> {
  const { origin, ledger } = shown;
  const { checkpoint, treeSize } = ledger.heads.after;
  const index = `000.p/${treeSize}`;
  return {
    getCheckpoint: { parameters: { origin_fingerprint: origin }, texts: { "text/plain": checkpoint } },
    getFeed: {
      parameters: { origin_fingerprint: origin, after_size: ledger.heads.before.treeSize },
      texts: { "text/event-stream": headText(shown) },
    },
    getEntries: { parameters: { origin_fingerprint: origin, index } },
    getTile: { parameters: { origin_fingerprint: origin, level: 0, index } },
  };
}

export function ofNode(shown: Shown): Partial<Record<RouteId, RouteExamples>> {
  const { document, rootThk, version } = shown.ledger.trustRoot;
  const newest = { version, root_thk: bytesToHex(rootThk), document };
  const good = [
    { check: "storage", result: "pass", detail: "reachable" },
    { check: "leader", result: "pass", detail: "n2" },
  ];
  const bad = [good[0], { check: "leader", result: "fail", detail: "no leader is known" }];
  return {
    getTrustRoot: { answers: { 200: one("first", "The first version", { ...newest, chain: [newest] }) } },
    getLimits: { answers: { 200: one("limits", "As configured", limitsToJson(DEFAULT_LIMIT_SETTINGS)) } },
    getHealth: { answers: { 200: one("ok", "A replica in sync", health(shown)) } },
    getReadiness: {
      answers: {
        200: one("ready", "Ready", { ready: true, checks: good }),
        503: one("unready", "No leader", { ready: false, checks: bad }),
      },
    },
    getOpenApi: {
      answers: {
        200: one("begin", "How it begins", {
          openapi: "3.1.1",
          info: { title: "Event Anchoring API", version: "4.2.0" },
        }),
      },
    },
    ...ofLog(shown),
    getProofPage: { texts: { "text/html": "<!doctype html>" } },
    getVerifyPage: { texts: { "text/html": "<!doctype html>" } },
    getDocs: { texts: { "text/html": "<!doctype html>" } },
    getDocsAsset: { parameters: { asset: "swagger-ui.css" } },
  };
}
