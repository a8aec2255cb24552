import "reflect-metadata";
import { X509Certificate as NodeX509Certificate, createHash, randomBytes, webcrypto } from "node:crypto";
import { isIP } from "node:net";
import {
  AuthorityKeyIdentifierExtension,
  BasicConstraintsExtension,
  ExtendedKeyUsage,
  ExtendedKeyUsageExtension,
  KeyUsageFlags,
  KeyUsagesExtension,
  Pkcs10CertificateRequest,
  Pkcs10CertificateRequestGenerator,
  SubjectAlternativeNameExtension,
  SubjectKeyIdentifierExtension,
  X509Certificate,
  X509CertificateGenerator,
  cryptoProvider,
} from "@peculiar/x509";
import { formatIdentity } from "@event-anchoring/control-contract";
import type { CertificateIdentity } from "@event-anchoring/control-contract";

const ECDSA_P256 = { name: "ECDSA", namedCurve: "P-256", hash: "SHA-256" } as const;
const DAY_MS = 86_400_000;
/** Certificates begin this long before they are made, for peers whose clocks are behind. */
const BACKDATED_MS = 3_600_000;

const CA_LIFETIME_MS = 20 * 365 * DAY_MS;
export const NODE_TLS_LIFETIME_MS = 365 * DAY_MS;
/** An operator's certificate signs operator calls with its own key: it lives a day at most. */
export const OPERATOR_LIFETIME_MS_MAX = DAY_MS;

/** A private key and its certificate, as PEM text. The key does not print. */
export interface IssuedCertificate {
  readonly certificatePem: string;
  /** PKCS #8. */
  readonly privateKeyPem: string;
  readonly expiresMs: number;
}

/** The cluster's private certificate authority. It signs nothing but this cluster's certificates. */
export interface CertificateAuthority extends IssuedCertificate {
  /** SHA-256 of the SubjectPublicKeyInfo: what the trust root pins. */
  readonly spkiSha256: Uint8Array;
}

/** What a certificate may be used for: nodes listen and dial, api processes listen, operators dial. */
const USAGES: Readonly<Record<CertificateIdentity["role"], readonly ExtendedKeyUsage[]>> = {
  node: [ExtendedKeyUsage.serverAuth, ExtendedKeyUsage.clientAuth],
  api: [ExtendedKeyUsage.serverAuth],
  operator: [ExtendedKeyUsage.clientAuth],
};

/**
 * Makes a new self-signed CA, ECDSA P-256. Its name ends in digits of its own, so that a CA and its successor are told
 * apart in any tool.
 * @param nowMs Unix milliseconds
 */
export async function createCertificateAuthority(
  clusterName: string,
  nowMs: number,
  purpose: "control plane" | "gateway" = "control plane",
): Promise<CertificateAuthority> {
  cryptoProvider.set(webcrypto);
  const keys = await generateKeys();
  const serial = serialNumber();
  const certificate = await X509CertificateGenerator.createSelfSigned({
    serialNumber: serial,
    name: [{ CN: [`${clusterName} ${purpose} CA ${serial.slice(-8)}`] }],
    notBefore: new Date(nowMs - BACKDATED_MS),
    notAfter: new Date(nowMs + CA_LIFETIME_MS),
    signingAlgorithm: ECDSA_P256,
    keys,
    extensions: [
      new BasicConstraintsExtension(true, 0, true),
      new KeyUsagesExtension(KeyUsageFlags.keyCertSign | KeyUsageFlags.cRLSign, true),
      await SubjectKeyIdentifierExtension.create(keys.publicKey),
    ],
  });
  return certificateAuthorityOf(await issued(certificate, keys));
}

/** Adds what is derived. @throws Error for a certificate that cannot be parsed */
export function certificateAuthorityOf(authority: IssuedCertificate): CertificateAuthority {
  const { certificatePem, privateKeyPem, expiresMs } = authority;
  return withUnprintableKey({ certificatePem, privateKeyPem, expiresMs, spkiSha256: spkiSha256Of(certificatePem) });
}

/** The certificates of a PEM file, each as PEM text. */
export function splitCertificates(pem: string): string[] {
  const blocks = pem.match(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g) ?? [];
  return blocks.map((block) => `${block}\n`);
}

/** @throws RangeError for what is no certificate */
export function parseCertificate(certificatePem: string): NodeX509Certificate {
  try {
    return new NodeX509Certificate(certificatePem);
  } catch (cause) {
    throw new RangeError("this is no certificate in PEM", { cause });
  }
}

