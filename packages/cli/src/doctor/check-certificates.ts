import { X509Certificate, createPrivateKey } from "node:crypto";
import type { KeyObject } from "node:crypto";
import { join } from "node:path";
import { formatIdentity } from "@event-anchoring/control-contract";
import type { CertificateIdentity, ControlPlaneSettings } from "@event-anchoring/control-contract";
import { equalBytes, hexToBytes } from "@event-anchoring/protocol";
import type { TrustRoot } from "@event-anchoring/protocol";
import { spkiSha256Of, splitCertificates } from "@event-anchoring/provision";
import type { Host } from "./host.ts";
import { finding } from "./mistakes.ts";
import type { Finding } from "./mistakes.ts";
import { readTextAt } from "./node-files.ts";
import type { ApiSettings } from "./node-files.ts";

const HOUR_MS = 3_600_000;
/** The page of the ceremony has certificates live 90 days: they are renewed a week before they end. */
const SOON_MS = 7 * 24 * HOUR_MS;

interface TlsFiles {
  readonly certificate: string;
  readonly key: string;
  readonly role: CertificateIdentity["role"];
}

/** The certificates of both listeners: whose they are, by which CA, and until when. */
export function checkCertificates(
  host: Host,
  settings: ControlPlaneSettings,
  api: ApiSettings | null,
  trustRoot: TrustRoot | null,
): Finding[] {
  const { identity_dir: identityDir, cluster_id: clusterId, node_id: nodeId } = settings;
  const cluster = trustRoot?.clusterId ?? hexToBytes(clusterId, 32);
  const identityOf = (role: CertificateIdentity["role"]): string =>
    formatIdentity({ role, clusterId: cluster, id: nodeId });
  const authorities = certificatesAt(host, join(identityDir, "ca.crt"));
  const own: TlsFiles = { certificate: join(identityDir, "tls.crt"), key: join(identityDir, "tls.key"), role: "node" };
  const its: readonly TlsFiles[] = api?.tls === undefined ? [] : [{ ...api.tls, role: "api" }];
  const unpinned = trustRoot === null ? [] : checkAuthorities(join(identityDir, "ca.crt"), authorities, trustRoot);
  // What another CA has issued is not asked: the right one is not here to be compared.
  const issuers = unpinned.length > 0 ? [] : authorities;
  return [...[own, ...its].flatMap((files) => checkOne(host, files, identityOf(files.role), issuers)), ...unpinned];
}

function checkOne(host: Host, files: TlsFiles, identity: string, authorities: readonly X509Certificate[]): Finding[] {
  const { certificate: path, key: keyPath, role } = files;
  const [certificate] = certificatesAt(host, path);
  if (certificate === undefined) {
    // The node's own is named among the files of its identity.
    const isNamed = role === "node" && host.fileState(path) === null;
    return isNamed ? [] : [finding("identity_missing", `there is no certificate in ${path}`)];
  }
  const found: Finding[] = checkExpiry(path, certificate, host.nowMs());
  const key = privateKeyAt(host, keyPath);
  if (key !== null && !certificate.checkPrivateKey(key)) {
    found.push(finding("certificate_key_differs", `${path} is for another key than ${keyPath}`));
  }
  const names = (certificate.subjectAltName ?? "").split(", ");
  if (!names.includes(`URI:${identity}`)) {
    const shown = names.find((name) => name.startsWith("URI:"))?.slice(-40) ?? "nobody of a cluster";
    found.push(finding("certificate_of_another", `${path} is for …${shown}, not for ${identity.slice(-40)}`));
  }
  const isIssued = authorities.some((ca) => certificate.checkIssued(ca) && certificate.verify(ca.publicKey));
  if (authorities.length > 0 && !isIssued) {
    found.push(finding("certificate_not_issued", `${path} was issued by no CA in ca.crt of the control plane`));
  }
  return found;
}

function checkExpiry(path: string, { validTo }: X509Certificate, nowMs: number): Finding[] {
  const endsMs = Date.parse(validTo);
  const date = new Date(endsMs).toISOString().slice(0, 16);
  if (endsMs <= nowMs) return [finding("certificate_expired", `${path} expired at ${date}Z`)];
  if (endsMs - nowMs > SOON_MS) return [];
  const hours = Math.floor((endsMs - nowMs) / HOUR_MS);
  return [finding("certificate_expires", `${path} expires in ${hours} hours, at ${date}Z`)];
}

function checkAuthorities(path: string, authorities: readonly X509Certificate[], { ca }: TrustRoot): Finding[] {
  const isPinned = (authority: X509Certificate): boolean => {
    const spki = spkiSha256Of(authority.toString());
    return ca.some((pin) => equalBytes(pin, spki));
  };
  if (authorities.length === 0 || authorities.some(isPinned)) return [];
  return [finding("authority_not_pinned", `the trust root pins no CA in ${path}: peers will refuse this node`)];
}

function certificatesAt(host: Host, path: string): readonly X509Certificate[] {
  const pems = splitCertificates(readTextAt(host, path).value ?? "");
  return pems.flatMap((pem) => {
    try {
      return [new X509Certificate(pem)];
    } catch {
      // No certificate: the caller says that there is none.
      return [];
    }
  });
}

function privateKeyAt(host: Host, path: string): KeyObject | null {
  const pem = readTextAt(host, path).value;
  try {
    return pem === null ? null : createPrivateKey(pem);
  } catch {
    // What the parser says may quote the key; the certificate cannot be compared with it.
    return null;
  }
}
