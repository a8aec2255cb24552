import type { OpenExport } from "@event-anchoring/control-plane";
import { restoreLedgerState } from "@event-anchoring/ledger";
import { nodeCrypto } from "@event-anchoring/node-crypto";
import { bytesToHex } from "@event-anchoring/protocol";
import { type InstallSnapshotOptions, type InstalledSnapshot, StoreError } from "@event-anchoring/store";
import type { Bugs } from "./planted-bugs.ts";
import { simulatedCrypto } from "./simulated-crypto.ts";
import type { AppliedRow } from "./database-parts.ts";
import type { SimulatedDatabase } from "./simulated-database.ts";
import type { Seeded } from "./seeded.ts";
import { originRowsOf, rootIn, storedLedgerOf } from "./stored-ledger-of.ts";

/** States on their way from one machine to another. */
export class SimulatedSnapshots {
  readonly #random: Seeded;
  readonly #bugs: Bugs;
  readonly #states = new Map<string, readonly AppliedRow[]>();

  constructor(random: Seeded, bugs: Bugs) {
    this.#random = random;
    this.#bugs = bugs;
  }

  async export(database: SimulatedDatabase): Promise<OpenExport> {
    const applied = this.#bugs.has("snapshot_below_promise") ? shortened(database.applied) : [...database.applied];
    const last = applied.at(-1)?.decision;
    if (last === undefined) throw new StoreError("unavailable", "there is no state yet");
    const snapshotId = new Uint8Array(16);
    this.#random.fill(snapshotId);
    const key = bytesToHex(snapshotId);
    this.#states.set(key, applied);
    const chunk = snapshotId;
    const chunkHash = nodeCrypto.sha256(chunk);
    const { index: raftIndex, term: raftTerm, effect } = last;
    return {
      manifest: {
        snapshotId,
        raftIndex,
        raftTerm,
        effect,
        chunkBytes: chunk.length,
        totalBytes: chunk.length,
        chunkHashes: [chunkHash],
        wholeHash: chunkHash,
      },
      chunk: async () => chunk,
      close: async () => {
        this.#states.delete(key);
      },
    };
  }

  async install(
    database: SimulatedDatabase,
    { manifest, chunks, checks, ruleTable }: Omit<InstallSnapshotOptions, "url">,
  ): Promise<InstalledSnapshot> {
    const received: Uint8Array[] = [];
    for await (const chunk of chunks) received.push(chunk);
    const applied = this.#states.get(bytesToHex(received[0] ?? new Uint8Array()));
    if (applied === undefined) throw new StoreError("snapshot_refused", "these are not the chunks of an export");
    const decisions = applied.map(({ decision }) => decision);
    await checks.trustRoots(restoreLedgerState(storedLedgerOf(decisions), simulatedCrypto, ruleTable).trustRootChain);
    for (const { originFingerprint, leaves } of originRowsOf(decisions).values()) {
      const rootAt = async (treeSize: number): Promise<Uint8Array> => {
        const root = rootIn(decisions, originFingerprint, treeSize);
        if (root === null) throw new StoreError("out_of_order", `the origin has no ${treeSize} leaves`);
        return root;
      };
      if (this.#bugs.has("snapshot_below_promise")) continue;
      await checks.origin({
        originFingerprint,
        treeSize: leaves.length,
        rootHash: await rootAt(leaves.length),
        rootAt,
      });
    }
    if (database.appliedIndex >= manifest.raftIndex) {
      throw new StoreError("snapshot_refused", "the state here is newer");
    }
    const point = { index: manifest.raftIndex, term: manifest.raftTerm };
    database.install(applied, point, this.#bugs.has("snapshot_without_lookups"));
    const confState = { voters: [], votersOutgoing: [], learners: [], learnersNext: [], autoLeave: false };
    return { point, confState };
  }
}

const ENTRIES_LOST = 30;

/** A planted bug: an older state under the newest entry's number. */
function shortened(applied: readonly AppliedRow[]): AppliedRow[] {
  const newest = applied.at(-1);
  const older = applied.slice(0, Math.max(4, applied.length - ENTRIES_LOST));
  const last = older.pop();
  if (newest === undefined || last === undefined) return [];
  const { index, term } = newest.decision;
  return [...older, { ...last, decision: { ...last.decision, index, term } }];
}
