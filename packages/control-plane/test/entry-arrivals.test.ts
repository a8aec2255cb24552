import { beforeEach, describe, expect, test } from "@jest/globals";
import { type Command, LedgerHaltError, RELEASE_RULES, encodeEntry } from "@event-anchoring/ledger";
import { nodeCrypto } from "@event-anchoring/node-crypto";
import { toOriginFingerprint } from "@event-anchoring/protocol";
import type { Entry } from "raft-ts";
import type { VerifySignatures } from "../src/ports/environment.ts";
import { EntryArrivals } from "../src/signatures/entry-arrivals.ts";
import { SignatureVerifier } from "../src/signatures/signature-verifier.ts";
import { StepClock, quietLogger, settle } from "./doubles.ts";
import { CREDENTIAL, eventCommand } from "./commands.ts";
import { claimOf, recordClaim } from "./signed-records.ts";

const ORIGIN = toOriginFingerprint(new Uint8Array(32).fill(9));

let verifications: number;
let arrivals: EntryArrivals;
let verifier: SignatureVerifier;

beforeEach(() => {
  verifications = 0;
  const verify: VerifySignatures = async (job) => {
    verifications += job.length;
    return job.map((signed) => nodeCrypto.ed25519Verify(signed.publicKey, signed.message, signed.signature));
  };
  verifier = new SignatureVerifier({ clock: new StepClock(), logger: quietLogger, crypto: nodeCrypto, verify });
  arrivals = new EntryArrivals(verifier, RELEASE_RULES, () => null);
});

function entryOf(index: number, commands: readonly Command[], changes: Partial<Entry> = {}): Entry {
  const groups = commands.map((command, at) => ({
    id: { node: 1n, incarnation: 1, counter: index * 1000 + at },
    notAfter: 50_000,
    commands: [command],
  }));
  const payload = encodeEntry({ version: 1, certify: true, acceptedMs: index, certificates: [], groups });
  return { index, term: 1, type: "normal", payload, ...changes };
}

function claimEntry(index: number, changes: Partial<Entry> = {}): Entry {
  return entryOf(index, [recordClaim(CREDENTIAL, claimOf(ORIGIN, `subject ${index}`))], changes);
}

describe("an entry that has arrived", () => {
  test("has its signatures verified before its turn comes, and is decoded once", async () => {
    const entry = claimEntry(1);
    arrivals.note([entry]);
    await settle();
    expect(verifications).toBe(2);
    const taken = arrivals.take(entry);
    await taken.verdicts;
    expect(taken.entry.acceptedMs).toBe(1);
    expect(verifications).toBe(2);
    // Kept for one turn only: a second one finds it gone, and its verdicts there.
    const again = arrivals.take(entry);
    expect(again.entry).not.toBe(taken.entry);
    expect(again.entry).toEqual(taken.entry);
    expect(again.verdicts).toBeNull();
    expect(verifications).toBe(2);
  });

  test("without signatures has nothing to wait for", () => {
    const entry = entryOf(1, [eventCommand(ORIGIN, 1)]);
    arrivals.note([entry]);
    expect(arrivals.take(entry).verdicts).toBeNull();
    expect(verifications).toBe(0);
  });

  test("of another term than the committed one counts for nothing", async () => {
    arrivals.note([claimEntry(1)]);
    const committed = entryOf(1, [eventCommand(ORIGIN, 1)], { term: 2 });
    const taken = arrivals.take(committed);
    expect(taken.entry.groups[0]?.commands[0]?.kind).toBe("record_events");
    expect(taken.verdicts).toBeNull();
  });

  test("is replaced by a later one at its index", () => {
    arrivals.note([claimEntry(1), claimEntry(2)]);
    const later = entryOf(1, [eventCommand(ORIGIN, 1)], { term: 2 });
    arrivals.note([later]);
    expect(arrivals.take(later).entry.groups[0]?.commands[0]?.kind).toBe("record_events");
  });

  test("that never arrived is opened when its turn has come, and waited for", async () => {
    const taken = arrivals.take(claimEntry(1));
    expect(taken.verdicts).not.toBeNull();
    await taken.verdicts;
    expect(verifications).toBe(2);
  });

  test("beyond 8 MiB of others waits for its turn", async () => {
    const filler = entryOf(1, [eventCommand(ORIGIN, 1)]).payload;
    const count = Math.ceil((8 * 1024 * 1024) / filler.length);
    for (let index = 1; index <= count; index++) arrivals.note([entryOf(index, [eventCommand(ORIGIN, 1)])]);
    const late = claimEntry(count + 1);
    arrivals.note([late]);
    await settle();
    expect(verifications).toBe(0);
    for (const index of [1, 2, 3]) arrivals.take(entryOf(index, [eventCommand(ORIGIN, 1)]));
    arrivals.note([late]);
    await settle();
    expect(verifications).toBe(2);
  });
});

describe("an entry that cannot be read", () => {
  const unreadable: readonly [string, Partial<Entry>][] = [
    ["of an unknown version", { payload: Uint8Array.of(0, 9, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0) }],
    ["cut short", { payload: claimEntry(1).payload.subarray(0, 30) }],
    ["with a byte too many", { payload: Uint8Array.of(...claimEntry(1).payload, 0) }],
  ];

  test.each(unreadable)("%s halts nobody when it arrives, and halts when it is committed", (_what, changes) => {
    const bad = claimEntry(1, changes);
    expect(() => arrivals.note([bad, claimEntry(2)])).not.toThrow();
    expect(() => arrivals.take(bad)).toThrow(LedgerHaltError);
  });

  test("because it is a membership change or empty is let pass", () => {
    const change = claimEntry(1, { type: "conf_change", payload: Uint8Array.of(1, 2, 3) });
    expect(() => arrivals.note([change, claimEntry(2, { payload: new Uint8Array() })])).not.toThrow();
    expect(verifications).toBe(0);
  });
});
