import { createHash, verify as verifyWithKey } from "node:crypto";
import type { IncomingMessage, ServerResponse } from "node:http";
import {
  CLUSTER_AUTH_HEADER,
  UNARY_REQUEST_BYTES_MAX,
  signResponse,
  unaryCallOf,
  verifyNodeRequest,
  verifyOperatorRequest,
} from "@event-anchoring/control-contract";
import type { AuthRefusalCode, AuthVerdict, UnaryCall } from "@event-anchoring/control-contract";
import { nodeCrypto } from "@event-anchoring/node-crypto";
import { concatBytes } from "@event-anchoring/protocol";
import type { AcceptedCertificate } from "./listener.ts";
import type { UnaryAnswer, UnaryIdentity } from "./network-types.ts";
import { claimsTo } from "./transport-context.ts";
import type { TransportContext } from "./transport-context.ts";

/** The only request on its connection, so its sequence is this. */
const SEQUENCE = 1;
/** A header outside of this cannot be one of ours; it is treated, and signed, as missing. */
const PRINTABLE = /^[\x20-\x7e]{1,1024}$/;
/** A receiver that takes nothing of an answer for this long is cut off. */
const ANSWER_IDLE_MS = 30_000;

export interface UnaryExchange {
  readonly context: TransportContext;
  readonly certificate: AcceptedCertificate;
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  /** Ends the deadline for connections that have proved nothing. */
  readonly authenticated: () => void;
}

/** Answers one call. Whatever goes wrong in a handler is a 500 and a log line, never a lost process. */
export function answerUnary(exchange: UnaryExchange): void {
  answer(exchange).catch((error: unknown) => {
    const { environment } = exchange.context.options;
    environment.logger.error("unary_failed", { path: exchange.request.url, error });
    exchange.request.socket.destroy();
  });
}

async function answer(exchange: UnaryExchange): Promise<void> {
  const { context, request } = exchange;
  const path = request.url ?? "";
  const call = unaryCallOf(path);
  const handler = context.options.unary[path];
  if (call === null || handler === undefined || request.method !== call.method) {
    return refuse(exchange, 404, "not_found", path.slice(0, 100));
  }
  const body = await readBody(request);
  if (body === null) return refuse(exchange, 413, "too_large", path);
  const judged = judgeCaller(exchange, call, body);
  if ("code" in judged) return refuse(exchange, judged.code === "not_allowed" ? 403 : 401, judged.code, judged.detail);
  exchange.authenticated();
  request.socket.setTimeout(ANSWER_IDLE_MS, () => request.socket.destroy());
  const gone = new AbortController();
  exchange.response.once("close", () => gone.abort());
  let given: UnaryAnswer;
  try {
    given = await handler({ from: judged, body, signal: gone.signal });
  } catch (error) {
    context.options.environment.logger.error("unary_handler_failed", { path, error });
    given = { status: 500, body: new Uint8Array(0) };
  }
  if (gone.signal.aborted) return;
  context.counters.add("unary_answered", certificateId(exchange), String(given.status));
  if ("stream" in given) await sendStream(exchange, given.status, given.stream);
  else send(exchange, given.status, given.body);
}

function certificateId(exchange: UnaryExchange): string {
  return exchange.certificate.identity.id;
}

/** Null if it is longer than any call's. Everything up to here is unauthenticated, so the bound is small. */
async function readBody(request: IncomingMessage): Promise<Uint8Array | null> {
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    length += chunk.length;
    if (length > UNARY_REQUEST_BYTES_MAX) return null;
    chunks.push(chunk);
  }
  return concatBytes(...chunks);
}

type Refused = { readonly code: AuthRefusalCode; readonly detail: string };

function judgeCaller(exchange: UnaryExchange, call: UnaryCall, body: Uint8Array): UnaryIdentity | Refused {
  const { role, id } = exchange.certificate.identity;
  if (call.callers.includes("certificate")) return { kind: "certificate", role, id };
  if (role === "api") return { code: "not_allowed", detail: "an api process makes no calls here" };
  const verdict = verifyCaller(exchange, call, body);
  if (!verdict.ok) return verdict;
  if (!call.callers.includes(role)) return { code: "not_allowed", detail: `${call.path} is not for a ${role}` };
  return role === "node" ? { kind: "node", nodeId: id } : { kind: "operator", operatorId: id };
}

