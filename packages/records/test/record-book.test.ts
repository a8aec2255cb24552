/** Claims, grants and their endings are a function of the leaves; who recorded them is not in a leaf. */
import { describe, expect, test } from "@jest/globals";
import { LEAF_KIND, bytesToHex, decodeLeaf, toAnchorId } from "@event-anchoring/protocol";
import type { ClaimLeaf, GrantLeaf, RevocationLeaf } from "@event-anchoring/protocol";
import { RecordBook, grantForceAt, grantStateOf } from "../src/index.ts";
import { contentHashOfRecord, eventContentHash } from "@event-anchoring/ledger";
import type { AppendedRecord } from "../src/book/records.ts";
import type { CommandOutcome, LeafWrite } from "@event-anchoring/ledger";
import { hash, sha256 } from "../../../test/worlds/cluster.ts";
import { GrantWorld } from "../../../test/worlds/grant-world.ts";
import { CREATE_KEY, LedgerHarness, codeOf, event } from "../../../test/worlds/ledger-harness.ts";
import { ADMIN_KEY, RandomLife } from "../../../test/worlds/random-life.ts";
import { claim, grant, revocation } from "../../../test/worlds/signed-records.ts";

const SEEDS = [11, 12, 13, 14];
const STEPS = 150;

function append(book: RecordBook, { bytes, anchorId }: LeafWrite): AppendedRecord {
  return book.append(decodeLeaf(bytes), { anchorId, recordedBy: null });
}

function rebuilt(ledger: LedgerHarness): RecordBook {
  const book = new RecordBook(sha256);
  for (const leaf of ledger.tables.leaves) append(book, leaf);
  return book;
}

const lived = new Map<number, LedgerHarness>();

/** A ledger after its random life. Never changed by a test. */
function livedLedger(seed: number): LedgerHarness {
  const known = lived.get(seed);
  if (known !== undefined) return known;
  const ledger = new LedgerHarness();
  const life = new RandomLife(seed, ledger);
  for (let step = 0; step < STEPS; step++) ledger.apply(life.entry(step));
  lived.set(seed, ledger);
  return ledger;
}

/** Ids of leaves stand for all that is in them. */
function idsOf({ tables }: LedgerHarness): string[] {
  return tables.leaves.map(({ anchorId }) => bytesToHex(anchorId));
}

function isRecord(leaf: { readonly kind: number }): leaf is ClaimLeaf | GrantLeaf | RevocationLeaf {
  return leaf.kind === LEAF_KIND.claim || leaf.kind === LEAF_KIND.grant || leaf.kind === LEAF_KIND.revocation;
}

