/** Signatures of a batch, verified side by side in the thread pool. */
import { verifyAsync } from "@event-anchoring/node-crypto";
import type { SignedMessage } from "@event-anchoring/records";
import type { Findings } from "./findings.ts";

/** Gathers what is to be verified; verdicts come with `settle`. */
export class SignatureChecks {
  readonly #findings: Findings;
  #waiting: { readonly signed: SignedMessage; readonly onVerdict: (isGood: boolean) => void }[] = [];

  constructor(findings: Findings) {
    this.#findings = findings;
  }

  add(signed: SignedMessage, onVerdict: (isGood: boolean) => void): void {
    this.#waiting.push({ signed, onVerdict });
  }

  /** Verdicts are reported in the order of the calls. */
  async settle(): Promise<void> {
    const waiting = this.#waiting;
    this.#waiting = [];
    const verdicts = await Promise.all(
      waiting.map(({ signed: { publicKey, message, signature } }) => verifyAsync(publicKey, message, signature)),
    );
    this.#findings.checked.signatures += waiting.length;
    for (const [place, { onVerdict }] of waiting.entries()) onVerdict(verdicts[place] === true);
  }
}
