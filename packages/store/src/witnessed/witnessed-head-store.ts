import { nodeCrypto } from "@event-anchoring/node-crypto";
import { proveConsistency, subtreesForConsistency } from "@event-anchoring/protocol";
import type { OriginFingerprint } from "@event-anchoring/protocol";
import { Connection } from "../postgres/connection.ts";
import { INDEXED_PLANS } from "../postgres/indexed-plans.ts";
import { assertMigrated } from "../postgres/migrate.ts";
import { loadProofHashes } from "../reads/proof-hashes.ts";
import { loadWitnessedHeads, replaceWitnessedHeads } from "../tables/witnessed-heads.ts";
import type { LoadedWitnessedHeads, StoredWitnessedHead } from "../tables/witnessed-heads.ts";

/**
 * What witnesses have cosigned, and the consistency proofs that they ask for. A session of its own: neither the log nor
 * the tables wait for a statement of it.
 */
export class WitnessedHeadStore {
  readonly #connection: Connection;

  private constructor(connection: Connection) {
    this.#connection = connection;
  }

  /** @throws StoreError `unavailable`, `schema` */
  static async open({ url }: { readonly url: string }): Promise<WitnessedHeadStore> {
    const connection = await Connection.open({
      url,
      name: "event-anchoring witnessed heads",
      settings: { ...INDEXED_PLANS, synchronous_commit: "on" },
    });
    try {
      await assertMigrated(connection);
    } catch (cause) {
      await connection.close();
      throw cause;
    }
    return new WitnessedHeadStore(connection);
  }

  /** Called at most once, when the session is lost; never because of close(). */
  onLost(handler: (cause: Error) => void): void {
    this.#connection.onLost(handler);
  }

  async load(): Promise<LoadedWitnessedHeads> {
    return loadWitnessedHeads(this.#connection);
  }

  /** Makes these the heads of the origin; durable when it resolves. @throws StoreError */
  async replace(origin: OriginFingerprint, heads: readonly StoredWitnessedHead[]): Promise<void> {
    await replaceWitnessedHeads(this.#connection, origin, heads);
  }

  /**
   * That the first `oldSize` leaves of an origin begin its first `treeSize` ones (RFC 6962).
   * @throws StoreError `out_of_order` if the tables do not hold that many leaves
   */
  async proveGrowth(origin: OriginFingerprint, oldSize: number, treeSize: number): Promise<Uint8Array[]> {
    // The empty tree begins every tree, and a tree begins itself: there is nothing to prove.
    if (oldSize === 0 || oldSize === treeSize) return [];
    const subtrees = subtreesForConsistency(oldSize, treeSize);
    const hashes = await loadProofHashes(this.#connection, [{ originFingerprint: origin, subtrees }]);
    return proveConsistency(oldSize, treeSize, hashes.hashAt(origin), nodeCrypto.sha256);
  }

  async close(): Promise<void> {
    await this.#connection.close();
  }
}
