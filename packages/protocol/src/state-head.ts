/**
 * The state head: what a quorum of nodes signs about the state after one log entry that leaves alone do not prove.
 * Snapshots, backups, restores and proofs of authority are checked against it. docs/PROTOCOL.md, "State head".
 */
import { InvalidBytesError, bytesToHex, concatBytes, equalBytes, hexToBytes, utf8ToBytes } from "./bytes.ts";
import { isClusterName, parseDecimal } from "./checkpoint.ts";
import type { Crypto, Sha256 } from "./crypto.ts";
import { ByteReader } from "./encoding.ts";
import { toOriginFingerprint } from "./ids.ts";
import type { OriginFingerprint } from "./ids.ts";
import { NoteError, formatNote, parseNote } from "./note.ts";
import type { SignatureLine } from "./note.ts";
import { tag } from "./tags.ts";
import { ORIGINS_MAX } from "./trust-root-text.ts";
import type { TrustRoot, TrustRootNode } from "./trust-root-text.ts";

const STATE_HEAD_HEADER = "event-anchoring/v4.2/state-head";
/** A signature type of its own (C2SP signed-note: 0xff and a name): no line of a checkpoint can be taken for one. */
const STATE_HEAD_TYPE = concatBytes(Uint8Array.of(0xff), utf8ToBytes(STATE_HEAD_HEADER));
const MEMBERS_MAX = 1024;

/** Members of the Raft group by their raft ids (raftIdOf), each list ascending. */
export interface StateMembers {
  readonly voters: readonly bigint[];
  /** Voters of the configuration that a joint change leaves; empty outside of one. */
  readonly votersOutgoing: readonly bigint[];
  readonly learners: readonly bigint[];
  /** Voters that become learners when a joint change ends. */
  readonly learnersNext: readonly bigint[];
  /** True: the joint change ends by itself. */
  readonly autoLeave: boolean;
}

/** The tree of an origin after the entry. */
export interface StateOrigin {
  readonly originFingerprint: OriginFingerprint;
  readonly treeSize: number;
  /** 32 bytes. */
  readonly rootHash: Uint8Array;
}

export interface StateHead {
  readonly clusterName: string;
  /** 32 bytes. */
  readonly clusterId: Uint8Array;
  readonly epoch: number;
  /** The newest trust root that is applied: it judges the signatures. */
  readonly trustRootVersion: number;
  /** RootTHK of that version, 32 bytes. */
  readonly rootThk: Uint8Array;
  /** The entry after which this is the state. */
  readonly raftIndex: number;
  readonly raftTerm: number;
  /** Effect chain at this entry, 32 bytes. */
  readonly effect: Uint8Array;
  /** How many leaves there are; the next one has this sequence. */
  readonly nextSequence: number;
  /** Time of the newest leaf, Unix milliseconds. */
  readonly lastAcceptedMs: number;
  /** No later entry is accepted before this time, Unix milliseconds. */
  readonly stampMs: number;
  /** By which the next entry is decided. */
  readonly rules: number;
  readonly members: StateMembers;
  /** Ascending by fingerprint. */
  readonly origins: readonly StateOrigin[];
  /** Root of the state tree, 32 bytes. */
  readonly stateRoot: Uint8Array;
  /** Running hash of the proposal groups that were decided, 32 bytes. */
  readonly groupIdsHash: Uint8Array;
  /** Running hash of which event belongs to which API client and id, 32 bytes. */
  readonly clientEventsHash: Uint8Array;
}

export type StateHeadCode =
  | "malformed"
  | "not_canonical"
  | "trust_root_differs"
  | "signature_invalid"
  | "signature_repeated"
  | "quorum_missing";

/** A state head that must not be used. Match on `code`. */
export class StateHeadError extends Error {
  readonly code: StateHeadCode;
  constructor(code: StateHeadCode, message: string) {
    super(message);
    this.name = "StateHeadError";
    this.code = code;
  }
}

