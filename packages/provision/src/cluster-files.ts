/** A cluster's files: what the ceremony leaves on disk, and how it is read back. */
import { join } from "node:path";
import { nodeCrypto } from "@event-anchoring/node-crypto";
import { bytesToHex, parseSignedTrustRoot } from "@event-anchoring/protocol";
import type { SignedTrustRoot } from "@event-anchoring/protocol";
import { NODE_TLS_LIFETIME_MS, certificateAuthorityOf, createCertificateAuthority, issueCertificate } from "./ca.ts";
import type { CertificateAuthority, IssuedCertificate } from "./ca.ts";
import { holdCeremony } from "./ceremony.ts";
import type { Ceremony, NodeSecrets } from "./ceremony.ts";
import {
  PrivateFileError,
  fileExists,
  makePrivateDirectory,
  readPrivateFile,
  writePrivateFile,
  writeSeed,
} from "./files.ts";

const DAY_S = 86_400;

/** What a new cluster needs to be told. */
export interface NewCluster {
  readonly clusterName: string;
  /** Where each node's control plane listens for its peers. */
  readonly nodes: readonly { readonly nodeId: string; readonly controlHost: string; readonly controlPort: number }[];
  /** How many nodes must cosign: more than half, at most all. */
  readonly quorum: number;
  /** How many offline root keys; default 1. */
  readonly rootKeys?: number;
  /** How many of them must sign; default: more than half. */
  readonly rootThreshold?: number;
  /** Must not hold a cluster yet. */
  readonly outDir: string;
  /** Default 1 year. */
  readonly tlsLifetimeMs?: number;
  /** Default 10 years. */
  readonly trustRootLifetimeS?: number;
  /** Unix milliseconds; default now. */
  readonly nowMs?: number;
}

export interface ProvisionedNode {
  readonly nodeId: string;
  /** Holds identity/, promise/ and run/. */
  readonly dir: string;
  readonly identityDir: string;
  /** Where the node keeps its promise file; it is made by the node's first start. */
  readonly promiseFile: string;
  readonly runDir: string;
  /** 64 hex digits. */
  readonly originFingerprint: string;
  /** 32 bytes, pinned in the trust root. */
  readonly authPublicKey: Uint8Array;
}

export interface ProvisionedCluster {
  readonly outDir: string;
  readonly clusterName: string;
  /** 64 hex digits. */
  readonly clusterId: string;
  /** Trust-root version 1 as a signed note, and its pin as 64 hex digits. */
  readonly trustRootDocument: string;
  readonly rootThk: string;
  readonly nodes: readonly ProvisionedNode[];
}

/**
 * Makes a cluster below `outDir`: `ca/` and `root-keys/` (move both off the machine in production), `trust-root.txt`,
 * `root-thk.txt`, and one folder per node in `nodes/<node id>/` with identity/ (ca.crt, tls.crt, tls.key, auth.key,
 * cosigner.key, log.seed, trust-root.txt, root-thk.txt), promise/ and run/. Folders are 0700, files 0600.
 *
 * `trust-root.txt` is written last: a cluster without it was not finished, and its folder can be removed.
 * @throws PrivateFileError `exists`; RangeError or TrustRootError for a plan that no trust root may have
 */
export async function createCluster(plan: NewCluster): Promise<ProvisionedCluster> {
  const trustRootFile = join(plan.outDir, "trust-root.txt");
  if (await fileExists(trustRootFile))
    throw new PrivateFileError("exists", trustRootFile, "there is a cluster already");
  const nowMs = plan.nowMs ?? Date.now();
  const rootKeys = plan.rootKeys ?? 1;
  const authority = await createCertificateAuthority(plan.clusterName, nowMs);
  const issuedS = Math.floor(nowMs / 1000);
  const ceremony = holdCeremony({
    clusterName: plan.clusterName,
    nodeIds: plan.nodes.map((node) => node.nodeId),
    quorum: plan.quorum,
    rootKeys,
    rootThreshold: plan.rootThreshold ?? Math.floor(rootKeys / 2) + 1,
    caSpkiSha256: authority.spkiSha256,
    issuedS,
    expiresS: issuedS + (plan.trustRootLifetimeS ?? 10 * 365 * DAY_S),
  });
  await writeOfflineFiles(plan.outDir, authority, ceremony);
  const lifetimeMs = plan.tlsLifetimeMs ?? NODE_TLS_LIFETIME_MS;
  for (const secrets of ceremony.nodes) {
    const identity = { role: "node", clusterId: ceremony.clusterId, id: secrets.nodeId } as const;
    const tls = await issueCertificate(authority, identity, lifetimeMs, nowMs);
    await writeNodeFiles(plan.outDir, secrets, tls, authority, ceremony);
  }
  await writePrivateFile(join(plan.outDir, "root-thk.txt"), `${bytesToHex(ceremony.rootThk)}\n`);
  await writePrivateFile(trustRootFile, ceremony.document);
  return loadCluster(plan.outDir);
}

