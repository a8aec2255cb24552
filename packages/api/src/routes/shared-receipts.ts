/** Receipts of a batch that name their checkpoint by its place in a list: `"receipts": "shared"`. */
import type { CreatedBatchAnswer, ReceiptAnswer, SharedReceiptAnswer } from "@event-anchoring/api-contract";
import type { ReceiptCertificate } from "./anchor-writer.ts";

/** The checkpoints that the receipts of one answer name, each once, in the order of their first receipt. */
export class SharedCheckpoints {
  readonly #places = new Map<string, number>();
  readonly #json: NonNullable<CreatedBatchAnswer["checkpoints"]> = [];
  /** The one found last: most answers have one certificate, which is then found without reading its note. */
  #last: { readonly certificate: ReceiptCertificate; readonly place: number } | null = null;

  placeOf(certificate: ReceiptCertificate): number {
    if (this.#last?.certificate === certificate) return this.#last.place;
    const { checkpoint, treeSize, trustRootVersion } = certificate;
    const name = `${treeSize} ${trustRootVersion} ${checkpoint}`;
    const place = this.#places.get(name) ?? this.#json.length;
    if (place === this.#json.length) {
      this.#places.set(name, place);
      this.#json.push({ tree_size: treeSize, checkpoint, trust_root_version: trustRootVersion });
    }
    this.#last = { certificate, place };
    return place;
  }

  /** A whole receipt without what it has of its checkpoint. */
  receiptJson({ leaf, index, inclusion, ...rest }: ReceiptAnswer): SharedReceiptAnswer {
    const { checkpoint, tree_size: treeSize, trust_root_version: trustRootVersion } = rest;
    return { leaf, index, inclusion, checkpoint: this.placeOf({ checkpoint, treeSize, trustRootVersion }) };
  }

  toJson(): NonNullable<CreatedBatchAnswer["checkpoints"]> {
    return this.#json;
  }
}
