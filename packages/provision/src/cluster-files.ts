/** A cluster's files: what the ceremony leaves on disk, and how it is read back. */
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { nodeCrypto } from "@event-anchoring/node-crypto";
import type { CertificateIdentity } from "@event-anchoring/control-contract";
import { bytesToHex, parseSignedTrustRoot } from "@event-anchoring/protocol";
import type { SignedTrustRoot } from "@event-anchoring/protocol";
import {
  NODE_TLS_LIFETIME_MS,
  certificateAuthorityOf,
  createCertificateAuthority,
  issueCertificate,
  spkiSha256Of,
} from "./ca.ts";
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

import { writeTls, writeTlsRequest } from "./tls-files.ts";

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
  /**
   * PEM of the CAs of somebody else, the first of which will issue: no CA is made, and each node gets a request in the
   * place of a certificate. Default: a CA of the cluster's own.
   */
  readonly foreignAuthorities?: readonly string[];
  /** Whether the CA's successor is made and pinned as well, as `ca/next.*`. Default false. */
  readonly hasNextAuthority?: boolean;
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
 * Makes a cluster below `outDir`: `ca/`, `root-keys/` and `operators/` (move all three off the machine in production),
 * `trust-root.txt`, `root-thk.txt`, and one folder per node in `nodes/<node id>/` with identity/ (ca.crt, tls.crt,
 * tls.key, auth.key, cosigner.key, log.seed, trust-root.txt, root-thk.txt), promise/ and run/. Folders are 0700, files
 * 0600. With a CA of somebody else there is no `ca/ca.key`, and a node has tls.csr and tls.key.new until it has its
 * certificate.
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
  const authorities = await authoritiesOf(plan, nowMs);
  const [caSpkiSha256, ...nextCaSpkiSha256] = authorities.certificates.map(spkiSha256Of);
  if (caSpkiSha256 === undefined) throw new RangeError("a cluster has a CA");
  const issuedS = Math.floor(nowMs / 1000);
  const ceremony = holdCeremony({
    clusterName: plan.clusterName,
    nodeIds: plan.nodes.map((node) => node.nodeId),
    quorum: plan.quorum,
    rootKeys,
    rootThreshold: plan.rootThreshold ?? Math.floor(rootKeys / 2) + 1,
    caSpkiSha256,
    nextCaSpkiSha256,
    issuedS,
    expiresS: issuedS + (plan.trustRootLifetimeS ?? 10 * 365 * DAY_S),
  });
  await writeOfflineFiles(plan.outDir, authorities, ceremony);
  const lifetimeMs = plan.tlsLifetimeMs ?? NODE_TLS_LIFETIME_MS;
  for (const secrets of ceremony.nodes) {
    await writeNodeFiles(plan.outDir, secrets, authorities, ceremony);
    const identity = { role: "node", clusterId: ceremony.clusterId, id: secrets.nodeId } as const;
    const { identityDir } = nodePaths(plan.outDir, secrets.nodeId);
    if (authorities.issuing === null) await writeTlsRequest(identityDir, identity);
    else await writeTls(identityDir, await issueCertificate(authorities.issuing, identity, lifetimeMs, nowMs));
  }
  await writePrivateFile(join(plan.outDir, "root-thk.txt"), `${bytesToHex(ceremony.rootThk)}\n`);
  await writePrivateFile(trustRootFile, ceremony.document);
  return loadCluster(plan.outDir);
}

/** The CAs that a new cluster pins. */
interface PinnedAuthorities {
  /** PEM, one each; the first one issues. */
  readonly certificates: readonly string[];
  /** Null: it is somebody else's. */
  readonly issuing: CertificateAuthority | null;
  readonly next: CertificateAuthority | null;
}

async function authoritiesOf(plan: NewCluster, nowMs: number): Promise<PinnedAuthorities> {
  if (plan.foreignAuthorities !== undefined) {
    return { certificates: plan.foreignAuthorities, issuing: null, next: null };
  }
  const issuing = await createCertificateAuthority(plan.clusterName, nowMs);
  const next = plan.hasNextAuthority === true ? await createCertificateAuthority(plan.clusterName, nowMs) : null;
  const certificates = [issuing.certificatePem, ...(next === null ? [] : [next.certificatePem])];
  return { certificates, issuing, next };
}

