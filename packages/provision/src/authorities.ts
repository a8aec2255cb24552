/**
 * How one CA of the control plane follows another without a pause. The trust root pins both; then, each step on every
 * node before the next begins: trust both, issue by the new one, forget the old one. docs/operating/certificates.md.
 */
import { X509Certificate } from "node:crypto";
import { rename, rm } from "node:fs/promises";
import { join } from "node:path";
import { equalBytes } from "@event-anchoring/protocol";
import { apiDirOf } from "./api-certificates.ts";
import { createCertificateAuthority, spkiSha256Of, splitCertificates } from "./ca.ts";
import { loadCluster, readNewestTrustRoot, writeAuthority } from "./cluster-files.ts";
import type { ProvisionedNode } from "./cluster-files.ts";
import { fileExists, makePrivateDirectory, readPrivateFile, writePrivateFile } from "./files.ts";
import { writeNodeAuthorities } from "./gateway-files.ts";

/** What keeps a step from being taken; nothing was changed. */
export type RolloverCode =
  | "no_next"
  | "next_exists"
  | "next_not_pinned"
  | "next_not_trusted"
  | "not_switched"
  | "still_in_use";

export class RolloverError extends Error {
  readonly code: RolloverCode;
  constructor(code: RolloverCode, message: string) {
    super(message);
    this.name = "RolloverError";
    this.code = code;
  }
}

/**
 * Makes `ca/ca.*` and `ca/next.*` for a cluster that has no trust root yet.
 * @throws RolloverError `next_exists`: there are some already
 */
export async function createAuthorities(outDir: string, clusterName: string, nowMs: number): Promise<void> {
  const caDir = join(outDir, "ca");
  for (const name of ["ca.crt", "ca.key", "next.crt", "next.key"]) {
    if (await fileExists(join(caDir, name))) throw new RolloverError("next_exists", `there is ${join(caDir, name)}`);
  }
  await makePrivateDirectory(caDir);
  for (const name of ["ca", "next"]) {
    await writeAuthority(caDir, name, await createCertificateAuthority(clusterName, nowMs));
  }
}

/**
 * Makes `ca/next.*`, for the case that the trust root does not pin a successor yet.
 * @returns its pin
 * @throws RolloverError
 */
export async function makeNextAuthority(outDir: string, nowMs: number): Promise<Uint8Array> {
  const caDir = join(outDir, "ca");
  if (await fileExists(join(caDir, "next.crt"))) throw new RolloverError("next_exists", "there is a next CA already");
  const { clusterName } = await loadCluster(outDir);
  const next = await createCertificateAuthority(clusterName, nowMs);
  await writeAuthority(caDir, "next", next);
  return next.spkiSha256;
}

/** Step 1: every node accepts certificates of both. The newest trust root in `outDir` counts. @throws RolloverError */
export async function trustNextAuthority(outDir: string): Promise<void> {
  const current = await readPrivateFile(join(outDir, "ca", "ca.crt"));
  const next = await readNext(outDir);
  const cluster = await loadCluster(outDir);
  const { trustRoot } = await readNewestTrustRoot(outDir);
  const pin = spkiSha256Of(next);
  if (!trustRoot.ca.some((pinned) => equalBytes(pinned, pin))) {
    const hex = Buffer.from(pin).toString("hex");
    throw new RolloverError("next_not_pinned", `the trust root does not pin the next CA (${hex}): sign one that does`);
  }
  for (const { identityDir } of cluster.nodes) await writePrivateFile(join(identityDir, "ca.crt"), current + next);
  await writeNodeAuthorities(outDir, current + next);
}

/** Step 2: what is issued from now on is issued by the next CA. The old one's key is kept as `ca/previous.*`. */
export async function switchAuthority(outDir: string): Promise<void> {
  const next = await readNext(outDir);
  for (const { nodeId, identityDir } of (await loadCluster(outDir)).nodes) {
    const trusted = splitCertificates(await readPrivateFile(join(identityDir, "ca.crt")));
    if (!trusted.includes(next)) {
      throw new RolloverError("next_not_trusted", `node ${nodeId} does not trust the next CA yet: take step 1 first`);
    }
  }
  const caDir = join(outDir, "ca");
  for (const ending of ["key", "crt"]) await rename(join(caDir, `ca.${ending}`), join(caDir, `previous.${ending}`));
  for (const ending of ["key", "crt"]) await rename(join(caDir, `next.${ending}`), join(caDir, `ca.${ending}`));
}

/** Step 3, when all nodes have certificates of the new CA: no node accepts the old one, and its files are deleted. */
export async function forgetPreviousAuthority(outDir: string): Promise<void> {
  const current = await readPrivateFile(join(outDir, "ca", "ca.crt"));
  if (!(await fileExists(join(outDir, "ca", "previous.crt")))) {
    throw new RolloverError("not_switched", "no CA has been replaced: take step 2 first");
  }
  const authority = new X509Certificate(current);
  const { nodes } = await loadCluster(outDir);
  for (const { nodeId, file } of await certificatesInUse(nodes)) {
    const certificate = new X509Certificate(await readPrivateFile(file));
    if (!certificate.checkIssued(authority) || !certificate.verify(authority.publicKey)) {
      throw new RolloverError("still_in_use", `node ${nodeId} has a certificate of the old CA: renew it first`);
    }
  }
  for (const { identityDir } of nodes) await writePrivateFile(join(identityDir, "ca.crt"), current);
  await writeNodeAuthorities(outDir, current);
  for (const ending of ["key", "crt"]) await rm(join(outDir, "ca", `previous.${ending}`), { force: true });
}

/** The certificates of each node: its control plane's, and its api process's if it has one. */
async function certificatesInUse(
  nodes: readonly ProvisionedNode[],
): Promise<readonly { readonly nodeId: string; readonly file: string }[]> {
  const files: { nodeId: string; file: string }[] = [];
  for (const node of nodes) {
    files.push({ nodeId: node.nodeId, file: join(node.identityDir, "tls.crt") });
    const file = join(apiDirOf(node), "tls.crt");
    if (await fileExists(file)) files.push({ nodeId: node.nodeId, file });
  }
  return files;
}

async function readNext(outDir: string): Promise<string> {
  const path = join(outDir, "ca", "next.crt");
  if (!(await fileExists(path))) throw new RolloverError("no_next", `there is no next CA (${path})`);
  return readPrivateFile(path);
}
