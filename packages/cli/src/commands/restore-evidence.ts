/** What can have been certified beyond a backup, by what the nodes of the lost group have promised. */
import { verifyCheckpoint } from "@event-anchoring/bundle";
import { nodeCrypto } from "@event-anchoring/node-crypto";
import { bytesToHex, equalBytes } from "@event-anchoring/protocol";
import type { OriginFingerprint, TrustRoot, TrustRootChain } from "@event-anchoring/protocol";
import type { Promises } from "@event-anchoring/control-contract";
import type { AskedHead } from "@event-anchoring/store";

/** A tree that is known to have been signed, or certified. */
export interface KnownHead extends AskedHead {
  readonly rootHash: Uint8Array;
  /** Who or what says so, for people. */
  readonly source: string;
}

/** What the promise files of the old nodes bound. */
export interface Bound {
  readonly heads: readonly KnownHead[];
  /** Why they do not bound what was certified; null: they do. */
  readonly gap: string | null;
}

export type OriginVerdict = { readonly status: "closed" | "lost"; readonly reason: string };

/** A promise file that says nothing about this cluster. */
export class EvidenceError extends Error {
  override readonly name = "EvidenceError";
}

/**
 * A certificate needs k of the n active nodes of its version, and each of them has noted in its promise file what it
 * was about to sign. So the files of n − k + 1 of them hold, for each origin, a size that no certificate exceeds.
 * @param from the newest version that the backup holds: it, and each one after it, may have judged a certificate
 * @throws EvidenceError
 */
export function boundOf(chain: TrustRootChain, from: number, files: readonly Promises[]): Bound {
  const { clusterId, nodes } = chain.newest.trustRoot;
  const nodeIds = new Set<string>();
  for (const { nodeId, clusterId: ofFile } of files) {
    if (!equalBytes(ofFile, clusterId)) throw new EvidenceError(`the promise file of ${nodeId} is of another cluster`);
    if (!nodes.some((node) => node.nodeId === nodeId))
      throw new EvidenceError(`the trust root lists no node ${nodeId}`);
    if (nodeIds.has(nodeId)) throw new EvidenceError(`there are two promise files of ${nodeId}`);
    nodeIds.add(nodeId);
  }
  const heads = files.flatMap(({ nodeId, signedHeads }) =>
    [...signedHeads.values()].map(({ originFingerprint, treeSize, rootHash }) => ({
      originFingerprint,
      treeSize,
      rootHash,
      source: `${nodeId} has cosigned`,
    })),
  );
  const gaps = chain.versions
    .filter(({ trustRoot }) => trustRoot.version >= from)
    .flatMap(({ trustRoot }) => gapOf(trustRoot, nodeIds) ?? []);
  return { heads, gap: gaps[0] ?? null };
}

function gapOf({ version, quorum, nodes }: TrustRoot, nodeIds: ReadonlySet<string>): string | null {
  const active = nodes.filter(({ status }) => status === "active");
  const needed = active.length - quorum + 1;
  const given = active.filter(({ nodeId }) => nodeIds.has(nodeId)).length;
  if (given >= needed) return null;
  const who = `${needed} of the ${active.length} nodes that could cosign under version ${version}`;
  const takes = `that takes the promise files of ${who}, and ${given} are here`;
  return `it is unknown what was certified after the backup: ${takes}`;
}

/** A checkpoint that somebody has kept, as evidence; it must have been certified. @throws EvidenceError */
export function certifiedHead(note: string, name: string, chain: TrustRootChain): KnownHead {
  const verified = verifyCheckpoint(note, chain, nodeCrypto.ed25519Verify);
  if (verified.verdict === "invalid") {
    throw new EvidenceError(
      `${name} is no certified checkpoint of this cluster: ${verified.detail} (${verified.code})`,
    );
  }
  const { treeSize, rootHash } = verified.checkpoint;
  return { originFingerprint: verified.origin.originFingerprint, treeSize, rootHash, source: `${name} certifies` };
}

/** What one origin of the old group becomes. */
export function judgeOrigin(
  origin: { readonly originFingerprint: OriginFingerprint; readonly treeSize: number },
  known: { readonly bound: Bound; readonly certified: readonly KnownHead[] },
  rootOf: (head: AskedHead) => Uint8Array | null,
): OriginVerdict {
  const isOwn = (head: KnownHead): boolean => equalBytes(head.originFingerprint, origin.originFingerprint);
  const heads = [...known.bound.heads, ...known.certified].filter(isOwn);
  for (const head of heads) {
    const { treeSize, rootHash, source } = head;
    if (treeSize > origin.treeSize) {
      return { status: "lost", reason: `${source} size ${treeSize}, the backup has ${origin.treeSize} leaves` };
    }
    const own = rootOf(head);
    if (own !== null && equalBytes(own, rootHash)) continue;
    return { status: "lost", reason: `${source} another root of size ${treeSize}: ${bytesToHex(rootHash)}` };
  }
  const { gap } = known.bound;
  if (gap !== null) return { status: "lost", reason: gap };
  const largest = Math.max(0, ...heads.map(({ treeSize }) => treeSize));
  const reason = `nothing above size ${largest} can have been certified, and the backup has it`;
  return { status: "closed", reason };
}
