/** The text of a trust root: what its lines are, how they are read and printed. Rules are in trust-root.ts. */
import { InvalidBytesError, bytesToHex, compareBytes, hexToBytes, utf8ToBytes } from "./bytes.ts";
import { parseDecimal } from "./checkpoint.ts";
import type { Sha256 } from "./crypto.ts";
import { toOriginFingerprint } from "./ids.ts";
import type { OriginFingerprint } from "./ids.ts";
import { NOTE_LENGTH_MAX, NoteError, formatVkey, parseVkey } from "./note.ts";
import type { Vkey } from "./note.ts";
import { TrustRootError } from "./trust-root-error.ts";

const TRUST_ROOT_HEADER = "event-anchoring/v4.2/trust-root";

export const ORIGIN_STATUSES = ["active", "closed", "lost"] as const;
export type OriginStatus = (typeof ORIGIN_STATUSES)[number];

export const NODE_STATUSES = ["learner", "active", "retired", "distrusted"] as const;
export type NodeStatus = (typeof NODE_STATUSES)[number];

/** One origin line. */
export interface TrustRootOrigin {
  readonly originFingerprint: OriginFingerprint;
  readonly status: OriginStatus;
  /** Type 0x01, named by the checkpoint origin. */
  readonly logVkey: Vkey;
}

/** One node line. */
export interface TrustRootNode {
  readonly nodeId: string;
  readonly status: NodeStatus;
  /** The origin this node writes to; it has an origin line. */
  readonly originFingerprint: OriginFingerprint;
  /** Type 0x04, named `<cluster name>/node/<node id>`. */
  readonly cosignerVkey: Vkey;
  /** Ed25519 key of the node's control plane, 32 bytes. */
  readonly authPublicKey: Uint8Array;
}

/** One operator line: whose signature counts for what operators do. */
export interface TrustRootOperator {
  /** `[a-z][a-z0-9-]{0,31}`. */
  readonly name: string;
  /** Type 0x01, named `<cluster name>/operator/<name>`. */
  readonly vkey: Vkey;
}

/** One witness line: somebody outside the cluster who cosigns checkpoints. */
export interface TrustRootWitness {
  /** `[a-z][a-z0-9-]{0,31}`. */
  readonly name: string;
  /** Type 0x04, under the witness's own key name. */
  readonly vkey: Vkey;
  /** Where it takes checkpoints; isWitnessUrl holds. */
  readonly url: string;
}

/** One version of a cluster's trust root. A value that parseTrustRootText returned keeps every rule of one document. */
export interface TrustRoot {
  readonly clusterName: string;
  /** 32 bytes. */
  readonly clusterId: Uint8Array;
  /** From 1, u32. */
  readonly version: number;
  /** How many restores of the whole cluster there were, u32. */
  readonly epoch: number;
  /** RootTHK of the version before; zeros in version 1. */
  readonly previous: Uint8Array;
  /** Unix seconds. `expiresS` bounds the freshness of the newest version for online clients, and nothing else. */
  readonly issuedS: number;
  readonly expiresS: number;
  /** Offline keys, type 0x01, and how many must sign. */
  readonly rootKeys: { readonly threshold: number; readonly keys: readonly Vkey[] };
  /** SHA-256 of the SubjectPublicKeyInfo of each accepted CA, 32 bytes. */
  readonly ca: readonly Uint8Array[];
  readonly origins: readonly TrustRootOrigin[];
  readonly nodes: readonly TrustRootNode[];
  readonly operators: readonly TrustRootOperator[];
  /** How many active nodes must cosign a checkpoint. */
  readonly quorum: number;
  readonly witnesses: readonly TrustRootWitness[];
  /** How many of the witnesses must cosign; 0 if there are none. */
  readonly witnessQuorum: number;
}

const ROOT_KEYS_MAX = 32;
const CAS_MAX = 32;
/** Origins of a document, and so the heads that a node may have signed. */
export const ORIGINS_MAX = 1024;
const NODES_MAX = 1024;
const OPERATORS_MAX = 64;
const WITNESSES_MAX = 32;

