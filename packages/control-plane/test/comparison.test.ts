import { beforeEach, describe, expect, test } from "@jest/globals";
import type { Command } from "@event-anchoring/ledger";
import { equalBytes } from "@event-anchoring/protocol";
import { ORIGIN, Replica } from "./certifier-replica.ts";
import { settle } from "./doubles.ts";
import { eventCommand } from "./commands.ts";

let a: Replica;
let b: Replica;
let c: Replica;

beforeEach(async () => {
  [a, b, c] = await Promise.all([new Replica("a").born(), new Replica("b").born(), new Replica("c").born()]);
});

const event = (seed: number): Command => eventCommand(ORIGIN, seed);

describe("a cosignature", () => {
  test("that comes late, or is not needed, is compared too: a third node that differs is noticed", async () => {
    for (const each of [a, b]) each.apply(event(1));
    c.apply(event(99));
    await settle();
    a.hear("b", b.saidOf(2));
    expect(a.sizeHeld()).toBe(2);
    a.hear("c", c.saidOf(2));
    expect(a.contradictions).toContain("c: another root at size 2");
  });

  test("that comes over a contradicted size is passed on with the next sweep, and then at the slow beat", async () => {
    for (const each of [a, b]) each.apply(event(1));
    c.apply(event(99));
    await settle();
    a.hear("c", c.saidOf(2));
    const signersSent = (): string[][] => a.exchanged.map((lines) => lines.map(({ nodeId }) => nodeId).sort());
    expect(signersSent()).toEqual([["a", "c"]]);
    a.hear("b", b.saidOf(2));
    a.comparison.sweep();
    expect(signersSent().at(-1)).toEqual(["a", "b", "c"]);
    a.comparison.sweep();
    expect(a.exchanged).toHaveLength(2);
    a.clock.advance(250);
    a.comparison.sweep();
    expect(a.exchanged).toHaveLength(3);
  });

  test("that comes over a contradicted size after the last sweep is passed on at the end", async () => {
    for (const each of [a, b]) each.apply(event(1));
    c.apply(event(99));
    await settle();
    a.hear("c", c.saidOf(2));
    a.hear("b", b.saidOf(2));
    expect(a.exchanged).toHaveLength(1);
    a.comparison.close();
    expect(a.exchanged[1]?.map(({ nodeId }) => nodeId).sort()).toEqual(["a", "b", "c"]);
    a.comparison.close();
    expect(a.exchanged).toHaveLength(2);
  });

  test("over each newest size goes to all from a node that stops for good, contradicted or not", async () => {
    for (const each of [a, b]) each.apply(event(1));
    await settle();
    a.hear("b", b.saidOf(2));
    a.apply(event(2));
    await settle();
    expect(a.exchanged).toEqual([]);
    a.comparison.testify();
    const lines = a.exchanged.flat().filter(({ originFingerprint }) => equalBytes(originFingerprint, ORIGIN));
    const shown = lines.map(({ nodeId, treeSize }) => `${nodeId} ${treeSize}`);
    expect(shown).toEqual(["a 3", "a 2", "b 2", "a 1"]);
    c.apply(event(99));
    c.comparison.onLines("a", a.exchanged.flat());
    expect([...new Set(c.contradictions)]).toEqual(["a: another root at size 2", "b: another root at size 2"]);
  });

  test("is contradicted by what a key has signed, and by no word that it has not", () => {
    const said = c.saidOf(1);
    expect(said).toHaveLength(1);
    a.hear(
      "c",
      said.map((item) => ({ ...item, rootHash: new Uint8Array(32).fill(4) })),
    );
    expect([a.contradictions, a.refused]).toEqual([[], ["c"]]);
  });
});
