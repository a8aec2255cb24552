import type { WitnessLine, WitnessedHead } from "@event-anchoring/control-contract";
import {
  type OriginFingerprint,
  type Sha256,
  type TrustRoot,
  bytesToHex,
  equalBytes,
  equalVkeys,
} from "@event-anchoring/protocol";
import type { Logger } from "@event-anchoring/telemetry";
import type { HeldCertificate } from "../certification/certifier.ts";
import { showWith } from "../certification/shown-certificate.ts";
import type { WitnessedHeadStorage } from "../ports/storage.ts";
import { noteWithLines } from "./witness-lines.ts";

export interface WitnessedHeadsOptions {
  readonly logger: Logger;
  readonly sha256: Sha256;
  readonly storage: Pick<WitnessedHeadStorage, "replace">;
  /** The newest applied version. */
  readonly trustRoot: () => TrustRoot;
  /** An origin's heads have changed, and are durable. */
  readonly onKept: (origin: OriginFingerprint) => void;
  /** A head has got enough lines. */
  readonly onWitnessed: () => void;
}

/** A certified head with verified lines. */
interface HeadWithLines {
  readonly held: HeldCertificate;
  readonly lines: readonly WitnessLine[];
  /** The same with the lines in its note. */
  readonly witnessed: HeldCertificate;
}

interface HeadsOfOrigin {
  readonly originFingerprint: OriginFingerprint;
  /** The newest that has any line. */
  newest: HeadWithLines | null;
  /** The newest that has enough lines; perhaps the same. */
  witnessed: HeadWithLines | null;
  /** The size of the newest tree over which a witness's line was seen, by its name. */
  readonly sizes: Map<string, number>;
}

/**
 * What witnesses have cosigned, of each origin: the newest head with a line, and the newest with as many lines as the
 * trust root asks for. Whoever adds a line has verified it.
 *
 * Invariant: nothing waits for it but readers who prefer a witnessed head.
 */
export class WitnessedHeads {
  readonly #options: WitnessedHeadsOptions;
  readonly #origins = new Map<string, HeadsOfOrigin>();
  readonly #unsaved = new Map<string, OriginFingerprint>();
  /** With which lines a certificate is shown. */
  readonly #shown = new WeakMap<HeldCertificate, HeadWithLines>();
  #trustRoot: TrustRoot;
  #isSaving = false;
  #isClosed = false;

  constructor(options: WitnessedHeadsOptions) {
    this.#options = options;
    this.#trustRoot = options.trustRoot();
  }

  /** The newest head of the origin that is witnessed, with the lines in its note. */
  heldOf(origin: OriginFingerprint): HeldCertificate | null {
    return this.#origins.get(bytesToHex(origin))?.witnessed?.witnessed ?? null;
  }

  /** The lines over that head; none if it is not kept. */
  linesOf(origin: OriginFingerprint, treeSize: number): readonly WitnessLine[] {
    return this.#headOf(origin, treeSize)?.lines ?? [];
  }

  isWitnessed(origin: OriginFingerprint, treeSize: number): boolean {
    const head = this.#headOf(origin, treeSize);
    return head !== null && this.#isEnough(head.lines);
  }

  /** The size of the newest tree of the origin that the witness has cosigned, as far as this node has seen; 0: none. */
  sizeAt(witness: string, origin: OriginFingerprint): number {
    return this.#origins.get(bytesToHex(origin))?.sizes.get(witness) ?? 0;
  }

  /** Verified lines over a head that this node holds a certificate of. */
  add(held: HeldCertificate, lines: readonly WitnessLine[]): void {
    const heads = this.#of(held.originFingerprint);
    for (const { witness } of lines) heads.sizes.set(witness, Math.max(heads.sizes.get(witness) ?? 0, held.treeSize));
    const known = this.#headOf(held.originFingerprint, held.treeSize);
    const isOld = known === null && held.treeSize < (heads.newest?.held.treeSize ?? 0);
    const news = lines.filter(({ witness }) => known?.lines.every((line) => line.witness !== witness) ?? true);
    if (isOld || news.length === 0) return;
    const head = this.#withLines(known?.held ?? held, [...(known?.lines ?? []), ...news]);
    if (heads.newest === null || heads.newest.held.treeSize <= held.treeSize) heads.newest = head;
    const isWitnessed = this.#isEnough(head.lines) && (heads.witnessed?.held.treeSize ?? 0) <= held.treeSize;
    if (isWitnessed) heads.witnessed = head;
    this.#saveSoon(held.originFingerprint);
    if (isWitnessed) this.#options.onWitnessed();
  }

