import { bytesToHex, toOriginFingerprint } from "@event-anchoring/protocol";
import type { OriginFingerprint } from "@event-anchoring/protocol";
import { StoreError } from "../postgres/errors.ts";

/** The short numbers that stand for origins in this database's tables. They are never reused and never change. */
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

  /** @throws StoreError `corrupt`: a row names an origin that has no row itself */
  fingerprintOf(number: number): OriginFingerprint {
    const found = this.#fingerprints.get(number);
    if (found === undefined) throw new StoreError("corrupt", `a row names the unknown origin ${number}`);
    return found;
  }

  /** The number a new origin would get. */
  get next(): number {
    return Math.max(0, ...this.#fingerprints.keys()) + 1;
  }
}
