import { extendTrustRootChain, verifyTrustRootChain } from "@event-anchoring/protocol";
import type { Crypto, TrustRootChain, TrustRootVerification } from "@event-anchoring/protocol";
import { RefusedError } from "../control-plane/control-plane.ts";
import type { ConsistentRead } from "./consistent-read.ts";

/** The trust-root versions of the log, verified once each: a version never changes and never disappears. */
export class TrustRootReader {
  readonly #crypto: Crypto;
  readonly #pinnedRootThk: Uint8Array | null;
  #chain: TrustRootChain | null = null;

  /** @param pinnedRootThk of version 1; null = the one in the log, which the control plane has compared with its pin */
  constructor(crypto: Crypto, pinnedRootThk: Uint8Array | null) {
    this.#crypto = crypto;
    this.#pinnedRootThk = pinnedRootThk;
  }

  /**
   * All versions applied, the one in force at the read among them.
   * @throws RefusedError `not_initialised` before genesis, `unavailable` if the chain in the tables does not verify
   */
  async chain(read: ConsistentRead): Promise<TrustRootChain> {
    const held = this.#chain;
    if (held !== null && held.newest.trustRoot.version >= read.trustRootVersion) return held;
    const { trustRoots } = await read.select((reads) => reads.trustRoots());
    const [first] = trustRoots;
    if (first === undefined) throw new RefusedError("not_initialised", "no trust root is applied");
    const documents = trustRoots.map(({ document }) => document);
    const pinnedRootThk = this.#pinnedRootThk ?? first.rootThk;
    // Another read may have got further meanwhile.
    const chain = this.#chain ?? verified(verifyTrustRootChain({ documents, pinnedRootThk }, this.#crypto));
    this.#chain = documents
      .slice(chain.versions.length)
      .reduce((longer, document) => verified(extendTrustRootChain(longer, document, this.#crypto)), chain);
    return this.#chain;
  }
}

function verified(verification: TrustRootVerification): TrustRootChain {
  if (verification.result === "verified") return verification.chain;
  throw new RefusedError("unavailable", `trust root ${verification.position}: ${verification.detail}`);
}
