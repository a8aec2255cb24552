import type { Hello } from "@event-anchoring/control-contract";
import type { NodeIdentity } from "../identity.ts";
import type { Promises } from "../promises/promise-file.ts";

export interface OwnHelloOptions {
  readonly identity: NodeIdentity;
  readonly promises: Promises;
  readonly trustRootVersion: number;
  /** The highest that this node lets the cluster raise the rules to. */
  readonly rulesMax: number;
  /** 16 bytes. */
  readonly lifeId: Uint8Array;
  /** Of a restored group. */
  readonly mark: Pick<Hello, "restoredFrom">;
}

/** What this node says of itself when a connection opens: all that a peer could remember better. */
export function ownHello({ identity, promises, trustRootVersion, lifeId, rulesMax, mark }: OwnHelloOptions): Hello {
  const { lastAppend, incarnation, signedHeads } = promises;
  return {
    nodeId: identity.nodeId,
    clusterId: identity.clusterId,
    incarnation,
    lastIndex: lastAppend.index,
    lastTerm: lastAppend.term,
    signed: [...signedHeads.values()].map(({ originFingerprint, treeSize, rootHash }) => ({
      originFingerprint,
      treeSize,
      rootHash,
    })),
    trustRootVersion,
    rulesMax,
    lifeId,
    ...mark,
  };
}
