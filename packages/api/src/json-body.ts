import { isUtf8 } from "node:buffer";
import type { IncomingMessage, ServerResponse } from "node:http";
import { ProblemError, problemError } from "./problem-error.ts";

/** `application/json`, with at most the one parameter that changes nothing. */
const JSON_MEDIA_TYPE = /^application\/json\s*(?:;\s*charset\s*=\s*"?utf-8"?\s*)?$/i;

function assertJson(request: IncomingMessage): void {
  const encoding = request.headers["content-encoding"] ?? "identity";
  const isJson = JSON_MEDIA_TYPE.test(request.headers["content-type"] ?? "");
  if (!isJson || encoding.toLowerCase() !== "identity") throw problemError("media_type_unsupported");
}

function tooLarge(bytesMax: number): ProblemError {
  return new ProblemError({ code: "body_too_large", detail: `The body may have ${bytesMax} bytes.` });
}

function collect(request: IncomingMessage, bytesMax: number): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let bytes = 0;
    request.on("data", (chunk: Buffer) => {
      bytes += chunk.length;
      if (bytes > bytesMax) {
        // What follows is read and dropped until the connection is closed by the answer.
        chunks.length = 0;
        reject(tooLarge(bytesMax));
        return;
      }
      chunks.push(chunk);
    });
    request.on("end", () => resolve(chunks.length === 1 && chunks[0] ? chunks[0] : Buffer.concat(chunks)));
    request.on("error", (cause) => reject(new ProblemError({ code: "http_invalid" }, { cause })));
    request.on("close", () => {
      if (!request.complete) reject(problemError("http_invalid"));
    });
  });
}

/**
 * The text of a JSON body, not yet parsed. Attacker-controlled; bounded here, before anything is looked at.
 * @throws ProblemError `media_type_unsupported`, `body_too_large`, `json_invalid` (not UTF-8)
 */
export async function readJsonText(
  request: IncomingMessage,
  response: ServerResponse,
  bytesMax: number,
): Promise<string> {
  assertJson(request);
  const declared = Number(request.headers["content-length"] ?? 0);
  if (declared > bytesMax) throw tooLarge(bytesMax);
  if (request.headers.expect?.toLowerCase() === "100-continue") response.writeContinue();
  const body = await collect(request, bytesMax);
  if (!isUtf8(body)) {
    const detail = "the body is not UTF-8";
    throw problemError("json_invalid", [{ pointer: "", code: "syntax", detail }]);
  }
  return body.toString("utf8");
}
