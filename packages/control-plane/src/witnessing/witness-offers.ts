import type { WitnessLine, WitnessedHead } from "@event-anchoring/control-contract";
import { type LedgerState, type OriginState } from "@event-anchoring/ledger";
import type { Signer } from "@event-anchoring/node-crypto";
import { type Crypto, type OriginFingerprint, type TrustRoot, bytesToHex, equalBytes } from "@event-anchoring/protocol";
import type { HeldCertificate } from "../certification/certifier.ts";
import { heldCertificate } from "../certification/held-certificate.ts";
import { checkpointText, isGoodCosignature, judgingRoot } from "../signatures/certificates.ts";
import { isGoodWitnessLine } from "./witness-lines.ts";
import type { WitnessedHeads } from "./witnessed-heads.ts";

/** Heads that are verified in one look: each costs as many signatures as it has lines. */
const VERIFIED_MAX = 16;

export interface WitnessOffersOptions {
  readonly crypto: Crypto;
  readonly state: LedgerState;
  readonly logSignerOf: (origin: OriginFingerprint) => Signer;
  /** The newest applied version. */
  readonly trustRoot: () => TrustRoot;
  /** This node's root of any size that its origins have had, from its tables. */
  readonly rootAt: (origin: OriginFingerprint, treeSize: number) => Promise<Uint8Array>;
  readonly heads: Pick<WitnessedHeads, "add" | "linesOf" | "heldOf">;
  /** Whether the node's key has signed two roots of one size: then it counts in no certificate. */
  readonly isNamed: (root: TrustRoot, nodeId: string) => boolean;
  /** The size of the last certificate of an origin that is lost; null: it is not. */
  readonly lastSizeOfLost: (origin: OriginFingerprint) => number | null;
  readonly onFailure: (error: unknown) => void;
}

/**
 * Witnessed heads that come from elsewhere: from peers, and from this node's own table at a start. Each is verified
 * like an answer of a witness: the root is this node's own, the certificate reaches its quorum, the lines are by
 * witnesses of the newest trust root. What is not good is dropped, without counting against the peer: it may have
 * applied another trust root.
 *
 * The newest two of each sender and origin wait; a few are verified in one look, whatever is sent.
 */
export class WitnessOffers {
  readonly #options: WitnessOffersOptions;
  /** By sender and origin. */
  readonly #waiting = new Map<string, readonly WitnessedHead[]>();
  #isLooking = false;
  #isClosed = false;

  constructor(options: WitnessOffersOptions) {
    this.#options = options;
  }

  /** The content may be attacker-controlled. @param from a peer's node id, or "" for the own table */
  offer(from: string, heads: readonly WitnessedHead[]): void {
    for (const head of heads) {
      const origin = bytesToHex(head.originFingerprint);
      if (!this.#options.state.origins.has(origin)) continue;
      const key = `${from} ${origin}`;
      const others = (this.#waiting.get(key) ?? []).filter(({ treeSize }) => treeSize !== head.treeSize);
      const newest = [...others, head].sort((left, right) => left.treeSize - right.treeSize).slice(-2);
      this.#waiting.set(key, newest);
    }
  }

  /** Called periodically. */
  look(): void {
    if (this.#isLooking || this.#waiting.size === 0) return;
    this.#isLooking = true;
    this.#takeSome()
      .catch((error: unknown) => {
        if (!this.#isClosed) this.#options.onFailure(error);
      })
      .finally(() => (this.#isLooking = false));
  }

  close(): void {
    this.#isClosed = true;
    this.#waiting.clear();
  }

  async #takeSome(): Promise<void> {
    let verified = 0;
    // Each key once: one that goes on waiting is put back, behind the others.
    const keys = [...this.#waiting.keys()];
    for (const key of keys) {
      if (verified >= VERIFIED_MAX || this.#isClosed) return;
      const heads = this.#waiting.get(key) ?? [];
      this.#waiting.delete(key);
      const later = heads.filter((head) => this.#isAheadOfThisNode(head));
      if (later.length > 0) this.#waiting.set(key, later);
      for (const head of heads) {
        if (later.includes(head)) continue;
        verified += 1;
        await this.#take(head);
      }
    }
  }

  #originOf({ originFingerprint }: WitnessedHead): OriginState | undefined {
    return this.#options.state.origins.get(bytesToHex(originFingerprint));
  }

  #isAheadOfThisNode(head: WitnessedHead): boolean {
    const origin = this.#originOf(head);
    return origin !== undefined && origin.status !== "lost" && head.treeSize > origin.tree.size;
  }

  #isWanted({ originFingerprint, treeSize }: WitnessedHead, { tree }: OriginState): boolean {
    const sizeMax = this.#options.lastSizeOfLost(originFingerprint) ?? tree.size;
    const witnessedSize = this.#options.heads.heldOf(originFingerprint)?.treeSize ?? 0;
    return treeSize > 0 && treeSize >= witnessedSize && treeSize <= sizeMax;
  }

  async #take(head: WitnessedHead): Promise<void> {
    const { heads } = this.#options;
    const origin = this.#originOf(head);
    if (origin === undefined || !this.#isWanted(head, origin)) return;
    const known = heads.linesOf(head.originFingerprint, head.treeSize);
    const unknown = head.lines.filter(({ witness }) => known.every((line) => line.witness !== witness));
    if (unknown.length === 0 || !equalBytes(head.rootHash, await this.#rootAt(origin, head.treeSize))) return;
    const held = this.#certificateOf(head);
    if (held === null || this.#isClosed) return;
    const lines = this.#goodLines(head, unknown);
    if (lines.length > 0) heads.add(held, lines);
  }

  async #rootAt({ originFingerprint, tree }: OriginState, treeSize: number): Promise<Uint8Array> {
    return treeSize >= tree.base ? tree.rootAt(treeSize) : this.#options.rootAt(originFingerprint, treeSize);
  }

  /** null: it does not reach its quorum. */
  #certificateOf(head: WitnessedHead): HeldCertificate | null {
    const { state, crypto, logSignerOf, isNamed } = this.#options;
    const { originFingerprint, treeSize, rootHash } = head;
    const root = judgingRoot(state, originFingerprint, treeSize);
    const byNode = new Map(head.cosignatures.map((cosignature) => [cosignature.nodeId, cosignature]));
    const cosignatures = [...byNode.values()].filter(
      (cosignature) =>
        !isNamed(root, cosignature.nodeId) && isGoodCosignature(root, originFingerprint, head, cosignature, crypto),
    );
    if (cosignatures.length < root.quorum) return null;
    const certificate = { originFingerprint, treeSize, rootHash, cosignatures };
    // This node has decided that size already, at this index at the latest.
    return heldCertificate(root, certificate, logSignerOf(originFingerprint), crypto.sha256, state.appliedIndex);
  }

  #goodLines(head: WitnessedHead, lines: readonly WitnessLine[]): readonly WitnessLine[] {
    const { crypto, trustRoot } = this.#options;
    const root = trustRoot();
    const text = checkpointText(root, head.originFingerprint, head);
    return root.witnesses.flatMap((witness) => {
      // One line for each witness: two of one key would spoil the note.
      const line = lines.find((each) => each.witness === witness.name);
      return line !== undefined && isGoodWitnessLine(witness, text, line, crypto) ? [line] : [];
    });
  }
}
