import { formatRfc3339, headEventText } from "@event-anchoring/api-contract";
import type { HeadEvent } from "@event-anchoring/api-contract";
import type { ShownCertificate } from "@event-anchoring/control-contract";
import { bytesToBase64, bytesToHex } from "@event-anchoring/protocol";
import type { Sha256 } from "@event-anchoring/protocol";
import type { Clock } from "@event-anchoring/telemetry";
import type { ReadyToRead } from "../control-plane/control-plane.ts";
import { ConsistentRead } from "../reading/consistent-read.ts";
import { proveGrowth } from "../reading/growth.ts";
import type { OpenableReads } from "../reading/node-reads.ts";
import { Deadline } from "../request/deadline.ts";

/** How long the tables may take for a proof. */
const PROOF_TIMEOUT_MS = 5000;
/** Proofs from so many sizes are kept for each head; others are made for each who asks. */
const TEXTS_MAX = 256;

export interface HeadOptions {
  readonly sha256: Sha256;
  readonly clock: Clock;
}

/**
 * One head of an origin, as its followers are shown it. The proof from a size is read, and the event written, once for
 * all who are at that size.
 */
export class Head {
  readonly certificate: ShownCertificate;
  readonly #ready: ReadyToRead;
  readonly #options: HeadOptions;
  readonly #texts = new Map<number | null, Promise<Uint8Array>>();

  /** @param ready the answer that named the certificate: the tables are read as of then, or later */
  constructor(certificate: ShownCertificate, ready: ReadyToRead, options: HeadOptions) {
    this.certificate = certificate;
    this.#ready = ready;
    this.#options = options;
  }

  get treeSize(): number {
    return this.certificate.treeSize;
  }

  /**
   * The event that shows this head to whoever is at a smaller size.
   * @param fromSize null: at none
   * @throws RefusedError, StoreError
   */
  text(fromSize: number | null, reads: OpenableReads): Promise<Uint8Array> {
    const known = this.#texts.get(fromSize);
    if (known !== undefined) return known;
    const made = this.#make(fromSize, reads);
    if (this.#texts.size < TEXTS_MAX) {
      this.#texts.set(fromSize, made);
      // What failed is tried again by the next one who asks.
      made.catch(() => this.#texts.delete(fromSize));
    }
    return made;
  }

  async #make(fromSize: number | null, reads: OpenableReads): Promise<Uint8Array> {
    const { originFingerprint, treeSize, rootHash, certifiedAtS, trustRootVersion, checkpoint } = this.certificate;
    const consistency = fromSize === null ? null : await this.#consistency(fromSize, reads);
    const event: HeadEvent = {
      origin_fingerprint: bytesToHex(originFingerprint),
      tree_size: treeSize,
      root_hash: bytesToHex(rootHash),
      certified_at: formatRfc3339(certifiedAtS * 1000),
      trust_root_version: trustRootVersion,
      checkpoint,
      consistency,
    };
    return Buffer.from(headEventText(event));
  }

  async #consistency(fromSize: number, reads: OpenableReads): Promise<HeadEvent["consistency"]> {
    const { clock, sha256 } = this.#options;
    const { treeSize } = this.certificate;
    const read = ConsistentRead.from(this.#ready, { reads }, new Deadline(clock, PROOF_TIMEOUT_MS));
    const { proof } = await proveGrowth(read, this.certificate, { fromSize, toSize: treeSize }, sha256);
    return { from_size: fromSize, tree_size: treeSize, proof: proof.map(bytesToBase64) };
  }
}