function verifyCaller(
  { context, certificate, request }: UnaryExchange,
  call: UnaryCall,
  body: Uint8Array,
): AuthVerdict {
  const { options, incarnations, nonces } = context;
  const text = headerOf(request);
  const { sha256 } = nodeCrypto;
  const expected = {
    clusterId: options.self.clusterId,
    self: options.self.nodeId,
    tlsIdentity: certificate.identity,
    lastSequence: SEQUENCE - 1,
    context: { method: call.method, path: call.path, exporter: certificate.exporter, bodyDigest: sha256(body) },
  };
  if (certificate.identity.role === "node") {
    return verifyNodeRequest(text, expected, { authKeyOf: options.authKeyOf, incarnations, ...nodeCrypto });
  }
  const { clock } = options.environment;
  const key = certificate.certificate.publicKey;
  return verifyOperatorRequest(text, expected, {
    verify: (message, signature) => verifyWithKey("sha256", message, { key, dsaEncoding: "ieee-p1363" }, signature),
    nonces,
    wallMs: clock.wallMs(),
    monotonicMs: clock.monotonicMs(),
    sha256,
  });
}

function headerOf(request: IncomingMessage): string {
  const value = request.headers[CLUSTER_AUTH_HEADER];
  return typeof value === "string" && PRINTABLE.test(value) ? value : "";
}

/** The caller gets a status without a reason; the log has the reason. */
function refuse(exchange: UnaryExchange, status: number, reason: string, detail: string): void {
  const { counters, options } = exchange.context;
  const peer = certificateId(exchange);
  counters.add("inbound_refused", peer, reason);
  options.environment.logger.warn("inbound_refused", { reason, peer, detail });
  send(exchange, status, new Uint8Array(0));
}

function send(exchange: UnaryExchange, status: number, body: Uint8Array): void {
  const { response } = exchange;
  response.writeHead(status, {
    "content-type": "application/octet-stream",
    "content-length": body.length,
    connection: "close",
    [CLUSTER_AUTH_HEADER]: signAnswer(exchange, status, nodeCrypto.sha256(body)),
  });
  response.end(body);
}

/** The signature comes last, as a trailer, because it covers all that was sent. */
async function sendStream(exchange: UnaryExchange, status: number, stream: AsyncIterable<Uint8Array>): Promise<void> {
  const { response } = exchange;
  response.writeHead(status, {
    "content-type": "application/octet-stream",
    connection: "close",
    trailer: CLUSTER_AUTH_HEADER,
  });
  const hash = createHash("sha256");
  for await (const chunk of stream) {
    if (response.destroyed) return;
    hash.update(chunk);
    if (!response.write(chunk)) await drained(response);
  }
  response.addTrailers({ [CLUSTER_AUTH_HEADER]: signAnswer(exchange, status, hash.digest()) });
  response.end();
}

/** Also resolves when the response is closed: the loop above looks. */
async function drained(response: ServerResponse): Promise<void> {
  await new Promise<void>((resolve) => {
    const done = (): void => {
      response.off("drain", done);
      response.off("close", done);
      resolve();
    };
    response.on("drain", done);
    response.on("close", done);
  });
}

function signAnswer({ context, certificate, request }: UnaryExchange, status: number, bodyDigest: Uint8Array): string {
  // What is no call of ours is not echoed into signed bytes.
  const sealed = {
    method: request.method === "POST" ? "POST" : "GET",
    path: unaryCallOf(request.url ?? "")?.path ?? "/",
  };
  return signResponse(
    claimsTo(context, certificate.identity.id, SEQUENCE),
    status,
    headerOf(request),
    { ...sealed, exporter: certificate.exporter, bodyDigest },
    (message) => context.options.self.authSigner.sign(message),
    nodeCrypto.sha256,
  );
}
