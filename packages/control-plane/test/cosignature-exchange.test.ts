import { beforeEach, describe, expect, test } from "@jest/globals";
import type { PeerCosignature } from "@event-anchoring/control-contract";
import { toOriginFingerprint } from "@event-anchoring/protocol";
import { CosignatureExchange } from "../src/certification/cosignature-exchange.ts";

let leader: string | null;
let quorum: number;
let sent: string[];
let exchange: CosignatureExchange;

function cosignature(treeSize: number, origin = 1): PeerCosignature {
  return {
    originFingerprint: toOriginFingerprint(new Uint8Array(32).fill(origin)),
    treeSize,
    rootHash: new Uint8Array(32),
    timeS: 1,
    signature: new Uint8Array(64),
    raftIndex: treeSize,
    effect: new Uint8Array(32),
  };
}

const sizes = (items: readonly PeerCosignature[]): string => items.map(({ treeSize }) => treeSize).join();

beforeEach(() => {
  leader = "l";
  quorum = 2;
  sent = [];
  exchange = new CosignatureExchange({
    nodeId: "f",
    leader: () => leader,
    quorum: () => quorum,
    broadcast: (items, asks) => sent.push(`${asks ? "asks" : "tells"} all ${sizes(items)}`),
    sendTo: (to, items) => sent.push(`tells ${to} ${sizes(items)}`),
  });
});

describe("a cosignature", () => {
  test("of a follower goes to the leader at once, and the newest to all within 250 ms", () => {
    exchange.send([cosignature(1)]);
    exchange.send([cosignature(2)]);
    exchange.tellAll();
    exchange.tellAll();
    expect(sent).toEqual(["tells l 1", "tells l 2", "tells all 2"]);
  });

  test("is told for each origin", () => {
    exchange.send([cosignature(1), cosignature(5, 2)]);
    exchange.send([cosignature(2)]);
    exchange.tellAll();
    expect(sent.at(-1)).toBe("tells all 2,5");
  });

  test.each([
    ["of the leader", () => (leader = "f")],
    ["without a leader", () => (leader = null)],
    ["where the leader's and the own do not suffice", () => (quorum = 3)],
  ])("%s goes to all at once", (_when, set) => {
    set();
    exchange.send([cosignature(1)]);
    exchange.tellAll();
    expect(sent).toEqual(["tells all 1"]);
  });

  test("that lacks a certificate goes to all as a question", () => {
    exchange.send([cosignature(1)]);
    exchange.ask([cosignature(1)]);
    exchange.tellAll();
    expect(sent).toEqual(["tells l 1", "asks all 1"]);
  });
});
