import { describe, expect, test } from "@jest/globals";
import { LEAF_KIND, decodeLeaf, bytesToHex, compareBytes } from "@event-anchoring/protocol";
import { trustRootsOf } from "../src/index.ts";
import type { Command, CommandOutcome } from "../src/index.ts";
import {
  ABC,
  CLUSTER_ID,
  GENESIS_DOCUMENT,
  NODE_A,
  NODE_B,
  NODE_C,
  NODE_D,
  originHex,
  signTrustRoot,
  successor,
  thkOf,
  trustRootOf,
} from "../../../test/worlds/cluster.ts";
import { CREATE_KEY, LedgerHarness, event, record } from "../../../test/worlds/ledger-harness.ts";

const ZEROS = new Uint8Array(32);
const GENESIS: Command = { kind: "genesis", document: GENESIS_DOCUMENT };

function next(document: string): Command {
  return { kind: "trust_root", document };
}

function codeOf(outcome: CommandOutcome | undefined): string {
  if (outcome === undefined) return "none";
  return outcome.kind === "rejected" ? outcome.rejection.code : outcome.kind;
}

describe("genesis", () => {
  test("appends one genesis leaf per origin, ascending by fingerprint, and lists the origins", () => {
    const ledger = new LedgerHarness();
    const decision = ledger.apply(ledger.entry([ledger.group(GENESIS)]));
    const leaves = decision.writes.leaves.map(({ bytes }) => decodeLeaf(bytes));
    const fingerprints = ABC.map(({ node }) => node.originFingerprint).sort(compareBytes);
    expect(leaves).toEqual(
      fingerprints.map((originFingerprint, sequence) => ({
        kind: LEAF_KIND.genesis,
        originFingerprint,
        depth: 0,
        parentAnchorId: ZEROS,
        sequence,
        acceptedMs: ledger.clockMs,
        clusterId: CLUSTER_ID,
        rootThk: thkOf(GENESIS_DOCUMENT),
      })),
    );
    expect([...ledger.state.origins.keys()]).toEqual(fingerprints.map(bytesToHex));
    expect(decision.writes.trustRoots).toEqual([
      { version: 1, rootThk: thkOf(GENESIS_DOCUMENT), document: GENESIS_DOCUMENT, sequence: 0 },
    ]);
    expect(trustRootsOf(ledger.state)).toHaveLength(1);
  });

  test("the first one counts: later ones change nothing, whatever they say", () => {
    const ledger = new LedgerHarness();
    ledger.run(GENESIS);
    const other = signTrustRoot(trustRootOf(1, ZEROS, [{ node: NODE_A }, { node: NODE_B }, { node: NODE_D }]));
    for (const document of [GENESIS_DOCUMENT, other, "rubbish"])
      expect(codeOf(ledger.run({ kind: "genesis", document }))).toBe("unchanged");
    expect(ledger.state.nextSequence).toBe(3);
    expect(trustRootsOf(ledger.state)[0]?.note).toBe(GENESIS_DOCUMENT);
  });

  test.each([
    ["no document", ""],
    ["one root signature of two", signTrustRoot(trustRootOf(1, ZEROS, ABC), 1)],
    ["a changed byte", GENESIS_DOCUMENT.replace("validity 17", "validity 16")],
    ["version 2", successor(ABC)],
    ["a closed origin", signTrustRoot(trustRootOf(1, ZEROS, [...ABC.slice(1), { node: NODE_A, origin: "closed" }]))],
    ["a text that is not canonical", GENESIS_DOCUMENT.replace("quorum 2", "quorum  2")],
  ])("%s is refused, and the ledger waits on", (_, document) => {
    const ledger = new LedgerHarness();
    expect(codeOf(ledger.run({ kind: "genesis", document }))).toBe("trust_root_invalid");
    expect(ledger.state.trustRootChain).toBeNull();
    expect(codeOf(ledger.run(GENESIS))).toBe("applied");
  });

  test("shares its entry with nothing", () => {
    const ledger = new LedgerHarness();
    const inGroup = ledger.apply(ledger.entry([ledger.group(GENESIS, CREATE_KEY)]));
    expect(inGroup.outcomes).toMatchObject([
      { commands: [{ rejection: { code: "not_alone" } }, { rejection: { code: "not_initialised" } }] },
    ]);
    const inEntry = ledger.apply(ledger.entry([ledger.group(CREATE_KEY), ledger.group(GENESIS)]));
    expect(inEntry.outcomes[1]).toMatchObject({ commands: [{ rejection: { code: "not_alone" } }] });
  });

  test("no byte of a document makes deciding throw", () => {
    const ledger = new LedgerHarness();
    for (let position = 0; position < GENESIS_DOCUMENT.length; position += 7) {
      for (const replacement of ["\0", "\n", " ", "é", "9"]) {
        const document =
          GENESIS_DOCUMENT.slice(0, position) + replacement + GENESIS_DOCUMENT.slice(position + replacement.length);
        if (document === GENESIS_DOCUMENT) continue;
        const { outcomes } = ledger.decide(ledger.entry([ledger.group({ kind: "genesis", document })]));
        expect(outcomes).toMatchObject([{ commands: [{ rejection: { code: "trust_root_invalid" } }] }]);
      }
    }
  });
});

