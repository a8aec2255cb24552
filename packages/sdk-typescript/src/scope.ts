import {
  ScopeError,
  discloseScope,
  formatScope,
  makeScope,
  parseScope,
  scopeJson,
  verifyScope,
} from "@event-anchoring/bundle";
import type { Scope as ScopeParts, ScopeValue } from "@event-anchoring/bundle";
import { InvalidBytesError, bytesToHex, bytesToUtf8 } from "@event-anchoring/protocol";
import { sha256 } from "./crypto.ts";
import { VerificationError } from "./errors.ts";
import { bytes32 } from "./inputs.ts";
import type { Bytes32 } from "./inputs.ts";
import { randomBytes } from "./secrets.ts";

const SALT_BYTES = 32;

/** Turns refusals into those of this package, with the same codes. */
function refusing<Result>(run: () => Result): Result {
  try {
    return run();
  } catch (error) {
    if (error instanceof ScopeError) throw new VerificationError(error.code, error.message, { cause: error });
    if (!(error instanceof InvalidBytesError)) throw error;
    throw new VerificationError("scope_json_invalid", "the document is not UTF-8", { cause: error });
  }
}

/**
 * What a grant allows: all statements, or those that are disclosed and the digests of the others. Its parts make the
 * hash that it states; only `verify`, or a bundle, says that it is the scope of a grant. docs/PROTOCOL.md, "Scope
 * documents".
 *
 * It holds salts, which are private here so that they are not printed: whoever has one can guess at its statement.
 */
export class Scope {
  readonly #parts: ScopeParts;

  private constructor(parts: ScopeParts) {
    this.#parts = parts;
  }

  /**
   * A new document, for whoever delegates. It is a secret: whoever has it can disclose all of it.
   * @param statements values by names
   * @throws VerificationError `scope_malformed`, `scope_too_large`
   */
  static make(statements: Readonly<Record<string, ScopeValue>>): Scope {
    const nextSalt = (): Uint8Array => randomBytes(SALT_BYTES);
    return new Scope(refusing(() => makeScope(statements, nextSalt, sha256)));
  }

  /**
   * Reads a document, whole or disclosed in part; it may be attacker-controlled.
   * @throws VerificationError `scope_too_large`, `scope_json_invalid`, `scope_format_unknown`, `scope_malformed`,
   * `scope_repeated`, `scope_hash_differs`
   */
  static parse(source: string | Uint8Array): Scope {
    return refusing(() => {
      const parts = parseScope(typeof source === "string" ? source : bytesToUtf8(source));
      verifyScope(parts, sha256);
      return new Scope(parts);
    });
  }

  /** What a grant has of it, 64 hex digits. */
  get scopeHash(): string {
    return bytesToHex(this.#parts.scopeHash);
  }

  /** The statements that are disclosed: values by names. */
  get statements(): Readonly<Record<string, ScopeValue>> {
    return Object.fromEntries(this.#parts.statements.map(({ name, value }) => [name, value]));
  }

  /** How many statements are not disclosed. */
  get withheld(): number {
    return this.#parts.withheld.length;
  }

  /**
   * The same document with these statements alone; of the others only the digests are left.
   * @throws VerificationError `scope_name_unknown`
   */
  disclose(names: readonly string[]): Scope {
    return new Scope(refusing(() => discloseScope(this.#parts, names, sha256)));
  }

  /**
   * That it is the scope of a grant with this `scope_hash`, which you know by a receipt or a bundle.
   * @throws VerificationError `scope_not_granted`
   */
  verify(scopeHash: Bytes32): void {
    const expected = bytes32("scopeHash", scopeHash);
    refusing(() => verifyScope(this.#parts, sha256, expected));
  }

  /** The document as a file: one line of JSON. With nothing withheld, keep it where only its owner reads. */
  toText(): string {
    return formatScope(this.#parts);
  }

  /** The document, as a bundle holds it: with the salts of what is disclosed. */
  toJSON(): object {
    return scopeJson(this.#parts);
  }
}
