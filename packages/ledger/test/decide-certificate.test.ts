import { describe, expect, test } from "@jest/globals";
import type { Certificate, EntryDecision } from "../src/index.ts";
import { ABC, NODE_A, NODE_B, NODE_C, NODE_D, certify, hash, successor } from "../../../test/worlds/cluster.ts";
import { LedgerHarness, event } from "../../../test/worlds/ledger-harness.ts";

const ORIGIN = NODE_A.originFingerprint;

function ledgerOf(leaves: number): LedgerHarness {
  const ledger = LedgerHarness.started();
  for (let at = 1; at < leaves; at++) ledger.accept(event(`e${at}`));
  return ledger;
}

function decide(ledger: LedgerHarness, ...certificates: readonly Certificate[]): EntryDecision {
  return ledger.decide(ledger.entry([], certificates));
}

describe("recording a certificate", () => {
  test("keeps the valid lines, by node id, and the k-th smallest time", () => {
    const ledger = ledgerOf(5);
    const head = ledger.head(ORIGIN);
    const certificate = certify(head, [
      [NODE_C, 300],
      [NODE_A, 200],
      [NODE_B, 100],
    ]);
    const decision = ledger.apply(ledger.entry([], [certificate]));
    const [write] = decision.writes.certificates;
    expect(write).toMatchObject({ ...head, certifiedAtS: 200, trustRootVersion: 1 });
    expect(write?.cosignatures.map(({ nodeId }) => nodeId)).toEqual(["a", "b", "c"]);
    expect(ledger.origin(ORIGIN).certified).toEqual({
      treeSize: 5,
      rootHash: head.rootHash,
      certifiedAtS: 200,
    });
    expect(decision.writes.leaves).toEqual([]);
    expect(decision.certify).toBe(false);
  });

  test("leaves out what does not verify, if a quorum remains", () => {
    const ledger = ledgerOf(3);
    const good = certify(ledger.head(ORIGIN), [
      [NODE_A, 1],
      [NODE_C, 3],
    ]);
    const bad = certify(ledger.head(ORIGIN, 2), [[NODE_B, 2]]);
    const certificate = { ...good, cosignatures: [...bad.cosignatures, ...good.cosignatures] };
    const [write] = decide(ledger, certificate).writes.certificates;
    expect(write?.cosignatures.map(({ nodeId }) => nodeId)).toEqual(["a", "c"]);
  });

  test("an older size than the tree's is fine, and the newest of several counts", () => {
    const ledger = ledgerOf(6);
    const [small, large] = [2, 4].map((size) =>
      certify(ledger.head(ORIGIN, size), [
        [NODE_A, size],
        [NODE_B, size],
      ]),
    );
    if (small === undefined || large === undefined) throw new Error("no certificates");
    expect(decide(ledger, small, large).writes.certificates.map(({ treeSize }) => treeSize)).toEqual([2, 4]);
    expect(decide(ledger, large, small).writes.certificates.map(({ treeSize }) => treeSize)).toEqual([4]);
    ledger.apply(ledger.entry([], [small, large]));
    expect(ledger.origin(ORIGIN).certified?.treeSize).toBe(4);
  });

  test("leaves that wait for a certificate can be proved after it was recorded", () => {
    const ledger = ledgerOf(8);
    const certificate = certify(ledger.head(ORIGIN), [
      [NODE_A, 1],
      [NODE_B, 1],
    ]);
    ledger.apply(ledger.entry([], [certificate]));
    expect(ledger.origin(ORIGIN).tree.prove(3, 8)).toHaveLength(3);
  });
});

describe("a lost origin", () => {
  const [first, second] = [
    [NODE_A, 1],
    [NODE_B, 1],
  ] as const;

  function lostAfter(recorded: number): LedgerHarness {
    const ledger = ledgerOf(4);
    ledger.apply(ledger.entry([], [certify(ledger.head(ORIGIN, recorded), [first, second])]));
    const lost = successor([{ node: NODE_A, origin: "lost" }, { node: NODE_B }, { node: NODE_C }]);
    ledger.run({ kind: "trust_root", document: lost });
    return ledger;
  }

  test("keeps the certificate that the log held when it was lost", () => {
    const ledger = lostAfter(3);
    expect(decide(ledger, certify(ledger.head(ORIGIN, 4), [first, second])).writes.certificates).toEqual([]);
    expect(ledger.origin(ORIGIN).certified?.treeSize).toBe(3);
  });

  test("is not contradicted any more", () => {
    const ledger = lostAfter(3);
    const other = certify({ ...ledger.head(ORIGIN, 4), rootHash: hash("another root") }, [first, second]);
    expect(decide(ledger, other)).toMatchObject({ contradictions: [], writes: { certificates: [] } });
  });
});

