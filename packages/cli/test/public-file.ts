import { nodeCrypto } from "@event-anchoring/node-crypto";
import { anchorIdOf, concatBytes } from "@event-anchoring/protocol";
import type { PaperCluster } from "./paper-cluster.ts";

/** What a public log of up to 256 bundles shows at a path, without its receipts. Null: there is nothing. */
export function publicFile(cluster: PaperCluster, path: string): Uint8Array | string | null {
  if (path === "index.html") return "<html>page</html>";
  if (path === "v1/trust-root") {
    return JSON.stringify({ chain: [{ version: 1, document: cluster.ceremony.document }] });
  }
  const base = `v1/origins/${cluster.origin}`;
  if (path === `${base}/checkpoint`) return cluster.checkpoint();
  const [, level, index, width = "256"] = /\/tile\/(entries|0)\/(\d{3})(?:\.p\/(\d+))?$/u.exec(path) ?? [];
  if (index === undefined || !path.startsWith(base)) return null;
  const first = Number(index) * 256;
  const leaves = cluster.leaves.slice(first, first + Number(width));
  if (level === "0") return concatBytes(...leaves.map((leaf) => anchorIdOf(leaf, nodeCrypto.sha256)));
  return concatBytes(...leaves.flatMap((leaf) => [Uint8Array.of(leaf.length >> 8, leaf.length & 255), leaf]));
}
