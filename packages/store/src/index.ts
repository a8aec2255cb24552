export type { DatabaseUsage } from "./database-usage.ts";
export { StoreError } from "./errors.ts";
export type { StoreErrorCode } from "./errors.ts";
export { migrate } from "./migrate.ts";
export { IdentityStore } from "./identity.ts";
export type { Identity, IdentityState } from "./identity.ts";
export { RaftLog } from "./raft-log.ts";
export type { AppendRequest } from "./raft-log.ts";
export type { LoadedRaftLog } from "./raft-log-reads.ts";
export { LedgerStore } from "./ledger-store.ts";
export type { AppliedEntry, LoadedLedger } from "./ledger-store.ts";
export { PAGE_ROWS_MAX, Reads } from "./reads.ts";
export type { ReadDirection, StoredOriginHead, StoredTrustRootRow } from "./reads.ts";
export type { EventFilter } from "./record-reads.ts";
export type { ReadPoolOptions } from "./read-pool.ts";
export type { StoredAnchor } from "./read-rows.ts";
export { SnapshotExport, exportSnapshot } from "./snapshot-export.ts";
export { SNAPSHOT_CHUNK_BYTES } from "./snapshot-format.ts";
export type { SnapshotManifest } from "./snapshot-format.ts";
export { StateHold } from "./state-point.ts";
export type { HeldState, SignedStatePoint } from "./state-point.ts";
export { installSnapshot } from "./snapshot-install.ts";
export type { InstallSnapshotOptions, InstalledSnapshot, SnapshotChecks, SnapshotOrigin } from "./snapshot-install.ts";
export { fsckDatabase } from "./fsck/fsck-database.ts";
export { ScrubWalk } from "./fsck/scrub-walk.ts";
export type { ScrubStep } from "./fsck/scrub-walk.ts";
export { fsckRecords } from "./fsck/fsck-records.ts";
export { describeDifference } from "./fsck/findings.ts";
export type { Difference } from "./fsck/findings.ts";
export type { FsckProgress, FsckReport } from "./fsck/options.ts";
export { BackupError } from "./backup/backup-error.ts";
export type { BackupCode } from "./backup/backup-error.ts";
export type { BackupManifest } from "./backup/backup-format.ts";
export { BackupFile } from "./backup/backup-file.ts";
export { writeBackup } from "./backup/write-backup.ts";
export type { WrittenBackup } from "./backup/write-backup.ts";
export { scanBackup } from "./backup/scan-backup.ts";
export type { AskedHead, ScannedBackup } from "./backup/scan-backup.ts";
export { restoreBackup } from "./backup/restore-backup.ts";
export type { RestoreBackupOptions } from "./backup/restore-backup.ts";
export type { Restoration } from "./backup/restoration.ts";
export {
  SLOT_CLASS_MAX,
  brokenPromise,
  decodePromises,
  encodePromises,
  encodeSlot,
  readSlot,
  slotBytesOf,
  slotClassFor,
  slotOffsetOf,
  furthest,
  isBefore,
} from "./promises/promise-codec.ts";
export type { PeerPromises, Promises, SignedHead, SignedState } from "./promises/promise-codec.ts";
export { newestSlot } from "./promises/promise-slots.ts";
export type { SlotPosition } from "./promises/promise-slots.ts";
export { PromiseReadError, readPromises } from "./promises/read-promises.ts";
