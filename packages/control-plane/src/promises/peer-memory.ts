import type { Hello, HelloRefusal, HelloVerdict, OwnWord, SignedProgress } from "@event-anchoring/control-contract";
import { bytesToHex, equalBytes } from "@event-anchoring/protocol";
import { isBefore } from "@event-anchoring/control-contract";

/** A cosignature, as evidence of its signer's promise. */
export type RememberedCosignature = Omit<Extract<OwnWord, { kind: "cosignature" }>, "kind">;

/** What this node remembers of one peer. Updates are pure: a value that was read does not change. */
export interface PeerMemory {
  /** The newest progress that the peer has signed; null: none. */
  readonly progress: SignedProgress | null;
  /** The largest size of each origin it is known to have cosigned, by origin fingerprint in hex. */
  readonly signed: ReadonlyMap<string, RememberedCosignature>;
}

export const EMPTY_PEER_MEMORY: PeerMemory = { progress: null, signed: new Map() };

/**
 * Does the peer still know what we know of it? It does not if we know of a later life, a log that reached further, a
 * larger cosigned size or another root; nothing else counts. Only what the peer has signed itself is held against it.
 * @param memory as it was *before* the connection of this hello was opened. While the hello was on its way the peer may
 * have acknowledged and signed more over another connection, and that is not amnesia.
 */
export function judgeHello(memory: PeerMemory, hello: Pick<Hello, "progress" | "signed">): HelloVerdict {
  const { progress } = memory;
  return (progress === null ? null : judgeProgress(progress, hello.progress)) ?? judgeSigned(memory, hello.signed);
}

function judgeProgress(known: SignedProgress, said: SignedProgress): HelloRefusal | null {
  const ownWord = { kind: "progress", progress: known } as const;
  if (known.incarnation > said.incarnation) {
    const detail = `this is incarnation ${said.incarnation}; incarnation ${known.incarnation} has spoken already`;
    return { accepted: false, code: "stale_incarnation", detail, ownWord };
  }
  if (known.incarnation === said.incarnation && !equalBytes(known.lifeId, said.lifeId)) {
    const detail = `incarnation ${said.incarnation} is spoken for by another process`;
    return { accepted: false, code: "stale_incarnation", detail, ownWord };
  }
  if (known.epoch !== said.epoch || !isBefore(said, known)) return null;
  const reached = `${known.index} of term ${known.term}`;
  const detail = `your log has reached ${said.index} of term ${said.term}; you had reached ${reached}`;
  return { accepted: false, code: "amnesia", detail, ownWord };
}

function judgeSigned({ signed }: PeerMemory, said: Hello["signed"]): HelloVerdict {
  const claimed = new Map(said.map((head) => [bytesToHex(head.originFingerprint), head]));
  for (const [origin, known] of signed) {
    const head = claimed.get(origin);
    const treeSize = head?.treeSize ?? 0;
    const ownWord = { kind: "cosignature", ...known } as const;
    if (known.treeSize > treeSize) {
      const detail = `origin ${origin}: your largest signed size is ${treeSize}; you have signed ${known.treeSize}`;
      return { accepted: false, code: "amnesia", detail, ownWord };
    }
    if (head !== undefined && known.treeSize === treeSize && !equalBytes(known.rootHash, head.rootHash)) {
      const detail = `origin ${origin}: you signed another root of size ${treeSize}`;
      return { accepted: false, code: "amnesia", detail, ownWord };
    }
  }
  return { accepted: true };
}

/** The progress that a peer reports, in an accepted hello or after it. Returns the same memory if it is not newer. */
export function rememberProgress(memory: PeerMemory, said: SignedProgress): PeerMemory {
  const { progress } = memory;
  if (progress !== null && progress.incarnation > said.incarnation) return memory;
  const isNewer = progress === null || progress.incarnation < said.incarnation || isBefore(progress, said);
  return isNewer ? { ...memory, progress: said } : memory;
}

/** A cosignature of the peer, by itself or inside a certificate. The first root of a size stays. */
export function rememberCosignature(memory: PeerMemory, said: RememberedCosignature): PeerMemory {
  const origin = bytesToHex(said.originFingerprint);
  if ((memory.signed.get(origin)?.treeSize ?? 0) >= said.treeSize) return memory;
  return { ...memory, signed: new Map(memory.signed).set(origin, said) };
}
