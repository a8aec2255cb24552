import { NamesError, parseNames as parse } from "@event-anchoring/bundle";
import type { NameFile } from "@event-anchoring/bundle";
import { InvalidBytesError, attributeTypeOf as typeOf, bytesToUtf8 } from "@event-anchoring/protocol";
import { sha256 } from "./crypto.ts";
import { InvalidInput, VerificationError } from "./errors.ts";

/**
 * Reads a file of names for hashes, attribute types and scope statements. Names prove nothing: show the hash with them.
 * docs/names.md
 * @param source the file, at most 1 MiB; it may be attacker-controlled
 * @throws VerificationError `names_too_large`, `names_malformed`, `names_repeated`
 */
export function parseNames(source: string | Uint8Array): NameFile {
  try {
    return parse(typeof source === "string" ? source : bytesToUtf8(source));
  } catch (error) {
    if (error instanceof NamesError) throw new VerificationError(error.code, error.message, { cause: error });
    if (!(error instanceof InvalidBytesError)) throw error;
    throw new VerificationError("names_malformed", "the file is not UTF-8", { cause: error });
  }
}

/**
 * The `attributeType` of a registered name (`role`), or of a name of one's own, which begins with a domain of yours,
 * reversed (`com.example.cost_centre`). docs/names.md
 * @returns a u32; of a name of one's own 2^31 or more
 * @throws InvalidInput for any other name
 */
export function attributeTypeOf(name: string): number {
  const value = typeOf(name, sha256);
  if (value !== null) return value;
  throw new InvalidInput("attributeType", "expected a registered name, or one such as com.example.cost_centre");
}