/** SHA-256 of a certificate's SubjectPublicKeyInfo (RFC 5280 section 4.1.2.7). */
export function spkiSha256Of(certificatePem: string): Uint8Array {
  const spki = parseCertificate(certificatePem).publicKey.export({ type: "spki", format: "der" });
  return Uint8Array.from(createHash("sha256").update(spki).digest());
}

/**
 * Issues a certificate with a new ECDSA P-256 key. Its one SAN is the identity's URN; that of an api process has host
 * names beside it. It ends with the CA at the latest.
 * @param nowMs Unix milliseconds
 */
export async function issueCertificate(
  authority: IssuedCertificate,
  identity: CertificateIdentity,
  lifetimeMs: number,
  nowMs: number,
): Promise<IssuedCertificate> {
  return issueLeaf(authority, leafOf(identity), lifetimeMs, nowMs);
}

/**
 * Issues a TLS server certificate for the names that clients connect to. For a gateway: not of the cluster's own CA,
 * which signs nothing but identities.
 * @param names host names and addresses, at least one
 */
export async function issueServerCertificate(
  authority: IssuedCertificate,
  names: readonly string[],
  lifetimeMs: number,
  nowMs: number,
): Promise<IssuedCertificate> {
  const [first] = names;
  if (first === undefined) throw new RangeError("a server certificate has at least one name");
  const alternatives = names.map((value) => ({ type: isIP(value) === 0 ? "dns" : "ip", value }) as const);
  const leaf = { commonName: first, usages: [ExtendedKeyUsage.serverAuth], alternatives };
  return issueLeaf(authority, leaf, lifetimeMs, nowMs);
}

/** A new key, and the request by which another CA issues the identity's certificate. Both are PEM text. */
export async function requestCertificate(
  identity: CertificateIdentity,
): Promise<{ readonly requestPem: string; readonly privateKeyPem: string }> {
  cryptoProvider.set(webcrypto);
  const keys = await generateKeys();
  const leaf = leafOf(identity);
  const request = await Pkcs10CertificateRequestGenerator.create({
    name: [{ CN: [leaf.commonName] }],
    keys,
    signingAlgorithm: ECDSA_P256,
    extensions: [
      new KeyUsagesExtension(KeyUsageFlags.digitalSignature, true),
      new ExtendedKeyUsageExtension([...leaf.usages]),
      new SubjectAlternativeNameExtension([...leaf.alternatives]),
    ],
  });
  const privateKeyPem = await privateKeyPemOf(keys);
  return withUnprintableKey({ requestPem: `${request.toString("pem").trim()}\n`, privateKeyPem });
}

/**
 * Issues what a request asks for, if it asks for exactly this identity: the key is the requester's and stays there.
 * @throws RangeError for a request of another name, for another kind of key, or not signed by that key
 */
export async function issueRequested(
  authority: IssuedCertificate,
  identity: CertificateIdentity,
  requestPem: string,
  lifetimeMs: number,
  nowMs: number,
): Promise<string> {
  cryptoProvider.set(webcrypto);
  const request = parseRequest(requestPem);
  if (!(await request.verify())) throw new RangeError("the request is not signed by the key that it is for");
  const { algorithm } = request.publicKey as {
    readonly algorithm: { readonly name: string; readonly namedCurve?: string };
  };
  if (algorithm.name !== ECDSA_P256.name || algorithm.namedCurve !== ECDSA_P256.namedCurve) {
    throw new RangeError("the request is for another kind of key than ECDSA P-256");
  }
  const leaf = leafOf(identity);
  const extensions = request.extensions.filter((extension) => extension instanceof SubjectAlternativeNameExtension);
  const names = extensions.flatMap((extension) => extension.names.toJSON());
  const text = (all: readonly { readonly type: string; readonly value: string }[]): string =>
    all.map(({ type, value }) => (type === "url" ? value : `${type}:${value}`)).join(", ");
  if (text(names) !== text(leaf.alternatives)) {
    throw new RangeError(`the request is not for ${text(leaf.alternatives)}: ${text(names)}`);
  }
  const publicKey = await webcrypto.subtle.importKey("spki", request.publicKey.rawData, ECDSA_P256, true, ["verify"]);
  const certificate = await issueFor(authority, leaf, publicKey, lifetimeMs, nowMs);
  return `${certificate.toString("pem").trim()}\n`;
}

function parseRequest(requestPem: string): Pkcs10CertificateRequest {
  try {
    return new Pkcs10CertificateRequest(requestPem);
  } catch (cause) {
    throw new RangeError("this is no certificate request in PEM", { cause });
  }
}

