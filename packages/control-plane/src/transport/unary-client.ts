import { createHash } from "node:crypto";
import type { ClientRequest, IncomingMessage } from "node:http";
import { request as httpsRequest } from "node:https";
import type { Agent } from "node:https";
import type { TLSSocket } from "node:tls";
import {
  CLUSTER_AUTH_HEADER,
  UNARY_RESPONSE_BYTES_MAX,
  signNodeRequest,
  unaryCallOf,
  verifyResponse,
} from "@event-anchoring/control-contract";
import type { AuthContext, UnaryCall } from "@event-anchoring/control-contract";
import { nodeCrypto } from "@event-anchoring/node-crypto";
import { concatBytes } from "@event-anchoring/protocol";
import { LinkedAbort } from "../ports/linked-abort.ts";
import { PeerCallError } from "./network-types.ts";
import type { CallAnswer, PeerAddress } from "./network-types.ts";
import { systemCodeOf } from "./system-code.ts";
import { judgePeerCertificate } from "./tls-material.ts";
import { claimsTo } from "./transport-context.ts";
import type { TransportContext } from "./transport-context.ts";

/** Each call has a connection of its own, so a header can be replayed nowhere and a slow answer delays nothing. */
const SEQUENCE = 1;

export interface OutgoingCall {
  readonly context: TransportContext;
  readonly peer: PeerAddress;
  readonly agent: Agent;
  readonly path: string;
  readonly body: Uint8Array;
  readonly timeoutMs: number;
  /** The first that aborts ends the call. */
  readonly signals: readonly AbortSignal[];
}

interface Signed {
  readonly header: string;
  readonly sealed: Omit<AuthContext, "bodyDigest">;
}

interface Begun {
  readonly request: ClientRequest;
  readonly response: IncomingMessage;
  readonly signed: Signed;
  /** Ends the deadline and the caller's signal. */
  readonly finish: () => void;
}

/** @throws PeerCallError */
export async function callPeer(call: OutgoingCall): Promise<CallAnswer> {
  const begun = await begin(call);
  try {
    const chunks: Buffer[] = [];
    let length = 0;
    for await (const chunk of begun.response as AsyncIterable<Buffer>) {
      length += chunk.length;
      if (length > UNARY_RESPONSE_BYTES_MAX) throw new PeerCallError("too_large", "the answer is too long");
      chunks.push(chunk);
    }
    const body = concatBytes(...chunks);
    checkAnswer(call, begun, begun.response.headers[CLUSTER_AUTH_HEADER], nodeCrypto.sha256(body));
    return { status: begun.response.statusCode ?? 0, body };
  } catch (error) {
    throw toCallError(error);
  } finally {
    begun.finish();
    begun.request.destroy();
  }
}

/** @throws PeerCallError, also while the stream is read */
export async function streamFromPeer(
  call: OutgoingCall,
): Promise<{ readonly status: number; readonly stream: AsyncIterable<Uint8Array> }> {
  const begun = await begin(call);
  return { status: begun.response.statusCode ?? 0, stream: authenticStream(call, begun) };
}

async function* authenticStream(call: OutgoingCall, begun: Begun): AsyncGenerator<Uint8Array> {
  const hash = createHash("sha256");
  try {
    for await (const chunk of begun.response as AsyncIterable<Buffer>) {
      hash.update(chunk);
      yield chunk;
    }
    const { headers, trailers } = begun.response;
    checkAnswer(call, begun, trailers[CLUSTER_AUTH_HEADER] ?? headers[CLUSTER_AUTH_HEADER], hash.digest());
  } catch (error) {
    throw toCallError(error);
  } finally {
    begun.finish();
    begun.request.destroy();
  }
}

async function begin(call: OutgoingCall): Promise<Begun> {
  const { context, peer, agent, path, body, timeoutMs, signals } = call;
  const known = unaryCallOf(path);
  if (known === null) throw new RangeError(`${path} is no call of the control plane`);
  if (signals.some(({ aborted }) => aborted)) throw new PeerCallError("aborted", "the caller gave up");
  return new Promise<Begun>((resolve, reject) => {
    let signed: Signed | null = null;
    const request = httpsRequest({ agent, host: peer.host, port: peer.port, method: known.method, path });
    const { clock } = context.options.environment;
    const timeout = clock.startTimer(timeoutMs, () => {
      request.destroy(new PeerCallError("timeout", `no answer in ${timeoutMs} ms`));
    });
    const onAbort = (): void => void request.destroy(new PeerCallError("aborted", "the caller gave up"));
    const over = new LinkedAbort(...signals);
    over.signal.addEventListener("abort", onAbort, { once: true });
    const finish = (): void => {
      timeout.cancel();
      over.letGo();
    };
    request.on("error", (error) => {
      finish();
      reject(toCallError(error));
    });
    request.on("socket", (socket) => {
      socket.once("secureConnect", () => {
        const result = sign(call, known, socket as TLSSocket);
        if (result instanceof PeerCallError) {
          request.destroy(result);
          return;
        }
        signed = result;
        request.setHeader(CLUSTER_AUTH_HEADER, signed.header);
        if (body.length > 0) request.setHeader("content-length", body.length);
        request.end(body);
      });
    });
    request.on("response", (response) => {
      if (signed === null) request.destroy(new PeerCallError("not_authentic", "an answer before the question"));
      else resolve({ request, response, signed, finish });
    });
  });
}

function sign(call: OutgoingCall, known: UnaryCall, socket: TLSSocket): Signed | PeerCallError {
  const { context, peer } = call;
  const { self, caSpkiPins } = context.options;
  const judged = judgePeerCertificate(socket, self.clusterId, context.material(), caSpkiPins());
  if (!judged.ok) return new PeerCallError("not_authentic", judged.code);
  const sealed = { method: known.method, path: known.path, exporter: judged.exporter };
  const claims = claimsTo(context, peer.nodeId, SEQUENCE);
  const bodyDigest = nodeCrypto.sha256(call.body);
  const header = signNodeRequest(
    claims,
    { ...sealed, bodyDigest },
    (message) => self.authSigner.sign(message),
    nodeCrypto.sha256,
  );
  return { header, sealed };
}

function checkAnswer(
  { context, peer, path }: OutgoingCall,
  { signed, response }: Begun,
  header: string | string[] | undefined,
  bodyDigest: Uint8Array,
): void {
  const { self, authKeyOf } = context.options;
  // A chain of trust roots proves itself; it may be what tells us this peer's key, or its next one.
  if (unaryCallOf(path)?.callers.includes("certificate") === true) return;
  const authKey = authKeyOf(peer.nodeId);
  if (authKey === null) throw new PeerCallError("not_authentic", "the trust root in force does not know this peer");
  const expected = {
    clusterId: self.clusterId,
    from: peer.nodeId,
    to: self.nodeId,
    status: response.statusCode ?? 0,
    sequence: SEQUENCE,
    requestHeader: signed.header,
    context: { ...signed.sealed, bodyDigest },
  };
  const text = typeof header === "string" ? header : "";
  const verdict = verifyResponse(text, expected, authKey, nodeCrypto.ed25519Verify, nodeCrypto.sha256);
  if (!verdict.ok) throw new PeerCallError("not_authentic", `${verdict.code}: ${verdict.detail}`);
}

function toCallError(error: unknown): PeerCallError {
  if (error instanceof PeerCallError) return error;
  return systemCodeOf(error) === "ECONNREFUSED"
    ? new PeerCallError("connection_refused", "nothing listens there", error)
    : new PeerCallError("connection_lost", "the connection was lost", error);
}