  /** Shows the certificate of a head with the lines over it, if there are any. */
  show(held: HeldCertificate): void {
    const head = this.#headOf(held.originFingerprint, held.treeSize);
    if (head === null || this.#shown.get(held) === head || !equalBytes(head.held.rootHash, held.rootHash)) return;
    this.#shown.set(held, head);
    showWith(held, this.#noteOf(held, head.lines));
  }

  /** What is kept of an origin, the newest last. */
  headsOf(origin: OriginFingerprint): readonly WitnessedHead[] {
    const { witnessed = null, newest = null } = this.#origins.get(bytesToHex(origin)) ?? {};
    const heads = witnessed === newest ? [newest] : [witnessed, newest];
    return heads.flatMap((head) => {
      if (head === null) return [];
      const { originFingerprint, treeSize, rootHash, cosignatures } = head.held;
      return [{ originFingerprint, treeSize, rootHash, cosignatures, lines: head.lines }];
    });
  }

  /** Every origin that has any. */
  get origins(): readonly OriginFingerprint[] {
    return [...this.#origins.values()].map(({ originFingerprint }) => originFingerprint);
  }

  /**
   * Another version is in force: lines of witnesses that it does not list, or lists with another key, are dropped, and
   * so is what lies above the last certificate of an origin that is lost.
   */
  onTrustRoot(lastSizeOfLost: (origin: OriginFingerprint) => number | null): void {
    const before = this.#trustRoot;
    this.#trustRoot = this.#options.trustRoot();
    for (const heads of this.#origins.values()) {
      const { originFingerprint, newest, witnessed } = heads;
      const sizeMax = lastSizeOfLost(originFingerprint) ?? Number.POSITIVE_INFINITY;
      const kept = [newest, witnessed].map((head) => this.#stillGood(head, sizeMax, before));
      heads.newest = kept.find((head) => head !== null) ?? null;
      heads.witnessed = kept.find((head) => head !== null && this.#isEnough(head.lines)) ?? null;
      this.#saveSoon(originFingerprint);
    }
  }

  close(): void {
    this.#isClosed = true;
    this.#unsaved.clear();
  }

  #stillGood(head: HeadWithLines | null, sizeMax: number, before: TrustRoot): HeadWithLines | null {
    if (head === null || head.held.treeSize > sizeMax) return null;
    const keyOf = (root: TrustRoot, name: string) => root.witnesses.find((witness) => witness.name === name)?.vkey;
    const lines = head.lines.filter(({ witness }) => {
      const [was, is] = [keyOf(before, witness), keyOf(this.#trustRoot, witness)];
      return was !== undefined && is !== undefined && equalVkeys(was, is);
    });
    if (lines.length === 0) return null;
    return lines.length === head.lines.length ? head : this.#withLines(head.held, lines);
  }

  #withLines(held: HeldCertificate, lines: readonly WitnessLine[]): HeadWithLines {
    let note: string | null = null;
    const checkpoint = (): string => (note ??= this.#noteOf(held, lines));
    return { held, lines, witnessed: { ...held, checkpoint } };
  }

  #noteOf(held: HeldCertificate, lines: readonly WitnessLine[]): string {
    return noteWithLines(held.checkpoint(), lines, this.#trustRoot, this.#options.sha256);
  }

  #isEnough(lines: readonly WitnessLine[]): boolean {
    const { witnessQuorum } = this.#trustRoot;
    return witnessQuorum > 0 && lines.length >= witnessQuorum;
  }

  #headOf(origin: OriginFingerprint, treeSize: number): HeadWithLines | null {
    const { newest = null, witnessed = null } = this.#origins.get(bytesToHex(origin)) ?? {};
    return [newest, witnessed].find((head) => head?.held.treeSize === treeSize) ?? null;
  }

  #of(originFingerprint: OriginFingerprint): HeadsOfOrigin {
    const key = bytesToHex(originFingerprint);
    const known = this.#origins.get(key);
    if (known !== undefined) return known;
    const created = { originFingerprint, newest: null, witnessed: null, sizes: new Map<string, number>() };
    this.#origins.set(key, created);
    return created;
  }

  #saveSoon(origin: OriginFingerprint): void {
    this.#unsaved.set(bytesToHex(origin), origin);
    if (!this.#isSaving) void this.#save();
  }

  /** One origin at a time; what changes meanwhile is saved once. A failed write is made up for by the next line. */
  async #save(): Promise<void> {
    this.#isSaving = true;
    const { storage, logger, onKept } = this.#options;
    for (let next = this.#takeUnsaved(); next !== null; next = this.#takeUnsaved()) {
      try {
        await storage.replace(next, this.headsOf(next));
        if (!this.#isClosed) onKept(next);
      } catch (error) {
        logger.warn("witnessed_heads_not_saved", { error });
      }
    }
    this.#isSaving = false;
  }

  #takeUnsaved(): OriginFingerprint | null {
    for (const [key, origin] of this.#unsaved) {
      this.#unsaved.delete(key);
      return origin;
    }
    return null;
  }
}
