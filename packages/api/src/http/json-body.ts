import { isUtf8 } from "node:buffer";
import type { IncomingMessage, ServerResponse } from "node:http";
import { ProblemError, problemError } from "../request/problem-error.ts";

/** `application/json`, with at most the one parameter that changes nothing. */
const JSON_MEDIA_TYPE = /^application\/json\s*(?:;\s*charset\s*=\s*"?utf-8"?\s*)?$/i;

function isPlain({ headers }: IncomingMessage): boolean {
  return (headers["content-encoding"] ?? "identity").toLowerCase() === "identity";
}

function assertJson(request: IncomingMessage): void {
  const isJson = JSON_MEDIA_TYPE.test(request.headers["content-type"] ?? "");
  if (!isJson || !isPlain(request)) throw problemError("media_type_unsupported");
}

function tooLarge(bytesMax: number): ProblemError {
  return new ProblemError({ code: "body_too_large", detail: `The body may have ${bytesMax} bytes.` });
}

/**
 * The bytes of a body of any type. Attacker-controlled; bounded here, before anything is looked at.
 * @throws ProblemError `media_type_unsupported` (a content encoding), `body_too_large`
 */
export async function readBody(
  request: IncomingMessage,
  response: ServerResponse,
  rule: Omit<BodyRule, "isOptional">,
): Promise<Buffer> {
  const { bytesMax } = rule;
  if (!isPlain(request)) throw problemError("media_type_unsupported");
  const declared = Number(request.headers["content-length"] ?? 0);
  if (declared > bytesMax) throw tooLarge(bytesMax);
  if (request.headers.expect?.toLowerCase() === "100-continue") response.writeContinue();
  return collect(request, rule);
}

function collect(request: IncomingMessage, { bytesMax, onBytes }: Omit<BodyRule, "isOptional">): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let bytes = 0;
    request.on("data", (chunk: Buffer) => {
      bytes += chunk.length;
      if (bytes > bytesMax) {
        // The rest is read and dropped until the answer closes the connection.
        chunks.length = 0;
        reject(tooLarge(bytesMax));
        return;
      }
      try {
        onBytes(chunk.length);
        chunks.push(chunk);
      } catch (error) {
        chunks.length = 0;
        reject(error instanceof Error ? error : new Error(String(error)));
      }
    });
    request.on("end", () => resolve(chunks.length === 1 && chunks[0] ? chunks[0] : Buffer.concat(chunks)));
    request.on("error", (cause) => reject(new ProblemError({ code: "http_invalid" }, { cause })));
    request.on("close", () => {
      if (!request.complete) reject(problemError("http_invalid"));
    });
  });
}

export interface BodyRule {
  readonly bytesMax: number;
  /** True: no body, or an empty one, is `{}`, whatever its declared type. */
  readonly isOptional: boolean;
  /** Called for each part that arrives. If it throws, reading ends with that error. */
  readonly onBytes: (count: number) => void;
}

const EMPTY_OBJECT = Buffer.from("{}");

/** By its framing; a body that is sent in chunks may turn out to be empty. */
function mayHaveBody({ headers }: IncomingMessage): boolean {
  return headers["transfer-encoding"] !== undefined || Number(headers["content-length"] ?? 0) > 0;
}

/**
 * The bytes of a JSON body, not yet parsed. Attacker-controlled; bounded here, before anything is looked at.
 * @throws ProblemError `media_type_unsupported`, `body_too_large`, `json_invalid` (not UTF-8)
 */
export async function readJsonBody(
  request: IncomingMessage,
  response: ServerResponse,
  rule: BodyRule,
): Promise<Uint8Array> {
  const { isOptional } = rule;
  if (isOptional && !mayHaveBody(request)) return EMPTY_OBJECT;
  // Without a type it may still turn out to be empty.
  const isUntyped = isOptional && request.headers["content-type"] === undefined;
  if (!isUntyped) assertJson(request);
  const body = await readBody(request, response, rule);
  if (isOptional && body.length === 0) return EMPTY_OBJECT;
  if (isUntyped) throw problemError("media_type_unsupported");
  if (!isUtf8(body)) {
    const detail = "the body is not UTF-8";
    throw problemError("json_invalid", [{ pointer: "", code: "syntax", detail }]);
  }
  return body;
}
