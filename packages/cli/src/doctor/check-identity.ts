import { join } from "node:path";
import type { ControlPlaneSettings } from "@event-anchoring/control-contract";
import { createSigner, nodeCrypto } from "@event-anchoring/node-crypto";
import { bytesToHex, equalBytes, findOrigin, logKeySeed } from "@event-anchoring/protocol";
import type { TrustRoot, TrustRootNode } from "@event-anchoring/protocol";
import type { Host } from "./host.ts";
import { finding } from "./mistakes.ts";
import type { Finding } from "./mistakes.ts";
import { readHex32 } from "./node-files.ts";
import type { ApiSettings } from "./node-files.ts";

const OTHERS_MAY_READ = 0o077;
const DAY_MS = 86_400_000;
const SOON_DAYS = 30;
const SEEDS = ["auth.key", "cosigner.key", "log.seed", "root-thk.txt"] as const;
/** What the folder of a node holds. */
export const IDENTITY_FILES = [...SEEDS, "trust-root.txt", "tls.key", "tls.crt", "ca.crt"] as const;

/** Whether all files of the folder are there, for this account alone, and hold what they must. */
export function checkIdentityFiles(host: Host, identityDir: string): Finding[] {
  if (host.fileState(identityDir) === null) {
    return [finding("identity_missing", `there is no folder ${identityDir}, or this account may not enter it`)];
  }
  return IDENTITY_FILES.flatMap((name): Finding[] => {
    const path = join(identityDir, name);
    const state = host.fileState(path);
    if (state === null) return [finding("identity_missing", `there is no ${path}`)];
    if ((state.mode & OTHERS_MAY_READ) !== 0)
      return [finding("identity_open", `others can read ${path}: chmod 600 it`)];
    const isSeed = SEEDS.some((seed) => seed === name);
    if (!isSeed || readHex32(host, path) !== null) return [];
    return [finding("identity_malformed", `${path} does not hold 64 hex digits`)];
  });
}

/** Whether the keys in the folder are those that the trust root gives this node. */
export function checkKeys(host: Host, settings: ControlPlaneSettings, trustRoot: TrustRoot): Finding[] {
  const { node_id: nodeId, cluster_id: clusterId, identity_dir: identityDir } = settings;
  if (clusterId !== bytesToHex(trustRoot.clusterId)) {
    const held = bytesToHex(trustRoot.clusterId).slice(0, 16);
    return [finding("cluster_differs", `cluster_id is not that of the trust root in ${identityDir} (${held}…)`)];
  }
  const line = trustRoot.nodes.find((node) => node.nodeId === nodeId);
  if (line === undefined) return [finding("node_unlisted", `trust root ${trustRoot.version} does not list ${nodeId}`)];
  return [...checkOwnKeys(host, identityDir, line, trustRoot), ...checkLogSeed(host, identityDir, line, trustRoot)];
}

function checkOwnKeys(host: Host, identityDir: string, line: TrustRootNode, { nodes }: TrustRoot): Finding[] {
  const keysOf = (node: TrustRootNode) => ({ auth: node.authPublicKey, cosigner: node.cosignerVkey.publicKey });
  return (["auth", "cosigner"] as const).flatMap((name): Finding[] => {
    const path = join(identityDir, `${name}.key`);
    const held = publicKeyAt(host, path);
    // A key that was drawn for a rotation counts as soon as the trust root names it.
    const next = publicKeyAt(host, join(identityDir, `${name}.next.key`));
    const named = keysOf(line)[name];
    if (held === null || equalBytes(held, named) || (next !== null && equalBytes(next, named))) return [];
    const owner = nodes.find((node) => Object.values(keysOf(node)).some((key) => equalBytes(key, held)));
    const whose = owner === undefined ? "a key that the trust root does not name" : `a key of ${owner.nodeId}`;
    return [finding("keys_swapped", `${path} is ${whose}, not the ${name} key of ${line.nodeId}`)];
  });
}

function checkLogSeed(host: Host, identityDir: string, line: TrustRootNode, trustRoot: TrustRoot): Finding[] {
  const path = join(identityDir, "log.seed");
  const seed = readHex32(host, path);
  const origin = findOrigin(trustRoot, line.originFingerprint);
  if (seed === null || origin === undefined) return [];
  const { publicKey } = createSigner(logKeySeed(seed, line.originFingerprint, nodeCrypto.sha256));
  if (equalBytes(publicKey, origin.logVkey.publicKey)) return [];
  return [finding("log_seed_wrong", `${path} is not the log seed of this cluster`)];
}

function publicKeyAt(host: Host, path: string): Uint8Array | null {
  const seed = readHex32(host, path);
  return seed === null ? null : createSigner(seed).publicKey;
}

/** What the api process must have of the same identity. */
export function checkApiIdentity(
  host: Host,
  api: ApiSettings,
  { identity_dir: identityDir, node_id: nodeId }: ControlPlaneSettings,
  trustRoot: TrustRoot | null,
): Finding[] {
  const found: Finding[] = [];
  // Without a trust root that its pin fits, the control plane's is the one in question.
  if (api.identity_dir !== undefined && trustRoot !== null) {
    const [own, its] = [identityDir, api.identity_dir].map((folder) => readHex32(host, join(folder, "root-thk.txt")));
    const path = join(api.identity_dir, "root-thk.txt");
    if (its === null || its === undefined) found.push(finding("identity_missing", `there is no pin in ${path}`));
    else if (own !== null && own !== undefined && !equalBytes(own, its)) {
      found.push(finding("api_pin_differs", `${path} is not the pin that the control plane has`));
    }
  }
  const line = trustRoot?.nodes.find((node) => node.nodeId === nodeId);
  if (line !== undefined && bytesToHex(line.originFingerprint) !== api.origin_fingerprint) {
    found.push(finding("origin_differs", `origin_fingerprint is not that of ${nodeId} in the trust root`));
  }
  return found;
}

export function checkTrustRootExpiry({ version, expiresS }: TrustRoot, nowMs: number): Finding[] {
  const days = Math.floor((expiresS * 1000 - nowMs) / DAY_MS);
  const date = new Date(expiresS * 1000).toISOString().slice(0, 10);
  if (days < 0) return [finding("trust_root_expired", `trust root ${version} expired on ${date}`)];
  if (days >= SOON_DAYS) return [];
  return [finding("trust_root_expires", `trust root ${version} expires in ${days} days, on ${date}`)];
}
