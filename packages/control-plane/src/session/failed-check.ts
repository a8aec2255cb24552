import { StoreError } from "@event-anchoring/store";
import { EngineDeadError } from "raft-ts";
import { PromiseFileError } from "../promises/promise-file.ts";

/** Which named check of /readyz an error of this node's own machinery fails. */
export function failedCheck(error: unknown): "promise_file" | "engine" | "storage_full" | "storage" {
  if (error instanceof PromiseFileError) return "promise_file";
  if (error instanceof EngineDeadError) return "engine";
  return error instanceof StoreError && error.code === "full" ? "storage_full" : "storage";
}
