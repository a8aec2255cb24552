/**
 * Random lives of a ledger, each a function of its seed: replicas that load and start differently decide the same, and
 * what a store would load is the state again.
 */
import { describe, expect, test } from "@jest/globals";
import { bytesToHex, concatBytes } from "@event-anchoring/protocol";
import { nodeCrypto } from "@event-anchoring/node-crypto";
import { encodeWrites } from "../src/decide/effect.ts";
import {
  LedgerHaltError,
  advance,
  decideEntry,
  decodeEntry,
  emptyLedgerState,
  encodeEntry,
  restoreLedgerState,
} from "../src/index.ts";
import type { Command, Entry, EntryWrites, EventInput, Facts, LedgerState, ProposalGroup } from "../src/index.ts";
import {
  ABC,
  GENESIS_DOCUMENT,
  NODE_A,
  NODE_B,
  certify,
  hash,
  sha256,
  successor,
} from "../../../test/worlds/cluster.ts";
import { GrantWorld } from "../../../test/worlds/grant-world.ts";
import { LedgerHarness, NEXT_RULES, event, keyCommand, record, tileRoot } from "../../../test/worlds/ledger-harness.ts";
import { RandomLife, VERSION_2, randomOf } from "../../../test/worlds/random-life.ts";
import { claim, grant, revocation } from "../../../test/worlds/signed-records.ts";

/** All that two states must agree on, whatever they keep in memory beside it. */
function essence(state: LedgerState): object {
  return {
    position: [state.appliedIndex, state.appliedTerm, state.nextSequence, state.lastAcceptedMs],
    rules: [state.rules, state.stampMs],
    effect: bytesToHex(state.effect),
    trustRoots: state.trustRootChain?.versions.map(({ note }) => note) ?? [],
    apiKeys: [...state.apiKeys.entries()].sort(([a], [b]) => (a < b ? -1 : 1)),
    groupIds: state.groupIds.entries(),
    origins: [...state.origins].map(([key, origin]) => ({
      key,
      status: origin.status,
      size: origin.tree.size,
      root: origin.tree.rootAt(origin.tree.size),
      last: origin.lastAnchorId,
      tiles: origin.tiles.openTiles().map((hashes) => bytesToHex(sha256(concatBytes(...hashes)))),
      certified: origin.certified && [origin.certified.treeSize, origin.certified.certifiedAtS],
      positions: origin.trustRootPositions,
    })),
  };
}

/** Everything there is, asked for or not. */
function allFacts(ledger: LedgerHarness): Facts {
  const { clientEvents, anchors, contents, records } = ledger.tables;
  return {
    clientEvents: new Map(clientEvents),
    anchors: new Map(anchors),
    contents: new Map(contents),
    records: records.everything(),
  };
}

const SEEDS = [1, 2, 3];
const STEPS = 120;

describe("replicas", () => {
  test.each(SEEDS)("that load differently and restart at any time decide the same: seed %d", (seed) => {
    const ledger = new LedgerHarness();
    const life = new RandomLife(seed, ledger);
    const restarts = randomOf(seed + 1000);
    let other = emptyLedgerState(sha256, NEXT_RULES);
    for (let step = 0; step < STEPS; step++) {
      const entry = life.entry(step);
      const facts = allFacts(ledger);
      const decoded = decodeEntry(encodeEntry(entry), NEXT_RULES);
      const committed = { index: ledger.state.appliedIndex + 1, term: 3, entry: decoded };
      const decision = ledger.apply(entry);
      const same = decideEntry(other, committed, facts, nodeCrypto);
      expect(bytesToHex(same.effect)).toBe(bytesToHex(decision.effect));
      expect(same.outcomes).toEqual(decision.outcomes);
      advance(other, same);
      if (restarts(8) === 0) other = restoreLedgerState(ledger.stored(), nodeCrypto, NEXT_RULES);
      expect(essence(other)).toEqual(essence(ledger.state));
    }
    expect(ledger.tables.leaves.length).toBeGreaterThan(500);
    expect(ledger.tables.certificates.size).toBeGreaterThan(2);
    expect(ledger.state.rules).toBe(NEXT_RULES.max);
    for (const tile of ledger.tables.tiles) expect(tileRoot(tile)).toEqual(tile.root);
  });

  test("deciding leaves the state as it was, and the same entry is decided the same again", () => {
    const ledger = new LedgerHarness();
    const life = new RandomLife(7, ledger);
    for (let step = 0; step < 50; step++) {
      const entry = life.entry(step);
      const before = essence(ledger.state);
      const first = ledger.decide(entry);
      expect(essence(ledger.state)).toEqual(before);
      expect(ledger.decide(entry)).toEqual(first);
      ledger.apply(entry);
    }
  });
});