async function writeOfflineFiles(outDir: string, authority: CertificateAuthority, ceremony: Ceremony): Promise<void> {
  for (const dir of [outDir, join(outDir, "ca"), join(outDir, "root-keys"), join(outDir, "nodes")]) {
    await makePrivateDirectory(dir);
  }
  await writePrivateFile(join(outDir, "ca", "ca.crt"), authority.certificatePem);
  await writePrivateFile(join(outDir, "ca", "ca.key"), authority.privateKeyPem);
  for (const key of ceremony.rootKeys) await writeSeed(join(outDir, "root-keys", `${key.label}.seed`), key.seed);
}

async function writeNodeFiles(
  outDir: string,
  secrets: NodeSecrets,
  tls: IssuedCertificate,
  authority: CertificateAuthority,
  ceremony: Ceremony,
): Promise<void> {
  const { dir, identityDir } = nodePaths(outDir, secrets.nodeId);
  for (const path of [dir, identityDir, join(dir, "promise"), join(dir, "run")]) await makePrivateDirectory(path);
  await writePrivateFile(join(identityDir, "ca.crt"), authority.certificatePem);
  await writeTls(identityDir, tls);
  await writeSeed(join(identityDir, "auth.key"), secrets.authSeed);
  await writeSeed(join(identityDir, "cosigner.key"), secrets.cosignerSeed);
  await writeSeed(join(identityDir, "log.seed"), ceremony.logSeed);
  await writePrivateFile(join(identityDir, "trust-root.txt"), ceremony.document);
  await writePrivateFile(join(identityDir, "root-thk.txt"), `${bytesToHex(ceremony.rootThk)}\n`);
}

/** The key goes first: a node that reloads in between sees that they do not belong together, and keeps what it has. */
async function writeTls(identityDir: string, tls: IssuedCertificate): Promise<void> {
  await writePrivateFile(join(identityDir, "tls.key"), tls.privateKeyPem);
  await writePrivateFile(join(identityDir, "tls.crt"), tls.certificatePem);
}

function nodePaths(
  outDir: string,
  nodeId: string,
): Pick<ProvisionedNode, "dir" | "identityDir" | "promiseFile" | "runDir"> {
  const dir = join(outDir, "nodes", nodeId);
  return {
    dir,
    identityDir: join(dir, "identity"),
    promiseFile: join(dir, "promise", "promise.bin"),
    runDir: join(dir, "run"),
  };
}

/** Reads back what createCluster made. @throws PrivateFileError `missing` if it did not finish, `mode_too_wide` */
export async function loadCluster(outDir: string): Promise<ProvisionedCluster> {
  const { trustRoot, rootThk, note } = await readTrustRoot(outDir);
  return {
    outDir,
    clusterName: trustRoot.clusterName,
    clusterId: bytesToHex(trustRoot.clusterId),
    trustRootDocument: note,
    rootThk: bytesToHex(rootThk),
    nodes: trustRoot.nodes.map(({ nodeId, originFingerprint, authPublicKey }) => ({
      nodeId,
      ...nodePaths(outDir, nodeId),
      originFingerprint: bytesToHex(originFingerprint),
      authPublicKey,
    })),
  };
}

/**
 * Gives a node a new TLS key and certificate, in place. A running node takes them up by itself.
 * @returns when the new certificate expires, Unix milliseconds
 */
export async function renewTls(renewal: {
  readonly outDir: string;
  readonly nodeId: string;
  /** Default 1 year. */
  readonly lifetimeMs?: number;
  readonly nowMs?: number;
}): Promise<number> {
  const { trustRoot } = await readTrustRoot(renewal.outDir);
  const identity = { role: "node", clusterId: trustRoot.clusterId, id: renewal.nodeId } as const;
  const authority = await loadCertificateAuthority(renewal.outDir);
  const lifetimeMs = renewal.lifetimeMs ?? NODE_TLS_LIFETIME_MS;
  const tls = await issueCertificate(authority, identity, lifetimeMs, renewal.nowMs ?? Date.now());
  await writeTls(nodePaths(renewal.outDir, renewal.nodeId).identityDir, tls);
  return tls.expiresMs;
}

/** @throws PrivateFileError */
export async function loadCertificateAuthority(outDir: string): Promise<CertificateAuthority> {
  const certificatePem = await readPrivateFile(join(outDir, "ca", "ca.crt"));
  const privateKeyPem = await readPrivateFile(join(outDir, "ca", "ca.key"));
  return certificateAuthorityOf({ certificatePem, privateKeyPem, expiresMs: 0 });
}

async function readTrustRoot(outDir: string): Promise<SignedTrustRoot> {
  return parseSignedTrustRoot(await readPrivateFile(join(outDir, "trust-root.txt")), nodeCrypto.sha256);
}
