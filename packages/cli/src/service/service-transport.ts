/** How the SDK's requests leave: by undici, for `fetch` refuses some ports on which a node may well listen. */
import { isPassing, TransportFailure } from "@event-anchoring/sdk";
import type { Transport, TransportRequest, TransportResponse } from "@event-anchoring/sdk";
import { request } from "undici";
import { isRecord } from "../files/nearest-cluster.ts";

/** A batch of 1,000 with their receipts has some 4 MiB. */
const ANSWER_BYTES_MAX = 32 * 1024 * 1024;

/** What is no JSON object where one is wanted was not said by a node: another one is asked. */
export const serviceTransport: Transport = async (asked) => {
  const response = await send(asked);
  // A web server says in its own words that a file is not there.
  const isFile = asked.headers["accept"] !== "application/json" && [200, 404].includes(response.status);
  if (isFile || isPassing(response.status) || isJsonObject(response.body)) return response;
  throw new TransportFailure("lost", "the answer is not a JSON object", { wasSent: true });
};

async function send({ method, url, headers, body, timeoutMs }: TransportRequest): Promise<TransportResponse> {
  try {
    const signal = AbortSignal.timeout(Math.round(timeoutMs));
    const response = await request(url, { method, headers: { ...headers }, body, signal });
    const texts = Object.entries(response.headers).map(([name, value]) => [name, String(value)] as const);
    return {
      status: response.statusCode,
      headers: Object.fromEntries(texts),
      body: await readLimited(response.body),
    };
  } catch (error) {
    throw failureOf(error);
  }
}

async function readLimited(stream: AsyncIterable<Uint8Array>): Promise<Uint8Array> {
  const chunks: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of stream) {
    length += chunk.length;
    if (length > ANSWER_BYTES_MAX) throw new Error("the answer is too long");
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

/** By name and code, not by class: errors of Node's own modules may come from another realm. */
function failureOf(error: unknown): TransportFailure {
  const { code, name, message } = isRecord(error) ? error : {};
  if (code === "ECONNREFUSED") {
    return new TransportFailure("unreachable", "connection refused", { wasSent: false, cause: error });
  }
  if (name === "TimeoutError")
    return new TransportFailure("timeout", "no answer in time", { wasSent: true, cause: error });
  const text = typeof message === "string" ? message : "the connection failed";
  return new TransportFailure("lost", text, { wasSent: true, cause: error });
}

function isJsonObject(body: Uint8Array): boolean {
  if (body.length === 0) return true;
  try {
    return isRecord(JSON.parse(Buffer.from(body).toString("utf8")));
  } catch (error) {
    if (isRecord(error) && error["name"] === "SyntaxError") return false;
    throw error;
  }
}
