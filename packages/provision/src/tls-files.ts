/** The TLS files of a node's identity folder, and how they are put in place. */
import { createPrivateKey } from "node:crypto";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import type { CertificateIdentity } from "@event-anchoring/control-contract";
import { parseCertificate, requestCertificate, subjectAltNameOf } from "./ca.ts";
import type { IssuedCertificate } from "./ca.ts";
import { PrivateFileError, readPrivateFile, writePrivateFile } from "./files.ts";

/** A new key as `tls.key.new`, and in `tls.csr` what somebody else's CA issues its certificate from. */
export async function writeTlsRequest(identityDir: string, identity: CertificateIdentity): Promise<void> {
  const { requestPem, privateKeyPem } = await requestCertificate(identity);
  await writePrivateFile(join(identityDir, "tls.key.new"), privateKeyPem);
  await writePrivateFile(join(identityDir, "tls.csr"), requestPem);
}

/** The key goes first: a node that reloads in between sees that they do not belong together, and keeps what it has. */
export async function writeTls(identityDir: string, tls: IssuedCertificate): Promise<void> {
  await writePrivateFile(join(identityDir, "tls.key"), tls.privateKeyPem);
  await writePrivateFile(join(identityDir, "tls.crt"), tls.certificatePem);
}

/**
 * Puts the certificate that was issued for `tls.csr` into use, with its key.
 * @param authorities PEM, one each: one of them must have issued it
 * @returns when it expires, Unix milliseconds
 * @throws PrivateFileError `missing` without an open request; `malformed` for a certificate that no node would accept
 */
export async function installRequestedTls(
  identityDir: string,
  identity: CertificateIdentity,
  certificatePem: string,
  authorities: readonly string[],
): Promise<number> {
  const keyFile = join(identityDir, "tls.key.new");
  const privateKeyPem = await readPrivateFile(keyFile);
  const certificate = parseCertificate(certificatePem);
  const names = subjectAltNameOf(identity);
  const caCertificates = authorities.map(parseCertificate);
  const refuse = (detail: string): PrivateFileError =>
    new PrivateFileError("malformed", keyFile, `the certificate does not fit: ${detail}`);
  if (!certificate.checkPrivateKey(createPrivateKey(privateKeyPem))) throw refuse("it is for another key");
  if (certificate.subjectAltName !== names) throw refuse(`its names must be ${names}, and no other`);
  const isIssued = caCertificates.some((ca) => certificate.checkIssued(ca) && certificate.verify(ca.publicKey));
  if (!isIssued) throw refuse("none of the CAs in ca.crt has issued it");
  await writeTls(identityDir, { certificatePem, privateKeyPem, expiresMs: 0 });
  await Promise.all(["tls.key.new", "tls.csr"].map((name) => rm(join(identityDir, name), { force: true })));
  return Date.parse(certificate.validTo);
}
