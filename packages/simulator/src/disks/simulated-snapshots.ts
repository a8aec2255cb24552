import type { OpenExport, OpenStateHold } from "@event-anchoring/control-plane";
import { type LedgerState, type RuleTable, restoreLedgerState, stateHeadOf } from "@event-anchoring/ledger";
import { nodeCrypto } from "@event-anchoring/node-crypto";
import {
  StateHeadError,
  type TrustRootChain,
  type VerifiedStateHead,
  bytesToHex,
  formatStateHead,
  hexToBytes,
  honestSigners,
  raftIdOf,
  verifyStateHead,
} from "@event-anchoring/protocol";
import {
  type InstallSnapshotOptions,
  type InstalledSnapshot,
  type SignedStatePoint,
  type SnapshotManifest,
  StoreError,
} from "@event-anchoring/store";
import type { ConfState, RaftIndex } from "raft-ts";
import { NEXT_RULES } from "@event-anchoring/testkit/records";
import type { Bugs } from "../planted/planted-bugs.ts";
import { simulatedCrypto } from "../trust/simulated-crypto.ts";
import type { AppliedRow, DatabaseImage } from "./database-image.ts";
import type { SimulatedDatabase } from "./simulated-database.ts";
import type { Seeded } from "../world/seeded.ts";
import { SimulatedTables } from "./simulated-tables.ts";
import { originRowsOf, rootIn, storedLedgerOf } from "./stored-ledger.ts";

/** What a database holds of a state. */
type HeldRows = Pick<DatabaseImage, "applied" | "thinned">;

/** A state as it is sent: what was applied, which certificates were deleted since, and the signed state head. */
export interface OfferedState extends HeldRows {
  readonly stateHead: string;
}

/** The session that has given a state. */
export interface StateGiver {
  readonly name: string;
  readonly lives: () => boolean;
  /** Its log begins after this entry. */
  readonly compactedTo: () => RaftIndex;
}

const NOTHING_HELD: HeldRows = { applied: [], thinned: new Set() };

/** What follows from all that was applied. */
export function stateOf(
  applied: readonly AppliedRow[],
  ruleTable: RuleTable = NEXT_RULES,
): { readonly ledger: LedgerState; readonly stateRoot: Uint8Array } {
  const tables = new SimulatedTables();
  for (const { decision } of applied) tables.apply(decision);
  const decisions = applied.map(({ decision }) => decision);
  const ledger = restoreLedgerState(storedLedgerOf(decisions), simulatedCrypto, ruleTable);
  return { ledger, stateRoot: tables.stateRoot };
}

/** Null: no node has joined or left. */
export function membersOf(applied: readonly AppliedRow[]): ConfState | null {
  return applied.findLast(({ confState }) => confState !== null)?.confState ?? null;
}

/** States on their way from one machine to another. */
export class SimulatedSnapshots {
  readonly #random: Seeded;
  readonly #bugs: Bugs;
  readonly #held = new Map<string, HeldRows>();
  readonly #states = new Map<string, OfferedState>();
  /** By snapshot id. */
  readonly #givers = new Map<string, StateGiver>();

  constructor(random: Seeded, bugs: Bugs) {
    this.#random = random;
    this.#bugs = bugs;
  }

  /** Pins what a database has applied, as of the moment it is asked to. */
  hold(database: SimulatedDatabase): OpenStateHold {
    const databaseSnapshot = this.#name();
    return {
      hold: async () => {
        const applied = this.#bugs.has("snapshot_below_promise") ? shortened(database.applied) : [...database.applied];
        this.#held.set(databaseSnapshot, { applied, thinned: new Set(database.thinned) });
        return { databaseSnapshot, raftIndex: applied.at(-1)?.decision.index ?? 0 };
      },
      release: async () => {
        this.#held.delete(databaseSnapshot);
      },
    };
  }

