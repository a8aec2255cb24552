import { readFile } from "node:fs/promises";
import { newestSlot } from "@event-anchoring/control-contract";
import type { Promises } from "@event-anchoring/control-contract";

/** The file cannot be relied on: `torn`, `foreign`, or `damaged` where its newest words may be missing. */
export class PromiseReadError extends Error {
  override readonly name = "PromiseReadError";
  readonly code: "torn" | "foreign" | "damaged";
  constructor(code: "torn" | "foreign" | "damaged", message: string) {
    super(message);
    this.code = code;
  }
}

/**
 * What a node has promised that does not run any more. The file is left as it is, and no lock is taken.
 * @throws PromiseReadError; the system's error
 */
export async function readPromises(path: string): Promise<Promises> {
  const newest = newestSlot(await readFile(path));
  if (newest.state !== "good") throw new PromiseReadError(newest.state, newest.detail);
  if (!newest.hasDamagedSlot) return newest.promises;
  throw new PromiseReadError("damaged", "one of its two slots cannot be read: what was promised last may be missing");
}
