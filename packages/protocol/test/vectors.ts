import { readFileSync } from "node:fs";
import { join } from "node:path";
import { nodeCrypto } from "@event-anchoring/node-crypto";
import { nobleCrypto } from "@event-anchoring/protocol";
import type { Crypto } from "@event-anchoring/protocol";

/** A file of test/vectors; the caller names its shape. */
export function loadVectors(name: string): unknown {
  return JSON.parse(readFileSync(new URL(`../../../test/vectors/${name}`, import.meta.url), "utf8"));
}

/** A file of the public vectors, whose folder EVENT_ANCHORING_PUBLIC_VECTORS names; null: it names none. */
export function loadPublicVectors(name: string): unknown {
  const folder = process.env["EVENT_ANCHORING_PUBLIC_VECTORS"] ?? "";
  return folder === "" ? null : JSON.parse(readFileSync(join(folder, name), "utf8"));
}

/** Both implementations of the crypto seam: every verdict must be the same through either. */
export const CRYPTOS: readonly (readonly [string, Crypto])[] = [
  ["noble", nobleCrypto],
  ["node", nodeCrypto],
];

/** The `code` of what `action` throws, or "nothing thrown". */
export function codeOf(action: () => unknown): string {
  try {
    action();
  } catch (error) {
    return error instanceof Error && "code" in error ? String(error.code) : String(error);
  }
  return "nothing thrown";
}
