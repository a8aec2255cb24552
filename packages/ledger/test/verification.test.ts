import { describe, expect, test } from "@jest/globals";
import {
  EMPTY_SEMANTIC_ANCHOR,
  LEAF_KIND,
  RecentTree,
  anchorIdOf,
  bytesToHex,
  checkpointOrigin,
  cosignatureLine,
  decodeLeaf,
  emptyFrontier,
  encodeLeaf,
  eventActorPayload,
  formatCheckpoint,
  formatNote,
  noteMessage,
  noteSignatureLine,
} from "@event-anchoring/protocol";
import type { Leaf, Receipt } from "@event-anchoring/protocol";
import { createSigner, nodeCrypto } from "@event-anchoring/node-crypto";
import { EVENT_CHECKS, rememberVerdicts, traceEvent, verifyEvent } from "../src/index.ts";
import type {
  CheckResult,
  EventCheckCode,
  EventVerificationInput,
  LeafWrite,
  LoadedLeaf,
  VerificationResult,
} from "../src/index.ts";
import { CLUSTER_NAME, NODE_A, NODE_B, NODE_C, certify, hash, sha256 } from "./cluster.ts";
import type { TestNode } from "./cluster.ts";
import { LedgerHarness, event } from "./ledger-harness.ts";

/** The whole signed note over a tree of origin A. */
function noteOf(tree: RecentTree, cosigners: readonly TestNode[]): string {
  const { originFingerprint } = NODE_A;
  const treeSize = tree.size;
  const rootHash = tree.rootAt(treeSize);
  const origin = checkpointOrigin(CLUSTER_NAME, originFingerprint);
  const text = formatCheckpoint({ origin, treeSize, rootHash });
  const certificate = certify(
    { originFingerprint, treeSize, rootHash },
    cosigners.map((node) => [node, 1_700_000_000] as const),
  );
  const signature = NODE_A.log.sign(noteMessage(text));
  const logLine = noteSignatureLine({ name: origin, publicKey: NODE_A.log.publicKey, signature }, sha256);
  const lines = certificate.cosignatures.map((cosignature, at) => {
    const node = cosigners[at];
    if (node === undefined) throw new Error("no cosigner");
    const name = `${CLUSTER_NAME}/node/${node.nodeId}`;
    return cosignatureLine({ ...cosignature, name, publicKey: node.cosigner.publicKey }, sha256);
  });
  return formatNote(text, [logLine, ...lines]);
}

interface World {
  readonly ledger: LedgerHarness;
  readonly leaves: readonly LeafWrite[];
  input(depth: number, more?: Partial<EventVerificationInput>): EventVerificationInput;
}

/** Origin A with an event per label, `last` put on top, certified by nodes A and B. */
function worldOf(last: ((header: LeafWrite) => Leaf) | null = null, cosigners = [NODE_A, NODE_B]): World {
  const ledger = LedgerHarness.started();
  const anchored = { ...EMPTY_SEMANTIC_ANCHOR, eventDataHash: hash("two") };
  ledger.accept(event("one"));
  ledger.accept(event("two", { semanticAnchor: anchored }));
  ledger.accept(event("three", { semanticAnchor: anchored }));
  const origin = checkpointOrigin(CLUSTER_NAME, NODE_A.originFingerprint);
  const leaves = ledger.tables.leaves.filter(
    ({ bytes }) => checkpointOrigin(CLUSTER_NAME, decodeLeaf(bytes).originFingerprint) === origin,
  );
  const before = leaves.at(-1);
  if (last !== null && before !== undefined) {
    const leaf = last(before);
    const bytes = encodeLeaf(leaf);
    leaves.push({ ...leaf, anchorId: anchorIdOf(bytes, sha256), bytes });
  }
  const tree = new RecentTree(emptyFrontier(), sha256);
  for (const { anchorId } of leaves) tree.append(anchorId);
  const checkpoint = noteOf(tree, cosigners);
  const trustRoots = ledger.state.trustRootChain;
  if (trustRoots === null) throw new Error("no trust root");
  return {
    ledger,
    leaves,
    input(depth, more = {}) {
      const leaf = leaves[depth];
      if (leaf === undefined) throw new Error("no such leaf");
      const path = tree.prove(depth, tree.size);
      const receipt: Receipt = { leaf: leaf.bytes, index: depth, treeSize: tree.size, path, checkpoint };
      const asOf = { sequence: 1000, timeMs: ledger.clockMs };
      const parent = leaves[depth - 1] ?? null;
      return { anchorId: leaf.anchorId, receipt, parent, eventHash: null, asOf, trustRoots, ...more };
    },
  };
}