describe("the effect chain", () => {
  test("moves with every entry, also one that writes nothing", () => {
    const ledger = LedgerHarness.started();
    const before = ledger.state.effect;
    ledger.apply(ledger.entry([]));
    expect(ledger.state.effect).not.toEqual(before);
  });

  test.each<[string, (entry: Entry) => Entry]>([
    [
      "another event",
      (entry) => ({ ...entry, groups: regroup(entry, record([event("other", { clientEventId: "i" })])) }),
    ],
    ["another salt", (entry) => ({ ...entry, groups: regroup(entry, record([salted])) })],
    ["another time", (entry) => ({ ...entry, acceptedMs: entry.acceptedMs + 1 })],
    ["another group id", (entry) => ({ ...entry, groups: entry.groups.map(renumber) })],
  ])("differs for %s", (_, change) => {
    const ledger = LedgerHarness.started();
    const entry = ledger.entry([ledger.group(record([event("one", { clientEventId: "i" })]))]);
    expect(ledger.decide(change(entry)).effect).not.toEqual(ledger.decide(entry).effect);
    expect(ledger.decide({ ...entry }).effect).toEqual(ledger.decide(entry).effect);
  });

  test("differs for another term, and for another past", () => {
    const ledger = LedgerHarness.started();
    const entry = ledger.entry([]);
    const { effect } = ledger.decide(entry);
    const committed = { index: ledger.state.appliedIndex + 1, term: 4, entry };
    const facts = ledger.facts(entry);
    expect(decideEntry(ledger.state, committed, facts, nodeCrypto).effect).not.toEqual(effect);
    ledger.state.effect = hash("another past");
    expect(ledger.decide(entry).effect).not.toEqual(effect);
  });

  test("covers every list that is written, and leaves out what leaves determine", () => {
    const ledger = new LedgerHarness();
    const life = new RandomLife(5, ledger);
    const covered = new Map<string, boolean>();
    const tileful = record(Array.from({ length: 256 }, (_, at) => event(`e${at}`)));
    for (let step = 0; step <= STEPS; step++) {
      const entry = step === STEPS ? ledger.entry([ledger.group(tileful)]) : life.entry(step);
      const { writes, ...end } = ledger.apply(entry);
      const bytes = bytesToHex(encodeWrites(writes, end));
      for (const [name, list] of Object.entries(writes)) {
        if (!Array.isArray(list) || list.length === 0) continue;
        covered.set(name, bytesToHex(encodeWrites({ ...writes, [name]: list.slice(1) }, end)) !== bytes);
      }
    }
    const derived = new Set(["tiles"]);
    const names = Object.entries(ledger.decide(ledger.entry([])).writes).flatMap(([name, list]) =>
      Array.isArray(list) ? [name] : [],
    );
    expect(Object.fromEntries(covered)).toEqual(Object.fromEntries(names.map((name) => [name, !derived.has(name)])));
  });

  test.each<[string, (writes: EntryWrites) => EntryWrites]>([
    ["the lineage of a claim", (w) => ({ ...w, claims: w.claims.map((each) => ({ ...each, lineage: 1 })) })],
    ["what superseded a claim", (w) => ({ ...w, claims: w.claims.map((each) => ({ ...each, supersededAt: 99 })) })],
    ["what revoked a claim", (w) => ({ ...w, claims: w.claims.map((each) => ({ ...each, revokedAt: 99 })) })],
    ["the links of a grant", (w) => ({ ...w, grants: w.grants.map((each) => ({ ...each, links: 9 })) })],
    ["the parent of a grant", (w) => ({ ...w, grants: w.grants.map((each) => ({ ...each, parent: 9 })) })],
    ["the window of a grant", (w) => ({ ...w, grants: w.grants.map((each) => ({ ...each, notBefore: 9 })) })],
    [
      "how an older claim ended",
      (w) => ({ ...w, endedClaims: w.endedClaims.map((each) => ({ ...each, revokedAt: 99 })) }),
    ],
    [
      "which claim ended",
      (w) => ({ ...w, endedClaims: w.endedClaims.map((each) => ({ ...each, sequence: each.sequence + 1 })) }),
    ],
    ["that an older claim ended", (w) => ({ ...w, endedClaims: [] })],
    [
      "what a revocation is about",
      (w) => ({ ...w, revocations: w.revocations.map((each) => ({ ...each, target: 9 })) }),
    ],
    ["the rate of a key", (w) => ({ ...w, apiKeys: w.apiKeys.map((each) => ({ ...each, requestsPerSecond: 9 })) })],
  ])("differs for %s", (_, change) => {
    const { ledger, alice, bob, carol } = new GrantWorld();
    const { writes, ...end } = ledger.decide(
      ledger.entry([
        ledger.group(keyCommand("another", ["read"])),
        ledger.group(
          claim("new"),
          grant(alice, bob),
          revocation("claim", carol.claim, { by: "carol" }),
          claim("alice", { issuedAt: 1 }),
        ),
      ]),
    );
    expect(writes.endedClaims).toHaveLength(2);
    expect(encodeWrites(change(writes), end)).not.toEqual(encodeWrites(writes, end));
  });

  const salted: EventInput = { ...event("one", { clientEventId: "i" }), clientEventSalt: hash("another salt") };

  function regroup(entry: Entry, command: Command): ProposalGroup[] {
    return entry.groups.map((group) => ({ ...group, commands: [command] }));
  }

  function renumber(group: ProposalGroup): ProposalGroup {
    return { ...group, id: { ...group.id, counter: group.id.counter + 1 } };
  }
});

