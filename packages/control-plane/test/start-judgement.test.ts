import { describe, expect, test } from "@jest/globals";
import type { Identity, LoadedRaftLog } from "@event-anchoring/store";
import type { PromiseVolume } from "../src/promises/promise-volume.ts";
import { PromiseFile, PromiseFileError, type SlotIo } from "../src/promises/promise-file.ts";
import { PromiseKeeper } from "../src/promises/promises.ts";
import { FencedError, openPromises } from "../src/promises/start-judgement.ts";
import type { IdentityStorage } from "../src/ports/storage.ts";
import { ceremonyOf, identityOf } from "./ceremony.ts";

const identity = identityOf(ceremonyOf(["a", "b", "c"]), "a");
const random = { fill: (bytes: Uint8Array) => void bytes.fill(5) };
const EMPTY_LOG: LoadedRaftLog = {
  hardState: null,
  compacted: { index: 0, term: 0 },
  entries: [],
  commitHint: 0,
  systemIdentifier: "1",
  timeline: 1,
  walFlushed: 10n,
};

/** Slots in memory; a volume over them, as often as it is opened. */
function memoryVolume(): PromiseVolume & { rotNewest(): void } {
  let bytes = new Uint8Array(0);
  let newest = 0;
  const io: SlotIo = {
    read: async () => Uint8Array.from(bytes),
    writeSlot: async (offset, slot) => {
      const grown = new Uint8Array(Math.max(bytes.length, offset + slot.length));
      grown.set(bytes);
      grown.set(slot, offset);
      bytes = grown;
      newest = offset;
    },
    sync: async () => {},
    close: async () => {},
  };
  return {
    rotNewest: () => {
      const at = newest + 100;
      bytes[at] = (bytes[at] ?? 0) ^ 1;
    },
    open: async () => {
      if (bytes.length === 0) throw new PromiseFileError("missing", "there is no file");
      return PromiseFile.openOn(io);
    },
    create: (promises) => PromiseFile.createOn(io, promises),
  };
}

function memoryIdentity(): IdentityStorage {
  let row: Identity | null = null;
  return {
    load: async () => row,
    insert: async (inserted) => {
      row = { ...inserted, state: "new" };
    },
    advance: async (from) => {
      if (row !== null) row = { ...row, state: from === "new" ? "paired" : "running" };
    },
  };
}

describe("opening the promise file at a start", () => {
  const open = async (
    volume: PromiseVolume,
    store: IdentityStorage,
    log: LoadedRaftLog,
  ): Promise<PromiseFile["current"]> => {
    const { file } = await openPromises({ identity, volume, random, identityStore: store, log, restoration: null });
    await file.close();
    return file.current;
  };

  test("makes the pair the first time, and takes a new incarnation every time", async () => {
    const [volume, store] = [memoryVolume(), memoryIdentity()];
    expect(await open(volume, store, EMPTY_LOG)).toMatchObject({ incarnation: 1, pairId: new Uint8Array(16).fill(5) });
    expect(await store.load()).toMatchObject({ state: "running", pairId: new Uint8Array(16).fill(5) });
    expect(await open(volume, store, EMPTY_LOG)).toMatchObject({ incarnation: 2 });
  });

  test("takes over a vote that the database committed and the file never heard of", async () => {
    const [volume, store] = [memoryVolume(), memoryIdentity()];
    expect(await open(volume, store, EMPTY_LOG)).toMatchObject({ term: 0, vote: 0n });
    const voted: LoadedRaftLog = { ...EMPTY_LOG, hardState: { term: 3, vote: 7n, commit: 0 }, walFlushed: 20n };
    expect(await open(volume, store, voted)).toMatchObject({ term: 3, vote: 7n });
    // From then on a database that has lost the vote is noticed without a peer.
    const setBack = open(volume, store, { ...EMPTY_LOG, walFlushed: 30n });
    await expect(setBack).rejects.toThrow(FencedError);
    await expect(setBack).rejects.toMatchObject({ reason: { code: "hard_state_went_back" } });
  });

  test("takes over what the log holds beyond the file's last record", async () => {
    const [volume, store] = [memoryVolume(), memoryIdentity()];
    await open(volume, store, EMPTY_LOG);
    const entries = [{ index: 1, term: 1, type: "normal" as const, payloadBytes: 0 }];
    const longer: LoadedRaftLog = { ...EMPTY_LOG, hardState: { term: 1, vote: 0n, commit: 0 }, entries };
    expect(await open(volume, store, longer)).toMatchObject({ lastAppend: { index: 1, term: 1 } });
    await expect(open(volume, store, { ...longer, entries: [] })).rejects.toMatchObject({
      reason: { code: "log_went_back" },
    });
  });

  test("does not know what a rotten newest slot held, until a peer has said that nothing is missing", async () => {
    const [volume, store] = [memoryVolume(), memoryIdentity()];
    await open(volume, store, EMPTY_LOG);
    expect(await open(volume, store, EMPTY_LOG)).toMatchObject({ incarnation: 2, mayLackNewest: false });
    volume.rotNewest();
    // Incarnation 2 may have spoken to somebody: it is not taken again.
    expect(await open(volume, store, EMPTY_LOG)).toMatchObject({ incarnation: 3, mayLackNewest: true });
    expect(await open(volume, store, EMPTY_LOG)).toMatchObject({ incarnation: 4, mayLackNewest: true });
    const { file } = await openPromises({
      identity,
      volume,
      random,
      identityStore: store,
      log: EMPTY_LOG,
      restoration: null,
    });
    const keeper = new PromiseKeeper(file);
    keeper.confirm();
    await keeper.promiseVote({ term: 1, vote: 7n });
    const voted: LoadedRaftLog = { ...EMPTY_LOG, hardState: { term: 1, vote: 7n, commit: 0 } };
    expect(await open(volume, store, voted)).toMatchObject({ incarnation: 6, mayLackNewest: false });
  });

  test("lets a log end lower than it did if that was promised, and remembers how far it had reached", async () => {
    const [volume, store] = [memoryVolume(), memoryIdentity()];
    const hardState = { term: 6, vote: 0n, commit: 0 };
    const meta = (index: number, term: number) => ({ index, term, type: "normal" as const, payloadBytes: 0 });
    const before: LoadedRaftLog = { ...EMPTY_LOG, hardState, entries: [meta(1, 4), meta(2, 5), meta(3, 5)] };
    const start = { identity, volume, random, identityStore: store, restoration: null };
    await open(volume, store, EMPTY_LOG);
    const { file } = await openPromises({ ...start, log: before });
    await new PromiseKeeper(file).promiseRetreat({ index: 2, term: 4 });
    await file.close();
    const after: LoadedRaftLog = { ...before, entries: [meta(1, 4), meta(2, 4)] };
    expect(await open(volume, store, after)).toMatchObject({
      lastAppend: { index: 2, term: 4 },
      reached: { index: 3, term: 5 },
    });
    await expect(open(volume, store, { ...before, entries: [meta(1, 4)] })).rejects.toMatchObject({
      reason: { code: "log_went_back" },
    });
  });

  test("never makes a new file for a database that has run", async () => {
    const store = memoryIdentity();
    await open(memoryVolume(), store, EMPTY_LOG);
    await expect(open(memoryVolume(), store, EMPTY_LOG)).rejects.toMatchObject({
      reason: { code: "promise_file_missing" },
    });
  });
});
