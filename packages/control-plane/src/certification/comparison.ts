import { type HeadLine, LINES_MAX, type PeerCosignature, type RefusalCode } from "@event-anchoring/control-contract";
import { type Certificate, type LedgerState, trustRootsOf } from "@event-anchoring/ledger";
import {
  type Contradiction,
  type Crypto,
  type OriginFingerprint,
  type TrustRoot,
  type Vkey,
  bytesToHex,
  checkpointOrigin,
  equalBytes,
  quorumPolicyOf,
} from "@event-anchoring/protocol";
import type { Clock, Logger } from "@event-anchoring/telemetry";
import { isActive, isGoodCosignature, judgingRoot } from "../signatures/certificates.ts";
import { type EvidenceFiles, contradictionText, contradictionsIn, evidenceName, withKeptLines } from "./evidence.ts";
import { type Dispute, Head, Heads } from "./heads.ts";

/** How long all members exchange their lines over a contradicted size, while writes up to it wait. */
const EXCHANGE_MS = 2000;
/** Lines are rebroadcast this often, since some may be lost. New ones go out with the next sweep. */
const EXCHANGE_EVERY_MS = 250;

export interface ComparisonOptions {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly crypto: Crypto;
  readonly state: LedgerState;
  readonly nodeId: string;
  readonly evidence: EvidenceFiles;
  /** The evidence kept when the session begins. */
  readonly evidenceKept: ReadonlyMap<string, string>;
  /** To all members. */
  readonly exchange: (lines: readonly HeadLine[]) => void;
  /** A peer sent a line that does not verify with its signer's key. */
  readonly onRefused: (from: string) => void;
  /** A node's own signature contradicts this node's root. */
  readonly onDiffers: (nodeId: string, point: string, detail: string) => void;
  /** This node's key has signed something that its own log does not lead to. */
  readonly onForgotten: (detail: string) => void;
  /** An origin that was held back or stopped goes on. */
  readonly onReleased: (origin: OriginFingerprint) => void;
  readonly onFailure: (error: unknown) => void;
}

/** What a node knows about contradictions, for operators. */
export interface ComparisonView {
  /** Nodes whose key has signed two roots of one size. */
  readonly named: readonly string[];
  /** Origins of which another certificate than this node's exists, in hex. */
  readonly contradicted: readonly string[];
  /** Sizes for which no client gets `201` now. */
  readonly withheld: readonly { readonly originFingerprint: OriginFingerprint; readonly treeSize: number }[];
  /** Names of files of evidence. */
  readonly evidence: readonly string[];
}

/**
 * Compares what all nodes sign with this node's own roots, whether or not a certificate needs it.
 *
 * One good line over another root proves that the trees have parted, and not who lied: writes up to that size wait
 * while all members exchange their lines. A key with good lines over two roots of one size is *named*: it does not
 * count in certificates made here until an operator removes the evidence. A quorum certificate over another root is a
 * *fork*: its origin stops until a trust root is in force under whose active nodes that certificate is not valid, or
 * which marks the origin lost.
 *
 * All of this is local. What the log records, and what receipts need, does not depend on it.
 */
export class Comparison {
  readonly #options: ComparisonOptions;
  readonly #heads = new Heads();
  /** In dispute, oldest first. */
  readonly #open = new Set<Head>();
  /** By origin in hex: the nodes that are known to differ there. Further lines of theirs hold nothing back. */
  readonly #estranged = new Map<string, Set<string>>();
  /** Origins in hex, and the nodes for which a file of evidence exists there: one file is enough. */
  readonly #shown = new Set<string>();
  #kept: ReadonlyMap<string, string>;
  #proven: readonly Contradiction[] = [];
  /** Hex of the public keys that have signed two roots. */
  #named = new Set<string>();
  /** Hex of the origins that have stopped. */
  #stopped = new Set<string>();
  #writing: Promise<void> = Promise.resolve();
  #sentMs = Number.NEGATIVE_INFINITY;
  /** A line over a contradicted size has come since lines were sent: a node that soon halts may be its only holder. */
  #hasUnsent = false;

  constructor(options: ComparisonOptions) {
    this.#options = options;
    this.#kept = options.evidenceKept;
    this.#prove();
  }

