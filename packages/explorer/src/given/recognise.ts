/** Finds out what a file is: by its name, as `anchorctl verify` does, or by how it begins. */
import {
  BUNDLE_FORMAT,
  BUNDLE_LIMITS,
  BundleError,
  SCOPE_FORMAT,
  SCOPE_LIMITS,
  ScopeError,
  parseBundle,
  parseScope,
  readEnvelope,
  verifyScope,
} from "@event-anchoring/bundle";
import { ProofError, nobleCrypto, parseProof, receiptFromJson } from "@event-anchoring/protocol";
import type { Given, MeantKind } from "./given.ts";
import { looksLikeNames, parseNames } from "./names.ts";

const RECEIPT_HEADER = "c2sp.org/tlog-proof@";
const TRUST_ROOT_HEADER = "event-anchoring/v4.2/trust-root\n";
const ROOT_THK = /^\s*[0-9a-f]{64}\s*$/iu;
/** A note whose text begins as a checkpoint does: whose tree, how many leaves, which root. */
const CHECKPOINT_HEAD = /^[^\n]+\/origin\/[^\n]+\n[0-9]+\n[^\n]+\n/u;
/** The expression takes time by the square of the text, which may be a file of many megabytes. */
const CHECKPOINT_HEAD_LENGTH_MAX = 1024;
const BYTES_MAX: Readonly<Record<Exclude<MeantKind, "file">, number>> = {
  receipt: 4 * 1024 * 1024,
  bundle: BUNDLE_LIMITS.bytesMax,
  scope: SCOPE_LIMITS.bytesMax,
  trust_root: 4 * 1024 * 1024,
  checkpoint: 1024 * 1024,
  names: 1024 * 1024,
};

/** A file of this size is read whole, and hashed. */
export const FILE_BYTES_MAX = 512 * 1024 * 1024;

/** Bytes that were given, and under which name. */
export interface GivenBytes {
  readonly name: string;
  readonly bytes: Uint8Array;
  /** The reader says that this is the event itself, whatever it looks like. */
  readonly isFile: boolean;
}

/** Null: it is no text. */
function textOf(bytes: Uint8Array): string | null {
  if (bytes.length > BUNDLE_LIMITS.bytesMax) return null;
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    // Not UTF-8, so it is none of the formats that are read here.
    return null;
  }
}

/** A JSON object; null: it is none. */
function objectOf(text: string): object | null {
  if (!text.trimStart().startsWith("{")) return null;
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" ? value : null;
  } catch {
    // Text that begins with a brace is a file like any other.
    return null;
  }
}

function member(value: unknown, name: string): unknown {
  return typeof value === "object" && value !== null ? new Map(Object.entries(value)).get(name) : undefined;
}

/** The documents of an answer of GET /v1/trust-root. */
function chainDocuments(value: object): string[] {
  const chain = member(value, "chain");
  if (!Array.isArray(chain)) return [];
  return (chain as readonly unknown[]).map((version) => member(version, "document")).filter((it) => isText(it));
}

function isText(value: unknown): value is string {
  return typeof value === "string";
}

/** What the name says that it is, whatever is in it; null: nothing. */
function meantByName(name: string): "receipt" | "bundle" | "scope" | "trust_root" | null {
  if (name.endsWith(".tlog-proof")) return "receipt";
  if (name.endsWith(".bundle.json")) return "bundle";
  if (name.endsWith(".scope.json")) return "scope";
  return /^trust-root(?:-\d+)?\.txt$/u.test(name) ? "trust_root" : null;
}

/** What the text says that it is. */
function meantByText(text: string): MeantKind {
  if (text.startsWith(RECEIPT_HEADER)) return "receipt";
  const start = text.slice(0, 256).trimStart();
  if (start.startsWith("{") && start.includes(`"${BUNDLE_FORMAT}"`)) return "bundle";
  if (start.startsWith("{") && start.includes(`"${SCOPE_FORMAT}"`)) return "scope";
  if (text.startsWith(TRUST_ROOT_HEADER)) return "trust_root";
  if (looksLikeNames(text)) return "names";
  if (CHECKPOINT_HEAD.test(text.slice(0, CHECKPOINT_HEAD_LENGTH_MAX))) return "checkpoint";
  return "file";
}

/** A receipt or a chain of trust roots as the API answers them; null: neither. */
function recogniseJson(name: string, size: number, text: string): Given | null {
  const value = objectOf(text);
  if (value === null) return null;
  const documents = chainDocuments(value);
  if (documents.length > BUNDLE_LIMITS.trustRootsMax || documents.some((it) => it.length > BYTES_MAX.trust_root)) {
    const detail = `it has more than ${BUNDLE_LIMITS.trustRootsMax} trust roots, or one that is too large`;
    return { kind: "broken", name, size, meant: "trust_root", code: "file_too_large", detail };
  }
  if (documents.length > 0) return { kind: "trust_root", name, size, documents };
  const stated = member(value, "receipt") ?? value;
  if (member(stated, "leaf") === undefined || member(stated, "checkpoint") === undefined) return null;
  const { receipt, anchorId } = receiptFromJson(stated);
  return { kind: "receipt", name, size, receipt, statedId: anchorId };
}

function read(name: string, size: number, text: string, meant: Exclude<MeantKind, "file">): Given {
  switch (meant) {
    case "receipt":
      return { kind: "receipt", name, size, receipt: parseProof(text), statedId: null };
    case "bundle":
      return { kind: "bundle", name, size, bundle: parseBundle(text) };
    case "scope": {
      const scope = parseScope(text);
      verifyScope(scope, nobleCrypto.sha256);
      return { kind: "scope", name, size, scope };
    }
    case "trust_root":
      return { kind: "trust_root", name, size, documents: [text] };
    case "checkpoint":
      return { kind: "checkpoint", name, size, note: text };
    case "names": {
      const names = parseNames(text);
      if (typeof names !== "number") return { kind: "names", name, size, names };
      const detail = `line ${names} is not 64 hex digits and a name`;
      return { kind: "broken", name, size, meant, code: "names_malformed", detail };
    }
  }
}

function fileOf(name: string, bytes: Uint8Array): Given {
  return { kind: "file", name, size: bytes.length, hash: nobleCrypto.sha256(bytes), said: readEnvelope(bytes) };
}

/** Recognises what was given. Reading verifies nothing. */
export function recognise({ name, bytes, isFile }: GivenBytes): Given {
  const size = bytes.length;
  const byName = isFile ? null : meantByName(name);
  const text = isFile ? null : textOf(bytes);
  if (text === null) {
    if (byName === null) return fileOf(name, bytes);
    const detail = `it is not UTF-8, or has more than ${BUNDLE_LIMITS.bytesMax} bytes`;
    return { kind: "broken", name, size, meant: byName, code: "not_text", detail };
  }
  const meant = byName ?? meantByText(text);
  try {
    if (meant === "file") {
      if (ROOT_THK.test(text)) return { kind: "root_thk", name, size, hex: text.trim().toLowerCase() };
      return recogniseJson(name, size, text) ?? fileOf(name, bytes);
    }
    if (size <= BYTES_MAX[meant]) return read(name, size, text, meant);
    const detail = `it has ${size} bytes, more than the ${BYTES_MAX[meant]} expected`;
    return { kind: "broken", name, size, meant, code: "file_too_large", detail };
  } catch (error) {
    if (!(error instanceof ProofError || error instanceof BundleError || error instanceof ScopeError)) throw error;
    const { code, message } = error;
    return { kind: "broken", name, size, meant: meant === "file" ? "receipt" : meant, code, detail: message };
  }
}