function resultsOf(verification: VerificationResult<EventCheckCode>): Partial<Record<EventCheckCode, CheckResult>> {
  return Object.fromEntries(verification.checks.map(({ code, result }) => [code, result]));
}

const GOOD = {
  exists: "pass",
  event_hash: "not_checked",
  leaf: "pass",
  parent: "pass",
  inclusion: "pass",
  certificate: "pass",
  actor_signature: "not_checked",
  event_data_hash_matches: "not_checked",
  depth: "pass",
};

describe("verifying an event", () => {
  const world = worldOf();

  test("a good one passes every check that applies, in their order", () => {
    const verification = verifyEvent(world.input(1, { eventHash: hash("one") }), nodeCrypto);
    expect(verification.valid).toBe(true);
    expect(verification.checks.map(({ code }) => code)).toEqual([...EVENT_CHECKS]);
    expect(resultsOf(verification)).toEqual({ ...GOOD, event_hash: "pass" });
  });

  test("a genesis leaf has no parent, and no event hash", () => {
    const verification = verifyEvent(world.input(0), nodeCrypto);
    expect(verification.valid).toBe(true);
    expect(resultsOf(verification)).toEqual(GOOD);
    expect(verifyEvent(world.input(0, { eventHash: hash("one") }), nodeCrypto).valid).toBe(false);
  });

  test("event_data_hash_matches informs and decides nothing", () => {
    for (const [depth, result] of [
      [2, "pass"],
      [3, "fail"],
    ] as const) {
      const verification = verifyEvent(world.input(depth), nodeCrypto);
      expect(resultsOf(verification).event_data_hash_matches).toBe(result);
      expect(verification.valid).toBe(true);
    }
  });

  const [, one, two, three] = world.leaves;
  if (one === undefined || two === undefined || three === undefined) throw new Error("no leaves");

  test.each<[string, EventCheckCode, (input: EventVerificationInput) => Partial<EventVerificationInput>]>([
    ["another event hash", "event_hash", () => ({ eventHash: hash("other") })],
    ["younger than as_of", "exists", () => ({ asOf: { sequence: two.sequence - 1, timeMs: 0 } })],
    ["another anchor id", "leaf", () => ({ anchorId: three.anchorId })],
    ["an altered leaf", "leaf", ({ receipt }) => ({ receipt: { ...receipt, leaf: altered(receipt.leaf) } })],
    ["no leaf at all", "leaf", ({ receipt }) => ({ receipt: { ...receipt, leaf: new Uint8Array(371) } })],
    ["no parent", "parent", () => ({ parent: null })],
    ["another parent", "parent", () => ({ parent: three })],
    ["an altered parent", "parent", () => ({ parent: { ...one, bytes: altered(one.bytes) } })],
    ["another path", "inclusion", ({ receipt }) => ({ receipt: { ...receipt, path: receipt.path.slice(1) } })],
    ["another index", "inclusion", ({ receipt }) => ({ receipt: { ...receipt, index: 3 } })],
    ["another tree size", "inclusion", ({ receipt }) => ({ receipt: { ...receipt, treeSize: 9 } })],
    [
      "a checkpoint that is none",
      "inclusion",
      ({ receipt }) => ({ receipt: { ...receipt, checkpoint: receipt.checkpoint.slice(1) } }),
    ],
  ])("%s fails at %s", (_, code, change) => {
    const input = world.input(2);
    const verification = verifyEvent({ ...input, ...change(input) }, nodeCrypto);
    expect(verification.valid).toBe(false);
    expect(resultsOf(verification)[code]).toBe("fail");
    expect(verification.checks.map((check) => check.code)).toEqual([...EVENT_CHECKS]);
  });

  test.each([
    ["one cosigner", [NODE_A]],
    ["nobody", []],
  ])("a checkpoint signed by %s fails at certificate", (_, cosigners) => {
    const verification = verifyEvent(worldOf(null, cosigners).input(1), nodeCrypto);
    expect(verification.valid).toBe(false);
    expect(resultsOf(verification)).toEqual({ ...GOOD, certificate: "fail" });
  });

  test("what could not be checked is never valid", () => {
    const input = world.input(2);
    const verification = verifyEvent({ ...input, anchorId: three.anchorId }, nodeCrypto);
    expect(resultsOf(verification)).toMatchObject({
      leaf: "fail",
      inclusion: "not_checked",
      certificate: "not_checked",
    });
    expect(verification.valid).toBe(false);
  });
});

