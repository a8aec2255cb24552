import { bytesToHex, toOriginFingerprint } from "@event-anchoring/protocol";
import type { OriginFingerprint } from "@event-anchoring/protocol";
import { StoreError } from "../postgres/errors.ts";

/** The short numbers of origins in this database's tables. They are never reused and never change. */
export class OriginNumbers {
  readonly #numbers = new Map<string, number>();
  readonly #fingerprints = new Map<number, OriginFingerprint>();

  add(number: number, originFingerprint: Uint8Array): void {
    this.#numbers.set(bytesToHex(originFingerprint), number);
    this.#fingerprints.set(number, toOriginFingerprint(originFingerprint));
  }

  copy(): OriginNumbers {
    const copy = new OriginNumbers();
    for (const [number, originFingerprint] of this.#fingerprints) copy.add(number, originFingerprint);
    return copy;
  }

  find(originFingerprint: Uint8Array): number | undefined {
    return this.#numbers.get(bytesToHex(originFingerprint));
  }

  /** The number of each row's origin. @throws StoreError `out_of_order`: an origin was never listed */
  of(rows: readonly { readonly originFingerprint: Uint8Array }[]): number[] {
    const found = new Map<Uint8Array, number>();
    return rows.map(({ originFingerprint }) => {
      // Most rows of an entry share one fingerprint object: the hex look-up is made once for it.
      const known = found.get(originFingerprint) ?? this.find(originFingerprint);
      if (known === undefined) {
        throw new StoreError("out_of_order", `origin ${bytesToHex(originFingerprint)} was never listed`);
      }
      found.set(originFingerprint, known);
      return known;
    });
  }

  /** @throws StoreError `corrupt`: a row names an origin that has no row itself */
  fingerprintOf(number: number): OriginFingerprint {
    const found = this.#fingerprints.get(number);
    if (found === undefined) throw new StoreError("corrupt", `a row names the unknown origin ${number}`);
    return found;
  }

  /** The number that a new origin would get. */
  get next(): number {
    return Math.max(0, ...this.#fingerprints.keys()) + 1;
  }
}
