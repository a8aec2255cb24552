/** Operators: their certificates, and the calls they may make to a running cluster. */
import { X509Certificate, createPrivateKey, randomBytes, sign as signWithKey } from "node:crypto";
import { request as httpsRequest } from "node:https";
import type { RequestOptions } from "node:https";
import type { TLSSocket } from "node:tls";
import {
  API_KEY_SECRET_BYTES,
  CLUSTER_AUTH_HEADER,
  EXPORTER_BYTES,
  EXPORTER_LABEL,
  UNARY_RESPONSE_BYTES_MAX,
  apiKeyIdentity,
  formatApiKey,
  formatIdentity,
  signOperatorRequest,
  verifyResponse,
} from "@event-anchoring/control-contract";
import type { AuthContext, CreateApiKey, OperatorCall, UnaryCall } from "@event-anchoring/control-contract";
import { nodeCrypto } from "@event-anchoring/node-crypto";
import { hexToBytes } from "@event-anchoring/protocol";
import { OPERATOR_LIFETIME_MS_MAX, issueCertificate } from "./ca.ts";
import type { IssuedCertificate } from "./ca.ts";
import { loadCertificateAuthority, loadCluster } from "./cluster-files.ts";

export interface OperatorCredential extends IssuedCertificate {
  readonly operatorId: string;
  /** 32 bytes. */
  readonly clusterId: Uint8Array;
  readonly caCertificatePem: string;
}

/** The node that is called. */
export interface CalledNode {
  readonly nodeId: string;
  readonly host: string;
  readonly port: number;
  /** From the trust root: its answer must be signed with this key. */
  readonly authPublicKey: Uint8Array;
}

/**
 * What may go wrong with a call. After `connection_lost` and `timeout` the outcome is unknown: ask again; every call is
 * idempotent. `answer_not_authentic` means that somebody else answered, or changed the answer.
 */
export type OperatorCallErrorCode =
  | "connection_refused"
  | "connection_lost"
  | "timeout"
  | "answer_not_authentic"
  | "forbidden"
  | "answer_malformed";

export class OperatorCallError extends Error {
  readonly code: OperatorCallErrorCode;
  constructor(code: OperatorCallErrorCode, message: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause });
    this.name = "OperatorCallError";
    this.code = code;
  }
}

/**
 * Issues an operator certificate with the cluster's CA, in memory.
 * @param issue.lifetimeMs default 1 hour, at most 24 hours
 */
export async function issueOperatorCertificate(issue: {
  readonly outDir: string;
  readonly operatorId: string;
  readonly lifetimeMs?: number;
  readonly nowMs?: number;
}): Promise<OperatorCredential> {
  const lifetimeMs = issue.lifetimeMs ?? 3_600_000;
  if (lifetimeMs > OPERATOR_LIFETIME_MS_MAX) throw new RangeError("an operator certificate lives 24 hours at most");
  const authority = await loadCertificateAuthority(issue.outDir);
  const clusterId = hexToBytes((await loadCluster(issue.outDir)).clusterId, 32);
  const identity = { role: "operator", clusterId, id: issue.operatorId } as const;
  const certificate = await issueCertificate(authority, identity, lifetimeMs, issue.nowMs ?? Date.now());
  const { certificatePem, privateKeyPem, expiresMs } = certificate;
  const credential = { operatorId: issue.operatorId, clusterId, caCertificatePem: authority.certificatePem };
  return Object.defineProperty({ ...credential, certificatePem, privateKeyPem, expiresMs }, "privateKeyPem", {
    enumerable: false,
  });
}

/** A secret that exists here only: the cluster knows its hash. */
export interface DrawnSecret {
  /** `ank_…`: show it once. Not enumerable, so that it does not print by accident. */
  readonly apiKey: string;
  /** 16 bytes. */
  readonly keyId: Uint8Array;
}

/** A new API key, and the call that makes it known. Sending the same call again is safe. */
export interface NewApiKey extends DrawnSecret {
  /** 16 bytes. */
  readonly apiClientId: Uint8Array;
  readonly call: Extract<OperatorCall, { readonly kind: "create_api_key" }>;
}