describe("a bogus certificate stops nobody", () => {
  const two = [
    [NODE_A, 1],
    [NODE_B, 1],
  ] as const;

  test.each<[string, (ledger: LedgerHarness) => Certificate]>([
    ["one line", (ledger) => certify(ledger.head(ORIGIN), [[NODE_A, 1]])],
    ["no line", (ledger) => certify(ledger.head(ORIGIN), [])],
    [
      "one node twice",
      (ledger) =>
        certify(ledger.head(ORIGIN), [
          [NODE_A, 1],
          [NODE_A, 2],
        ]),
    ],
    [
      "a stranger",
      (ledger) =>
        certify(ledger.head(ORIGIN), [
          [NODE_A, 1],
          [NODE_D, 1],
        ]),
    ],
    ["more than the own tree", (ledger) => ({ ...certify(ledger.head(ORIGIN), two), treeSize: 5 })],
    ["another size than signed", (ledger) => ({ ...certify(ledger.head(ORIGIN), two), treeSize: 3 })],
    ["another root than signed", (ledger) => ({ ...certify(ledger.head(ORIGIN), two), rootHash: hash("root") })],
    ["size 0", (ledger) => ({ ...certify(ledger.head(ORIGIN), two), treeSize: 0 })],
    [
      "another origin than signed",
      (ledger) => ({ ...certify(ledger.head(ORIGIN), two), originFingerprint: NODE_B.originFingerprint }),
    ],
    [
      "an origin that nobody knows",
      (ledger) => ({ ...certify(ledger.head(ORIGIN), two), originFingerprint: NODE_D.originFingerprint }),
    ],
    [
      "another time than signed",
      (ledger) => {
        const certificate = certify(ledger.head(ORIGIN), two);
        return { ...certificate, cosignatures: certificate.cosignatures.map((line) => ({ ...line, timeS: 9 })) };
      },
    ],
    [
      "swapped names",
      (ledger) => {
        const certificate = certify(ledger.head(ORIGIN), two);
        const nodeIds = ["b", "a"];
        const cosignatures = certificate.cosignatures.map((line, at) => ({ ...line, nodeId: nodeIds[at] ?? "c" }));
        return { ...certificate, cosignatures };
      },
    ],
  ])("%s", (_, make) => {
    const ledger = ledgerOf(4);
    expect(decide(ledger, make(ledger)).writes.certificates).toEqual([]);
  });

  test("what is recorded already, or smaller", () => {
    const ledger = ledgerOf(4);
    const recorded = certify(ledger.head(ORIGIN, 3), two);
    ledger.apply(ledger.entry([], [recorded]));
    expect(decide(ledger, recorded).writes.certificates).toEqual([]);
    expect(decide(ledger, certify(ledger.head(ORIGIN, 2), two)).writes.certificates).toEqual([]);
  });

  test("leaves of its own entry are not in the tree yet", () => {
    const ahead = ledgerOf(5);
    const ledger = ledgerOf(4);
    const certificate = certify(ahead.head(ORIGIN), two);
    expect(decide(ledger, certificate).writes.certificates).toEqual([]);
  });
});

describe("the version that judges a size", () => {
  const retired = successor([
    { node: NODE_A },
    { node: NODE_B },
    { node: NODE_C, status: "retired" },
    { node: NODE_D },
  ]);

  function ledgerAfterChange(): LedgerHarness {
    const ledger = ledgerOf(3);
    ledger.run({ kind: "trust_root", document: retired });
    return ledger;
  }

  test.each([
    [3, [NODE_A, NODE_C], 1],
    [3, [NODE_A, NODE_D], null],
    [4, [NODE_A, NODE_C], null],
    [4, [NODE_A, NODE_D], 2],
  ] as const)("size %d", (size, [first, second], version) => {
    const ledger = ledgerAfterChange();
    const certificate = certify(ledger.head(ORIGIN, size), [
      [first, 1],
      [second, 1],
    ]);
    const versions = decide(ledger, certificate).writes.certificates.map((write) => write.trustRootVersion);
    expect(versions).toEqual(version === null ? [] : [version]);
  });

  test("a learner's cosignature counts for nothing", () => {
    const ledger = ledgerOf(3);
    ledger.run({ kind: "trust_root", document: successor([...ABC, { node: NODE_D, status: "learner" }]) });
    const certificate = certify(ledger.head(ORIGIN), [
      [NODE_A, 1],
      [NODE_D, 1],
    ]);
    expect(decide(ledger, certificate).writes.certificates).toEqual([]);
  });
});

describe("a valid quorum over another root", () => {
  test("is handed on, and not recorded; what else the entry holds is decided", () => {
    const ledger = ledgerOf(4);
    const other = { ...ledger.head(ORIGIN), rootHash: hash("another root") };
    const certificate = certify(other, [
      [NODE_A, 1],
      [NODE_C, 1],
    ]);
    const good = certify(ledger.head(NODE_B.originFingerprint), [
      [NODE_A, 1],
      [NODE_C, 1],
    ]);
    const { writes, contradictions } = ledger.apply(ledger.entry([], [certificate, good]));
    expect(contradictions).toMatchObject([{ ...other, cosignatures: [{ nodeId: "a" }, { nodeId: "c" }] }]);
    expect(writes.certificates.map(({ originFingerprint }) => originFingerprint)).toEqual([NODE_B.originFingerprint]);
    expect(ledger.origin(ORIGIN).certified).toBeNull();
  });

  test("has another effect than on a node that records it: the two notice that they differ", () => {
    const [ledger, other] = [ledgerOf(4), ledgerOf(4)];
    const lines = [
      [NODE_A, 1],
      [NODE_C, 1],
    ] as const;
    const forked = certify({ ...ledger.head(ORIGIN), rootHash: hash("another root") }, lines);
    const own = certify(other.head(ORIGIN), lines);
    expect(decide(ledger, forked).effect).not.toEqual(decide(other, own).effect);
  });
});
