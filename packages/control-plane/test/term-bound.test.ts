import { describe, expect, test } from "@jest/globals";
import { emptyLedgerState } from "@event-anchoring/ledger";
import { nodeCrypto } from "@event-anchoring/node-crypto";
import { WORLD_START_MS } from "@event-anchoring/simulator";
import { termMax } from "../src/raft/term-bound.ts";
import { ceremonyOf, identityOf } from "./ceremony.ts";

const { trustRoot } = identityOf(ceremonyOf(["a", "b", "c"]), "a");
const state = emptyLedgerState(nodeCrypto.sha256);
const HOUR_MS = 3_600_000;

describe("the highest term that a peer is believed", () => {
  test("rises by ten a second from the issue of the first trust root on", () => {
    expect(termMax(WORLD_START_MS, state, trustRoot)).toBe(2 ** 20);
    expect(termMax(WORLD_START_MS + HOUR_MS, state, trustRoot)).toBe(2 ** 20 + 36_000);
  });

  test("does not suffer from an own clock that is behind", () => {
    expect(termMax(0, state, trustRoot)).toBe(2 ** 20);
    expect(termMax(0, { ...state, lastAcceptedMs: WORLD_START_MS + HOUR_MS }, trustRoot)).toBe(2 ** 20 + 36_000);
  });

  test("lets a node in that joins late, and stays far below the end of all terms", () => {
    const term = termMax(WORLD_START_MS, state, { ...trustRoot, version: 7 });
    expect(term).toBe(2 ** 20 + Math.floor(WORLD_START_MS / 100));
    expect(term).toBeLessThan(2 ** 53 / 100_000);
  });
});