/** The successor of an API key, and the call that puts it in place. Sending the same call again is safe. */
export interface ReplacementApiKey extends DrawnSecret {
  readonly call: Extract<OperatorCall, { readonly kind: "rotate_api_key" }>;
}

export function drawApiKey(key: {
  readonly label: string;
  readonly scopes: CreateApiKey["scopes"];
  /** Default: a new API client. */
  readonly apiClientId?: Uint8Array;
  /** Unix milliseconds; default 0 = never. */
  readonly expiresMs?: number;
  /** Default 0: as each node is configured. */
  readonly requestsPerSecond?: number;
}): NewApiKey {
  const { label, scopes, expiresMs = 0, requestsPerSecond = 0 } = key;
  const apiClientId = key.apiClientId ?? Uint8Array.from(randomBytes(16));
  const { keyHash, ...secret } = drawSecret();
  const call = { kind: "create_api_key" as const, keyHash, apiClientId, label, scopes, expiresMs, requestsPerSecond };
  return withSecret({ ...secret, apiClientId, call });
}

/** Label, scopes, rate and API client are those of the key that is replaced. */
export function drawReplacementApiKey(key: {
  /** 16 bytes: the key that is replaced. */
  readonly keyId: Uint8Array;
  /** How long the old key stays good, milliseconds. */
  readonly overlapMs: number;
  /** When the new key ends, Unix milliseconds; default 0 = never. */
  readonly expiresMs?: number;
}): ReplacementApiKey {
  const { keyHash, ...secret } = drawSecret();
  const { keyId, overlapMs, expiresMs = 0 } = key;
  const call = { kind: "rotate_api_key" as const, keyId, keyHash, overlapMs, expiresMs };
  return withSecret({ ...secret, call });
}

function drawSecret(): DrawnSecret & { readonly keyHash: Uint8Array } {
  const secret = Uint8Array.from(randomBytes(API_KEY_SECRET_BYTES));
  return { apiKey: formatApiKey(secret), ...apiKeyIdentity(secret, nodeCrypto.sha256) };
}

function withSecret<Drawn extends DrawnSecret>(drawn: Drawn): Drawn {
  return Object.defineProperty(drawn, "apiKey", { enumerable: false });
}

export interface CallOptions {
  readonly credential: OperatorCredential;
  readonly node: CalledNode;
  /** Default 10 s. */
  readonly timeoutMs?: number;
}

export function decoded<T>(decode: () => T): T {
  try {
    return decode();
  } catch (error) {
    throw new OperatorCallError("answer_malformed", "the answer is not what the call promises", error);
  }
}

/**
 * One call over a TLS connection of its own, signed with the certificate's key and bound to that connection.
 * @returns the body of an authentic answer of status 200, 409 or 503
 * @throws OperatorCallError
 */
export async function callOperator(options: CallOptions, call: UnaryCall, body: Uint8Array): Promise<Uint8Array> {
  const timeoutMs = options.timeoutMs ?? 10_000;
  return new Promise<Uint8Array>((resolve, reject) => {
    let signed: SignedCall | null = null;
    const request = httpsRequest({ ...connectOptions(options), method: call.method, path: call.path });
    const timer = setTimeout(() => {
      request.destroy(new OperatorCallError("timeout", `no answer in ${timeoutMs} ms`));
    }, timeoutMs);
    const fail = (error: Error): void => {
      clearTimeout(timer);
      reject(error instanceof OperatorCallError ? error : connectionError(error));
    };
    request.on("error", fail);
    request.on("socket", (socket) => {
      socket.once("secureConnect", () => {
        signed = signCall(options, call, body, socket as TLSSocket);
        request.setHeader(CLUSTER_AUTH_HEADER, signed.header);
        request.setHeader("content-length", body.length);
        request.end(body);
      });
    });
    request.on("response", (response) => {
      const chunks: Buffer[] = [];
      let received = 0;
      response.on("error", fail);
      response.on("data", (chunk: Buffer) => {
        received += chunk.length;
        chunks.push(chunk);
        if (received > UNARY_RESPONSE_BYTES_MAX) {
          request.destroy(new OperatorCallError("answer_malformed", "the answer is too long"));
        }
      });
      response.on("end", () => {
        clearTimeout(timer);
        if (signed === null) return fail(new OperatorCallError("answer_not_authentic", "an answer before the call"));
        const header = response.headers[CLUSTER_AUTH_HEADER];
        const answer = { status: response.statusCode ?? 0, header: String(header), body: Buffer.concat(chunks) };
        // What proves itself needs no signature, and may be what tells the caller this node's newest key.
        const isSelfProving = call.callers.includes("certificate") && answer.status === 200;
        const refused = isSelfProving ? null : judgeAnswer(options, signed, answer);
        if (refused === null) resolve(Uint8Array.from(answer.body));
        else reject(refused);
      });
    });
  });
}

