import { expect, test } from "@jest/globals";
import type { EntryMeta, Message, RawNode, Ready } from "raft-ts";
import type { AppendLane } from "../src/raft/append-lane.ts";
import { Driver } from "../src/raft/driver.ts";
import type { Outbound } from "../src/raft/outbound.ts";
import { PayloadCache } from "../src/raft/payload-cache.ts";
import { settle } from "./doubles.ts";

const message = { type: "MsgApp", to: 2n, index: 1 } as Message;
const committed: EntryMeta = { index: 1, term: 1, type: "normal", payloadBytes: 8 };

const nothing: Ready = { softState: null, readStates: [], messages: [], append: null, apply: null };

/** A driver of an engine that has these Readys waiting; what it does, in order. */
function driverOf(readys: Ready[]) {
  const done: string[] = [];
  const node = {
    id: 1n,
    stepResponses: () => {},
    hasReady: () => readys.length > 0,
    ready: () => readys.shift() ?? nothing,
  };
  const driver = new Driver({
    node: node as unknown as RawNode,
    cache: new PayloadCache(),
    outbound: { send: ({ type }: Message) => done.push(type) } as unknown as Outbound,
    flush: () => done.push("flush"),
    appendLane: { push: () => done.push("append") } as unknown as AppendLane,
    apply: async (entries) => void done.push(`apply ${entries.map(({ index }) => index).join()}`),
    onArrived: () => {},
    onSoftState: () => {},
    onReadState: () => {},
    onFailure: (error) => done.push(String(error)),
  });
  return { driver, done };
}

test("messages are on the wire before anything is decided", async () => {
  const { driver, done } = driverOf([
    { ...nothing, messages: [message], apply: { entries: [committed], responses: [] } },
    { ...nothing, messages: [{ ...message, type: "MsgHeartbeat" }] },
  ]);
  driver.drain();
  await settle();
  expect(done).toEqual(["MsgApp", "MsgHeartbeat", "flush", "apply 1"]);
});

test("so is a response of the append lane", async () => {
  const { driver, done } = driverOf([]);
  driver.deliverResponses([{ ...message, type: "MsgAppResp" }]);
  driver.deliverResponses([{ ...message, type: "MsgAppResp" }]);
  await Promise.resolve();
  expect(done).toEqual(["MsgAppResp", "MsgAppResp", "flush"]);
});