function raftIdHex(id: bigint): string {
  return id.toString(16).padStart(16, "0");
}

function membersLine(keyword: string, ids: readonly bigint[]): string {
  return [keyword, ...ids.map(raftIdHex).sort()].join(" ");
}

function originLine({ originFingerprint, treeSize, rootHash }: StateOrigin): string {
  return `origin ${bytesToHex(originFingerprint)} ${treeSize} ${bytesToHex(rootHash)}`;
}

/** The one text of a state head, whatever order its lists are given in, with its final newline. */
export function formatStateHead(head: StateHead): string {
  const { members } = head;
  const lines = [
    STATE_HEAD_HEADER,
    `cluster ${head.clusterName} ${bytesToHex(head.clusterId)}`,
    `trust-root ${head.epoch} ${head.trustRootVersion} ${bytesToHex(head.rootThk)}`,
    `entry ${head.raftIndex} ${head.raftTerm} ${bytesToHex(head.effect)}`,
    `leaves ${head.nextSequence} ${head.lastAcceptedMs}`,
    `time ${head.stampMs}`,
    `rules ${head.rules}`,
    membersLine("voters", members.voters),
    membersLine("outgoing", members.votersOutgoing),
    membersLine("learners", members.learners),
    membersLine("learners-next", members.learnersNext),
    `auto-leave ${members.autoLeave ? 1 : 0}`,
    ...head.origins.map(originLine).sort(),
    `state ${bytesToHex(head.stateRoot)}`,
    `group-ids ${bytesToHex(head.groupIdsHash)}`,
    `client-events ${bytesToHex(head.clientEventsHash)}`,
  ];
  return `${lines.join("\n")}\n`;
}

function malformed(line: string): StateHeadError {
  return new StateHeadError("malformed", `cannot read the line "${line.slice(0, 80)}"`);
}

/** Takes lines by their keywords, in order. */
class HeadLines {
  readonly #lines: readonly string[];
  #next = 0;

  constructor(text: string) {
    this.#lines = text.split("\n");
  }

  get current(): string {
    return this.#lines[this.#next] ?? "";
  }

  isNext(keyword: string): boolean {
    return this.current === keyword || this.current.startsWith(`${keyword} `);
  }

  /** The words after the keyword. */
  take(keyword: string, count: number | "any"): string[] {
    const [first, ...words] = this.current.split(" ");
    if (first !== keyword || (count !== "any" && words.length !== count)) throw malformed(this.current);
    this.#next++;
    return words;
  }

