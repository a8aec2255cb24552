import { describe, expect, test } from "@jest/globals";
import { nodeCrypto } from "@event-anchoring/node-crypto";
import { encodeWrites } from "../src/decide/effect.ts";
import {
  LIMITS,
  RELEASE_RULES,
  RULES_FIRST,
  RuleTable,
  decodeCommand,
  decodeEntry,
  encodeCommand,
  encodeEntry,
  restoreLedgerState,
} from "../src/index.ts";
import type { Command, Entry, StoredLedger } from "../src/index.ts";
import { GENESIS_DOCUMENT, hash } from "../../../test/worlds/cluster.ts";
import {
  CLIENT_ID,
  CREDENTIAL,
  LedgerHarness,
  NEXT_RULES,
  codeOf,
  event,
  keyCommand,
  record,
} from "../../../test/worlds/ledger-harness.ts";

function raise(rules: number): Command {
  return { kind: "raise_rules", rules };
}

/** A ledger with a key, under these rules. */
function startedUnder(rules: number): LedgerHarness {
  const ledger = LedgerHarness.started();
  if (rules > RULES_FIRST) ledger.run(raise(rules));
  return ledger;
}

/** One command in an entry that its leader stamps with that time, whatever the time is elsewhere. */
function runAt(ledger: LedgerHarness, stampMs: number, command: Command): string {
  const entry: Entry = { ...ledger.entry([ledger.group(command)]), acceptedMs: stampMs };
  const [outcome] = ledger.apply(entry).outcomes;
  if (outcome?.status !== "decided" || outcome.commands[0] === undefined) throw new Error("the group is not decided");
  return codeOf(outcome.commands[0]);
}

describe("raising the rules", () => {
  test("a ledger begins with the first rules, and keeps what it is raised to", () => {
    const ledger = LedgerHarness.started();
    expect(ledger.state.rules).toBe(RULES_FIRST);
    expect(ledger.run(raise(2))).toEqual({ kind: "applied" });
    expect(ledger.state.rules).toBe(2);
    ledger.accept(event("after"));
    expect(ledger.state.rules).toBe(2);
    expect(restoreLedgerState(ledger.stored(), nodeCrypto, NEXT_RULES)).toMatchObject({
      rules: 2,
      stampMs: ledger.clockMs,
      lastAcceptedMs: ledger.clockMs,
    });
  });

  test.each([0, 1, 2])("to %d once 2 are in force, it changes nothing", (rules) => {
    const ledger = startedUnder(2);
    expect(ledger.run(raise(rules))).toEqual({ kind: "unchanged" });
    expect(ledger.state.rules).toBe(2);
  });

  test("appends no leaf and needs no certificate", () => {
    const ledger = LedgerHarness.started();
    const decision = ledger.apply(ledger.entry([ledger.group(raise(2))]));
    expect(decision).toMatchObject({ certify: false, nextSequence: ledger.state.nextSequence, rules: 2 });
    expect(decision.writes.leaves).toEqual([]);
  });

  test("before genesis it is refused like everything else", () => {
    const ledger = new LedgerHarness();
    expect(codeOf(ledger.run(raise(2)))).toBe("not_initialised");
    expect(ledger.state.rules).toBe(RULES_FIRST);
    ledger.run({ kind: "genesis", document: GENESIS_DOCUMENT });
    expect(codeOf(ledger.run(raise(2)))).toBe("applied");
  });

  test.each([NEXT_RULES.max + 1, NEXT_RULES.max + 2, 0xffff])(
    "beyond what this program knows, to %d, halts",
    (rules) => {
      const ledger = LedgerHarness.started();
      const entry = ledger.entry([ledger.group(raise(rules))]);
      expect(() => ledger.decide(entry)).toThrow(expect.objectContaining({ code: "rules_unknown" }));
    },
  );

  test("counts from the next entry on: its version is the new one, and a program of before stops", () => {
    const ledger = LedgerHarness.started();
    expect(ledger.entry([]).version).toBe(1);
    ledger.run(raise(2));
    const next = encodeEntry(ledger.entry([]));
    expect(decodeEntry(next, NEXT_RULES).version).toBe(2);
    expect(() => decodeEntry(next)).toThrow(expect.objectContaining({ code: "entry_version_unknown" }));
  });

  test("is not decided by a program that does not have them, whatever wrote the entry", () => {
    const ledger = LedgerHarness.started();
    const entry = ledger.entry([ledger.group(raise(2))]);
    ledger.state = restoreLedgerState(ledger.stored(), nodeCrypto);
    expect(() => ledger.decide(entry)).toThrow(expect.objectContaining({ code: "rules_unknown" }));
  });

  test("a replica that is raised at another entry has another effect from there on", () => {
    const [ledger, other] = [LedgerHarness.started(), LedgerHarness.started()];
    const entry = ledger.entry([]);
    other.state.rules = 2;
    expect(other.decide(entry).effect).not.toEqual(ledger.decide(entry).effect);
  });

  test("rules and time are part of the effect", () => {
    const { writes, stampMs } = LedgerHarness.started().decide(LedgerHarness.started().entry([]));
    const bytes = encodeWrites(writes, { rules: 1, stampMs });
    expect(bytes[0]).toBe(1);
    expect(encodeWrites(writes, { rules: 2, stampMs })).not.toEqual(bytes);
    expect(encodeWrites(writes, { rules: 1, stampMs: stampMs + 1 })).not.toEqual(bytes);
  });
});

