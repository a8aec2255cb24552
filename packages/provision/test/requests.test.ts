// oxlint-disable-next-line import/no-unassigned-import -- @peculiar/x509 looks for it while it loads
import "reflect-metadata";
import { X509Certificate, webcrypto } from "node:crypto";
import { beforeAll, describe, expect, test } from "@jest/globals";
import { Pkcs10CertificateRequestGenerator, SubjectAlternativeNameExtension, cryptoProvider } from "@peculiar/x509";
import { formatIdentity } from "@event-anchoring/control-contract";
import type { CertificateIdentity } from "@event-anchoring/control-contract";
import { createCertificateAuthority, issueRequested, requestCertificate } from "../src/index.ts";
import type { CertificateAuthority } from "../src/index.ts";

const NOW_MS = Date.UTC(2026, 0, 1);
const DAY_MS = 86_400_000;
const N1: CertificateIdentity = { role: "node", clusterId: new Uint8Array(32).fill(7), id: "n1" };
const N2: CertificateIdentity = { ...N1, id: "n2" };

let authority: CertificateAuthority;

beforeAll(async () => {
  cryptoProvider.set(webcrypto);
  authority = await createCertificateAuthority("requests.test", NOW_MS);
});

const issue = (request: string, identity = N1, lifetimeMs = DAY_MS): Promise<string> =>
  issueRequested(authority, identity, request, lifetimeMs, NOW_MS);

/** A request as other programs may make it. */
async function otherRequest(namedCurve: string, uris: readonly string[]): Promise<string> {
  const algorithm = { name: "ECDSA", namedCurve, hash: "SHA-256" };
  const keys = await webcrypto.subtle.generateKey(algorithm, true, ["sign", "verify"]);
  const names = uris.map((value) => ({ type: "url", value }) as const);
  const request = await Pkcs10CertificateRequestGenerator.create({
    name: "CN=node n1",
    keys,
    signingAlgorithm: algorithm,
    extensions: names.length === 0 ? [] : [new SubjectAlternativeNameExtension(names)],
  });
  return request.toString("pem");
}

describe("a certificate by request", () => {
  test("is for the requester's key and the one name, and ends when it was said to", async () => {
    const { requestPem, privateKeyPem } = await requestCertificate(N1);
    const certificate = new X509Certificate(await issue(requestPem));
    expect(certificate.subjectAltName).toBe(`URI:${formatIdentity(N1)}`);
    expect(Date.parse(certificate.validTo)).toBe(NOW_MS + DAY_MS);
    expect(certificate.verify(new X509Certificate(authority.certificatePem).publicKey)).toBe(true);
    expect(privateKeyPem).toContain("PRIVATE KEY");
    expect(certificate.ca).toBe(false);
  });

  test.each<[string, () => Promise<string>, RegExp]>([
    ["another node's", async () => (await requestCertificate(N2)).requestPem, /not for urn:.*:node:n1/u],
    ["an operator's", async () => (await requestCertificate({ ...N1, role: "operator" })).requestPem, /not for/u],
    ["one without a name", () => otherRequest("P-256", []), /not for/u],
    ["one with a second name", () => otherRequest("P-256", [formatIdentity(N1), formatIdentity(N2)]), /not for/u],
    ["one for another kind of key", () => otherRequest("P-384", [formatIdentity(N1)]), /another kind of key/u],
    ["one whose signature was altered", async () => altered((await requestCertificate(N1)).requestPem), /not signed/u],
    ["something else", () => Promise.resolve(authority.certificatePem), /no certificate request/u],
    ["nothing", () => Promise.resolve(""), /no certificate request/u],
  ])("is refused for %s", async (_what, make, why) => {
    await expect(issue(await make())).rejects.toThrow(why);
  });

  test("is refused without a lifetime", async () => {
    const { requestPem } = await requestCertificate(N1);
    await expect(issue(requestPem, N1, 0)).rejects.toThrow(/lifetime/u);
  });
});

/** The same request with another last byte: the signature stands in the end. */
function altered(requestPem: string): string {
  const bytes = Buffer.from(requestPem.replaceAll(/-----[^-]+-----|\s/gu, ""), "base64");
  bytes.writeUInt8(bytes.readUInt8(bytes.length - 1) ^ 1, bytes.length - 1);
  return `-----BEGIN CERTIFICATE REQUEST-----\n${bytes.toString("base64")}\n-----END CERTIFICATE REQUEST-----\n`;
}
