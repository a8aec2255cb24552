export type { DatabaseUsage } from "./reads/database-usage.ts";
export { StoreError } from "./postgres/errors.ts";
export type { StoreErrorCode } from "./postgres/errors.ts";
export { migrate } from "./postgres/migrate.ts";
export { IdentityStore } from "./log/identity.ts";
export type { Identity, IdentityState } from "./log/identity.ts";
export { RaftLog } from "./log/raft-log.ts";
export type { AppendRequest } from "./log/raft-log.ts";
export type { LoadedRaftLog } from "./log/raft-log-reads.ts";
export { LedgerStore } from "./ledger/ledger-store.ts";
export type { AppliedEntry, ApplyRequest, LoadedLedger } from "./ledger/ledger-store.ts";
export { addsRowsOnly } from "./ledger/apply.ts";
export { PAGE_ROWS_MAX, Reads } from "./reads/reads.ts";
export type { ReadDirection, StoredOriginHead } from "./reads/reads.ts";
export type { StoredTrustRootRow } from "./tables/trust-roots.ts";
export type { EventFilter } from "./reads/event-lists.ts";
export type { GrantHistoryFilter } from "./reads/record-histories.ts";
export type { ReadPoolOptions } from "./reads/read-pool.ts";
export type { StoredAnchor } from "./tables/anchors.ts";
export { exportInProcess } from "./snapshot/export-process.ts";
export { SnapshotExport, exportSnapshot } from "./snapshot/snapshot-export.ts";
export { SNAPSHOT_CHUNK_BYTES } from "./snapshot/snapshot-format.ts";
export type { SnapshotManifest } from "./snapshot/snapshot-format.ts";
export { StateHold } from "./snapshot/state-point.ts";
export type { HeldState, SignedStatePoint } from "./snapshot/state-point.ts";
export { installSnapshot } from "./snapshot/snapshot-install.ts";
export type {
  InstallSnapshotOptions,
  InstalledSnapshot,
  SnapshotChecks,
  SnapshotOrigin,
} from "./snapshot/snapshot-install.ts";
export { fsckDatabase } from "./fsck/fsck-database.ts";
export { ScrubWalk } from "./fsck/scrub-walk.ts";
export type { ScrubWalkOptions } from "./fsck/scrub-walk.ts";
export type { ScrubStep } from "./fsck/scrub-walk.ts";
export { fsckRecords } from "./fsck/fsck-records.ts";
export { describeDifference } from "./fsck/findings.ts";
export type { Difference } from "./fsck/findings.ts";
export type { FsckProgress, FsckReport } from "./fsck/options.ts";
export { BackupError } from "./backup/backup-error.ts";
export type { BackupCode } from "./backup/backup-error.ts";
export type { BackupManifest } from "./backup/backup-format.ts";
export { BackupFile } from "./backup/backup-file.ts";
export { streamBackup, writeBackup } from "./backup/write-backup.ts";
export type { WrittenBackup } from "./backup/write-backup.ts";
export { withScratchDatabase } from "./backup/scratch-database.ts";
export { scanBackup } from "./backup/scan-backup.ts";
export type { AskedHead, ScannedBackup } from "./backup/scan-backup.ts";
export { restoreBackup } from "./backup/restore-backup.ts";
export type { RestoreBackupOptions } from "./backup/restore-backup.ts";
export type { Restoration } from "./tables/restoration.ts";
export { WitnessedHeadStore } from "./witnessed/witnessed-head-store.ts";
export type { LoadedWitnessedHeads, StoredWitnessedHead } from "./tables/witnessed-heads.ts";
