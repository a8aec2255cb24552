import { describe, expect, test } from "@jest/globals";
import { StoreError } from "@event-anchoring/store";
import { type Entry, type Message, decodeMessage } from "raft-ts";
import { Outbound } from "../src/raft/outbound.ts";
import { PayloadCache } from "../src/raft/payload-cache.ts";
import { RepeatedAcks } from "../src/raft/repeated-acks.ts";
import { deferred, quietLogger, settle } from "./doubles.ts";

const PEER = 2n;

function entry(index: number, term = 1, bytes = 8): Entry {
  return { index, term, type: "normal", payload: new Uint8Array(bytes).fill(index) };
}

function message(type: Message["type"], entries: readonly Entry[] = []): Message {
  return {
    type,
    from: 1n,
    to: PEER,
    term: 3,
    logTerm: (entries[0]?.index ?? 1) > 1 ? 1 : 0,
    index: (entries[0]?.index ?? 1) - 1,
    commit: 0,
    vote: 0n,
    reject: false,
    rejectHint: 0,
    context: new Uint8Array(),
    entries: entries.map(({ payload, ...meta }) => ({ ...meta, payloadBytes: payload.length })),
    snapshot: null,
  };
}

function outbound(read: (from: number, to: number) => Promise<readonly Entry[]>) {
  const cache = new PayloadCache();
  const acks = new RepeatedAcks();
  const sent: { lane: string; type: string; entries: readonly Entry[] }[] = [];
  const undelivered: Message[] = [];
  const failures: unknown[] = [];
  let isOpen = true;
  const made = new Outbound({
    cache,
    acks,
    read,
    send: (_to, lane, bytes) => {
      if (!isOpen) return false;
      const { type, entries } = decodeMessage(bytes);
      sent.push({ lane, type, entries });
      return true;
    },
    onUndelivered: (lost) => undelivered.push(lost),
    onSnapshotSent: () => {},
    onFailure: (error) => failures.push(error),
    logger: quietLogger,
  });
  return { outbound: made, cache, acks, sent, undelivered, failures, close: () => (isOpen = false) };
}

const never = (): Promise<readonly Entry[]> => Promise.reject(new Error("no read was expected"));

describe("outbound messages", () => {
  test("carry their payloads from memory, at once", () => {
    const { outbound: made, cache, sent } = outbound(never);
    cache.put([entry(1), entry(2)]);
    made.send(message("MsgApp", [entry(1), entry(2)]));
    expect(sent).toEqual([{ lane: "control", type: "MsgApp", entries: [entry(1), entry(2)] }]);
  });

  test("above 64 KiB take the bulk lane", () => {
    const { outbound: made, cache, sent } = outbound(never);
    const large = entry(1, 1, 70_000);
    cache.put([large]);
    made.send(message("MsgApp", [large]));
    expect(sent[0]?.lane).toBe("bulk");
  });

  test("wait for one read of the log; later appends to that peer wait behind, heartbeats pass", async () => {
    const gate = deferred();
    const reads: number[][] = [];
    const {
      outbound: made,
      cache,
      sent,
    } = outbound(async (from, to) => {
      reads.push([from, to]);
      await gate.promise;
      return [entry(1), entry(2)];
    });
    cache.put([entry(3)]);
    made.send(message("MsgApp", [entry(1), entry(2)]));
    made.send(message("MsgApp", [entry(3)]));
    made.send(message("MsgHeartbeat"));
    expect(sent.map(({ type }) => type)).toEqual(["MsgHeartbeat"]);
    gate.resolve();
    await settle();
    expect(sent.map(({ type, entries }) => [type, entries.map(({ index }) => index)])).toEqual([
      ["MsgHeartbeat", []],
      ["MsgApp", [1, 2]],
      ["MsgApp", [3]],
    ]);
    expect(reads).toEqual([[1, 3]]);
  });

  test("ask the log only for what is not in memory: the newest entries may not be durable yet", async () => {
    const reads: number[][] = [];
    const {
      outbound: made,
      cache,
      sent,
    } = outbound(async (from, to) => {
      reads.push([from, to]);
      return [entry(1), entry(2)].filter(({ index }) => index >= from && index < to);
    });
    cache.put([entry(3), entry(4)]);
    made.send(message("MsgApp", [entry(1), entry(2), entry(3), entry(4)]));
    await settle();
    expect(reads).toEqual([[1, 3]]);
    expect(sent[0]?.entries.map(({ index }) => index)).toEqual([1, 2, 3, 4]);
  });

  test("go on reading where a read was cut short by its size", async () => {
    const { outbound: made, sent } = outbound(async (from) => [entry(from)]);
    made.send(message("MsgApp", [entry(1), entry(2), entry(3)]));
    await settle();
    expect(sent[0]?.entries.map(({ index }) => index)).toEqual([1, 2, 3]);
  });

  test("are dropped and reported when the log holds the index in another term", async () => {
    const { outbound: made, sent, undelivered, failures } = outbound(async () => [entry(1, 2)]);
    made.send(message("MsgApp", [entry(1, 1)]));
    await settle();
    expect(sent).toEqual([]);
    expect(undelivered).toHaveLength(1);
    expect(failures).toEqual([]);
  });

  test("are dropped and reported, and end no session, when the log was compacted meanwhile", async () => {
    const gone = (): Promise<never> => Promise.reject(new StoreError("out_of_order", "compacted"));
    const { outbound: made, cache, sent, undelivered, failures } = outbound(gone);
    cache.put([entry(9)]);
    made.send(message("MsgApp", [entry(1)]));
    made.send(message("MsgApp", [entry(9)]));
    await settle();
    expect(undelivered.map(({ entries }) => entries[0]?.index)).toEqual([1]);
    expect(sent.map(({ entries }) => entries[0]?.index)).toEqual([9]);
    expect(failures).toEqual([]);
  });

  test.each(["corrupt", "unavailable"] as const)("end the session when the log is %s", async (code) => {
    const { outbound: made, failures, sent } = outbound(() => Promise.reject(new StoreError(code, "bad")));
    made.send(message("MsgApp", [entry(1)]));
    await settle();
    expect(failures).toEqual([new StoreError(code, "bad")]);
    expect(sent).toEqual([]);
  });

  test("are reported when the network does not take them", () => {
    const { outbound: made, undelivered, close } = outbound(never);
    close();
    made.send(message("MsgHeartbeat"));
    expect(undelivered.map(({ type }) => type)).toEqual(["MsgHeartbeat"]);
  });

  test("wait in bounded number: the 65th behind a read is dropped and reported", async () => {
    const gate = deferred();
    const {
      outbound: made,
      cache,
      sent,
      undelivered,
    } = outbound(async () => {
      await gate.promise;
      return [entry(1)];
    });
    made.send(message("MsgApp", [entry(1)]));
    for (let index = 2; index <= 66; index++) {
      cache.put([entry(index)]);
      made.send(message("MsgApp", [entry(index)]));
    }
    gate.resolve();
    await settle();
    expect(sent).toHaveLength(64);
    expect(undelivered.map(({ entries }) => entries[0]?.index)).toEqual([65, 66]);
  });
});

