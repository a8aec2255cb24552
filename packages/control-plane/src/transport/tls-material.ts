/** What the node presents and trusts in TLS, and which node a peer's certificate names. */
import { X509Certificate, constants as cryptoConstants, createHash, createPrivateKey } from "node:crypto";
import { readFile, stat } from "node:fs/promises";
import { createSecureContext } from "node:tls";
import type { SecureContext, SecureContextOptions, TLSSocket } from "node:tls";
import { EXPORTER_BYTES, EXPORTER_LABEL, formatIdentity, parseIdentity } from "@event-anchoring/control-contract";
import type { CertificateIdentity } from "@event-anchoring/control-contract";
import { equalBytes } from "@event-anchoring/protocol";
import type { TlsFiles } from "./network-types.ts";

export type TlsMaterialCode =
  | "unreadable"
  | "key_mode_too_wide"
  | "malformed"
  | "key_mismatch"
  | "wrong_identity"
  | "ca_not_pinned"
  | "not_issued_by_ca"
  | "expired";

/** The node's own TLS files cannot be used. */
export class TlsMaterialError extends Error {
  readonly code: TlsMaterialCode;
  constructor(code: TlsMaterialCode, message: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause });
    this.name = "TlsMaterialError";
    this.code = code;
  }
}

/** Loaded and checked: the key belongs to the certificate, the certificate to this node and to a pinned authority. */
export interface TlsMaterial {
  readonly authorities: readonly X509Certificate[];
  /** For a server, which makes a context of its own. Not enumerable, so that the key does not print. */
  readonly options: SecureContextOptions;
  /**
   * For all dials. One for each dial takes 0.7 ms more, and memory outside of V8's heap, which V8 does not count: 2,000
   * dials to a port at which nobody listened grew a process by 73 MB, with a shared context by 31.
   */
  readonly dialContext: SecureContext;
  readonly expiresMs: number;
  /** Changes when a file does. */
  readonly fileVersion: string;
}

export interface OwnIdentity {
  readonly nodeId: string;
  readonly clusterId: Uint8Array;
}

/** @throws TlsMaterialError */
export async function loadTlsMaterial(
  files: TlsFiles,
  self: OwnIdentity,
  pins: readonly Uint8Array[],
  wallMs: number,
): Promise<TlsMaterial> {
  const fileVersion = await tlsFileVersion(files);
  const [caPem, cert, key] = await readFiles(files);
  const authorities = splitPem(caPem)
    .map((pem) => parseCertificate(pem, files.caFile))
    .filter((authority) => isPinned(authority, pins));
  if (authorities.length === 0)
    throw new TlsMaterialError("ca_not_pinned", "the trust root pins none of the authorities");
  const certificate = parseCertificate(cert, files.certificateFile);
  if (!keyBelongsTo(certificate, key, files.keyFile)) {
    throw new TlsMaterialError("key_mismatch", `${files.keyFile} is not the key of ${files.certificateFile}`);
  }
  const urn = formatIdentity({ role: "node", clusterId: self.clusterId, id: self.nodeId });
  if (certificate.subjectAltName !== `URI:${urn}`) {
    throw new TlsMaterialError("wrong_identity", `the certificate is not that of ${urn}`);
  }
  if (issuerOf(certificate, authorities) === null) {
    throw new TlsMaterialError("not_issued_by_ca", "the certificate was not issued by a pinned authority");
  }
  const expiresMs = Date.parse(certificate.validTo);
  if (expiresMs <= wallMs) throw new TlsMaterialError("expired", `the certificate expired at ${certificate.validTo}`);
  const options = tlsOptionsOf(authorities, cert, key);
  const material = { authorities, options, dialContext: createSecureContext(options), expiresMs, fileVersion };
  return Object.defineProperty(material, "options", { enumerable: false });
}

/**
 * TLS options of both ends. No session is ever resumed: a bare ticket would be taken for the node it was given to, and
 * checkServerIdentity is not asked for it (Node 20).
 */
function tlsOptionsOf(authorities: readonly X509Certificate[], cert: string, key: string): SecureContextOptions {
  return {
    ca: authorities.map((authority) => authority.toString()),
    cert,
    key,
    minVersion: "TLSv1.3",
    maxVersion: "TLSv1.3",
    secureOptions: cryptoConstants.SSL_OP_NO_TICKET,
  };
}

