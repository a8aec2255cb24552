import { existsSync, readdirSync } from "node:fs";
import { dirname, join } from "node:path";
import { nodeCrypto } from "@event-anchoring/node-crypto";
import {
  InvalidBytesError,
  NoteError,
  TrustRootError,
  hexToBytes,
  parseSignedTrustRoot,
  verifyTrustRootChain,
} from "@event-anchoring/protocol";
import type { TrustRootChain } from "@event-anchoring/protocol";
import { CliError, EXIT } from "./cli-error.ts";
import { findNearestCluster } from "./nearest-cluster.ts";
import { readText } from "./read-input.ts";

const DOCUMENT_BYTES_MAX = 1024 * 1024;
const PIN_FILE = "root-thk.txt";

export interface TrustRootOptions {
  /** Signed documents, oldest first; empty: those of the nearest `.anchoring`. */
  readonly paths: readonly string[];
  /** RootTHK of the first document, 64 hex digits; null: `root-thk.txt` beside it, if there is one. */
  readonly rootThk: string | null;
  readonly workingDir: string;
}

/**
 * The trust roots that receipts are judged by: files that the person has and trusts, never what came with a receipt.
 * The first document is held against its pin, the others against the one before.
 * @throws CliError `invalid` when a document does not verify
 */
export function loadTrustRoots(options: TrustRootOptions): TrustRootChain {
  const paths = options.paths.length > 0 ? options.paths : trustRootFilesIn(nearestFolder(options.workingDir));
  const documents = paths.map((path) => readText(path, DOCUMENT_BYTES_MAX));
  const [firstPath = "", first = ""] = [paths[0], documents[0]];
  const pinnedRootThk = pinOf(options.rootThk, firstPath) ?? ownRootThk(firstPath, first);
  const verification = verifyTrustRootChain({ documents, pinnedRootThk }, nodeCrypto);
  if (verification.result === "verified") return verification.chain;
  const { code, detail, position } = verification;
  throw new CliError(EXIT.invalid, code, `the trust root ${paths[position] ?? ""} is not valid: ${detail} (${code})`);
}

/** Versions after the first stand beside it, a file each, as `anchorctl root submit` and `root fetch` write them. */
const LATER_DOCUMENT = /^trust-root-([1-9][0-9]{0,9})\.txt$/u;

/** The trust roots of a folder, oldest first. */
export function trustRootFilesIn(folder: string): readonly string[] {
  const versions = readdirSync(folder).flatMap((name) => {
    const [, version] = LATER_DOCUMENT.exec(name) ?? [];
    return version === undefined ? [] : [Number(version)];
  });
  const later = versions.toSorted((a, b) => a - b).map((version) => join(folder, `trust-root-${version}.txt`));
  return [join(folder, "trust-root.txt"), ...later];
}

function nearestFolder(workingDir: string): string {
  const folder = findNearestCluster(workingDir);
  if (folder !== null) return folder;
  const message = "no trust root: give --trust-root <file>, or call from a folder with .anchoring in or above it";
  throw new CliError(EXIT.usage, "trust_root_missing", message);
}

/** The pin that was given or stands beside the document; null if there is none. */
function pinOf(given: string | null, documentPath: string): Uint8Array | null {
  const besides = join(dirname(documentPath), PIN_FILE);
  const text = given ?? (existsSync(besides) ? readText(besides, 256).trimEnd() : null);
  if (text === null) return null;
  try {
    return hexToBytes(text.toLowerCase(), 32);
  } catch (error) {
    if (!(error instanceof InvalidBytesError)) throw error;
    const where = given === null ? besides : "--root-thk";
    throw new CliError(EXIT.invalid, "pin_malformed", `${where} does not hold 64 hex digits`);
  }
}

/** Without a pin the document that the person handed over is the pin. */
function ownRootThk(path: string, document: string): Uint8Array {
  try {
    return parseSignedTrustRoot(document, nodeCrypto.sha256).rootThk;
  } catch (error) {
    if (error instanceof TrustRootError || error instanceof NoteError) {
      throw new CliError(EXIT.invalid, error.code, `the trust root ${path} is not valid: ${error.message}`);
    }
    throw error;
  }
}