/** What is particular to a certificate that is no authority's. */
interface Leaf {
  readonly commonName: string;
  readonly usages: readonly ExtendedKeyUsage[];
  readonly alternatives: readonly { readonly type: "url" | "dns" | "ip"; readonly value: string }[];
}

function leafOf(identity: CertificateIdentity): Leaf {
  return {
    commonName: `${identity.role} ${identity.id}`,
    usages: USAGES[identity.role],
    alternatives: [
      { type: "url", value: formatIdentity(identity) },
      ...hostsOf(identity).map((value) => ({ type: "dns", value }) as const),
    ],
  };
}

/**
 * The host names of an identity: an api process has its own, and one that all of them have, by which a gateway knows
 * any of them. Others have none.
 */
function hostsOf({ role, id }: CertificateIdentity): readonly string[] {
  return role === "api" ? [`${id}.api.internal`, "api.internal"] : [];
}

/** The subject alternative names of the identity's certificate, as Node prints them. */
export function subjectAltNameOf(identity: CertificateIdentity): string {
  return [`URI:${formatIdentity(identity)}`, ...hostsOf(identity).map((host) => `DNS:${host}`)].join(", ");
}

async function issueLeaf(
  authority: IssuedCertificate,
  leaf: Leaf,
  lifetimeMs: number,
  nowMs: number,
): Promise<IssuedCertificate> {
  cryptoProvider.set(webcrypto);
  const keys = await generateKeys();
  return issued(await issueFor(authority, leaf, keys.publicKey, lifetimeMs, nowMs), keys);
}

async function issueFor(
  authority: IssuedCertificate,
  leaf: Leaf,
  publicKey: webcrypto.CryptoKey,
  lifetimeMs: number,
  nowMs: number,
): Promise<X509Certificate> {
  if (!(lifetimeMs > 0)) throw new RangeError(`a lifetime is above 0 ms, not ${lifetimeMs}`);
  const issuer = new X509Certificate(authority.certificatePem);
  return X509CertificateGenerator.create({
    serialNumber: serialNumber(),
    subject: [{ CN: [leaf.commonName] }],
    issuer: issuer.subject,
    notBefore: new Date(nowMs - BACKDATED_MS),
    notAfter: new Date(Math.min(nowMs + lifetimeMs, issuer.notAfter.getTime())),
    signingAlgorithm: ECDSA_P256,
    publicKey,
    signingKey: await importPrivateKey(authority.privateKeyPem),
    extensions: [
      new BasicConstraintsExtension(false, undefined, true),
      new KeyUsagesExtension(KeyUsageFlags.digitalSignature, true),
      new ExtendedKeyUsageExtension([...leaf.usages]),
      new SubjectAlternativeNameExtension([...leaf.alternatives]),
      await SubjectKeyIdentifierExtension.create(publicKey),
      await AuthorityKeyIdentifierExtension.create(issuer.publicKey),
    ],
  });
}

async function generateKeys(): Promise<webcrypto.CryptoKeyPair> {
  return webcrypto.subtle.generateKey(ECDSA_P256, true, ["sign", "verify"]);
}

async function importPrivateKey(pem: string): Promise<webcrypto.CryptoKey> {
  const der = Buffer.from(pem.replace(/-----[A-Z ]+-----|\s/g, ""), "base64");
  return webcrypto.subtle.importKey("pkcs8", der, ECDSA_P256, false, ["sign"]);
}

async function issued(certificate: X509Certificate, keys: webcrypto.CryptoKeyPair): Promise<IssuedCertificate> {
  return withUnprintableKey({
    certificatePem: `${certificate.toString("pem").trim()}\n`,
    privateKeyPem: await privateKeyPemOf(keys),
    expiresMs: certificate.notAfter.getTime(),
  });
}

async function privateKeyPemOf(keys: webcrypto.CryptoKeyPair): Promise<string> {
  const der = Buffer.from(await webcrypto.subtle.exportKey("pkcs8", keys.privateKey)).toString("base64");
  const lines = der.match(/.{1,64}/g) ?? [];
  return `-----BEGIN PRIVATE KEY-----\n${lines.join("\n")}\n-----END PRIVATE KEY-----\n`;
}

/** A secret that is not enumerable stays out of logs, JSON and unintended spread copies. */
function withUnprintableKey<T extends { readonly privateKeyPem: string }>(made: T): T {
  return Object.defineProperty(made, "privateKeyPem", { enumerable: false });
}

/** 127 random bits: positive, and unpredictable as CA/Browser rules want it. */
function serialNumber(): string {
  const bytes = randomBytes(16);
  bytes[0] = ((bytes[0] ?? 0) & 0x7f) | 0x40;
  return bytes.toString("hex");
}