describe("random histories", () => {
  test.each(SEEDS)("are rebuilt from their leaves: seed %d", (seed) => {
    const ledger = livedLedger(seed);
    const { leaves, contents, records } = ledger.tables;
    const { claims, grants, revocations } = records.rows();
    const book = rebuilt(ledger);
    expect(book.addedClaims()).toEqual(claims.map((record) => ({ ...record, recordedBy: null })));
    expect(book.addedGrants()).toEqual(grants.map((record) => ({ ...record, recordedBy: null })));
    expect([book.endedClaims(), book.endedGrants()]).toEqual([[], []]);
    const again = new RecordBook(sha256);
    const appended = leaves.map((leaf) => append(again, leaf));
    expect(appended.flatMap((each) => (each.kind === "revocation" ? [each] : []))).toEqual(
      revocations.map((each) => ({ kind: "revocation", ...each })),
    );
    const hashes = leaves.flatMap(({ bytes, anchorId }) => {
      const leaf = decodeLeaf(bytes);
      const contentHash = isRecord(leaf) ? contentHashOfRecord(leaf, book, sha256) : null;
      return contentHash === null ? [] : [[bytesToHex(contentHash), bytesToHex(anchorId)]];
    });
    expect(hashes).toEqual([...contents].map(([key, { anchorId }]) => [key, bytesToHex(anchorId)]));
  });

  test("hold something of everything", () => {
    const ledgers = SEEDS.map((seed) => livedLedger(seed).tables);
    const claims = ledgers.flatMap(({ records }) => [...records.claims.values()]);
    const grants = ledgers.flatMap(({ records }) => [...records.grants.values()]);
    for (const each of [claims, grants]) {
      expect(each.filter(({ revokedAt }) => revokedAt !== null).length).toBeGreaterThan(5);
      expect(each.filter(({ supersededAt }) => supersededAt !== null).length).toBeGreaterThan(5);
    }
    expect(claims.filter(({ lineage, sequence }) => lineage !== sequence).length).toBeGreaterThan(5);
    expect(Math.max(...grants.map(({ links }) => links))).toBeGreaterThan(2);
  });

  test.each(SEEDS)("say of every event under a client event id what it was: seed %d", (seed) => {
    const { clientEvents, leaves } = livedLedger(seed).tables;
    expect(clientEvents.size).toBeGreaterThan(10);
    for (const { sequence, contentHash } of clientEvents.values()) {
      const leaf = decodeLeaf(leaves[sequence]?.bytes ?? new Uint8Array());
      if (leaf.kind !== LEAF_KIND.event && leaf.kind !== LEAF_KIND.signedEvent) throw new Error("no event");
      expect(eventContentHash(leaf, sha256)).toEqual(contentHash);
    }
  });

  test.each(SEEDS)("stand on a base as they stand on nothing: seed %d", (seed) => {
    const ledger = livedLedger(seed);
    const { leaves } = ledger.tables;
    const half = Math.floor(leaves.length / 2);
    const base = new RecordBook(sha256);
    const whole = rebuilt(ledger);
    for (const leaf of leaves.slice(0, half)) append(base, leaf);
    const upper = new RecordBook(sha256, base);
    for (const { bytes, anchorId, sequence } of leaves.slice(half)) {
      const leaf = decodeLeaf(bytes);
      if (leaf.kind === LEAF_KIND.claim) upper.addClaim(leaf, { anchorId, recordedBy: null });
      const derived = whole.grant(sequence);
      if (leaf.kind === LEAF_KIND.grant && derived !== null) {
        const grantor = upper.claim(derived.grantorClaim);
        const grantee = upper.claim(derived.granteeClaim);
        if (grantor === null || grantee === null) throw new Error("a claim is missing");
        const parent = derived.parent === null ? null : upper.grant(derived.parent);
        upper.addGrant(leaf, { anchorId, recordedBy: null }, { grantor, grantee, parent });
      }
      if (leaf.kind !== LEAF_KIND.revocation) continue;
      const target = whole.find(leaf.targetAnchorId);
      if (target === null) throw new Error("a target is missing");
      upper.revoke("lineage" in target ? "claim" : "grant", target.sequence, sequence);
    }
    for (const { sequence, lineage } of whole.addedClaims()) {
      expect(upper.claim(sequence)).toEqual(whole.claim(sequence));
      for (const upTo of [sequence - 1, sequence, leaves.length])
        expect(upper.newestClaimOf(lineage, upTo)).toEqual(whole.newestClaimOf(lineage, upTo));
    }
    for (const { sequence, grantorLineage, granteeLineage } of whole.addedGrants()) {
      expect(upper.grant(sequence)).toEqual(whole.grant(sequence));
      expect(upper.newestGrantBetween(grantorLineage, granteeLineage)).toEqual(
        whole.newestGrantBetween(grantorLineage, granteeLineage),
      );
    }
  });
});

describe("entries", () => {
  function outcomesOf(ledger: LedgerHarness, entry: Parameters<LedgerHarness["apply"]>[0]): CommandOutcome[] {
    return ledger.apply(entry).outcomes.flatMap((each) => (each.status === "decided" ? each.commands : []));
  }

  test.each(SEEDS)("decide the same whether groups share one or have one each: seed %d", (seed) => {
    const [merged, split] = [LedgerHarness.started(), LedgerHarness.started()];
    for (const ledger of [merged, split]) ledger.run(ADMIN_KEY);
    const life = new RandomLife(seed, merged);
    let accepted = 0;
    for (let round = 0; round < 60; round++) {
      const groups = Array.from({ length: 4 }, () => life.group());
      const entry = merged.entry(groups);
      const together = outcomesOf(merged, entry);
      const apart = groups.flatMap((group) => outcomesOf(split, { ...entry, groups: [group] }));
      expect(apart).toEqual(together);
      accepted += together.filter((outcome) => codeOf(outcome) === "accepted").length;
    }
    expect(accepted).toBeGreaterThan(50);
    expect(idsOf(split)).toEqual(idsOf(merged));
    expect(split.tables.records.rows()).toEqual(merged.tables.records.rows());
    expect(split.tables.contents).toEqual(merged.tables.contents);
    expect(split.tables.clientEvents).toEqual(merged.tables.clientEvents);
    expect(split.tables.anchors).toEqual(merged.tables.anchors);
    expect(split.tables.apiKeys).toEqual(merged.tables.apiKeys);
  });
});

