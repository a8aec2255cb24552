import type { TrustRootChain } from "@event-anchoring/protocol";
import type { ConfState, RaftId } from "raft-ts";
import type { Reader } from "../postgres/connection.ts";
import { StoreError } from "../postgres/errors.ts";
import { migrate } from "../postgres/migrate.ts";
import { installSnapshot } from "../snapshot/snapshot-install.ts";
import type { InstalledSnapshot } from "../snapshot/snapshot-install.ts";
import { BackupError } from "./backup-error.ts";
import type { BackupFile } from "./backup-file.ts";
import { insertRestoration } from "../tables/restoration.ts";

export interface RestoreBackupOptions {
  /** An empty database, connecting as its owner. */
  readonly url: string;
  readonly file: BackupFile;
  /** The node that the database is for. */
  readonly nodeId: string;
  /** Throwing refuses the backup; the caller gets that very error. Called before any leaf is read. */
  readonly judgeChain: (chain: TrustRootChain) => void;
  /**
   * `unsigned`: a backup without a state head is accepted too, on the operator's word; one that differs from its state
   * head never is.
   */
  readonly signers: "quorum" | "unsigned";
  /** A new group's voters and the signed trust roots that it applies first; null: the node joins the living group. */
  readonly newGroup: { readonly voters: readonly RaftId[]; readonly trustRoots: readonly string[] } | null;
  readonly onProgress?: (bytes: number, ofBytes: number) => void;
}

/**
 * Puts the state of a backup into an empty database, in the place of a first snapshot: the log begins after its entry.
 * It is all or nothing. It does not touch keys or the promise file.
 * @throws BackupError; StoreError, as installSnapshot and migrate; whatever judgeChain throws
 */
export async function restoreBackup(options: RestoreBackupOptions): Promise<InstalledSnapshot> {
  const { url, file, nodeId, newGroup, judgeChain } = options;
  if (options.signers === "quorum" && !file.manifest.isSigned) {
    const what = "no quorum has signed which API keys, members and endings it holds";
    throw new BackupError("unsigned", what);
  }
  const manifest = await file.assertIntact(options.onProgress);
  await migrate(url);
  const { raftIndex: index, raftTerm: term, effect } = manifest;
  return installSnapshot({
    url,
    manifest,
    chunks: file.pieces(),
    // A backup that claims to be signed must be.
    signers: file.manifest.isSigned ? "quorum" : options.signers,
    checks: {
      trustRoots: (chain) => {
        if (chain !== null) judgeChain(chain);
      },
      origin: () => {},
    },
    ...(newGroup === null ? {} : { confState: votersAlone(newGroup.voters) }),
    before: async (session) => {
      await assertUnused(session);
      await insertRestoration(session, {
        scope: newGroup === null ? "node" : "cluster",
        nodeId,
        backupSha256: file.sha256,
        point: { index, term },
        effect,
        trustRoots: newGroup?.trustRoots ?? [],
      });
    },
  });
}

function votersAlone(ids: readonly RaftId[]): ConfState {
  const voters = ids.toSorted((a, b) => (a < b ? -1 : 1));
  return { voters, votersOutgoing: [], learners: [], learnersNext: [], autoLeave: false };
}

/** A database that has belonged to a node, or holds any state, is never overwritten. */
async function assertUnused(session: Reader): Promise<void> {
  const [used] = await session.read<{ node_id: string | null; index: number; log: number; restored: string | null }>({
    text: `SELECT (SELECT node_id FROM node.identity) AS node_id, (SELECT applied_index FROM state.ledger) AS index,
      (SELECT count(*) FROM node.raft_log) + (SELECT count(*) FROM node.raft_state) AS log,
      (SELECT node_id FROM node.restoration) AS restored`,
  });
  if (used === undefined) throw new StoreError("corrupt", "the database does not answer");
  const why =
    used.node_id !== null
      ? `it belongs to node ${used.node_id}`
      : used.restored !== null
        ? `a backup was put into it already, for node ${used.restored}`
        : used.index > 0 || used.log > 0
          ? "it holds a log or a state"
          : null;
  if (why !== null) throw new BackupError("not_empty", `the database is in use: ${why}. Make an empty one`);
}
