/** The certificate of a node's api process: what the gateway and operators' tools know its listener by. */
import { join } from "node:path";
import type { CertificateIdentity } from "@event-anchoring/control-contract";
import { hexToBytes } from "@event-anchoring/protocol";
import { issueCertificate } from "./ca.ts";
import { loadCertificateAuthority } from "./cluster-files.ts";
import type { ProvisionedCluster } from "./cluster-files.ts";
import { fileExists, makePrivateDirectory } from "./files.ts";
import { writeTls, writeTlsRequest } from "./tls-files.ts";

/** Where its files are, `tls.crt` and `tls.key` beside its settings. */
export function apiDirOf(node: { readonly dir: string }): string {
  return join(node.dir, "api");
}

/** `urn:event-anchoring:<cluster>:api:<node id>`. A control plane takes it for no node. */
function apiIdentity(clusterId: string, nodeId: string): CertificateIdentity {
  return { role: "api", clusterId: hexToBytes(clusterId, 32), id: nodeId };
}

/**
 * Writes a new key and its certificate where the CA's key is at hand; else a request for somebody else to issue from.
 * @returns when the certificate expires, Unix milliseconds; null: it is requested
 */
export async function writeApiTls(
  cluster: Pick<ProvisionedCluster, "outDir" | "clusterId">,
  node: { readonly nodeId: string; readonly dir: string },
  { lifetimeMs, nowMs }: { readonly lifetimeMs: number; readonly nowMs: number },
): Promise<number | null> {
  const apiDir = apiDirOf(node);
  const identity = apiIdentity(cluster.clusterId, node.nodeId);
  await makePrivateDirectory(apiDir);
  if (!(await fileExists(join(cluster.outDir, "ca", "ca.key")))) {
    await writeTlsRequest(apiDir, identity);
    return null;
  }
  const authority = await loadCertificateAuthority(cluster.outDir);
  const tls = await issueCertificate(authority, identity, lifetimeMs, nowMs);
  await writeTls(apiDir, tls);
  return tls.expiresMs;
}
