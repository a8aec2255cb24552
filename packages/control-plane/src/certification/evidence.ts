import type { HeadLine } from "@event-anchoring/control-contract";
import {
  type Contradiction,
  ContradictionError,
  type Crypto,
  type Sha256,
  type TrustRoot,
  bytesToHex,
  cosignatureLine,
  formatContradiction,
  formatNote,
  verifyContradiction,
} from "@event-anchoring/protocol";
import type { Logger } from "@event-anchoring/telemetry";
import { checkpointText } from "../signatures/certificates.ts";

/** Where a node keeps evidence: files that outlive the process, and that an operator can remove. */
export interface EvidenceFiles {
  /** What is kept now: texts by file name. */
  load(): Promise<ReadonlyMap<string, string>>;
  /** Durable once it resolves. A file of that name is replaced. */
  keep(name: string, text: string): Promise<void>;
}

/** The two notes over two roots of one size, with every good line over each. */
export function contradictionText(
  root: TrustRoot,
  left: readonly HeadLine[],
  right: readonly HeadLine[],
  sha256: Sha256,
): string {
  return formatContradiction([noteOf(root, left, sha256), noteOf(root, right, sha256)]);
}

/** The same name for the same two roots, so that later evidence replaces earlier. */
export function evidenceName(left: HeadLine, right: HeadLine): string {
  const origin = bytesToHex(left.originFingerprint).slice(0, 16);
  const roots = [left, right].map(({ rootHash }) => bytesToHex(rootHash).slice(0, 16));
  return `${origin}-${left.treeSize}-${roots.sort().join("-")}.notes`;
}

/** Good lines over one root, as a signed note. Only a node's newest line is needed; more would be repeats. */
function noteOf(root: TrustRoot, lines: readonly HeadLine[], sha256: Sha256): string {
  const [first] = lines;
  if (first === undefined) throw new RangeError("a note has a line");
  const text = checkpointText(root, first.originFingerprint, first);
  const ordered = [...lines].sort((left, right) => (left.nodeId < right.nodeId ? -1 : 1));
  const signed = ordered.flatMap(({ nodeId, timeS, signature }) => {
    const vkey = root.nodes.find((node) => node.nodeId === nodeId)?.cosignerVkey;
    return vkey === undefined ? [] : [cosignatureLine({ ...vkey, timeS, signature }, sha256)];
  });
  return formatNote(text, signed);
}

/** What the kept files prove. One that proves nothing is logged, and left where it is. */
export function contradictionsIn(
  kept: ReadonlyMap<string, string>,
  trustRoots: readonly TrustRoot[],
  crypto: Crypto,
  logger: Logger,
): readonly Contradiction[] {
  return [...kept].flatMap(([name, text]) => {
    try {
      return [verifyContradiction(text, trustRoots, crypto)];
    } catch (error) {
      if (!(error instanceof ContradictionError)) throw error;
      logger.error("evidence_proves_nothing", { file: name, code: error.code, detail: error.message });
      return [];
    }
  });
}