async function writeOfflineFiles(outDir: string, authorities: PinnedAuthorities, ceremony: Ceremony): Promise<void> {
  const caDir = join(outDir, "ca");
  const [rootKeyDir, operatorDir] = [join(outDir, "root-keys"), join(outDir, "operators")];
  for (const dir of [outDir, caDir, rootKeyDir, operatorDir, join(outDir, "nodes")]) await makePrivateDirectory(dir);
  const { certificates, issuing, next } = authorities;
  await writePrivateFile(join(caDir, "ca.crt"), issuing?.certificatePem ?? certificates.join(""));
  if (issuing !== null) await writePrivateFile(join(caDir, "ca.key"), issuing.privateKeyPem);
  if (next !== null) await writeAuthority(caDir, "next", next);
  for (const key of ceremony.rootKeys) await writeSeed(join(rootKeyDir, `${key.label}.seed`), key.seed);
  for (const { name, seed } of ceremony.operators) await writeSeed(join(operatorDir, `${name}.key`), seed);
}

async function writeNodeFiles(
  outDir: string,
  secrets: NodeSecrets,
  { certificates, issuing }: PinnedAuthorities,
  ceremony: Ceremony,
): Promise<void> {
  const { dir, identityDir } = nodePaths(outDir, secrets.nodeId);
  for (const path of [dir, identityDir, join(dir, "promise"), join(dir, "run")]) await makePrivateDirectory(path);
  await writePrivateFile(join(identityDir, "ca.crt"), issuing?.certificatePem ?? certificates.join(""));
  await writeSeed(join(identityDir, "auth.key"), secrets.authSeed);
  await writeSeed(join(identityDir, "cosigner.key"), secrets.cosignerSeed);
  await writeSeed(join(identityDir, "log.seed"), ceremony.logSeed);
  await writePrivateFile(join(identityDir, "trust-root.txt"), ceremony.document);
  await writePrivateFile(join(identityDir, "root-thk.txt"), `${bytesToHex(ceremony.rootThk)}\n`);
}

/** Writes `<name>.key` and `<name>.crt`. */
export async function writeAuthority(caDir: string, name: string, authority: IssuedCertificate): Promise<void> {
  await writePrivateFile(join(caDir, `${name}.key`), authority.privateKeyPem);
  await writePrivateFile(join(caDir, `${name}.crt`), authority.certificatePem);
}

export function nodePaths(
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
  const identity = await nodeIdentity(renewal.outDir, renewal.nodeId);
  const authority = await loadCertificateAuthority(renewal.outDir);
  const lifetimeMs = renewal.lifetimeMs ?? NODE_TLS_LIFETIME_MS;
  const tls = await issueCertificate(authority, identity, lifetimeMs, renewal.nowMs ?? Date.now());
  await writeTls(nodePaths(renewal.outDir, renewal.nodeId).identityDir, tls);
  return tls.expiresMs;
}

async function nodeIdentity(outDir: string, nodeId: string): Promise<CertificateIdentity> {
  const { trustRoot } = await readTrustRoot(outDir);
  return { role: "node", clusterId: trustRoot.clusterId, id: nodeId };
}

/** @throws PrivateFileError */
export async function loadCertificateAuthority(outDir: string, name = "ca"): Promise<CertificateAuthority> {
  const certificatePem = await readPrivateFile(join(outDir, "ca", `${name}.crt`));
  const privateKeyPem = await readPrivateFile(join(outDir, "ca", `${name}.key`));
  return certificateAuthorityOf({ certificatePem, privateKeyPem, expiresMs: 0 });
}

/** Later versions stand beside the first one, a file each, as `anchorctl root fetch` writes them. */
const LATER_DOCUMENT = /^trust-root-([1-9][0-9]{0,9})\.txt$/u;

/** The newest version in the cluster's folder. @throws PrivateFileError */
export async function readNewestTrustRoot(outDir: string): Promise<SignedTrustRoot> {
  const versions = (await readdir(outDir)).flatMap((name) => LATER_DOCUMENT.exec(name)?.[1] ?? []).map(Number);
  if (versions.length === 0) return readTrustRoot(outDir);
  const path = join(outDir, `trust-root-${Math.max(...versions)}.txt`);
  return parseSignedTrustRoot(await readPrivateFile(path), nodeCrypto.sha256);
}

async function readTrustRoot(outDir: string): Promise<SignedTrustRoot> {
  return parseSignedTrustRoot(await readPrivateFile(join(outDir, "trust-root.txt")), nodeCrypto.sha256);
}