describe("a signed event", () => {
  const actor = createSigner(hash("actor"));

  function signed(header: LeafWrite, signer = actor): Leaf {
    const { originFingerprint } = NODE_A;
    const content = { originFingerprint, eventHash: hash("signed"), semanticAnchor: EMPTY_SEMANTIC_ANCHOR };
    return {
      kind: LEAF_KIND.signedEvent,
      ...content,
      depth: header.depth + 1,
      parentAnchorId: header.anchorId,
      sequence: header.sequence + 1,
      acceptedMs: header.acceptedMs,
      clientEventCommit: new Uint8Array(32),
      actorPublicKey: actor.publicKey,
      actorSignature: signer.sign(eventActorPayload(content)),
    };
  }

  test("the actor's signature decides", () => {
    const good = verifyEvent(worldOf((header) => signed(header)).input(4), nodeCrypto);
    expect(good.valid).toBe(true);
    expect(resultsOf(good)).toEqual({ ...GOOD, actor_signature: "pass" });
    const bad = verifyEvent(worldOf((header) => signed(header, NODE_C.auth)).input(4), nodeCrypto);
    expect(bad.valid).toBe(false);
    expect(resultsOf(bad)).toEqual({ ...GOOD, actor_signature: "fail" });
  });

  test("a trace names a signature that is wrong", () => {
    const { leaves } = worldOf((header) => signed(header, NODE_C.auth));
    const [before, anchor] = leaves.slice(-2);
    if (before === undefined || anchor === undefined) throw new Error("no leaves");
    const trace = traceEvent({ anchor, references: new Map(), parents: [], beforeParents: before }, nodeCrypto);
    expect(trace.actor.actorSignature).toBe("fail");
    expect(trace.violations).toMatchObject([{ code: "actor_signature_invalid", anchorId: anchor.anchorId }]);
  });
});

describe("verdicts are remembered", () => {
  test("a thousand receipts of one checkpoint cost its signatures once, and are judged the same", () => {
    const world = worldOf();
    let verified = 0;
    const counting = {
      sha256,
      ed25519Verify: (publicKey: Uint8Array, message: Uint8Array, signature: Uint8Array) => {
        verified++;
        return nodeCrypto.ed25519Verify(publicKey, message, signature);
      },
    };
    const crypto = rememberVerdicts(counting);
    for (let round = 0; round < 5; round++)
      for (const depth of [0, 1, 2, 3])
        expect(verifyEvent(world.input(depth), crypto)).toEqual(verifyEvent(world.input(depth), nodeCrypto));
    expect(verified).toBe(3);
  });

  test("a verdict is that of key, message and signature together", () => {
    const crypto = rememberVerdicts(nodeCrypto);
    const { publicKey, sign } = NODE_A.auth;
    const message = hash("message");
    const signature = sign(message);
    expect(crypto.ed25519Verify(publicKey, message, signature)).toBe(true);
    expect(crypto.ed25519Verify(NODE_B.auth.publicKey, message, signature)).toBe(false);
    expect(crypto.ed25519Verify(publicKey, hash("other"), signature)).toBe(false);
    expect(crypto.ed25519Verify(publicKey, message, sign(hash("other")))).toBe(false);
    expect(crypto.ed25519Verify(publicKey, message, signature)).toBe(true);
  });
});

