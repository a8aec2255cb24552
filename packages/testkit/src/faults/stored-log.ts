import { nodeCrypto } from "@event-anchoring/node-crypto";
import {
  LEAF_KIND,
  anchorIdOf,
  appendToFrontier,
  bytesToHex,
  decodeLeaf,
  emptyFrontier,
  frontierRoot,
} from "@event-anchoring/protocol";
import type { Frontier, Leaf } from "@event-anchoring/protocol";
import { SqlSession } from "../postgres/sql-session.ts";

/** One leaf as a node holds it. */
export interface StoredLeaf {
  readonly anchorId: string;
  readonly originFingerprint: string;
  readonly sequence: number;
  readonly depth: number;
  readonly acceptedMs: number;
  /** Kind and content, as a Recorder names what was sent; null for leaves that no client writes. */
  readonly content: string | null;
}

const PAGE_ROWS = 5000;

/** All leaves of a node, in the order of the log. @throws if they are not one unbroken log of what they hash to */
export async function storedLog(databaseUrl: string): Promise<readonly StoredLeaf[]> {
  const session = await SqlSession.open(databaseUrl);
  try {
    const leaves: StoredLeaf[] = [];
    for (;;) {
      const rows = await session.rows(
        "SELECT anchor_id, leaf FROM state.anchors WHERE sequence >= $1 ORDER BY sequence LIMIT $2",
        [leaves.length, PAGE_ROWS],
      );
      if (rows.length === 0) return leaves;
      for (const { anchor_id: id, leaf } of rows) {
        if (!(id instanceof Uint8Array) || !(leaf instanceof Uint8Array)) throw new Error("a column is not of bytes");
        leaves.push(storedLeaf(id, leaf, leaves.length));
      }
    }
  } finally {
    await session.close();
  }
}

function storedLeaf(id: Uint8Array, bytes: Uint8Array, place: number): StoredLeaf {
  const leaf = decodeLeaf(bytes);
  const anchorId = bytesToHex(anchorIdOf(bytes, nodeCrypto.sha256));
  if (anchorId !== bytesToHex(id)) throw new Error(`leaf ${place} hashes to ${anchorId}, not to its id`);
  if (leaf.sequence !== place) throw new Error(`leaf ${leaf.sequence} stands in place ${place}`);
  const { sequence, depth, acceptedMs } = leaf;
  const originFingerprint = bytesToHex(leaf.originFingerprint);
  return { anchorId, originFingerprint, sequence, depth, acceptedMs, content: contentOf(leaf) };
}

function contentOf(leaf: Leaf): string | null {
  switch (leaf.kind) {
    case LEAF_KIND.event:
      return `event ${bytesToHex(leaf.eventHash)}`;
    case LEAF_KIND.signedEvent:
      return `signed_event ${bytesToHex(leaf.eventHash)}`;
    case LEAF_KIND.claim:
      return `claim ${bytesToHex(leaf.attributeHash)}`;
    case LEAF_KIND.grant:
      return `grant ${bytesToHex(leaf.scopeHash)}`;
    case LEAF_KIND.revocation:
      return `revocation ${bytesToHex(leaf.targetAnchorId)}`;
    case LEAF_KIND.genesis:
    case LEAF_KIND.trustRoot:
      return null;
  }
}

/** The root of each origin's tree at each of these sizes, as `origin size`; what is not reached has none. */
export function rootsAt(leaves: readonly StoredLeaf[], wanted: ReadonlySet<string>): ReadonlyMap<string, string> {
  const roots = new Map<string, string>();
  const trees = new Map<string, Frontier>();
  for (const { originFingerprint, anchorId, depth } of leaves) {
    const before = trees.get(originFingerprint) ?? emptyFrontier();
    if (before.size !== depth) throw new Error(`${originFingerprint}: leaf ${depth} follows on ${before.size} leaves`);
    const tree = appendToFrontier(before, Buffer.from(anchorId, "hex"), nodeCrypto.sha256);
    trees.set(originFingerprint, tree);
    const key = `${originFingerprint} ${tree.size}`;
    if (wanted.has(key)) roots.set(key, bytesToHex(frontierRoot(tree, nodeCrypto.sha256)));
  }
  return roots;
}