describe("a book that is given leaves", () => {
  test("says what each has added", () => {
    const { ledger, alice, bob } = new GrantWorld();
    const given = ledger.acceptRecord(grant(alice, bob));
    const end = ledger.acceptRecord(revocation("grant", given, { by: "alice" }));
    ledger.accept(event("x"));
    const book = new RecordBook(sha256);
    const kinds = ledger.tables.leaves.map((leaf) => append(book, leaf).kind);
    const genesis = Array.from({ length: 3 }, () => "other");
    const claims = Array.from({ length: 4 }, () => "claim");
    expect(kinds).toEqual([...genesis, ...claims, "grant", "revocation", "other"]);
    expect(book.find(given.anchorId)).toMatchObject({ sequence: given.sequence, revokedAt: end.sequence });
    expect(book.find(end.anchorId)).toBeNull();
  });

  test.each<[string, (world: GrantWorld) => LeafWrite, (world: GrantWorld) => LeafWrite]>([
    ["the grantor's claim", ({ alice, bob, ledger }) => ledger.acceptRecord(grant(alice, bob)), (w) => w.alice.claim],
    ["the grantee's claim", ({ alice, bob, ledger }) => ledger.acceptRecord(grant(alice, bob)), (w) => w.bob.claim],
    [
      "the target of a revocation",
      ({ alice, ledger }) => ledger.acceptRecord(revocation("claim", alice.claim, { by: "alice" })),
      (w) => w.alice.claim,
    ],
  ])("and of what hangs on nothing, what is missing: %s", (_, make, missingOf) => {
    const world = new GrantWorld();
    const dangling = make(world);
    const missing = missingOf(world);
    const book = new RecordBook(sha256);
    const rest = world.ledger.tables.leaves.filter(({ sequence }) => sequence !== missing.sequence);
    const last = rest.map((leaf) => append(book, leaf)).at(-1);
    expect(last).toEqual({ kind: "dangling", missing: missing.anchorId });
    expect(book.find(dangling.anchorId)).toBeNull();
    expect(book.addedGrants()).toEqual([]);
  });

  test("a parent that is missing leaves its children dangling, one after the other", () => {
    const world = new GrantWorld();
    const root = world.accept(world.alice, world.bob);
    const middle = world.accept(world.bob, world.carol, { parent: root, delegationDepth: 2 });
    world.accept(world.carol, world.dave, { parent: middle, delegationDepth: 1 });
    const book = new RecordBook(sha256);
    const rest = world.ledger.tables.leaves.filter(({ sequence }) => sequence !== root.sequence);
    const dangling = rest.map((leaf) => append(book, leaf)).filter(({ kind }) => kind === "dangling");
    expect(dangling).toEqual([
      { kind: "dangling", missing: root.anchorId },
      { kind: "dangling", missing: middle.anchorId },
    ]);
  });

  test("an id of another kind is no claim, and no grant", () => {
    const world = new GrantWorld();
    const { ledger, alice, bob } = world;
    const given = world.accept(alice, bob);
    const leaf = decodeLeaf(given.bytes);
    if (leaf.kind !== LEAF_KIND.grant) throw new Error("no grant");
    const book = rebuilt(ledger);
    const swapped = { ...leaf, sequence: 99, parentGrantRef: alice.claim.anchorId };
    expect(book.append(swapped, { anchorId: toAnchorId(hash("swapped")), recordedBy: null })).toEqual({
      kind: "dangling",
      missing: alice.claim.anchorId,
    });
  });

  test("judges offline as the service does", () => {
    const world = new GrantWorld();
    const { ledger, alice, bob, carol } = world;
    const root = world.accept(alice, bob);
    const child = world.accept(bob, carol, { parent: root, delegationDepth: 0 });
    world.revoke("claim", alice.claim);
    ledger.acceptRecord(claim("alice", { issuedAt: 1 }));
    const book = rebuilt(ledger);
    const record = book.grant(child.sequence);
    if (record === null) throw new Error("no grant");
    for (let sequence = child.sequence; sequence < ledger.state.nextSequence; sequence++) {
      const at = { sequence, timeMs: ledger.clockMs };
      expect(grantStateOf(grantForceAt(record, at, book))).toBe(world.state(child, at));
    }
    expect(world.state(child)).toBe("revoked");
  });
});

test("a ledger that has only keys has no records", () => {
  const ledger = LedgerHarness.started();
  ledger.run(CREATE_KEY);
  const book = rebuilt(ledger);
  expect([book.addedClaims(), book.addedGrants(), book.endedClaims(), book.endedGrants()]).toEqual([[], [], [], []]);
});
