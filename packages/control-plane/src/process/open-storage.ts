import type { Certificate } from "@event-anchoring/ledger";
import {
  IdentityStore,
  LedgerStore,
  type LoadedLedger,
  RaftLog,
  Reads,
  WitnessedHeadStore,
  migrate,
} from "@event-anchoring/store";
import type { OpenStorage } from "../ports/storage.ts";

export interface StorageOptions {
  readonly url: string;
  readonly readOnlyRole: string | undefined;
  /** A connection was lost: what was written last is unknown until everything is loaded again. */
  readonly onLost: (cause: Error) => void;
}

/** @throws StoreError */
export async function openStorage({ url, readOnlyRole, onLost }: StorageOptions): Promise<OpenStorage> {
  await migrate(url, readOnlyRole === undefined ? {} : { readOnlyRole });
  const opened: { close(): Promise<void> }[] = [];
  const close = async (): Promise<void> => {
    await Promise.all(opened.map((part) => part.close()));
  };
  try {
    const log = await RaftLog.open({ url });
    opened.push(log);
    const ledger = await LedgerStore.open({ url });
    opened.push(ledger);
    const identityStore = await IdentityStore.open({ url });
    opened.push(identityStore);
    const witnessedHeads = await WitnessedHeadStore.open({ url });
    opened.push(witnessedHeads);
    const restoration = await identityStore.loadRestoration();
    const loadedLog = await log.load();
    const loadedLedger = await ledger.load();
    const recorded = await loadRecorded(url, loadedLedger);
    const loadedWitnessed = await witnessedHeads.load();
    log.onLost(onLost);
    ledger.onLost(onLost);
    witnessedHeads.onLost(onLost);
    const loaded = { loadedLog, loadedLedger, recorded, loadedWitnessed, restoration };
    return { log, ledger, identityStore, witnessedHeads, ...loaded, close };
  } catch (error) {
    await close();
    throw error;
  }
}

async function loadRecorded(url: string, loaded: LoadedLedger): Promise<readonly Certificate[]> {
  const reads = await Reads.open({ url, max: 1 });
  try {
    const recorded: Certificate[] = [];
    for (const { originFingerprint, certified } of loaded.ledger.origins) {
      if (certified === null) continue;
      const { certificate } = await reads.latestCertificate(originFingerprint);
      if (certificate !== null) recorded.push(certificate);
    }
    return recorded;
  } finally {
    await reads.close();
  }
}
