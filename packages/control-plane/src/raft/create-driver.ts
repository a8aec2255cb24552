import type { HardState, RaftId, RawNode, SnapshotMeta } from "raft-ts";
import { AppendLane } from "./append-lane.ts";
import { Driver, type DriverOptions } from "./driver.ts";
import type { Logger } from "@event-anchoring/telemetry";
import { Outbound } from "./outbound.ts";
import type { PayloadCache } from "./payload-cache.ts";
import type { RepeatedAcks } from "./repeated-acks.ts";
import type { PromiseKeeper } from "../promises/promises.ts";
import type { RaftLogStorage } from "../ports/storage.ts";

export interface CreateDriverOptions extends Pick<
  DriverOptions,
  "apply" | "flush" | "onArrived" | "onSoftState" | "onReadState" | "onFailure"
> {
  readonly node: RawNode;
  /** What the log holds at the start. */
  readonly hardState: HardState;
  readonly cache: PayloadCache;
  readonly acks: RepeatedAcks;
  readonly log: RaftLogStorage;
  readonly promises: PromiseKeeper;
  readonly logger: Logger;
  readonly send: (to: RaftId, lane: "control" | "bulk", message: Uint8Array) => boolean;
  readonly onSnapshot: (meta: SnapshotMeta) => void;
  /** The log has grown on disk, and the growth is not acknowledged yet. */
  readonly onDurable: () => void;
}

/** The engine with its lanes: what is appended, promised, sent and applied, each in its order. */
export function createDriver(options: CreateDriverOptions): Driver {
  const { node, cache, acks, log, promises, logger, onFailure } = options;
  const outbound = new Outbound({
    cache,
    acks,
    read: (from, to, maxBytes) => log.read(from, to, maxBytes),
    send: options.send,
    onUndelivered: (message) => driver.reportUnreachable(message.to),
    onSnapshotSent: (to, isSent) => driver.reportSnapshot(to, isSent),
    onFailure,
    logger,
  });
  const appendLane = new AppendLane({
    log,
    hardState: options.hardState,
    // A start notes in the promise file where the log ends.
    lastEntry: promises.current.lastAppend,
    promiseRetreat: (end) => promises.promiseRetreat(end),
    promiseVote: (vote) => promises.promiseVote(vote),
    onDurable: ({ entries, lastAppend, walPosition }) => {
      node.mirrorAppend(entries);
      if (lastAppend !== null) cache.noteDurable(lastAppend.index);
      promises.noteAppend(lastAppend, walPosition);
      if (lastAppend !== null) options.onDurable();
    },
    onResponses: (messages) => driver.deliverResponses(messages),
    onSnapshot: options.onSnapshot,
    onFailure,
  });
  const driver: Driver = new Driver({ ...options, outbound, appendLane });
  return driver;
}
