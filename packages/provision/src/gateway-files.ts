/** What the gateway shows to clients, and by which CA it knows the nodes. */
import { join } from "node:path";
import { certificateAuthorityOf, createCertificateAuthority, issueServerCertificate } from "./ca.ts";
import type { CertificateAuthority } from "./ca.ts";
import { writeAuthority } from "./cluster-files.ts";
import { fileExists, makePrivateDirectory, readPrivateFile, writePrivateFile } from "./files.ts";

const NODE_AUTHORITIES_FILE = "nodes-ca.crt";

export interface GatewayFiles {
  /** Cluster folder; files go to `gateway/` below it. */
  readonly outDir: string;
  readonly clusterName: string;
  /** Host names and addresses that clients connect to; requests for others are refused. */
  readonly hosts: readonly string[];
  /** PEM of the CAs that issue to the nodes' api processes. Absent: what is there stays. */
  readonly nodeAuthorities?: string;
  readonly lifetimeMs: number;
  readonly nowMs: number;
}

/**
 * Writes `gateway/served/`, the folder that the gateway sees: `tls.pem` (certificate and key, as HAProxy wants them),
 * `hosts.txt` and `nodes-ca.crt`. The certificate is of a CA of its own, `gateway/ca.crt`, made at the first time: what
 * clients trust until a public CA's is put in its place.
 * @returns when the certificate expires, Unix milliseconds
 */
export async function writeGatewayFiles(files: GatewayFiles): Promise<number> {
  const dir = join(files.outDir, "gateway");
  const served = join(dir, "served");
  await makePrivateDirectory(served);
  const authority = await gatewayAuthority(dir, files);
  const tls = await issueServerCertificate(authority, files.hosts, files.lifetimeMs, files.nowMs);
  await writePrivateFile(join(served, "tls.pem"), tls.certificatePem + tls.privateKeyPem);
  if (files.nodeAuthorities !== undefined)
    await writePrivateFile(join(served, NODE_AUTHORITIES_FILE), files.nodeAuthorities);
  await writePrivateFile(join(served, "hosts.txt"), files.hosts.map((host) => `${host}\n`).join(""));
  return tls.expiresMs;
}

/** The gateway accepts nodes of these CAs from its next start on. Where there is no gateway nothing is done. */
export async function writeNodeAuthorities(outDir: string, pem: string): Promise<void> {
  const served = join(outDir, "gateway", "served");
  if (await fileExists(served)) await writePrivateFile(join(served, NODE_AUTHORITIES_FILE), pem);
}

/** The hosts that the gateway was set up for. @throws PrivateFileError */
export async function readGatewayHosts(outDir: string): Promise<readonly string[]> {
  const text = await readPrivateFile(join(outDir, "gateway", "served", "hosts.txt"));
  return text.split("\n").filter((line) => line !== "");
}

async function gatewayAuthority(dir: string, { clusterName, nowMs }: GatewayFiles): Promise<CertificateAuthority> {
  if (await fileExists(join(dir, "ca.key"))) {
    const [certificatePem, privateKeyPem] = await Promise.all(
      ["ca.crt", "ca.key"].map((name) => readPrivateFile(join(dir, name))),
    );
    return certificateAuthorityOf({
      certificatePem: certificatePem ?? "",
      privateKeyPem: privateKeyPem ?? "",
      expiresMs: 0,
    });
  }
  const authority = await createCertificateAuthority(clusterName, nowMs, "gateway");
  await writeAuthority(dir, "ca", authority);
  return authority;
}
