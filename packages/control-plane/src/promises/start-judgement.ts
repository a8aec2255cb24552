import { furthest } from "@event-anchoring/control-contract";
import { type Identity, type LoadedRaftLog, type Restoration } from "@event-anchoring/store";
import type { RaftIndex, Term } from "raft-ts";
import { type FenceReason, birthStep, judgeStart } from "./fencing.ts";
import type { NodeIdentity } from "../ports/identity.ts";
import type { OpenPromiseFile, PromiseVolume } from "./promise-volume.ts";
import type { Random } from "../ports/environment.ts";
import { PromiseFileError, type Promises } from "./promise-file.ts";
import type { IdentityStorage } from "../ports/storage.ts";

/** The node may not start: it forgot something, or was given something that is not its own. */
export class FencedError extends Error {
  readonly reason: FenceReason;
  constructor(reason: FenceReason) {
    super(`${reason.code}: ${reason.detail}`);
    this.name = "FencedError";
    this.reason = reason;
  }
}

export interface StartOptions {
  readonly identity: NodeIdentity;
  readonly volume: PromiseVolume;
  readonly random: Random;
  readonly identityStore: IdentityStorage;
  readonly log: LoadedRaftLog;
  readonly restoration: Restoration | null;
}

/**
 * Compares the promise file with the database, then takes a new incarnation. The first time, it creates the pair: each
 * step is durable before the next, so that an interrupted setup goes on where it stopped.
 * @throws FencedError, PromiseFileError `locked`, `mode`, `foreign`
 */
export async function openPromises(options: StartOptions): Promise<{ file: OpenPromiseFile; hasDamagedSlot: boolean }> {
  const opened = await openExisting(options.volume);
  let file = opened?.file ?? null;
  try {
    const row = await options.identityStore.load();
    const reason = judgeStart(opened?.promises ?? null, durableState(options, row));
    if (reason !== null) throw new FencedError(reason);
    file = await completeBirth(options, row, file, (created) => (file = created));
    const hasDamagedSlot = opened?.hasDamagedSlot ?? false;
    await file.save(nextIncarnation(file.current, options.log, hasDamagedSlot));
    return { file, hasDamagedSlot };
  } catch (error) {
    await file?.close();
    throw error;
  }
}

async function openExisting(volume: PromiseVolume): Promise<Awaited<ReturnType<PromiseVolume["open"]>> | null> {
  try {
    return await volume.open();
  } catch (error) {
    if (error instanceof PromiseFileError && error.code === "missing") return null;
    if (error instanceof PromiseFileError && error.code === "torn") {
      throw new FencedError({ code: "promise_file_torn", detail: error.message });
    }
    throw error;
  }
}

function durableState(
  { identity, log, restoration }: StartOptions,
  row: Identity | null,
): Parameters<typeof judgeStart>[1] {
  const firstIndex = log.compacted.index + 1;
  return {
    self: { nodeId: identity.nodeId, clusterId: identity.clusterId },
    identity: row,
    hardState: log.hardState,
    lastEntry: log.entries.at(-1) ?? log.compacted,
    compacted: log.compacted,
    termAt: (index: RaftIndex): Term | null => log.entries[index - firstIndex]?.term ?? null,
    systemIdentifier: log.systemIdentifier,
    timeline: log.timeline,
    walFlushed: log.walFlushed,
    restoration,
  };
}

async function completeBirth(
  options: StartOptions,
  row: Identity | null,
  existing: OpenPromiseFile | null,
  onCreated: (file: OpenPromiseFile) => void,
): Promise<OpenPromiseFile> {
  const { identity, identityStore, volume, random, log } = options;
  let state = row?.state ?? null;
  let pairId = row?.pairId ?? null;
  let file = existing;
  for (;;) {
    const step = birthStep(state, file !== null);
    switch (step) {
      case "insert": {
        pairId = new Uint8Array(16);
        random.fill(pairId);
        const { nodeId, clusterId, raftId } = identity;
        await identityStore.insert({ pairId, nodeId, clusterId, raftId });
        state = "new";
        break;
      }
      case "pair":
        await identityStore.advance("new");
        state = "paired";
        break;
      case "create_file":
        if (pairId === null) throw new Error("an identity row without a pair id");
        file = await volume.create(firstPromises(identity, pairId, log));
        onCreated(file);
        break;
      case "run":
        await identityStore.advance("paired");
        state = "running";
        break;
      case "done":
        if (file === null) throw new Error("a running node without a promise file was not fenced");
        return file;
    }
  }
}

function firstPromises(identity: NodeIdentity, pairId: Uint8Array, log: LoadedRaftLog): Promises {
  return {
    clusterId: identity.clusterId,
    nodeId: identity.nodeId,
    pairId,
    incarnation: 0,
    term: 0,
    vote: 0n,
    signedHeads: new Map(),
    postgres: { systemIdentifier: log.systemIdentifier, timeline: log.timeline, walPosition: log.walFlushed },
    lastAppend: { index: 0, term: 0 },
    reached: { index: 0, term: 0 },
    peers: new Map(),
    stateHead: null,
    mayLackNewest: false,
  };
}

/**
 * One more start. What the log holds beyond the file's last record is noted as well: a vote that was committed right
 * before a crash is sent again when its candidate asks again, and must be in the file by then.
 */
function nextIncarnation(promises: Promises, log: LoadedRaftLog, hasDamagedSlot: boolean): Promises {
  const { index, term: lastTerm } = log.entries.at(-1) ?? log.compacted;
  const last = { index, term: lastTerm };
  const { term, vote } = log.hardState ?? promises;
  return {
    ...promises,
    // The unreadable slot may have held a start that peers know of.
    incarnation: promises.incarnation + (hasDamagedSlot ? 2 : 1),
    mayLackNewest: promises.mayLackNewest || hasDamagedSlot,
    term,
    vote,
    lastAppend: last,
    reached: furthest(promises.reached, last),
    postgres: { ...promises.postgres, walPosition: log.walFlushed },
  };
}