describe("tracing", () => {
  function rows(count: number): { anchor: LoadedLeaf; parents: LoadedLeaf[] } {
    const { leaves } = worldOf();
    const [anchor, ...parents] = [...leaves].reverse().slice(0, count + 1);
    if (anchor === undefined) throw new Error("no leaf");
    return { anchor, parents };
  }

  test("without claims there is nothing to judge, and it says why", () => {
    const trace = traceEvent({ ...rows(3), references: new Map(), beforeParents: null }, nodeCrypto);
    expect(trace).toMatchObject({
      authorisedAtAction: "unknown",
      authorisedNow: "unknown",
      reasons: [{ code: "iris_ref_empty" }, { code: "grant_ref_empty" }],
      actor: { claim: null, state: null, actorSignature: "not_checked" },
      delegation: [],
      boundary: null,
      rootAuthority: "not_checked",
      violations: [],
      references: [],
    });
  });

  test("an anchor that is no event", () => {
    const { leaves } = worldOf();
    const [anchor] = leaves;
    if (anchor === undefined) throw new Error("no leaf");
    const trace = traceEvent({ anchor, references: new Map(), parents: [], beforeParents: null }, nodeCrypto);
    expect(trace.reasons).toEqual([{ code: "not_an_event", anchorId: null, sequence: null }]);
    expect(trace.violations).toEqual([]);
  });

  test("references are listed in field order, with what they name", () => {
    const ledger = LedgerHarness.started();
    const target = ledger.accept(event("target"));
    const semanticAnchor = { ...EMPTY_SEMANTIC_ANCHOR, bondRef: target.anchorId, yieldRef: target.anchorId };
    const anchor = ledger.accept(event("x", { semanticAnchor }));
    const references = new Map(ledger.tables.anchors);
    const input = { anchor, references, parents: [target], beforeParents: null };
    const names = { anchorId: target.anchorId, exists: true, kind: LEAF_KIND.event };
    const trace = traceEvent(input, nodeCrypto);
    expect(trace.references).toEqual([
      { field: "bond_ref", ...names },
      { field: "yield_ref", ...names },
    ]);
    expect(trace.violations).toEqual([]);
    const lost = traceEvent({ ...input, references: new Map() }, nodeCrypto);
    expect(lost.references).toMatchObject([{ exists: false, kind: null }, { exists: false }]);
    expect(lost.violations.map(({ code }) => code)).toEqual(["reference_missing", "reference_missing"]);
  });

  test("a reference to a younger anchor, or one of the wrong kind, is a violation", () => {
    const { anchor, parents, leaf } = forged();
    const fact = { originFingerprint: NODE_A.originFingerprint, depth: 1, kind: LEAF_KIND.event };
    for (const [sequence, code] of [
      [leaf.sequence, "reference_missing"],
      [leaf.sequence - 1, "reference_wrong_kind"],
    ] as const) {
      const references = new Map([[bytesToHex(hash("claim")), { ...fact, sequence }]]);
      const trace = traceEvent({ anchor, references, parents, beforeParents: null }, nodeCrypto);
      expect(trace.violations.map((violation) => violation.code)).toEqual([code]);
    }
  });

  test.each<[string, (parents: LoadedLeaf[]) => LoadedLeaf[]]>([
    ["a gap", (parents) => parents.slice(1)],
    ["another order", (parents) => [...parents].reverse()],
    [
      "an altered row",
      ([first, ...rest]) => (first === undefined ? [] : [{ ...first, bytes: altered(first.bytes) }, ...rest]),
    ],
  ])("%s among the parents is a violation", (_, change) => {
    const { anchor, parents } = rows(3);
    const trace = traceEvent(
      { anchor, references: new Map(), parents: change(parents), beforeParents: null },
      nodeCrypto,
    );
    expect(trace.violations.map(({ code }) => code)).toContain("parent_link_broken");
  });

  test("the last of a page is held against the leaf beyond it, if that is given", () => {
    const { anchor, parents } = rows(3);
    const page = parents.slice(0, 1);
    const input = { anchor, references: new Map(), parents: page };
    expect(traceEvent({ ...input, beforeParents: parents[1] ?? null }, nodeCrypto).violations).toEqual([]);
    expect(traceEvent({ ...input, beforeParents: null }, nodeCrypto).violations).toEqual([]);
    expect(traceEvent({ ...input, beforeParents: parents[2] ?? null }, nodeCrypto).violations).toMatchObject([
      { code: "parent_link_broken" },
    ]);
  });

  /** An event whose iris_ref names hash("claim"): no ledger would have accepted it. */
  function forged(): { anchor: LoadedLeaf; parents: LoadedLeaf[]; leaf: Leaf } {
    const { leaves } = worldOf((header) => {
      const leaf = decodeLeaf(header.bytes);
      if (leaf.kind !== LEAF_KIND.event) throw new Error("not an event");
      return {
        ...leaf,
        depth: leaf.depth + 1,
        sequence: leaf.sequence + 1,
        parentAnchorId: header.anchorId,
        semanticAnchor: { ...EMPTY_SEMANTIC_ANCHOR, irisRef: hash("claim") },
      };
    });
    const [anchor, ...parents] = [...leaves].reverse();
    if (anchor === undefined) throw new Error("no leaf");
    return { anchor, parents, leaf: decodeLeaf(anchor.bytes) };
  }
});

/** Changes the last byte, which is inside the body. */
function altered(bytes: Uint8Array): Uint8Array {
  const copy = bytes.slice();
  copy[copy.length - 1] = (copy[copy.length - 1] ?? 0) ^ 1;
  return copy;
}
