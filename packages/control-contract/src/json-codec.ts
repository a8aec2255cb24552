import { DecodeError, InvalidBytesError, bytesToUtf8, utf8ToBytes } from "@event-anchoring/protocol";
import type { z } from "zod";

/** The part of zod's parser that is used here, so that a codec does not depend on how a schema was built. */
interface Schema<T> {
  safeParse(value: unknown): z.ZodSafeParseResult<T>;
}

/** JSON as UTF-8 bytes. Used for calls that are rare; hashed or signed values are never JSON. */
export function encodeJson(value: object): Uint8Array {
  return utf8ToBytes(JSON.stringify(value));
}

/**
 * Parses attacker-controlled bytes against a schema. The schemas are flat, so nesting stays shallow.
 * @throws DecodeError `value_invalid`, naming the first thing wrong and where
 */
export function decodeJson<T>(bytes: Uint8Array, schema: Schema<T>): T {
  const result = schema.safeParse(parseJson(bytes));
  if (result.success) return result.data;
  const issue = result.error.issues[0];
  const where = issue === undefined ? "" : issue.path.map(String).join(".");
  throw new DecodeError("value_invalid", `${where === "" ? "body" : where}: ${issue?.message ?? "invalid"}`);
}

function parseJson(bytes: Uint8Array): unknown {
  try {
    return JSON.parse(bytesToUtf8(bytes)) as unknown;
  } catch (error) {
    if (error instanceof InvalidBytesError || error instanceof SyntaxError) {
      throw new DecodeError("value_invalid", error.message);
    }
    throw error;
  }
}