/** Cheap to ask: says whether a reload is due. @throws TlsMaterialError */
export async function tlsFileVersion(files: TlsFiles): Promise<string> {
  try {
    const all = await Promise.all([files.caFile, files.certificateFile, files.keyFile].map((path) => stat(path)));
    const keyMode = (all[2]?.mode ?? 0o777) & 0o777;
    if ((keyMode & 0o077) !== 0) {
      throw new TlsMaterialError("key_mode_too_wide", `${files.keyFile} has mode ${keyMode.toString(8)}, must be 600`);
    }
    return all.map((file) => `${file.ino}:${file.mtimeMs}:${file.size}`).join(",");
  } catch (error) {
    if (error instanceof TlsMaterialError) throw error;
    throw new TlsMaterialError("unreadable", "a TLS file cannot be read", error);
  }
}

async function readFiles(files: TlsFiles): Promise<[string, string, string]> {
  const read = (path: string): Promise<string> => readFile(path, "utf8");
  try {
    return await Promise.all([read(files.caFile), read(files.certificateFile), read(files.keyFile)]);
  } catch (error) {
    throw new TlsMaterialError("unreadable", "a TLS file cannot be read", error);
  }
}

function splitPem(text: string): string[] {
  return text.match(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g) ?? [];
}

function parseCertificate(pem: string, path: string): X509Certificate {
  try {
    return new X509Certificate(pem);
  } catch (error) {
    throw new TlsMaterialError("malformed", `${path} holds no certificate`, error);
  }
}

function keyBelongsTo(certificate: X509Certificate, key: string, path: string): boolean {
  try {
    return certificate.checkPrivateKey(createPrivateKey(key));
  } catch (error) {
    throw new TlsMaterialError("malformed", `${path} holds no private key`, error);
  }
}

function spkiSha256(certificate: X509Certificate): Uint8Array {
  return createHash("sha256")
    .update(certificate.publicKey.export({ type: "spki", format: "der" }))
    .digest();
}

function isPinned(authority: X509Certificate, pins: readonly Uint8Array[]): boolean {
  const spki = spkiSha256(authority);
  return pins.some((pin) => equalBytes(pin, spki));
}

function issuerOf(certificate: X509Certificate, authorities: readonly X509Certificate[]): X509Certificate | null {
  const issuer = authorities.find(
    (authority) => certificate.checkIssued(authority) && certificate.verify(authority.publicKey),
  );
  return issuer ?? null;
}

/** Why a connection's certificate is not accepted, after OpenSSL has verified its chain and dates. */
export type PeerCertificateRefusal =
  | "not_tls13"
  | "session_reused"
  | "no_certificate"
  | "no_identity"
  | "wrong_cluster"
  | "ca_not_pinned";

export type PeerCertificateVerdict =
  | {
      readonly ok: true;
      readonly identity: CertificateIdentity;
      readonly certificate: X509Certificate;
      readonly expiresMs: number;
      /** RFC 9266 exporter value of this connection. */
      readonly exporter: Uint8Array;
    }
  | { readonly ok: false; readonly code: PeerCertificateRefusal };

/** Which node the other end of an established, verified TLS connection is. */
export function judgePeerCertificate(
  socket: TLSSocket,
  clusterId: Uint8Array,
  material: TlsMaterial,
  pins: readonly Uint8Array[],
): PeerCertificateVerdict {
  const refuse = (code: PeerCertificateRefusal): PeerCertificateVerdict => ({ ok: false, code });
  if (socket.getProtocol() !== "TLSv1.3") return refuse("not_tls13");
  if (socket.isSessionReused()) return refuse("session_reused");
  const certificate = socket.getPeerX509Certificate();
  if (certificate === undefined || !socket.authorized) return refuse("no_certificate");
  // The whole SAN must be one URI: a second name, or one that needs quoting, is not ours.
  const san = certificate.subjectAltName ?? "";
  const identity = san.startsWith("URI:") ? parseIdentity(san.slice("URI:".length)) : null;
  if (identity === null) return refuse("no_identity");
  if (!equalBytes(identity.clusterId, clusterId)) return refuse("wrong_cluster");
  const issuer = issuerOf(certificate, material.authorities);
  if (issuer === null || !isPinned(issuer, pins)) return refuse("ca_not_pinned");
  const exporter = socket.exportKeyingMaterial(EXPORTER_BYTES, EXPORTER_LABEL, Buffer.alloc(0));
  return { ok: true, identity, certificate, expiresMs: Date.parse(certificate.validTo), exporter };
}