describe("the next version", () => {
  test("appends a trust-root leaf to every origin, and a genesis leaf to a new one", () => {
    const ledger = LedgerHarness.started();
    ledger.accept(event("x"));
    const document = successor([...ABC, { node: NODE_D, status: "learner" }]);
    const decision = ledger.apply(ledger.entry([ledger.group(next(document))]));
    const leaves = decision.writes.leaves.map(({ bytes }) => decodeLeaf(bytes));
    const fingerprints = leaves.map((leaf) => bytesToHex(leaf.originFingerprint));
    expect(fingerprints).toEqual([...fingerprints].sort());
    expect(leaves).toHaveLength(4);
    for (const leaf of leaves) {
      const isNew = bytesToHex(leaf.originFingerprint) === originHex(NODE_D);
      expect(leaf.kind).toBe(isNew ? LEAF_KIND.genesis : LEAF_KIND.trustRoot);
      expect(leaf).toMatchObject({ rootThk: thkOf(document) });
    }
    expect(ledger.origin(NODE_A.originFingerprint).trustRootPositions).toEqual([
      { leafIndex: 0, version: 1 },
      { leafIndex: 2, version: 2 },
    ]);
    expect(ledger.origin(NODE_D.originFingerprint).trustRootPositions).toEqual([{ leafIndex: 0, version: 2 }]);
    expect(decision.writes.originStatuses).toEqual([{ originFingerprint: NODE_D.originFingerprint, status: "active" }]);
    ledger.accept(event("to the new origin", { originFingerprint: NODE_D.originFingerprint }));
  });

  test("a closed origin gets the leaf, a lost one does not", () => {
    const ledger = LedgerHarness.started();
    const document = successor([
      { node: NODE_A },
      { node: NODE_B, origin: "closed" },
      { node: NODE_C, origin: "lost" },
    ]);
    const { writes } = ledger.apply(ledger.entry([ledger.group(next(document))]));
    expect(writes.leaves.map((leaf) => bytesToHex(leaf.originFingerprint)).sort()).toEqual(
      [originHex(NODE_A), originHex(NODE_B)].sort(),
    );
    expect(ledger.origin(NODE_C.originFingerprint)).toMatchObject({ status: "lost" });
    for (const { originFingerprint } of [NODE_B, NODE_C])
      expect(ledger.runEvent(event("x", { originFingerprint }))).toMatchObject({
        rejection: { code: "origin_closed" },
      });
  });

  test("proposed again it changes nothing", () => {
    const ledger = LedgerHarness.started();
    expect(codeOf(ledger.run(next(successor(ABC))))).toBe("applied");
    const size = ledger.state.nextSequence;
    expect(codeOf(ledger.run(next(successor(ABC))))).toBe("unchanged");
    expect(codeOf(ledger.run(next(signTrustRoot(trustRootOf(2, thkOf(GENESIS_DOCUMENT), ABC), 3))))).toBe("unchanged");
    expect(ledger.state.nextSequence).toBe(size);
  });

  test.each([
    ["a gap", successor(ABC, GENESIS_DOCUMENT, 3)],
    ["another previous version", signTrustRoot(trustRootOf(2, thkOf(successor(ABC)), ABC))],
    ["too few root signatures", signTrustRoot(trustRootOf(2, thkOf(GENESIS_DOCUMENT), ABC), 1)],
    ["an origin whose line is gone", successor([{ node: NODE_A }, { node: NODE_B }])],
    ["a new origin that is closed", successor([...ABC, { node: NODE_D, status: "retired", origin: "closed" }])],
    ["rubbish", "rubbish"],
  ])("%s is refused", (_, document) => {
    const ledger = LedgerHarness.started();
    expect(codeOf(ledger.run(next(document)))).toBe("trust_root_invalid");
    expect(trustRootsOf(ledger.state)).toHaveLength(1);
    expect(ledger.state.nextSequence).toBe(3);
  });

  test("a status does not move back", () => {
    const ledger = LedgerHarness.started();
    const closed = successor([{ node: NODE_A }, { node: NODE_B }, { node: NODE_C, origin: "closed" }]);
    ledger.run(next(closed));
    expect(codeOf(ledger.run(next(successor(ABC, closed, 3))))).toBe("trust_root_invalid");
  });

  test("shares its entry with nothing, not even a certificate", () => {
    const ledger = LedgerHarness.started();
    const command = next(successor(ABC));
    const beside = ledger.apply(ledger.entry([ledger.group(command), ledger.group(record([event("x")]))]));
    expect(beside.outcomes[0]).toMatchObject({ commands: [{ rejection: { code: "not_alone" } }] });
    const bogus = { ...ledger.head(NODE_A.originFingerprint), cosignatures: [] };
    const certified = ledger.apply(ledger.entry([ledger.group(command)], [bogus]));
    expect(certified.outcomes[0]).toMatchObject({ commands: [{ rejection: { code: "not_alone" } }] });
    expect(codeOf(ledger.run(command))).toBe("applied");
  });
});
