import type { TrustRootAnswer } from "@event-anchoring/api-contract";
import { bytesToHex, verifyTrustRootChain } from "@event-anchoring/protocol";
import type { Crypto, SignedTrustRoot, TrustRootChain } from "@event-anchoring/protocol";
import { ConsistentRead } from "./consistent-read.ts";
import type { Handler } from "./handler.ts";
import { RefusedError } from "./ports.ts";

/** The trust-root versions of the log, verified once each: a version never changes and never disappears. */
export class TrustRootReader {
  readonly #crypto: Crypto;
  readonly #pinnedRootThk: Uint8Array | null;
  #chain: TrustRootChain | null = null;

  /** @param pinnedRootThk of version 1; null = as the log has it, which the control plane has held against its pin */
  constructor(crypto: Crypto, pinnedRootThk: Uint8Array | null) {
    this.#crypto = crypto;
    this.#pinnedRootThk = pinnedRootThk;
  }

  /**
   * All versions applied, the one in force at the read among them.
   * @throws RefusedError `not_initialised` before genesis, `unavailable` if the chain of the tables does not verify
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

function versionJson(signed: SignedTrustRoot) {
  return {
    version: signed.trustRoot.version,
    root_thk: bytesToHex(signed.rootThk),
    document: signed.note,
  };
}

/** The chain authenticates itself from the version a client has pinned, so it needs no key. */
export const getTrustRoot: Handler = async (request, dependencies) => {
  const read = await ConsistentRead.begin(dependencies, "none", request.deadline);
  const { versions, newest } = await dependencies.trustRoots.chain(read);
  const json: TrustRootAnswer = { ...versionJson(newest), chain: versions.map(versionJson) };
  return { status: 200, json };
};
