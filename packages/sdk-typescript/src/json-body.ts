import { bytesToHex, isZero } from "@event-anchoring/protocol";

export type JsonValue =
  | string
  | number
  | boolean
  | null
  | readonly JsonValue[]
  | { readonly [name: string]: JsonValue };

/** A request body by its wire names. */
export type JsonBody = { readonly [name: string]: JsonValue };

type Field = Uint8Array | string | number | boolean | JsonBody | readonly JsonBody[] | null | undefined;

/** The wire form: bytes as hex. What is undefined, null or (of `optional`) zero is left out. */
export function jsonBody(fields: Readonly<Record<string, Field>>, optional: readonly string[] = []): JsonBody {
  const body: Record<string, JsonValue> = {};
  for (const [name, field] of Object.entries(fields)) {
    if (field === undefined || field === null) continue;
    if (field instanceof Uint8Array) {
      if (!(optional.includes(name) && isZero(field))) body[name] = bytesToHex(field);
    } else if (!(optional.includes(name) && field === 0)) body[name] = field;
  }
  return body;
}
