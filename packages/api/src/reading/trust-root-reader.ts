import { verifyTrustRootChain } from "@event-anchoring/protocol";
import type { Crypto, TrustRootChain } from "@event-anchoring/protocol";
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
    const verification = verifyTrustRootChain({ documents, pinnedRootThk }, this.#crypto);
    if (verification.result === "refused") {
      throw new RefusedError("unavailable", `trust root ${verification.position}: ${verification.detail}`);
    }
    this.#chain = verification.chain;
    return verification.chain;
  }
}