  get view(): ComparisonView {
    const root = trustRootsOf(this.#options.state).at(-1)?.trustRoot;
    // A node that has left does not cosign any more.
    const named = (root?.nodes ?? []).filter(({ nodeId, cosignerVkey }) => {
      return root !== undefined && isActive(root, nodeId) && this.#isNamedKey(cosignerVkey);
    });
    return {
      named: named.map(({ nodeId }) => nodeId),
      contradicted: [...this.#stopped].sort(),
      withheld: [...this.#open].filter(({ dispute }) => dispute?.withholds === true),
      evidence: [...this.#kept.keys()].sort(),
    };
  }

  /** Whether a sweep has anything to do. */
  get hasOpen(): boolean {
    return this.#open.size > 0;
  }

  /** Whether the node's key, as this trust root lists it, has signed two roots of one size. */
  isNamed(root: TrustRoot, nodeId: string): boolean {
    if (this.#named.size === 0) return false;
    const node = root.nodes.find((listed) => listed.nodeId === nodeId);
    return node !== undefined && this.#isNamedKey(node.cosignerVkey);
  }

  /** A contradicting certificate of the origin exists: nothing is certified, and no client's leaf is accepted. */
  isStopped(origin: OriginFingerprint): boolean {
    return this.#stopped.size > 0 && this.#stopped.has(bytesToHex(origin));
  }

  /** Whether a tree of this size must not be reported as certified now. */
  withholds(origin: OriginFingerprint, treeSize: number): boolean {
    if (this.isStopped(origin)) return true;
    for (const { originFingerprint, dispute } of this.#open) {
      const concerns = dispute?.withholds === true && equalBytes(originFingerprint, origin);
      if (concerns && treeSize > dispute.floor) return true;
    }
    return false;
  }

  /** What this node has signed itself. */
  onOwn(item: PeerCosignature): void {
    const head = this.#headAt(item.originFingerprint, item.treeSize);
    head?.add({ ...item, nodeId: this.#options.nodeId }, true);
    if (head?.isContradicted === true) this.#judge(head);
  }

  /** A size that this node has reached, signed by a peer. */
  onPeer(from: string, item: PeerCosignature): void {
    this.#note(from, { ...item, nodeId: from });
  }

  /** All nodes' signatures over contradicted sizes that a peer holds. */
  onLines(from: string, items: readonly HeadLine[]): void {
    for (const item of items) this.#note(from, item);
  }

  /** Its signatures were verified, by this node or by `decide`. */
  onCertificate({ originFingerprint, treeSize, rootHash, cosignatures }: Certificate): void {
    const head = this.#headAt(originFingerprint, treeSize);
    if (head === undefined) return;
    const lines = cosignatures.map((cosignature) => ({ ...cosignature, originFingerprint, treeSize, rootHash }));
    const own = lines.find(({ nodeId }) => nodeId === this.#options.nodeId);
    if (own !== undefined && !head.isOwnRoot(own)) return this.#forgot(own);
    const isNews = lines.some((line) => head.contradicts(line));
    for (const line of lines) if (!head.hasGood(line)) head.add(line, true);
    if (isNews) this.#judge(head);
  }

  /**
   * Other nodes may be active now: a certificate that these have not made no longer counts as a contradiction. A lost
   * origin does not grow, so nothing can contradict it later.
   */
  onTrustRoot(): void {
    const before = [...this.#stopped];
    this.#prove();
    this.#releaseAll(before);
  }

  /** Rebroadcasts lines, and ends exchanges that are over. */
  sweep(): void {
    if (this.#open.size === 0) return;
    const nowMs = this.#options.clock.monotonicMs();
    if (this.#hasUnsent || nowMs - this.#sentMs >= EXCHANGE_EVERY_MS) this.#exchange();
    for (const head of this.#open) {
      const { dispute } = head;
      if (dispute !== null && nowMs - dispute.sinceMs < EXCHANGE_MS) continue;
      head.dispute = null;
      this.#open.delete(head);
      if (dispute?.withholds === true) this.#options.onReleased(head.originFingerprint);
    }
  }

  /**
   * This node stops for good: all members get the lines that it holds over its newest sizes. It may be the only one
   * that holds what a liar has signed for it, and its own newest lines went to the leader alone.
   */
  testify(): void {
    const lines: HeadLine[] = [];
    for (const head of this.#heads.newestFirst()) {
      if (lines.length >= LINES_MAX) break;
      lines.push(...head.goodLines((line) => this.#isGood(line)));
    }
    this.#options.exchange(lines.slice(0, LINES_MAX));
  }

  /** The session ends: peers get what they have not been told. */
  close(): void {
    if (this.#hasUnsent) this.#exchange();
  }

  /** Picks up files that an operator has removed or added. */
  async look(): Promise<void> {
    await this.#writing;
    const kept = await this.#options.evidence.load();
    if (isSame(kept, this.#kept)) return;
    const before = [...this.#stopped];
    this.#kept = kept;
    this.#prove();
    const { named, contradicted, evidence } = this.view;
    this.#options.logger.warn("evidence_changed", { named, contradicted, files: evidence.length });
    this.#releaseAll(before);
  }

  #note(from: string, line: HeadLine): void {
    const head = this.#headAt(line.originFingerprint, line.treeSize);
    if (head === undefined || head.hasGood(line)) return;
    if (!head.contradicts(line)) {
      head.add(line, false);
      if (head.isContradicted) this.#judge(head);
      return;
    }
    if (!this.#isGood(line)) {
      this.#options.onRefused(from);
      return;
    }
    if (line.nodeId === this.#options.nodeId) {
      this.#forgot(line);
      return;
    }
    head.add(line, true);
    this.#judge(head);
  }

  #forgot({ treeSize }: HeadLine): void {
    this.#options.onForgotten(`this node's key has signed another root of size ${treeSize}`);
  }

  /** This node's head of a size that it has reached and whose root it still knows. */
  #headAt(origin: OriginFingerprint, treeSize: number): Head | undefined {
    const known = this.#heads.find(origin, treeSize);
    if (known !== undefined) return known;
    const tree = this.#options.state.origins.get(bytesToHex(origin))?.tree;
    if (tree === undefined || treeSize < Math.max(1, tree.base) || treeSize > tree.size) return undefined;
    return this.#heads.add(new Head(origin, treeSize, tree.rootAt(treeSize)));
  }

  #isGood(line: HeadLine): boolean {
    const { state, crypto } = this.#options;
    const root = judgingRoot(state, line.originFingerprint, line.treeSize);
    return isGoodCosignature(root, line.originFingerprint, line, line, crypto);
  }

  /** A verified line contradicts this node's root, or another line of the same key. */
  #judge(head: Head): void {
    const { state, clock, logger, onDiffers } = this.#options;
    const lines = head.goodLines((line) => this.#isGood(line));
    const root = judgingRoot(state, head.originFingerprint, head.treeSize);
    const differing = lines.filter((line) => !head.isOwnRoot(line));
    const strangers = differing.filter(({ nodeId }) => !this.#isEstranged(head, nodeId) && !this.isNamed(root, nodeId));
    this.#keep(head, root, lines);
    for (const { nodeId } of strangers) this.#estrange(head, nodeId);
    head.isContradicted = true;
    const withholds = (head.dispute?.withholds ?? false) || strangers.length > 0;
    const sinceMs = head.dispute?.sinceMs ?? clock.monotonicMs();
    head.dispute = { sinceMs, withholds, floor: this.#heads.floorBelow(head) } satisfies Dispute;
    this.#open.add(head);
    this.#hasUnsent = true;
    if (strangers.length > 0) this.#exchange();
    const origin = bytesToHex(head.originFingerprint);
    for (const { nodeId } of strangers) logger.error("roots_differ", { peer: nodeId, origin, size: head.treeSize });
    for (const { nodeId } of differing) {
      onDiffers(nodeId, `${origin} ${head.treeSize}`, `another root at size ${head.treeSize}`);
    }
  }

  #exchange(): void {
    this.#sentMs = this.#options.clock.monotonicMs();
    this.#hasUnsent = false;
    const lines = [...this.#open].reverse().flatMap((head) => head.goodLines((line) => this.#isGood(line)));
    this.#options.exchange(lines.slice(0, LINES_MAX));
  }

  /** Every two roots of the size become a file, if it says more than the files that are there. */
  #keep(head: Head, root: TrustRoot, lines: readonly HeadLine[]): void {
    const byRoot = new Map<string, HeadLine[]>();
    for (const line of lines) {
      const key = bytesToHex(line.rootHash);
      byRoot.set(key, [...(byRoot.get(key) ?? []), line]);
    }
    // This node's root first, so that every file that contains it begins with it.
    const groups = [...byRoot.values()].sort(
      (left, right) => Number(ownRoot(head, right)) - Number(ownRoot(head, left)),
    );
    groups.forEach((left, at) => {
      for (const right of groups.slice(at + 1)) this.#keepPair(head, root, left, right);
    });
  }

  #keepPair(head: Head, root: TrustRoot, left: readonly HeadLine[], right: readonly HeadLine[]): void {
    const [first, other] = [left[0], right[0]];
    if (first === undefined || other === undefined) return;
    const name = evidenceName(first, other);
    const names = right.some(
      ({ nodeId }) => left.some((line) => line.nodeId === nodeId) && !this.isNamed(root, nodeId),
    );
    const forks = right.length >= root.quorum && !this.isStopped(head.originFingerprint);
    const origin = bytesToHex(head.originFingerprint);
    const isNews = ownRoot(head, left) && right.some(({ nodeId }) => !this.#shown.has(`${origin} ${nodeId}`));
    if (!names && !forks && !isNews && !this.#kept.has(name)) return;
    if (ownRoot(head, left)) for (const { nodeId } of right) this.#shown.add(`${origin} ${nodeId}`);
    const text = this.#withKept(name, contradictionText(root, left, right, this.#options.crypto.sha256));
    if (this.#kept.get(name) === text) return;
    this.#kept = new Map([...this.#kept, [name, text]]);
    this.#prove();
    this.#writing = this.#writing
      .then(() => this.#options.evidence.keep(name, text))
      .catch((error: unknown) => this.#options.onFailure(error));
    const { named, contradicted } = this.view;
    this.#options.logger.error("evidence_kept", { file: name, named: named.join(), contradicted: contradicted.join() });
  }

  /** The text of a file, which takes away nothing that the file proves now. */
  #withKept(name: string, text: string): string {
    const kept = this.#kept.get(name);
    if (kept === undefined) return text;
    const { state, crypto, logger } = this.#options;
    const trustRoots = trustRootsOf(state).map(({ trustRoot }) => trustRoot);
    const [proven] = contradictionsIn(new Map([[name, kept]]), trustRoots, crypto, logger);
    return proven === undefined ? text : withKeptLines(text, kept, proven);
  }

  /** Who is named, and what has stopped, by the evidence that is kept and the trust root in force. */
  #prove(): void {
    const { state, crypto, logger } = this.#options;
    const trustRoots = trustRootsOf(state).map(({ trustRoot }) => trustRoot);
    const newest = trustRoots.at(-1);
    if (newest === undefined || this.#kept.size === 0) {
      this.#named = new Set();
      this.#stopped = new Set();
      return;
    }
    this.#proven = contradictionsIn(this.#kept, trustRoots, crypto, logger);
    this.#named = new Set(this.#proven.flatMap(({ named }) => named.map(({ publicKey }) => bytesToHex(publicKey))));
    const { clusterName } = newest;
    const stopped = [...state.origins.values()].filter(({ originFingerprint, status }) => {
      // The origin has ended: what the log holds of it is served, and nothing is added.
      if (status === "lost") return false;
      const origin = checkpointOrigin(clusterName, originFingerprint);
      return this.#proven.some((proven) => proven.origin === origin && this.#isFork(proven, originFingerprint, newest));
    });
    this.#stopped = new Set(stopped.map(({ originFingerprint }) => bytesToHex(originFingerprint)));
  }

  /** Whether a note over another root than this node's is a certificate that the trust root in force still counts. */
  #isFork({ treeSize, notes }: Contradiction, origin: OriginFingerprint, newest: TrustRoot): boolean {
    const own = this.#headAt(origin, treeSize)?.rootHash ?? notes[0].rootHash;
    const { cosigners, threshold } = quorumPolicyOf(newest);
    const isCounted = (signer: Vkey): boolean =>
      cosigners.some(({ publicKey }) => equalBytes(publicKey, signer.publicKey));
    return notes.some(
      ({ rootHash, signers, certifiedBy }) =>
        !equalBytes(rootHash, own) && certifiedBy.length > 0 && signers.filter(isCounted).length >= threshold,
    );
  }

  #releaseAll(before: readonly string[]): void {
    for (const key of before) {
      const origin = this.#options.state.origins.get(key);
      if (origin !== undefined && !this.#stopped.has(key)) this.#options.onReleased(origin.originFingerprint);
    }
  }

  #isNamedKey({ publicKey }: Vkey): boolean {
    return this.#named.has(bytesToHex(publicKey));
  }

  #isEstranged(head: Head, nodeId: string): boolean {
    return this.#estranged.get(bytesToHex(head.originFingerprint))?.has(nodeId) ?? false;
  }

  #estrange({ originFingerprint }: Head, nodeId: string): void {
    const key = bytesToHex(originFingerprint);
    this.#estranged.set(key, (this.#estranged.get(key) ?? new Set()).add(nodeId));
  }
}

/** Why nothing is anchored in an origin that has stopped, and its certificate is not shown. */
export function originContradicted(origin: OriginFingerprint): { readonly code: RefusalCode; readonly detail: string } {
  const detail = `a certificate of origin ${bytesToHex(origin)} exists that contradicts this node's`;
  return { code: "origin_contradicted", detail };
}

function ownRoot(head: Head, lines: readonly HeadLine[]): boolean {
  return lines.some((line) => head.isOwnRoot(line));
}

function isSame(left: ReadonlyMap<string, string>, right: ReadonlyMap<string, string>): boolean {
  return left.size === right.size && [...left].every(([name, text]) => right.get(name) === text);
}
