import { type Entry, type InboundMessage, type Message, type RaftId, type RaftIndex, encodeMessage } from "raft-ts";
import { StoreError } from "@event-anchoring/store";
import type { Logger } from "@event-anchoring/telemetry";
import type { PayloadCache } from "./payload-cache.ts";
import type { RepeatedAcks } from "./repeated-acks.ts";

/** A message of more bytes travels on the bulk lane, so that it delays no heartbeat. */
const CONTROL_LANE_BYTES_MAX = 64 * 1024;
/** Appends that wait for a read of the log, per peer. More are dropped: the engine sends them again. */
const WAITING_MESSAGES_MAX = 64;
const READ_BYTES_MAX = 4 * 1024 * 1024;

export interface OutboundOptions {
  readonly cache: PayloadCache;
  readonly acks: RepeatedAcks;
  readonly read: (from: RaftIndex, to: RaftIndex, maxBytes: number) => Promise<readonly Entry[]>;
  /** Hands bytes to the network; false: not connected, or the outbox is full. */
  readonly send: (to: RaftId, lane: "control" | "bulk", bytes: Uint8Array) => boolean;
  /** The engine must be told of every append that was not sent, or it waits for its answer. */
  readonly onUndelivered: (message: Message) => void;
  /** MsgSnap carries metadata only; the engine must be told whether it was sent. */
  readonly onSnapshotSent: (to: RaftId, isSent: boolean) => void;
  readonly onFailure: (error: unknown) => void;
  readonly logger: Logger;
}

/**
 * Attaches payloads to messages and hands them to the network.
 *
 * An append whose payload is no longer in memory waits for one read of the log, and later appends to that peer wait
 * behind it; nothing else does.
 */
export class Outbound {
  readonly #options: OutboundOptions;
  readonly #waiting = new Map<RaftId, Message[]>();

  constructor(options: OutboundOptions) {
    this.#options = options;
  }

  send(message: Message): void {
    if (this.#options.acks.isRepeated(message)) return;
    const queue = this.#waiting.get(message.to);
    if (queue !== undefined && message.type === "MsgApp") {
      if (queue.length < WAITING_MESSAGES_MAX) queue.push(message);
      else this.#options.onUndelivered(message);
      return;
    }
    const entries = this.#cachedEntries(message);
    if (entries !== null) this.#transmit({ ...message, entries }, message);
    else void this.#readThenSend(message);
  }

  #cachedEntries(message: Message): Entry[] | null {
    const entries: Entry[] = [];
    for (const meta of message.entries) {
      const payload = meta.payload ?? this.#options.cache.get(meta)?.payload;
      if (payload === undefined) return null;
      entries.push({ index: meta.index, term: meta.term, type: meta.type, payload });
    }
    return entries;
  }

  #transmit(message: InboundMessage, original: Message): void {
    const bytes = encodeMessage(message);
    const lane = bytes.length > CONTROL_LANE_BYTES_MAX ? "bulk" : "control";
    const isSent = this.#options.send(message.to, lane, bytes);
    if (isSent) this.#options.acks.onSent(message);
    if (message.type === "MsgSnap") this.#options.onSnapshotSent(message.to, isSent);
    else if (!isSent) this.#options.onUndelivered(original);
  }

  async #readThenSend(message: Message): Promise<void> {
    const queue: Message[] = [message];
    this.#waiting.set(message.to, queue);
    try {
      for (let next = queue[0]; next !== undefined; next = queue[0]) {
        const entries = this.#cachedEntries(next) ?? (await this.#readEntries(next));
        if (entries === null) {
          this.#options.logger.warn("append_no_longer_in_log", { index: next.index });
          this.#options.onUndelivered(next);
        } else this.#transmit({ ...next, entries }, next);
        queue.shift();
      }
    } catch (error) {
      this.#options.onFailure(error);
    } finally {
      this.#waiting.delete(message.to);
    }
  }

  /** The entries as the log has them now; null if it holds others at these indexes, or none. */
  async #readEntries(message: Message): Promise<Entry[] | null> {
    // Entries in memory may not be durable yet: only the rest is read from the log.
    const found = new Map<RaftIndex, Entry>();
    for (const meta of message.entries) {
      const cached = this.#options.cache.get(meta);
      if (cached !== null) found.set(meta.index, cached);
    }
    const missing = message.entries.filter(({ index }) => !found.has(index));
    const end = (missing.at(-1)?.index ?? 0) + 1;
    for (let from = missing[0]?.index ?? end; from < end;) {
      const read = await this.#readLog(from, end);
      if (read === null || read.length === 0) return null;
      for (const entry of read) if (!found.has(entry.index)) found.set(entry.index, entry);
      from += read.length;
    }
    const entries = message.entries.flatMap(({ index, term }) => {
      const entry = found.get(index);
      return entry?.term === term ? [entry] : [];
    });
    return entries.length === message.entries.length ? entries : null;
  }

  /** null: compacted away meanwhile, or replaced by a shorter log. The engine finds that out by itself. */
  async #readLog(from: RaftIndex, to: RaftIndex): Promise<readonly Entry[] | null> {
    try {
      return await this.#options.read(from, to, READ_BYTES_MAX);
    } catch (error) {
      if (error instanceof StoreError && error.code === "out_of_order") return null;
      throw error;
    }
  }
}