  /** @param offered what the machine makes of the state before it leaves */
  async export(
    giver: StateGiver,
    { databaseSnapshot, stateHead }: SignedStatePoint,
    offered: (state: OfferedState) => OfferedState,
  ): Promise<OpenExport> {
    const { applied, thinned } = this.#held.get(databaseSnapshot) ?? NOTHING_HELD;
    const state = offered({ applied, thinned, stateHead });
    const last = state.applied.at(-1)?.decision;
    if (last === undefined) throw new StoreError("unavailable", "there is no state yet");
    const key = this.#name();
    const snapshotId = hexToBytes(key);
    this.#states.set(key, state);
    this.#givers.set(key, giver);
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
      chunk: async (index) => {
        if (index !== 0) throw new RangeError(`no chunk ${index}`);
        return chunk;
      },
      close: async () => {
        this.#states.delete(key);
      },
    };
  }

  /** null: nobody here has given it. */
  giverOf({ snapshotId }: Pick<SnapshotManifest, "snapshotId">): StateGiver | null {
    return this.#givers.get(bytesToHex(snapshotId)) ?? null;
  }

  #name(): string {
    const bytes = new Uint8Array(16);
    this.#random.fill(bytes);
    return bytesToHex(bytes);
  }

  /** @param written resolves when all that was received is written */
  async install(
    database: SimulatedDatabase,
    { manifest, chunks, checks, ruleTable, signers }: Omit<InstallSnapshotOptions, "url">,
    written: () => Promise<void>,
  ): Promise<InstalledSnapshot> {
    const received: Uint8Array[] = [];
    for await (const chunk of chunks) received.push(chunk);
    await written();
    const state = this.#states.get(bytesToHex(received[0] ?? new Uint8Array()));
    if (state === undefined) throw new StoreError("snapshot_refused", "these are not the chunks of an export");
    const { applied, thinned, stateHead } = state;
    const decisions = applied.map(({ decision }) => decision);
    const { ledger, stateRoot } = stateOf(applied, ruleTable);
    await checks.trustRoots(ledger.trustRootChain);
    const confState = membersOf(applied) ?? membersAtBirth(ledger);
    const isUnchecked = this.#bugs.has("snapshot_below_promise") || this.#bugs.has("state_head_not_checked");
    if (!isUnchecked) assertSigned(stateHead, { ledger, stateRoot, members: confState }, signers);
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
    const installed = applied.map((row, at) => (at === applied.length - 1 ? { ...row, confState } : row));
    database.install({ applied: installed, thinned }, point, this.#bugs.has("snapshot_without_lookups"));
    return { point, confState };
  }
}

/** A cluster is born with the active nodes of trust root version 1 as its voters. */
function membersAtBirth({ trustRootChain }: LedgerState): ConfState {
  const root = trustRootChain?.versions[0]?.trustRoot;
  if (root === undefined) throw new StoreError("snapshot_refused", "neither members nor trust root are in it");
  const voters = root.nodes
    .filter(({ status }) => status === "active")
    .map(({ nodeId }) => raftIdOf(root.clusterId, nodeId, nodeCrypto.sha256));
  voters.sort((a, b) => (a < b ? -1 : 1));
  return { voters, votersOutgoing: [], learners: [], learnersNext: [], autoLeave: false };
}

interface UnpackedState {
  readonly ledger: LedgerState;
  readonly stateRoot: Uint8Array;
  readonly members: ConfState;
}

/** As the real installation holds a snapshot against its state head, with the same verifier. */
function assertSigned(
  note: string,
  { ledger, stateRoot, members }: UnpackedState,
  signers: InstallSnapshotOptions["signers"],
): void {
  const newest = ledger.trustRootChain?.newest;
  if (newest === undefined) throw new StoreError("snapshot_refused", "there is no trust root in it");
  const { head } = verifiedHead(note, newest, signers);
  const own = stateHeadOf(ledger, { members, stateRoot });
  if (own === null || formatStateHead(own) !== formatStateHead(head)) {
    throw new StoreError("snapshot_refused", "it differs from the state head that was signed");
  }
  const { clusterId, nodes } = newest.trustRoot;
  const listed = nodes
    .filter(({ status }) => status !== "distrusted")
    .map(({ nodeId }) => raftIdOf(clusterId, nodeId, nodeCrypto.sha256));
  const { voters, votersOutgoing, learners, learnersNext } = members;
  for (const id of [...voters, ...votersOutgoing, ...learners, ...learnersNext]) {
    if (!listed.includes(id)) throw new StoreError("snapshot_refused", `member ${id.toString(16)} is in no trust root`);
  }
}

function verifiedHead(
  note: string,
  newest: TrustRootChain["newest"],
  signers: InstallSnapshotOptions["signers"],
): VerifiedStateHead {
  const { quorum } = newest.trustRoot;
  const signersMin = { quorum, honest: honestSigners(quorum), alone: 1, unsigned: quorum };
  try {
    return verifyStateHead(note, newest, simulatedCrypto, signersMin[signers]);
  } catch (cause) {
    if (!(cause instanceof StateHeadError)) throw cause;
    throw new StoreError("snapshot_refused", `the state head is refused: ${cause.message}`, { cause });
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