  end(): void {
    if (this.current !== "" || this.#next !== this.#lines.length - 1) throw malformed(this.current);
  }
}

function decimal(word: string | undefined): number {
  const value = parseDecimal(word ?? "");
  if (value === null) throw new StateHeadError("malformed", `not a number: ${word ?? ""}`);
  return value;
}

function hash(word: string | undefined): Uint8Array {
  return hexToBytes(word ?? "", 32);
}

function raftIds(words: readonly string[]): bigint[] {
  if (words.length > MEMBERS_MAX) throw new StateHeadError("malformed", `over ${MEMBERS_MAX} members`);
  return words.map((word) => {
    const reader = new ByteReader(hexToBytes(word, 8));
    return BigInt(reader.u32()) * 0x1_0000_0000n + BigInt(reader.u32());
  });
}

function readMembers(lines: HeadLines): StateMembers {
  const members = {
    voters: raftIds(lines.take("voters", "any")),
    votersOutgoing: raftIds(lines.take("outgoing", "any")),
    learners: raftIds(lines.take("learners", "any")),
    learnersNext: raftIds(lines.take("learners-next", "any")),
  };
  return { ...members, autoLeave: lines.take("auto-leave", 1)[0] === "1" };
}

function readOrigins(lines: HeadLines): StateOrigin[] {
  const origins: StateOrigin[] = [];
  while (lines.isNext("origin")) {
    if (origins.length === ORIGINS_MAX) throw new StateHeadError("malformed", `over ${ORIGINS_MAX} origins`);
    const [fingerprint, treeSize, rootHash] = lines.take("origin", 3);
    origins.push({
      originFingerprint: toOriginFingerprint(hash(fingerprint)),
      treeSize: decimal(treeSize),
      rootHash: hash(rootHash),
    });
  }
  return origins;
}

function readHead(text: string): StateHead {
  const lines = new HeadLines(text);
  lines.take(STATE_HEAD_HEADER, 0);
  const [clusterName = "", clusterId] = lines.take("cluster", 2);
  const [epoch, version, thk] = lines.take("trust-root", 3);
  const [raftIndex, raftTerm, effect] = lines.take("entry", 3);
  const [nextSequence, lastAcceptedMs] = lines.take("leaves", 2);
  const [stampMs] = lines.take("time", 1);
  const [rules] = lines.take("rules", 1);
  const members = readMembers(lines);
  const origins = readOrigins(lines);
  const [stateRoot] = lines.take("state", 1);
  const [groupIdsHash] = lines.take("group-ids", 1);
  const [clientEventsHash] = lines.take("client-events", 1);
  lines.end();
  return {
    clusterName,
    clusterId: hash(clusterId),
    epoch: decimal(epoch),
    trustRootVersion: decimal(version),
    rootThk: hash(thk),
    raftIndex: decimal(raftIndex),
    raftTerm: decimal(raftTerm),
    effect: hash(effect),
    nextSequence: decimal(nextSequence),
    lastAcceptedMs: decimal(lastAcceptedMs),
    stampMs: decimal(stampMs),
    rules: decimal(rules),
    members,
    origins,
    stateRoot: hash(stateRoot),
    groupIdsHash: hash(groupIdsHash),
    clientEventsHash: hash(clientEventsHash),
  };
}

function isAscending<Item>(items: readonly Item[], text: (item: Item) => string): boolean {
  return items.every((item, at) => {
    const before = items[at - 1];
    return before === undefined || text(before) < text(item);
  });
}

/** Reads the text of a state head, which may be attacker-controlled. @throws StateHeadError */
export function parseStateHead(text: string): StateHead {
  const head = readHeadText(text);
  const { voters, votersOutgoing, learners, learnersNext } = head.members;
  const isOrdered =
    [voters, votersOutgoing, learners, learnersNext].every((ids) => isAscending(ids, raftIdHex)) &&
    isAscending(head.origins, ({ originFingerprint }) => bytesToHex(originFingerprint));
  if (!isOrdered || !isClusterName(head.clusterName) || formatStateHead(head) !== text) {
    throw new StateHeadError("not_canonical", "the text is not the one text of this state head");
  }
  return head;
}

function readHeadText(text: string): StateHead {
  try {
    return readHead(text);
  } catch (error) {
    if (error instanceof InvalidBytesError) throw new StateHeadError("malformed", error.message);
    throw error;
  }
}

/** What a node signs with its cosigner key: tag "state-head" ‖ the text. */
export function stateHeadMessage(text: string): Uint8Array {
  return concatBytes(tag("state-head"), utf8ToBytes(text));
}

/** A signature of this type has a key id of its own, though the key is the node's cosigner key. */
function stateHeadKeyId(name: string, publicKey: Uint8Array, sha256: Sha256): number {
  const named = concatBytes(utf8ToBytes(name), Uint8Array.of(0x0a), STATE_HEAD_TYPE, publicKey);
  return new ByteReader(sha256(named)).u32();
}

/** One node's line. @param line `name` and `publicKey` of its cosigner key, `signature` over stateHeadMessage */
export function stateHeadLine(
  line: { readonly name: string; readonly publicKey: Uint8Array; readonly signature: Uint8Array },
  sha256: Sha256,
): SignatureLine {
  const { name, publicKey, signature } = line;
  if (signature.length !== 64) throw new RangeError("an Ed25519 signature has 64 bytes");
  return { name, keyId: stateHeadKeyId(name, publicKey, sha256), signature };
}

/** The text with the lines that sign it. */
export function formatStateHeadNote(head: StateHead, lines: readonly SignatureLine[]): string {
  return formatNote(formatStateHead(head), lines);
}

function activeNodesOf(root: TrustRoot): readonly TrustRootNode[] {
  return root.nodes.filter(({ status }) => status === "active");
}

/** Whether `signature` is the node's over this text. @param root the trust root that the state head names */
export function isGoodStateHeadSignature(
  signed: { readonly text: string; readonly nodeId: string; readonly signature: Uint8Array },
  root: TrustRoot,
  crypto: Crypto,
): boolean {
  const node = activeNodesOf(root).find(({ nodeId }) => nodeId === signed.nodeId);
  if (node === undefined) return false;
  return crypto.ed25519Verify(node.cosignerVkey.publicKey, stateHeadMessage(signed.text), signed.signature);
}

/** Distinct active nodes whose good lines the note has. A failing or repeated line of one of them refuses the note. */
function signersOf(text: string, lines: readonly SignatureLine[], root: TrustRoot, crypto: Crypto): string[] {
  const message = stateHeadMessage(text);
  const signers: string[] = [];
  for (const { nodeId, cosignerVkey } of activeNodesOf(root)) {
    const { name, publicKey } = cosignerVkey;
    const keyId = stateHeadKeyId(name, publicKey, crypto.sha256);
    const own = lines.filter((line) => line.name === name && line.keyId === keyId);
    const [line] = own;
    if (line === undefined) continue;
    if (own.length > 1) throw new StateHeadError("signature_repeated", `${name} signed twice`);
    if (!crypto.ed25519Verify(publicKey, message, line.signature)) {
      throw new StateHeadError("signature_invalid", `the signature of ${name} does not verify`);
    }
    signers.push(nodeId);
  }
  return signers;
}

/** A state head that a quorum has signed. */
export interface VerifiedStateHead {
  readonly head: StateHead;
  /** Node ids whose lines are good, as the trust root orders them. */
  readonly signers: readonly string[];
}

/** Signers of a state head among whom one is honest if at most one node lies. @param quorum of the trust root */
export function honestSigners(quorum: number): number {
  return Math.min(quorum, 2);
}

/**
 * Verifies a state head against the trust root that it names. The note may be attacker-controlled.
 * @param signed the version, as verifyTrustRootChain verified it
 * @param signersMin how many distinct active nodes must have signed; by default a quorum
 * @throws StateHeadError
 */
export function verifyStateHead(
  note: string,
  signed: { readonly trustRoot: TrustRoot; readonly rootThk: Uint8Array },
  crypto: Crypto,
  signersMin: number = signed.trustRoot.quorum,
): VerifiedStateHead {
  const { text, lines } = readNote(note);
  const head = parseStateHead(text);
  const { trustRoot, rootThk } = signed;
  const isNamed =
    head.trustRootVersion === trustRoot.version &&
    head.epoch === trustRoot.epoch &&
    head.clusterName === trustRoot.clusterName &&
    equalBytes(head.clusterId, trustRoot.clusterId) &&
    equalBytes(head.rootThk, rootThk);
  if (!isNamed) throw new StateHeadError("trust_root_differs", "the state head names another trust root");
  const signers = signersOf(text, lines, trustRoot, crypto);
  if (signers.length < signersMin) {
    throw new StateHeadError("quorum_missing", `${signers.length} good signatures, ${signersMin} are needed`);
  }
  return { head, signers };
}

function readNote(note: string): { text: string; lines: readonly SignatureLine[] } {
  try {
    return parseNote(note);
  } catch (error) {
    if (error instanceof NoteError) throw new StateHeadError("malformed", error.message);
    throw error;
  }
}