interface SignedCall {
  readonly header: string;
  readonly context: AuthContext;
}

/** A connection of its own, no session kept or offered: a resumed one would skip the identity check (Node 20). */
function connectOptions({ credential, node }: CallOptions): RequestOptions {
  const urn = formatIdentity({ role: "node", clusterId: credential.clusterId, id: node.nodeId });
  return {
    host: node.host,
    port: node.port,
    servername: "",
    agent: false,
    ca: credential.caCertificatePem,
    cert: credential.certificatePem,
    key: credential.privateKeyPem,
    minVersion: "TLSv1.3",
    checkServerIdentity: (_host, certificate) =>
      certificate.subjectaltname === `URI:${urn}`
        ? undefined
        : new OperatorCallError("answer_not_authentic", `the certificate is not that of ${urn}`),
  };
}

function signCall({ credential, node }: CallOptions, call: UnaryCall, body: Uint8Array, socket: TLSSocket): SignedCall {
  const exporter = socket.exportKeyingMaterial(EXPORTER_BYTES, EXPORTER_LABEL, Buffer.alloc(0));
  const key = createPrivateKey(credential.privateKeyPem);
  const claims = {
    clusterId: credential.clusterId,
    from: credential.operatorId,
    to: node.nodeId,
    sequence: 1,
    nonce: Uint8Array.from(randomBytes(16)),
  };
  const context = { method: call.method, path: call.path, exporter, bodyDigest: nodeCrypto.sha256(body) };
  const header = signOperatorRequest(
    claims,
    Date.now(),
    context,
    (message) => signWithKey("sha256", message, { key, dsaEncoding: "ieee-p1363" }),
    nodeCrypto.sha256,
  );
  return { header, context };
}

function judgeAnswer(
  { credential, node }: CallOptions,
  signed: SignedCall,
  answer: { readonly status: number; readonly header: string; readonly body: Uint8Array },
): OperatorCallError | null {
  const expected = {
    clusterId: credential.clusterId,
    from: node.nodeId,
    to: credential.operatorId,
    status: answer.status,
    sequence: 1,
    requestHeader: signed.header,
    context: { ...signed.context, bodyDigest: nodeCrypto.sha256(answer.body) },
  };
  const { ed25519Verify, sha256 } = nodeCrypto;
  const verdict = verifyResponse(answer.header, expected, node.authPublicKey, ed25519Verify, sha256);
  if (!verdict.ok) return new OperatorCallError("answer_not_authentic", `${verdict.code}: ${verdict.detail}`);
  if ([200, 409, 503].includes(answer.status)) return null;
  return new OperatorCallError("forbidden", `the node refused the call with status ${answer.status}`);
}

function connectionError(error: Error): OperatorCallError {
  const refused = "code" in error && error.code === "ECONNREFUSED";
  const code = refused ? "connection_refused" : "connection_lost";
  return new OperatorCallError(code, refused ? "connection refused" : "the connection was lost", error);
}

/** When a credential must be replaced: its certificate's own words. Unix milliseconds. */
export function expiryOf(certificatePem: string): number {
  return Date.parse(new X509Certificate(certificatePem).validTo);
}
