/** Evidence that a tree was forked: two signed notes over different roots of one size of one origin. */
import { CheckpointError, parseCheckpoint } from "./checkpoint.ts";
import type { Checkpoint } from "./checkpoint.ts";
import { bytesToHex, equalBytes } from "./bytes.ts";
import type { Crypto } from "./crypto.ts";
import { verifyKnownLines } from "./known-lines.ts";
import { NoteError, distinctVkeys, parseNote } from "./note.ts";
import type { SignedNote, Vkey } from "./note.ts";
import { meetsQuorum } from "./quorum.ts";
import type { TrustRoot } from "./trust-root-text.ts";
import { cosignerKeysOf, quorumPolicyOf } from "./trust-root.ts";

export type ContradictionCode =
  /** Not two signed checkpoints, one after the other. */
  | "contradiction_malformed"
  /** Two origins, two sizes, or one root: nothing contradicts. */
  | "nothing_contradicts"
  /** A line of a known key is repeated or was not made by it. */
  | "line_refused"
  /** A note that no known key has signed says nothing. */
  | "note_unsigned";

/** Not evidence of a contradiction. Match on `code`. */
export class ContradictionError extends Error {
  readonly code: ContradictionCode;
  constructor(code: ContradictionCode, message: string) {
    super(message);
    this.name = "ContradictionError";
    this.code = code;
  }
}

/** One of the two notes, its lines verified. */
export interface ContradictingNote {
  readonly rootHash: Uint8Array;
  /** The cosigner keys whose lines are good; at least one. */
  readonly signers: readonly Vkey[];
  /** The versions of the trust root, ascending, by which the note is a quorum certificate. */
  readonly certifiedBy: readonly number[];
}

export interface Contradiction {
  /** The checkpoint origin of both notes. */
  readonly origin: string;
  readonly treeSize: number;
  readonly notes: readonly [ContradictingNote, ContradictingNote];
  /** Keys that signed both roots: their holders lied, or lost the key. None: it is not known who is wrong. */
  readonly named: readonly Vkey[];
}

/** The file: one note, an empty line, the other note. Each is a C2SP signed note that other tools read alone. */
export function formatContradiction(notes: readonly [string, string]): string {
  return `${notes[0]}\n${notes[1]}`;
}

/**
 * Reads and verifies a file of evidence, which may be attacker-controlled.
 * @param trustRoots every version that is known, verified; keys of all of them are known keys
 * @throws ContradictionError
 */
export function verifyContradiction(text: string, trustRoots: readonly TrustRoot[], crypto: Crypto): Contradiction {
  const [left, right] = notesOf(text).map((note) => ({ note, checkpoint: checkpointOf(note) }));
  if (left === undefined || right === undefined) throw malformed("two signed notes are expected");
  const { origin, treeSize } = left.checkpoint;
  if (right.checkpoint.origin !== origin || right.checkpoint.treeSize !== treeSize) {
    throw new ContradictionError("nothing_contradicts", "the notes speak of different origins or sizes");
  }
  if (equalBytes(left.checkpoint.rootHash, right.checkpoint.rootHash)) {
    throw new ContradictionError("nothing_contradicts", "both notes name the same root");
  }
  const notes = [judge(left, trustRoots, crypto), judge(right, trustRoots, crypto)] as const;
  const named = notes[0].signers.filter((signer) => isAmong(signer, notes[1].signers));
  return { origin, treeSize, notes, named };
}

interface Read {
  readonly note: SignedNote;
  readonly checkpoint: Checkpoint;
}

/** A checkpoint has no empty line, so these four parts have one reading. */
function notesOf(text: string): readonly SignedNote[] {
  const parts = text.split("\n\n");
  const [firstText, firstLines, secondText, secondLines] = parts;
  if (parts.length !== 4 || firstText === undefined || secondText === undefined) {
    throw malformed("two signed notes with an empty line between them are expected");
  }
  try {
    return [parseNote(`${firstText}\n\n${firstLines ?? ""}\n`), parseNote(`${secondText}\n\n${secondLines ?? ""}`)];
  } catch (error) {
    if (error instanceof NoteError) throw malformed(error.message);
    throw error;
  }
}

function checkpointOf(note: SignedNote): Checkpoint {
  try {
    return parseCheckpoint(note.text);
  } catch (error) {
    if (error instanceof CheckpointError) throw malformed(error.message);
    throw error;
  }
}

function judge({ note, checkpoint }: Read, trustRoots: readonly TrustRoot[], crypto: Crypto): ContradictingNote {
  const root = bytesToHex(checkpoint.rootHash).slice(0, 16);
  const cosigners = distinctVkeys(trustRoots.flatMap(cosignerKeysOf));
  const known = verifyKnownLines(note, cosigners, crypto.ed25519Verify);
  if (known.refusal !== null) {
    const { code, name } = known.refusal;
    throw new ContradictionError("line_refused", `the note over ${root}: ${code}: ${name}`);
  }
  const signers = known.verified.map(({ vkey }) => vkey);
  if (signers.length === 0) {
    throw new ContradictionError("note_unsigned", `no key of the trust root has signed the note over ${root}`);
  }
  const satisfied = trustRoots.filter(
    (version) => meetsQuorum(note.lines, quorumPolicyOf(version), note.text, crypto.ed25519Verify).satisfied,
  );
  const certifiedBy = satisfied.map(({ version }) => version).sort((a, b) => a - b);
  return { rootHash: checkpoint.rootHash, signers, certifiedBy };
}

function isAmong(vkey: Vkey, others: readonly Vkey[]): boolean {
  return others.some(({ publicKey }) => equalBytes(publicKey, vkey.publicKey));
}

function malformed(message: string): ContradictionError {
  return new ContradictionError("contradiction_malformed", message);
}
