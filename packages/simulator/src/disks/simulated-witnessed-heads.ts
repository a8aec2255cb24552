import type { OpenStorage, WitnessedHeadStorage } from "@event-anchoring/control-plane";
import { nodeCrypto } from "@event-anchoring/node-crypto";
import { RecentTree, bytesToHex, emptyFrontier, proveConsistency } from "@event-anchoring/protocol";
import { StoreError, type StoredWitnessedHead } from "@event-anchoring/store";
import type { SimulatedProcess } from "../world/simulated-process.ts";
import type { AppliedRow } from "./database-image.ts";
import { originRowsOf } from "./stored-ledger.ts";

const { sha256 } = nodeCrypto;
const STATEMENT_MS = 1;

/** A machine's table of witnessed heads. It survives kills and lost power. */
export class SimulatedWitnessedHeads {
  readonly #heads = new Map<string, readonly StoredWitnessedHead[]>();

  /** @param applied what the database's tables hold, of which proofs are made */
  open(
    process: SimulatedProcess,
    applied: () => readonly AppliedRow[],
  ): Pick<OpenStorage, "witnessedHeads" | "loadedWitnessed"> {
    const inTime = <T>(work: () => T): Promise<T> =>
      new Promise((resolve, reject) => {
        process.later(STATEMENT_MS, () => {
          try {
            resolve(work());
          } catch (error) {
            reject(error instanceof Error ? error : new Error(String(error)));
          }
        });
      });
    const witnessedHeads: WitnessedHeadStorage = {
      replace: (origin, heads) => inTime(() => void this.#heads.set(bytesToHex(origin), heads)),
      proveGrowth: (origin, oldSize, treeSize) =>
        inTime(() => {
          const decisions = applied().map(({ decision }) => decision);
          const { leaves = [] } = originRowsOf(decisions).get(bytesToHex(origin)) ?? {};
          return growthOf(leaves, oldSize, treeSize);
        }),
    };
    return { witnessedHeads, loadedWitnessed: { heads: [...this.#heads.values()].flat(), unreadable: 0 } };
  }
}

/** @throws StoreError `out_of_order`: there are not as many leaves */
export function growthOf(leaves: readonly Uint8Array[], oldSize: number, treeSize: number): Uint8Array[] {
  if (oldSize === 0 || oldSize === treeSize) return [];
  if (leaves.length < treeSize) throw new StoreError("out_of_order", `the origin has no ${treeSize} leaves`);
  const tree = new RecentTree(emptyFrontier(), sha256);
  for (const leaf of leaves) tree.append(leaf);
  const hashAt = (level: number, index: number): Uint8Array => {
    const hash = tree.subtree(level, index);
    if (hash === undefined) throw new StoreError("out_of_order", `subtree (${level}, ${index}) is missing`);
    return hash;
  };
  return proveConsistency(oldSize, treeSize, hashAt, sha256);
}
