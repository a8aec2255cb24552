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
import { CliError, EXIT } from "../terminal/cli-error.ts";
import { findNearestCluster } from "./nearest-cluster.ts";
import { readText } from "./read-input.ts";

const DOCUMENT_BYTES_MAX = 1024 * 1024;
const PIN_FILE = "root-thk.txt";

/** A RootTHK that a person has given, and where. */
export interface GivenPin {
  /** As it was written. */
  readonly rootThk: string;
  readonly source: "flag" | "environment" | "config";
}

/** The hash that the first document was checked against; it came from another source than the document. */
export interface Pin {
  readonly source: GivenPin["source"] | "file";
  /** The file beside the trust root; null: it was given. */
  readonly path: string | null;
}

export interface TrustRootOptions {
  /** Signed documents, oldest first; empty: those of the nearest `.anchoring`. */
  readonly paths: readonly string[];
  /** RootTHK of the first document; null: `root-thk.txt` beside it, if there is one. */
  readonly pin: GivenPin | null;
  readonly workingDir: string;
}

/** Trust roots that go together. Without a pin nothing says that they are those of the cluster. */
export interface HeldTrustRoots {
  readonly chain: TrustRootChain;
  /** Null: there is none, and so nothing that is judged by the chain is proved. */
  readonly pin: Pin | null;
}

/**
 * The trust roots that receipts are judged by: files that the person has and trusts, never what came with a receipt.
 * The first document is checked against its pin, each other one against the previous one.
 * @throws CliError `invalid` when a document does not verify
 */
export function loadTrustRoots(options: TrustRootOptions): HeldTrustRoots {
  const paths = options.paths.length > 0 ? options.paths : trustRootFilesIn(nearestFolder(options.workingDir));
  const documents = paths.map((path) => readText(path, DOCUMENT_BYTES_MAX));
  const [firstPath = "", first = ""] = [paths[0], documents[0]];
  const found = pinOf(options.pin, firstPath);
  const pinnedRootThk = found?.rootThk ?? ownRootThk(firstPath, first);
  const verification = verifyTrustRootChain({ documents, pinnedRootThk }, nodeCrypto);
  if (verification.result === "verified") return { chain: verification.chain, pin: found?.pin ?? null };
  const { code, detail, position } = verification;
  throw new CliError(EXIT.invalid, code, `the trust root ${paths[position] ?? ""} is not valid: ${detail} (${code})`);
}

/** Versions after the first stand beside it, a file each, as `anchorctl root submit` and `root fetch` write them. */
const LATER_DOCUMENT = /^trust-root-([1-9][0-9]{0,9})\.txt$/u;

/** The trust roots of a folder, oldest first. The first one is named even if it is not there: who reads it says so. */
export function trustRootFilesIn(folder: string): readonly string[] {
  const names = existsSync(folder) ? readdirSync(folder) : [];
  const versions = names.flatMap((name) => {
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

/** The pin that was given or is beside the document; null if there is none. */
function pinOf(given: GivenPin | null, documentPath: string): { rootThk: Uint8Array; pin: Pin } | null {
  if (given !== null) {
    const { rootThk, source } = given;
    return { rootThk: parsePin(rootThk, PIN_SOURCES[source]), pin: { source, path: null } };
  }
  const path = join(dirname(documentPath), PIN_FILE);
  if (!existsSync(path)) return null;
  return { rootThk: parsePin(readText(path, 256).trimEnd(), path), pin: { source: "file", path } };
}

/** Where a pin was given, as a person knows it. */
export const PIN_SOURCES: Readonly<Record<GivenPin["source"], string>> = {
  flag: "--root-thk",
  environment: "ANCHORCTL_ROOT_THK",
  config: "the config file (root_thk)",
};

/** @throws CliError `pin_malformed` */
export function parsePin(text: string, where: string): Uint8Array {
  try {
    return hexToBytes(text.toLowerCase(), 32);
  } catch (error) {
    if (!(error instanceof InvalidBytesError)) throw error;
    throw new CliError(EXIT.invalid, "pin_malformed", `${where} does not hold 64 hex digits`);
  }
}

/** Without a pin a document is checked against itself: it is consistent, but its owner is unknown. */
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
