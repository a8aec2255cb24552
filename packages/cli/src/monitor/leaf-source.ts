import { readers } from "@event-anchoring/sdk";
import { PublicLog } from "../export/public-log.ts";
import type { Service } from "../service/service.ts";
import { CliError, EXIT } from "../terminal/cli-error.ts";
import type { LeafSource } from "./origin-leaves.ts";

const readLeaf = readers.record({ leaf: readers.base64 });

/** Leaves as nodes show them, or files. */
export function leafSourceOf(service: Service): LeafSource {
  const log = new PublicLog(service);
  return {
    bytes: async (originFingerprint, path) => {
      const full = path.replace(/\.p\/\d+$/u, "");
      try {
        return await log.bytes(originFingerprint, path);
      } catch (error) {
        // Who keeps files may have only the full one by now.
        if (full === path || !isRefusal(error)) throw error;
        return log.bytes(originFingerprint, full);
      }
    },
    leaf: async (anchorId) => {
      try {
        return (await service.read({ path: `/v1/event-anchors/${anchorId}/receipt` }, readLeaf)).leaf;
      } catch (error) {
        if (!isRefusal(error)) throw error;
        const message = `${anchorId} is not shown. Files need receipts: anchorctl export --receipts`;
        throw new CliError(EXIT.refused, "leaf_not_shown", message, error);
      }
    },
  };
}

function isRefusal(error: unknown): boolean {
  return error instanceof CliError && error.exitCode === EXIT.refused;
}
