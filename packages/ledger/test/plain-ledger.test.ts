/** Random lives: leaves, tiles, trees and effects are those of the plain computation. */
import { describe, expect, test } from "@jest/globals";
import { bytesToHex, verifyInclusion } from "@event-anchoring/protocol";
import type { Command, EntryWrites, EventInput, LedgerState } from "../src/index.ts";
import { NODE_A, NODE_B, hash, sha256 } from "../../../test/worlds/cluster.ts";
import { LedgerHarness, event, record } from "../../../test/worlds/ledger-harness.ts";
import { RandomLife, randomOf } from "../../../test/worlds/random-life.ts";
import { signedEvent } from "../../../test/worlds/signed-records.ts";
import { PlainLedger, rootOf } from "./plain-ledger.ts";

type Random = ReturnType<typeof randomOf>;

const SEEDS = [11, 12, 13];
const STEPS = 60;

/** Every sort of event after every other one, over two origins, in numbers that complete tiles. */
function bigBatch(random: Random, step: number): Command {
  const events = Array.from({ length: 1 + random(400) }, (_, at): EventInput => {
    const label = `big ${step} ${at}`;
    const originFingerprint = (random(4) === 0 ? NODE_B : NODE_A).originFingerprint;
    const plain = event(label).semanticAnchor;
    const semanticAnchor = random(3) === 0 ? { ...plain, eventDataHash: hash(`${label} data`) } : plain;
    const clientEventId = random(3) === 0 ? label : null;
    const more = { originFingerprint, semanticAnchor, clientEventId };
    return random(50) === 0 ? signedEvent(label, "alice", more) : event(label, more);
  });
  return record(events);
}

/** All of them as one text, which is compared faster than objects are. */
function textOf({ leaves, tiles }: Pick<EntryWrites, "leaves" | "tiles">): string {
  return JSON.stringify([leaves, tiles], (_key, value: unknown) =>
    value instanceof Uint8Array ? Buffer.from(value).toString("base64") : value,
  );
}

function expectSameTrees(state: LedgerState, plain: PlainLedger, random: Random): void {
  for (const { originFingerprint, tree, tiles, lastAnchorId } of state.origins.values()) {
    const leaves = plain.leavesOf(originFingerprint);
    const open = tiles.openTiles().filter(({ length }) => length > 0);
    expect(tree.size).toBe(leaves.length);
    expect(open).toEqual(plain.openTilesOf(originFingerprint).filter(({ length }) => length > 0));
    if (leaves.length === 0) continue;
    expect(lastAnchorId).toEqual(leaves.at(-1));
    const size = tree.base + 1 + random(tree.size - tree.base);
    const rootHash = rootOf(leaves.slice(0, size));
    expect(tree.rootAt(size)).toEqual(rootHash);
    const index = tree.base + random(size - tree.base);
    const leafHash = leaves[index] ?? hash("none");
    const path = tree.prove(index, size);
    expect(verifyInclusion({ leafHash, index, size, path, rootHash }, sha256)).toBe(true);
  }
}

describe("the ledger computes what the plain one does", () => {
  test.each(SEEDS)("in a random life: seed %d", (seed) => {
    const ledger = new LedgerHarness();
    const plain = new PlainLedger();
    const life = new RandomLife(seed, ledger);
    const random = randomOf(seed + 500);
    const decided: { readonly writes: EntryWrites; readonly text: string }[] = [];
    for (let step = 0; step < STEPS; step++) {
      const entries = [() => life.entry(step)];
      if (step > 5 && random(3) === 0) entries.push(() => ledger.entry([ledger.group(bigBatch(random, step))]));
      for (const make of entries) {
        const entry = make();
        const { writes, effect, ...rest } = ledger.apply(entry);
        const expected = plain.decide(entry, { writes, effect, ...rest });
        const text = textOf(writes);
        expect(text).toBe(textOf(expected));
        expect(bytesToHex(effect)).toBe(bytesToHex(expected.effect));
        expect(writes.clientEvents.map(({ contentHash }) => contentHash)).toEqual(expected.contentHashes);
        expect(bytesToHex(rest.clientEventsHash)).toBe(bytesToHex(expected.clientEventsHash));
        expect(bytesToHex(rest.groupIdsHash)).toBe(bytesToHex(expected.groupIdsHash));
        decided.push({ writes, text });
      }
      if (random(4) === 0) expectSameTrees(ledger.state, plain, random);
    }
    expectSameTrees(ledger.state, plain, random);
    // What is handed out never changes again, whatever memory later entries reuse.
    for (const { writes, text } of decided) expect(textOf(writes)).toBe(text);
    expect(ledger.tables.tiles.length).toBeGreaterThan(5);
  });
});