describe("order", () => {
  test.each([0, 1, 2, 4, 100])("entry %d after applied index 2 halts", (index) => {
    const ledger = LedgerHarness.started();
    const entry = ledger.entry([]);
    const committed = { index, term: 3, entry };
    expect(() => decideEntry(ledger.state, committed, ledger.facts(entry), nodeCrypto)).toThrow(
      expect.objectContaining({ code: "index_out_of_order" }),
    );
    const decision = { ...ledger.decide(entry), index };
    expect(() => advance(ledger.state, decision)).toThrow(LedgerHaltError);
  });
});

describe("stored parts that do not fit together halt", () => {
  type Stored = ReturnType<LedgerHarness["stored"]>;
  type StoredOrigin = Stored["origins"][number];

  function storedLedger(): Stored {
    const ledger = LedgerHarness.started();
    for (let at = 0; at < 5; at++) ledger.accept(event(`e${at}`));
    const head = ledger.head(NODE_A.originFingerprint, 3);
    ledger.apply(
      ledger.entry(
        [],
        [
          certify(head, [
            [NODE_A, 1],
            [NODE_B, 1],
          ]),
        ],
      ),
    );
    ledger.accept(event("last"));
    return ledger.stored();
  }

  function withOrigin(stored: Stored, change: (origin: StoredOrigin) => StoredOrigin): Stored {
    return {
      ...stored,
      origins: stored.origins.map((origin) => (origin.certified === null ? origin : change(origin))),
    };
  }

  test("the good ones restore", () => {
    expect(restoreLedgerState(storedLedger(), nodeCrypto).nextSequence).toBe(9);
  });

  test.each<[string, (stored: Stored) => Stored]>([
    ["a leaf too few in all", (stored) => ({ ...stored, nextSequence: stored.nextSequence + 1 })],
    ["a missing leaf", (s) => withOrigin(s, (o) => ({ ...o, leavesSinceCertified: o.leavesSinceCertified.slice(1) }))],
    ["another last anchor id", (s) => withOrigin(s, (o) => ({ ...o, lastAnchorId: anotherId(o) }))],
    [
      "a frontier of another size",
      (s) => withOrigin(s, (o) => ({ ...o, frontierAtCertified: { size: 0, hashes: [] } })),
    ],
    [
      "a frontier of another tree",
      (s) => withOrigin(s, (o) => ({ ...o, frontierAtCertified: { size: 3, hashes: [hash("x"), hash("y")] } })),
    ],
    ["a missing tile", (s) => withOrigin(s, (o) => ({ ...o, openTiles: [] }))],
    ["a gap in the trust roots", (s) => ({ ...s, trustRoots: s.trustRoots.map((root) => ({ ...root, version: 2 })) })],
    ["a trust root that is altered", (s) => ({ ...s, trustRoots: [{ version: 1, document: altered }] })],
    [
      "a chain that does not begin with version 1",
      (s) => ({ ...s, trustRoots: [{ version: 1, document: VERSION_2 }] }),
    ],
    ["a chain that is broken", (s) => ({ ...s, trustRoots: [...s.trustRoots, { version: 2, document: unrelated }] })],
  ])("%s", (_, change) => {
    expect(() => restoreLedgerState(change(storedLedger()), nodeCrypto)).toThrow(
      expect.objectContaining({ code: "stored_state_inconsistent" }),
    );
  });

  const altered = GENESIS_DOCUMENT.replace("validity 17", "validity 16");
  const unrelated = successor(ABC, VERSION_2, 2);

  function anotherId(origin: StoredOrigin): StoredOrigin["lastAnchorId"] {
    const [first] = origin.leavesSinceCertified;
    if (first === undefined) throw new Error("no leaf");
    return first;
  }
});
