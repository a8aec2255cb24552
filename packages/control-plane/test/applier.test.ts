import { beforeEach, describe, expect, test } from "@jest/globals";
import {
  type EntryDecision,
  LedgerHaltError,
  NO_FACTS,
  RELEASE_RULES,
  emptyLedgerState,
  encodeEntry,
} from "@event-anchoring/ledger";
import { nodeCrypto } from "@event-anchoring/node-crypto";
import { EMPTY_STATE_ROOT } from "@event-anchoring/protocol";
import type { ConfState, Entry } from "raft-ts";
import type { VerifySignatures } from "../src/ports/environment.ts";
import { Applier, type ApplierOptions } from "../src/raft/applier.ts";
import { PayloadCache } from "../src/raft/payload-cache.ts";
import { EntryArrivals } from "../src/signatures/entry-arrivals.ts";
import { SignatureVerifier } from "../src/signatures/signature-verifier.ts";
import { type Deferred, StepClock, deferred, quietLogger, settle } from "./doubles.ts";

const MEMBERS: ConfState = { voters: [1n], votersOutgoing: [], learners: [], learnersNext: [], autoLeave: false };

let events: string[];
let stored: Entry[];
let cache: PayloadCache;
let writing: Deferred[];
let confStates: (ConfState | null)[];
let options: ApplierOptions;

beforeEach(() => {
  events = [];
  stored = [];
  writing = [];
  confStates = [];
  cache = new PayloadCache();
  options = {
    state: emptyLedgerState(nodeCrypto.sha256),
    crypto: nodeCrypto,
    cache,
    arrivals: new EntryArrivals(verifier(), RELEASE_RULES, () => null),
    readLog: async (from, to) => {
      events.push(`read ${from}-${to}`);
      return stored.filter(({ index }) => index >= from && index < to);
    },
    target: {
      loadFacts: async () => NO_FACTS,
      apply: async ({ decision, confState }) => {
        events.push(`write ${decision.index}`);
        confStates.push(confState);
        const gate = deferred();
        writing.push(gate);
        await gate.promise;
        return { stateRoot: EMPTY_STATE_ROOT };
      },
    },
    reactions: {
      confChange: () => MEMBERS,
      advancing: ({ index }) => events.push(`decided ${index}, state at ${options.state.appliedIndex}`),
      advanced: ({ index }) => events.push(`advanced ${index}`),
      decided: (_entry, { index }: EntryDecision) =>
        events.push(`told ${index}, state at ${options.state.appliedIndex}`),
      written: async (_applied, isStatePoint) => {
        if (isStatePoint) events.push(`state point, state at ${options.state.appliedIndex}`);
      },
      applied: ({ index }) => events.push(`applied ${index}`),
    },
  };
});

function verifier(): SignatureVerifier {
  const verify: VerifySignatures = async (job) =>
    job.map((signed) => nodeCrypto.ed25519Verify(signed.publicKey, signed.message, signed.signature));
  return new SignatureVerifier({ clock: new StepClock(), logger: quietLogger, crypto: nodeCrypto, verify });
}

function entry(index: number, changes: Partial<Entry> = {}): Entry {
  const payload = encodeEntry({ version: 1, certify: false, acceptedMs: 1, certificates: [], groups: [] });
  return { index, term: 1, type: "normal", payload, ...changes };
}

function apply(...entries: Entry[]): Promise<void> {
  return new Applier(options).apply(entries.map(({ payload, ...meta }) => ({ ...meta, payloadBytes: payload.length })));
}

describe("applying", () => {
  test("decides, advances, writes, tells waiters, and takes the next entry only when the write is done", async () => {
    cache.put([entry(1), entry(2)]);
    const done = apply(entry(1), entry(2));
    await settle();
    expect(events).toEqual(["decided 1, state at 0", "advanced 1", "write 1", "told 1, state at 1"]);
    writing[0]?.resolve();
    await settle();
    expect(events.slice(4)).toEqual([
      "applied 1",
      "decided 2, state at 1",
      "advanced 2",
      "write 2",
      "told 2, state at 2",
    ]);
    writing[1]?.resolve();
    await done;
    expect(events.at(-1)).toBe("applied 2");
  });

  test("reads from the log what is no longer in memory", async () => {
    stored = [entry(1), entry(2)];
    const done = apply(entry(1), entry(2));
    await settle();
    writing[0]?.resolve();
    await settle();
    writing[1]?.resolve();
    await done;
    expect(events.filter((event) => event.startsWith("read"))).toEqual(["read 1-3"]);
  });

  test("advances over empty entries and membership changes, with the new membership in the same write", async () => {
    cache.put([entry(1, { payload: new Uint8Array() }), entry(2, { type: "conf_change", payload: Uint8Array.of(1) })]);
    const done = apply(entry(1, { payload: new Uint8Array() }), entry(2, { type: "conf_change" }));
    await settle();
    writing[0]?.resolve();
    await settle();
    writing[1]?.resolve();
    await done;
    expect(confStates).toEqual([null, MEMBERS]);
    expect(options.state.appliedIndex).toBe(2);
  });

  test.each<[string, () => void, string]>([
    ["holds another term", () => (stored = [entry(1, { term: 2 })]), "log holds 1 of term 2, committed is 1 of 1"],
    ["lacks the entry", () => (stored = []), "log lacks committed entry 1"],
    ["skips the entry", () => (stored = [entry(2)]), "log holds 2 of term 1, committed is 1 of 1"],
  ])("goes no further when the log %s", async (_what, arrange, reason) => {
    arrange();
    options = { ...options, readLog: async () => stored };
    await expect(apply(entry(1))).rejects.toThrow(reason);
    expect(options.state.appliedIndex).toBe(0);
  });

  test.each<[string, Uint8Array]>([
    ["of a version that is not known", Uint8Array.of(0, 9, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)],
    ["that is cut short", entry(1).payload.subarray(0, 5)],
  ])("halts at an entry %s, and skips nothing", async (_what, payload) => {
    cache.put([entry(1, { payload }), entry(2)]);
    await expect(apply(entry(1, { payload }), entry(2))).rejects.toThrow(LedgerHaltError);
    expect(options.state.appliedIndex).toBe(0);
  });

  test("stops at a failed write", async () => {
    cache.put([entry(1), entry(2)]);
    const done = apply(entry(1), entry(2));
    await settle();
    writing[0]?.reject(new Error("disk full"));
    await expect(done).rejects.toThrow("disk full");
    expect(events).not.toContain("applied 1");
    expect(events).not.toContain("write 2");
  });

  test("waits for the write under way even when a waiter fails", async () => {
    options = {
      ...options,
      reactions: {
        ...options.reactions,
        decided: () => {
          throw new Error("a waiter failed");
        },
      },
    };
    cache.put([entry(1)]);
    let outcome = "pending";
    const done = apply(entry(1)).catch((error: unknown) => (outcome = String(error)));
    await settle();
    expect(outcome).toBe("pending");
    writing[0]?.resolve();
    await done;
    expect(outcome).toBe("Error: a waiter failed");
  });
});