describe("stored rules and time that do not fit halt", () => {
  function stored(rules: number): StoredLedger {
    return startedUnder(rules).stored();
  }

  test.each<[string, StoredLedger, string]>([
    ["rules that a newer program raised", stored(2), "rules_unknown"],
    ["no rules", { ...stored(1), rules: 0 }, "rules_unknown"],
    ["half rules", { ...stored(1), rules: 1.5 }, "rules_unknown"],
    ["a time before the newest leaf's", { ...stored(1), stampMs: 1 }, "stored_state_inconsistent"],
  ])("%s", (_, ledger, code) => {
    expect(() => restoreLedgerState(ledger, nodeCrypto)).toThrow(expect.objectContaining({ code }));
  });
});

describe("the version of an entry", () => {
  const entry: Entry = { version: 1, certify: false, acceptedMs: 5, certificates: [], groups: [] };

  test("this release has rules 1 alone, and entries of version 1", () => {
    expect([RELEASE_RULES.max, RELEASE_RULES.of(RULES_FIRST)]).toEqual([1, { number: 1, entryVersion: 1 }]);
    expect([0, 1, 2, 255].filter((version) => RELEASE_RULES.readsEntries(version))).toEqual([1]);
  });

  test("rules may share one; those of every rules that a program has are read", () => {
    const rules = new RuleTable([1, 1, 3]);
    expect([1, 2, 3].map((number) => rules.of(number).entryVersion)).toEqual([1, 1, 3]);
    expect([0, 1, 2, 3, 4].filter((version) => rules.readsEntries(version))).toEqual([1, 3]);
  });

  test.each([0, 2, 255])("%d halts", (version) => {
    const bytes = encodeEntry(entry);
    bytes[0] = version;
    expect(() => decodeEntry(bytes)).toThrow(expect.objectContaining({ code: "entry_version_unknown" }));
  });

  test.each([0, 1, 2, 0xffff])("the command to raise to %d is read as it was written", (rules) => {
    expect(decodeCommand(encodeCommand(raise(rules)))).toEqual(raise(rules));
    expect(encodeCommand(raise(rules))).toHaveLength(4);
  });
});

describe("time, when a leader's clock is behind that of the one before", () => {
  const keyId = hash("old").slice(0, 16);
  const by = record([event("by the old key")], { credential: { apiClientId: CLIENT_ID, keyId } });
  const rotate: Command = {
    kind: "rotate_api_key",
    keyId,
    keyHash: hash("new"),
    overlapMs: 0,
    expiresMs: 0,
  };

  function withKey(expiresMs = 0): LedgerHarness {
    const ledger = LedgerHarness.started();
    const made = runAt(
      ledger,
      ledger.state.stampMs,
      keyCommand("old", ["write"], { apiClientId: CLIENT_ID, expiresMs }),
    );
    expect(made).toBe("applied");
    return ledger;
  }

  test("a key that was rotated out without overlap, used 3 s earlier, is refused", () => {
    const ledger = withKey();
    const nowMs = ledger.state.stampMs + 5000;
    expect(runAt(ledger, nowMs, rotate)).toBe("applied");
    expect(runAt(ledger, nowMs - 3000, by)).toBe("api_key_invalid");
  });

  test("a key that was found expired, used 3 s earlier, is refused", () => {
    const expiresMs = LedgerHarness.started().state.stampMs + 4000;
    const ledger = withKey(expiresMs);
    expect(runAt(ledger, expiresMs + 1000, by)).toBe("api_key_invalid");
    expect(runAt(ledger, expiresMs - 1, by)).toBe("api_key_invalid");
  });

  test("it never goes back, whatever is stamped, and a leaf says what its entry was judged by", () => {
    const ledger = LedgerHarness.started();
    const startMs = ledger.state.stampMs;
    const stamps = [startMs + 100, startMs - LIMITS.issuedAtLeadMsMax, startMs + 50, 0, startMs + 101];
    const times = stamps.map((stampMs) => {
      ledger.apply({ ...ledger.entry([ledger.group(record([event(`at ${stampMs}`)]))]), acceptedMs: stampMs });
      return ledger.tables.leaves.at(-1)?.acceptedMs;
    });
    expect(times).toEqual([100, 100, 100, 100, 101].map((offset) => startMs + offset));
  });

  test("an entry without leaves moves it on for the leaves after it", () => {
    const ledger = LedgerHarness.started();
    const nowMs = ledger.state.stampMs + 9000;
    ledger.apply({ ...ledger.entry([]), acceptedMs: nowMs });
    expect([ledger.state.stampMs, ledger.state.lastAcceptedMs < nowMs]).toEqual([nowMs, true]);
    expect(runAt(ledger, nowMs - 8000, record([event("later")], { credential: CREDENTIAL }))).toBe("accepted");
    expect(ledger.tables.leaves.at(-1)?.acceptedMs).toBe(nowMs);
  });
});