function malformed(line: string): TrustRootError {
  return new TrustRootError("malformed", `cannot read the line "${line.slice(0, 80)}"`);
}

/** The lines of a document, taken in order. */
class Lines {
  readonly #lines: readonly string[];
  #next = 0;

  constructor(lines: readonly string[]) {
    this.#lines = lines;
  }

  get current(): string {
    return this.#lines[this.#next] ?? "";
  }

  get isDone(): boolean {
    return this.#next === this.#lines.length;
  }

  /** The words after `keyword` on the next line, of which there must be at least `wordsMin`. */
  take(keyword: string, wordsMin: number, wordsMax: number): string[] {
    const [first, ...words] = this.current.split(" ");
    if (first !== keyword || words.length < wordsMin) throw malformed(this.current);
    if (words.length > wordsMax) {
      const isList = wordsMax > wordsMin;
      throw isList
        ? new TrustRootError("too_large", `over ${wordsMax} words after ${keyword}`)
        : malformed(this.current);
    }
    this.#next++;
    return words;
  }

  /** As take(), for each of the next lines that begin with `keyword`. */
  takeAll(keyword: string, wordCount: number, linesMax: number): string[][] {
    const taken: string[][] = [];
    while (this.current.startsWith(`${keyword} `)) {
      if (taken.length === linesMax) throw new TrustRootError("too_large", `more than ${linesMax} ${keyword} lines`);
      taken.push(this.take(keyword, wordCount, wordCount));
    }
    return taken;
  }
}

function decimal(word: string | undefined): number {
  const value = parseDecimal(word ?? "");
  if (value === null) throw new TrustRootError("malformed", `not a number: ${word ?? ""}`);
  return value;
}

function oneOf<Word extends string>(words: readonly Word[], word: string | undefined): Word {
  const found = words.find((candidate) => candidate === word);
  if (found === undefined) throw new TrustRootError("malformed", `not a status: ${word ?? ""}`);
  return found;
}

function hash(word: string | undefined): Uint8Array {
  return hexToBytes(word ?? "", 32);
}

function readOrigin(words: readonly string[], sha256: Sha256): TrustRootOrigin {
  const [fingerprint, status, vkey = ""] = words;
  return {
    originFingerprint: toOriginFingerprint(hash(fingerprint)),
    status: oneOf(ORIGIN_STATUSES, status),
    logVkey: parseVkey(vkey, sha256),
  };
}

function readNode(words: readonly string[], sha256: Sha256): TrustRootNode {
  const [nodeId = "", status, fingerprint, vkey = "", authPublicKey] = words;
  return {
    nodeId,
    status: oneOf(NODE_STATUSES, status),
    originFingerprint: toOriginFingerprint(hash(fingerprint)),
    cosignerVkey: parseVkey(vkey, sha256),
    authPublicKey: hash(authPublicKey),
  };
}

function readOperator([name = "", vkey = ""]: readonly string[], sha256: Sha256): TrustRootOperator {
  return { name, vkey: parseVkey(vkey, sha256) };
}

function readWitness([name = "", vkey = "", url = ""]: readonly string[], sha256: Sha256): TrustRootWitness {
  return { name, vkey: parseVkey(vkey, sha256), url };
}

