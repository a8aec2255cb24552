import { Agent, request } from "undici";
import type { WitnessTransport } from "../witnessing/witness-transport.ts";

/** One connection for each witness: what a lane has under way there is pipelined by the next free one of these. */
const CONNECTIONS_MAX = 4;
const CONNECT_WITHIN_MS = 3000;
const KEPT_ALIVE_MS = 60_000;

/**
 * POST over HTTP. Certificates of `https:` witnesses are verified with the CAs that Node knows (NODE_EXTRA_CA_CERTS
 * adds to them); redirects are not followed. A witness is reached by the URL that the trust root names and no other.
 */
export function httpWitnessTransport(): WitnessTransport {
  const agent = new Agent({
    connections: CONNECTIONS_MAX,
    keepAliveTimeout: KEPT_ALIVE_MS,
    connect: { timeout: CONNECT_WITHIN_MS, rejectUnauthorized: true },
  });
  return async ({ url, body, answerBytesMax, signal }) => {
    const answer = await request(url, {
      method: "POST",
      body,
      headers: { "content-type": "text/plain; charset=utf-8" },
      dispatcher: agent,
      signal,
    });
    const contentType = answer.headers["content-type"];
    const chunks: Uint8Array[] = [];
    let bytes = 0;
    for await (const chunk of answer.body as AsyncIterable<Uint8Array>) {
      bytes += chunk.length;
      // Leaving the loop destroys the stream, and with it the connection.
      if (bytes > answerBytesMax) throw new Error(`the answer has over ${answerBytesMax} bytes`);
      chunks.push(chunk);
    }
    return {
      status: answer.statusCode,
      contentType: typeof contentType === "string" ? contentType : "",
      body: Buffer.concat(chunks),
    };
  };
}
