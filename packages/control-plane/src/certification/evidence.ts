import type { HeadLine } from "@event-anchoring/control-contract";
import {
  type Contradiction,
  ContradictionError,
  type Crypto,
  type Sha256,
  type SignatureLine,
  type TrustRoot,
  bytesToHex,
  cosignatureLine,
  formatContradiction,
  formatNote,
  parseNote,
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

/**
 * The text with the lines that a kept file has besides, over the same two roots: a node that has restarted knows fewer
 * lines than it has kept. @param proven what the kept file proves; lines of other keys are left out
 */
export function withKeptLines(text: string, kept: string, proven: Contradiction): string {
  const before = notesIn(kept).map((note, at) => ({ note, signers: proven.notes[at]?.signers ?? [] }));
  const [left, right] = notesIn(text).map((note) => {
    const same = before.filter((other) => other.note.text === note.text);
    const more = same.flatMap((other) =>
      other.note.lines.filter((line) => other.signers.some(isBy(line)) && !note.lines.some(isBy(line))),
    );
    const lines = [...note.lines, ...more].sort((a, b) => (a.name < b.name ? -1 : 1));
    return formatNote(note.text, lines);
  });
  if (left === undefined || right === undefined) throw new RangeError("a file has two notes");
  return formatContradiction([left, right]);
}

type KeyOfLine = Pick<SignatureLine, "name" | "keyId">;

const isBy =
  (line: KeyOfLine) =>
  ({ name, keyId }: KeyOfLine): boolean =>
    name === line.name && keyId === line.keyId;

/** Both notes of a file that this node has made or verified. */
function notesIn(file: string): readonly ReturnType<typeof parseNote>[] {
  const [leftText = "", leftLines = "", rightText = "", rightLines = ""] = file.split("\n\n");
  return [parseNote(`${leftText}\n\n${leftLines}\n`), parseNote(`${rightText}\n\n${rightLines}`)];
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