describe("payload cache", () => {
  const MEGABYTE = 1024 * 1024;
  const large = (index: number, term = 1): Entry => entry(index, term, MEGABYTE);

  test("answers by index and term, never by index alone", () => {
    const cache = new PayloadCache();
    cache.put([entry(1, 1), entry(2, 1), entry(3, 1)]);
    cache.put([entry(2, 2)]);
    expect(cache.get({ index: 2, term: 1 })).toBeNull();
    expect(cache.get({ index: 2, term: 2 })).toEqual(entry(2, 2));
    expect(cache.get({ index: 3, term: 1 })).toBeNull();
    expect(cache.get({ index: 1, term: 1 })).toEqual(entry(1, 1));
  });

  test("keeps whatever is not applied, however much it is", () => {
    const cache = new PayloadCache();
    for (let index = 1; index <= 40; index++) cache.put([large(index)]);
    cache.noteDurable(40);
    cache.noteApplied(2);
    expect(cache.get({ index: 1, term: 1 })).toBeNull();
    expect(cache.get({ index: 3, term: 1 })).not.toBeNull();
  });

  test("forgets the oldest applied entries above 16 MiB", () => {
    const cache = new PayloadCache();
    for (let index = 1; index <= 40; index++) {
      cache.put([large(index)]);
      cache.noteDurable(index);
      cache.noteApplied(index);
    }
    expect(cache.get({ index: 24, term: 1 })).toBeNull();
    expect(cache.get({ index: 25, term: 1 })).not.toBeNull();
  });

  test("keeps a replaced suffix that is applied and not yet durable here", () => {
    const cache = new PayloadCache();
    for (let index = 1; index <= 40; index++) cache.put([large(index)]);
    cache.noteDurable(40);
    cache.put([large(20, 2)]);
    cache.noteApplied(40);
    expect(cache.get({ index: 20, term: 2 })).not.toBeNull();
  });
});

describe("acknowledgements", () => {
  const ack = (index: number, more: Partial<Message> = {}): Message => ({ ...message("MsgAppResp"), index, ...more });
  const heard = (type: Message["type"], entries: readonly Entry[] = []) => ({ type, from: PEER, entries });

  function acknowledging() {
    const made = outbound(never);
    made.outbound.send(ack(5));
    expect(made.sent).toHaveLength(1);
    return made;
  }

  test("that repeat the last one to that peer are not sent, as after an append that only raises the commit", () => {
    const { outbound: made, acks, sent } = acknowledging();
    acks.onHeard(heard("MsgApp"));
    made.send(ack(5));
    expect(sent).toHaveLength(1);
  });

  test.each([
    ["of another index", ack(6)],
    ["of another term", ack(5, { term: 4 })],
    ["that reject", ack(5, { reject: true })],
    ["to another peer", ack(5, { to: 3n })],
  ])("%s are sent", (_name, another) => {
    const { outbound: made, sent } = acknowledging();
    made.send(another);
    expect(sent).toHaveLength(2);
  });

  test.each([
    ["a heartbeat: a leader that probes asks after it", heard("MsgHeartbeat")],
    ["entries, though they are here already", heard("MsgApp", [entry(5)])],
  ])("are repeated once after %s", (_name, message) => {
    const { outbound: made, acks, sent } = acknowledging();
    acks.onHeard(message);
    made.send(ack(5));
    made.send(ack(5));
    expect(sent).toHaveLength(2);
  });

  test("are repeated over a new connection, and after a rejection", () => {
    const { outbound: made, acks, sent } = acknowledging();
    acks.forget(PEER);
    made.send(ack(5));
    made.send(ack(5, { reject: true }));
    made.send(ack(5));
    expect(sent).toHaveLength(4);
  });

  test("that could not be sent are not counted as sent", () => {
    const { outbound: made, acks, close } = outbound(never);
    close();
    made.send(ack(5));
    expect(acks.isRepeated(ack(5))).toBe(false);
  });
});
