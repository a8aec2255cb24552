/**
 * Random lives of a ledger, each a function of its seed: replicas that load and start differently decide the same, and
 * what a store would load is the state again.
 */
import { describe, expect, test } from "@jest/globals";
import { bytesToHex, concatBytes, toOriginFingerprint } from "@event-anchoring/protocol";
import { nodeCrypto } from "@event-anchoring/node-crypto";
import {
  LedgerHaltError,
  advance,
  decideEntry,
  decodeEntry,
  emptyLedgerState,
  encodeEntry,
  restoreLedgerState,
} from "../src/index.ts";
import type { Certificate, Command, Entry, EventInput, Facts, LedgerState, ProposalGroup } from "../src/index.ts";
import { ABC, GENESIS_DOCUMENT, NODE_A, NODE_B, NODE_C, NODE_D, certify, hash, sha256, successor } from "./cluster.ts";
import { CREATE_KEY, LedgerHarness, event, record, tileRoot } from "./ledger-harness.ts";

/** mulberry32: small, and the same everywhere. */
function randomOf(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) % below;
  };
}

const NODES = [NODE_A, NODE_B, NODE_C, NODE_D];
const VERSION_2 = successor([{ node: NODE_A }, { node: NODE_B }, { node: NODE_C, origin: "closed" }, { node: NODE_D }]);

/** Makes entries of every sort, good and bad. */
class RandomLife {
  readonly #random: (below: number) => number;
  readonly #ledger: LedgerHarness;
  #groups: ProposalGroup[] = [];

  constructor(seed: number, ledger: LedgerHarness) {
    this.#random = randomOf(seed);
    this.#ledger = ledger;
  }

  #origin(): EventInput["originFingerprint"] {
    const at = this.#random(30);
    return NODES[at % 4]?.originFingerprint ?? toOriginFingerprint(hash("none"));
  }

  #event(): EventInput {
    const name = `e${this.#random(200)}`;
    const { leaves } = this.#ledger.tables;
    const target = leaves[this.#random(leaves.length + 2)]?.anchorId ?? hash("missing");
    const plain = event(name).semanticAnchor;
    const semanticAnchor = this.#random(4) === 0 ? { ...plain, scrollRef: target, eventDataHash: hash(name) } : plain;
    const clientEventId = this.#random(3) === 0 ? `id${this.#random(60)}` : null;
    return event(name, { originFingerprint: this.#origin(), semanticAnchor, clientEventId });
  }

  #command(): Command {
    const dice = this.#random(20);
    if (dice === 0) return { kind: "mark_certify_point" };
    if (dice === 1) return { kind: "genesis", document: GENESIS_DOCUMENT };
    if (dice === 2) return CREATE_KEY;
    if (dice === 3) {
      const apiClientId = hash(`client ${this.#random(5)}`).slice(0, 16);
      const keyHash = hash(`key ${this.#random(20)}`);
      const key = { keyHash, apiClientId, label: "", scopes: ["write"] as const, expiresMs: 0, requestsPerSecond: 0 };
      return { kind: "create_api_key", operator: "test", key };
    }
    const events = Array.from({ length: 1 + this.#random(this.#random(8) === 0 ? 200 : 4) }, () => this.#event());
    return record(events, { atomic: this.#random(5) === 0 });
  }

  #certificates(): Certificate[] {
    if (this.#random(4) !== 0) return [];
    return NODES.flatMap((node) => {
      const origin = this.#ledger.state.origins.get(bytesToHex(node.originFingerprint));
      if (origin === undefined || this.#random(2) === 0) return [];
      const lowest = origin.tree.base + 1;
      const treeSize = Math.min(origin.tree.size, lowest + this.#random(origin.tree.size - lowest + 1));
      const cosigners = NODES.filter(() => this.#random(4) !== 0).map((by) => [by, 100 + this.#random(50)] as const);
      return [certify(this.#ledger.head(node.originFingerprint, treeSize), cosigners)];
    });
  }

  entry(step: number): Entry {
    if (step === 3) return this.#ledger.entry([this.#ledger.group({ kind: "genesis", document: GENESIS_DOCUMENT })]);
    if (step === 4) return this.#ledger.entry([this.#ledger.group(CREATE_KEY)]);
    if (step === 40) return this.#ledger.entry([this.#ledger.group({ kind: "trust_root", document: VERSION_2 })]);
    const fresh = Array.from({ length: this.#random(4) }, () => {
      const commands = Array.from({ length: 1 + this.#random(2) }, () => this.#command());
      const group = this.#ledger.group(...commands);
      return this.#random(10) === 0 ? { ...group, notAfter: this.#ledger.state.appliedIndex } : group;
    });
    this.#groups.push(...fresh);
    const again = this.#groups[this.#random(this.#groups.length + 1)];
    const entry = this.#ledger.entry(
      again !== undefined && this.#random(3) === 0 ? [...fresh, again] : fresh,
      this.#certificates(),
    );
    return this.#random(6) === 0 ? { ...entry, acceptedMs: entry.acceptedMs - 100_000 } : entry;
  }
}

/** All that two states must agree on, whatever they keep in memory beside it. */
function essence(state: LedgerState): object {
  return {
    position: [state.appliedIndex, state.appliedTerm, state.nextSequence, state.lastAcceptedMs],
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
    let other = emptyLedgerState(sha256);
    for (let step = 0; step < STEPS; step++) {
      const entry = life.entry(step);
      const facts = allFacts(ledger);
      const committed = { index: ledger.state.appliedIndex + 1, term: 3, entry: decodeEntry(encodeEntry(entry)) };
      const decision = ledger.apply(entry);
      const same = decideEntry(other, committed, facts, nodeCrypto);
      expect(bytesToHex(same.effect)).toBe(bytesToHex(decision.effect));
      expect(same.outcomes).toEqual(decision.outcomes);
      advance(other, same);
      if (restarts(8) === 0) other = restoreLedgerState(ledger.stored(), nodeCrypto);
      expect(essence(other)).toEqual(essence(ledger.state));
    }
    expect(ledger.tables.leaves.length).toBeGreaterThan(500);
    expect(ledger.tables.certificates.size).toBeGreaterThan(2);
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
