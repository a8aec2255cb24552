import type { WitnessAnswer } from "@event-anchoring/control-plane";
import { nodeCrypto } from "@event-anchoring/node-crypto";
import {
  AddCheckpointError,
  type SignatureLine,
  TREE_SIZE_CONTENT_TYPE,
  type TrustRootWitness,
  VKEY_TYPE,
  cosignatureLine,
  cosignatureMessage,
  equalBytes,
  formatCosignatures,
  formatTreeSize,
  makeVkey,
  noteMessage,
  parseAddCheckpoint,
  utf8ToBytes,
  verifyConsistency,
} from "@event-anchoring/protocol";
import { simulatedCrypto, simulatedSigner } from "../trust/simulated-crypto.ts";
import { simulatedWitnessLine } from "../trust/simulated-witness-line.ts";

const { sha256 } = nodeCrypto;

type SubmittedCheckpoint = ReturnType<typeof parseAddCheckpoint>;

interface KnownTree {
  readonly treeSize: number;
  readonly rootHash: Uint8Array;
}

export interface SimulatedWitnessOptions {
  readonly name: string;
  /** The key of the log with that checkpoint origin; null: it is unknown. */
  readonly logKeyOf: (origin: string) => Uint8Array | null;
  /** Signs whatever it is shown. */
  readonly isLying?: boolean;
  readonly onSigned?: (submitted: SubmittedCheckpoint, witness: string) => void;
}

/** A witness of C2SP tlog-witness: for each log it knows the newest tree, and signs what continues it. */
export class SimulatedWitness {
  readonly name: string;
  readonly line: TrustRootWitness;
  readonly #options: SimulatedWitnessOptions;
  readonly #trees = new Map<string, KnownTree>();

  constructor(options: SimulatedWitnessOptions) {
    this.name = options.name;
    this.line = simulatedWitnessLine(options.name);
    this.#options = options;
  }

  addCheckpoint(body: string, timeS: number): WitnessAnswer {
    try {
      return this.#judge(parseAddCheckpoint(utf8ToBytes(body)), timeS);
    } catch (error) {
      if (error instanceof AddCheckpointError) return answer(400);
      throw error;
    }
  }

  #judge(submitted: SubmittedCheckpoint, timeS: number): WitnessAnswer {
    const { checkpoint, note, oldSize, proof } = submitted;
    const key = this.#options.logKeyOf(checkpoint.origin);
    if (key === null) return answer(404);
    if (!isSignedBy(key, checkpoint.origin, note.text, note.lines)) return answer(403);
    if (oldSize > checkpoint.treeSize) return answer(400);
    if (this.#options.isLying === true) return this.#sign(submitted, timeS);
    const known = this.#trees.get(checkpoint.origin) ?? { treeSize: 0, rootHash: sha256(new Uint8Array(0)) };
    if (oldSize !== known.treeSize) {
      const { treeSize } = known;
      return { status: 409, contentType: TREE_SIZE_CONTENT_TYPE, body: utf8ToBytes(formatTreeSize(treeSize)) };
    }
    const { treeSize: size, rootHash: root } = checkpoint;
    const claim = { oldSize, oldRoot: known.rootHash, size, root, path: proof };
    if (!verifyConsistency(claim, sha256)) return answer(422);
    this.#trees.set(checkpoint.origin, checkpoint);
    return this.#sign(submitted, timeS);
  }

  #sign(submitted: SubmittedCheckpoint, timeS: number): WitnessAnswer {
    this.#options.onSigned?.(submitted, this.name);
    const signer = simulatedSigner(`witness ${this.name}`);
    const { name, publicKey } = this.line.vkey;
    const signature = signer.sign(cosignatureMessage(timeS, submitted.note.text));
    const line = cosignatureLine({ name, publicKey, timeS, signature }, sha256);
    return { status: 200, contentType: "text/plain", body: utf8ToBytes(formatCosignatures([line])) };
  }
}

function answer(status: number): WitnessAnswer {
  return { status, contentType: "text/plain", body: new Uint8Array(0) };
}

function isSignedBy(publicKey: Uint8Array, origin: string, text: string, lines: readonly SignatureLine[]): boolean {
  const { keyId } = makeVkey(origin, VKEY_TYPE.ed25519, publicKey, sha256);
  const own = lines.find((line) => line.name === origin && line.keyId === keyId);
  if (own === undefined || equalBytes(own.signature, new Uint8Array(0))) return false;
  return simulatedCrypto.ed25519Verify(publicKey, noteMessage(text), own.signature);
}
