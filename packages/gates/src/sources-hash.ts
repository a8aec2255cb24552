import { createHash } from "node:crypto";
import { readFileSync, readdirSync, statSync } from "node:fs";
import { join, posix } from "node:path";
import { transformSync } from "@swc/core";

/** Hex digits that name a state of the sources. */
const DIGITS = 16;
const KINDS = /\.(tsx?|js|py|rs|c|go|mod|sql|json|wasm)$/;

/**
 * What the code of these folders and files is, as a hash: comments, layout and tests have no part in it. A reworded
 * comment does not undo days of proof.
 * @param paths relative to the checkout; of a folder every source file, schema, vector and `.wasm` counts
 * @returns 16 hex digits of SHA-256
 */
export function sourcesHash(checkout: string, paths: readonly string[]): string {
  const hash = createHash("sha256");
  for (const path of [...paths].sort().flatMap((each) => filesOf(checkout, each))) {
    const code = knownCodeOf(readFileSync(join(checkout, path)), path);
    hash.update(`${path}\n${code.length}\n`).update(code);
  }
  return hash.digest("hex").slice(0, DIGITS);
}

function filesOf(checkout: string, path: string): readonly string[] {
  if (statSync(join(checkout, path)).isFile()) return [path];
  return readdirSync(join(checkout, path), { recursive: true, encoding: "utf8" })
    .map((name) => name.replaceAll("\\", "/"))
    .filter((name) => KINDS.test(name) && !/(^|\/)(test|dist|node_modules)\//.test(name))
    .map((name) => posix.join(path, name))
    .sort();
}

/** Gates share most of their folders. */
const KNOWN = new Map<string, { readonly bytes: Buffer; readonly code: Buffer | string }>();

function knownCodeOf(bytes: Buffer, path: string): Buffer | string {
  const known = KNOWN.get(path);
  if (known?.bytes.equals(bytes) === true) return known.code;
  const code = codeOf(bytes, path);
  KNOWN.set(path, { bytes, code });
  return code;
}

function codeOf(bytes: Buffer, path: string): Buffer | string {
  if (!/\.(tsx?|js)$/.test(path)) return bytes;
  const { code } = transformSync(bytes.toString("utf8"), {
    configFile: false,
    swcrc: false,
    jsc: {
      parser: { syntax: "typescript", tsx: !path.endsWith(".ts") },
      target: "es2022",
      minify: { compress: false, mangle: false, format: { comments: false } },
    },
    minify: true,
  });
  return code;
}