function readLines(lines: Lines, sha256: Sha256): TrustRoot {
  lines.take(TRUST_ROOT_HEADER, 0, 0);
  const [clusterName = "", clusterId] = lines.take("cluster", 2, 2);
  const [version, epoch, previous] = lines.take("version", 3, 3);
  const [issuedS, expiresS] = lines.take("validity", 2, 2);
  const [threshold, ...keys] = lines.take("root", 2, 1 + ROOT_KEYS_MAX);
  const ca = lines.take("ca", 1, CAS_MAX);
  const origins = lines.takeAll("origin", 3, ORIGINS_MAX);
  const nodes = lines.takeAll("node", 5, NODES_MAX);
  const operators = lines.takeAll("operator", 2, OPERATORS_MAX);
  const [quorum] = lines.take("quorum", 1, 1);
  const witnesses = lines.takeAll("witness", 3, WITNESSES_MAX);
  const [witnessQuorum] = witnesses.length === 0 ? ["0"] : lines.take("witnesses", 1, 1);
  if (!lines.isDone) throw malformed(lines.current);
  return {
    clusterName,
    clusterId: hash(clusterId),
    version: decimal(version),
    epoch: decimal(epoch),
    previous: hash(previous),
    issuedS: decimal(issuedS),
    expiresS: decimal(expiresS),
    rootKeys: { threshold: decimal(threshold), keys: keys.map((key) => parseVkey(key, sha256)) },
    ca: ca.map(hash),
    origins: origins.map((words) => readOrigin(words, sha256)),
    nodes: nodes.map((words) => readNode(words, sha256)),
    operators: operators.map((words) => readOperator(words, sha256)),
    quorum: decimal(quorum),
    witnesses: witnesses.map((words) => readWitness(words, sha256)),
    witnessQuorum: decimal(witnessQuorum),
  };
}

/**
 * The grammar alone: neither order nor rules are checked. @throws TrustRootError `malformed` or `too_large`
 */
export function readTrustRootText(text: string, sha256: Sha256): TrustRoot {
  if (text.length > NOTE_LENGTH_MAX) throw new TrustRootError("too_large", "the text is too long");
  if (!text.endsWith("\n")) throw new TrustRootError("malformed", "the text ends with a newline");
  try {
    return readLines(new Lines(text.slice(0, -1).split("\n")), sha256);
  } catch (error) {
    if (error instanceof InvalidBytesError || error instanceof NoteError) {
      throw new TrustRootError("malformed", error.message);
    }
    throw error;
  }
}

function byText(a: string, b: string): number {
  return compareBytes(utf8ToBytes(a), utf8ToBytes(b));
}

function byFingerprint(a: TrustRootOrigin, b: TrustRootOrigin): number {
  return compareBytes(a.originFingerprint, b.originFingerprint);
}

function byName(a: { readonly name: string }, b: { readonly name: string }): number {
  return byText(a.name, b.name);
}

/** The line of an origin, as the text has it. */
export function originLine(origin: TrustRootOrigin): string {
  return `origin ${bytesToHex(origin.originFingerprint)} ${origin.status} ${formatVkey(origin.logVkey)}`;
}

/** The line of a node, as the text has it. */
export function nodeLine(node: TrustRootNode): string {
  const keys = `${formatVkey(node.cosignerVkey)} ${bytesToHex(node.authPublicKey)}`;
  return `node ${node.nodeId} ${node.status} ${bytesToHex(node.originFingerprint)} ${keys}`;
}

function witnessLine({ name, vkey, url }: TrustRootWitness): string {
  return `witness ${name} ${formatVkey(vkey)} ${url}`;
}

/**
 * The one text of a trust root: keys and lines in their order, whatever order they are given in. Checks nothing: parse
 * the result to learn whether it is legal.
 */
export function formatTrustRootText(root: TrustRoot): string {
  const keys = root.rootKeys.keys.map(formatVkey).sort(byText);
  const ca = root.ca.map(bytesToHex).sort(byText);
  const nodes = [...root.nodes].sort((a, b) => byText(a.nodeId, b.nodeId));
  return [
    TRUST_ROOT_HEADER,
    `cluster ${root.clusterName} ${bytesToHex(root.clusterId)}`,
    `version ${root.version} ${root.epoch} ${bytesToHex(root.previous)}`,
    `validity ${root.issuedS} ${root.expiresS}`,
    `root ${root.rootKeys.threshold} ${keys.join(" ")}`,
    `ca ${ca.join(" ")}`,
    ...[...root.origins].sort(byFingerprint).map(originLine),
    ...nodes.map(nodeLine),
    ...[...root.operators].sort(byName).map(({ name, vkey }) => `operator ${name} ${formatVkey(vkey)}`),
    `quorum ${root.quorum}`,
    ...[...root.witnesses].sort(byName).map(witnessLine),
    ...(root.witnesses.length === 0 ? [] : [`witnesses ${root.witnessQuorum}`]),
    "",
  ].join("\n");
}
