import { beforeEach, describe, expect, test } from "@jest/globals";
import type { PeerCosignature } from "@event-anchoring/control-contract";
import type { Command } from "@event-anchoring/ledger";
import { nodeCrypto } from "@event-anchoring/node-crypto";
import { type OriginFingerprint, bytesToHex } from "@event-anchoring/protocol";
import { isGoodCosignature } from "../src/signatures/certificates.ts";
import type { HeldCertificate } from "../src/certification/certifier.ts";
import { ORIGIN, Replica, ceremony, sameOrigin } from "./certifier-replica.ts";
import { deferred, settle } from "./doubles.ts";
import { actsOf, identityOf } from "./ceremony.ts";
import { createKeyCommand, eventCommand } from "./commands.ts";

function soleOf<T>(items: readonly T[]): T {
  expect(items).toHaveLength(1);
  return items[0] as T;
}

let a: Replica;
let b: Replica;
let c: Replica;

beforeEach(async () => {
  [a, b, c] = await Promise.all([new Replica("a").born(), new Replica("b").born(), new Replica("c").born()]);
});

const event = (seed: number): Command => eventCommand(ORIGIN, seed);
const createKey = (): Command => actsOf(ceremony).signed(createKeyCommand());

describe("signing", () => {
  test("covers every origin at every certify point, once the promise file holds the heads", async () => {
    expect(a.saidOf(1)).toHaveLength(1);
    a.saving = deferred();
    a.apply(event(1));
    await settle();
    expect(a.saidOf(2)).toEqual([]);
    expect(a.heads.get(bytesToHex(ORIGIN))).toMatchObject({ treeSize: 2, raftIndex: 3, raftTerm: 1 });
    a.saving.resolve();
    await settle();
    expect(a.saidOf(2)).toHaveLength(1);
  });

  test("leaves nothing when the promise cannot be kept", async () => {
    a.saving = deferred();
    a.apply(event(1));
    a.saving.reject(new Error("disk"));
    await settle();
    expect(a.saidOf(2)).toEqual([]);
    expect(a.failures).toEqual([new Error("disk")]);
  });

  test("says nothing after it was closed, though the promise is kept", async () => {
    a.saving = deferred();
    a.apply(event(1));
    a.certifier.close();
    a.saving.resolve();
    await settle();
    expect(a.saidOf(2)).toEqual([]);
  });

  test("promises many points in one write and signs each of them in order", async () => {
    a.saving = deferred();
    for (let seed = 1; seed <= 3; seed++) a.apply(event(seed));
    a.saving.resolve();
    await settle();
    const sizes = a.said.filter((item) => sameOrigin(item, ORIGIN)).map(({ treeSize }) => treeSize);
    expect(sizes).toEqual([1, 2, 3, 4]);
  });

  test("is for nodes that may; one that may later signs what is still uncovered", async () => {
    a.maySign = false;
    a.apply(event(1));
    await settle();
    expect(a.saidOf(2)).toEqual([]);
    a.maySign = true;
    a.apply({ kind: "mark_certify_point" });
    await settle();
    expect(a.saidOf(2)).toHaveLength(1);
  });

  test("never repeats a smaller size than was promised before the restart", async () => {
    a.apply(event(1));
    a.apply(event(2));
    await settle();
    const again = await new Replica("a", [...a.heads.values()]).born();
    again.apply(event(1));
    await settle();
    expect(again.saidOf(1)).toEqual([]);
    expect(again.saidOf(2)).toEqual([]);
    again.apply(event(2));
    await settle();
    expect(again.saidOf(3)).toHaveLength(1);
    expect(again.forgotten).toEqual([]);
  });

  test("never signs another root of a promised size: the node forgot", async () => {
    a.apply(event(1));
    await settle();
    const again = await new Replica("a", [...a.heads.values()]).born();
    again.apply(event(99));
    await settle();
    expect(again.saidOf(2)).toEqual([]);
    expect(again.forgotten).toEqual(["root of size 2 is not the one that was signed"]);
  });

  test("takes a time that never goes back, over jumps of the clock and over a restart", async () => {
    const first = soleOf(a.saidOf(1)).timeS;
    a.clock.wall -= 3_600_000;
    a.apply(event(1));
    await settle();
    expect(soleOf(a.saidOf(2)).timeS).toBe(first);
    const again = new Replica("a", [...a.heads.values()]);
    again.clock.wall -= 7_200_000;
    await again.born();
    again.apply(event(1));
    await settle();
    expect(soleOf(again.saidOf(2)).timeS).toBe(first);
  });

  test("makes signatures that count under the trust root", () => {
    const item = soleOf(a.saidOf(1));
    const cosignature = { nodeId: "a", timeS: item.timeS, signature: item.signature };
    const { trustRoot } = a.identity;
    expect(isGoodCosignature(trustRoot, ORIGIN, item, cosignature, nodeCrypto)).toBe(true);
    expect(isGoodCosignature(trustRoot, ORIGIN, { ...item, treeSize: 2 }, cosignature, nodeCrypto)).toBe(false);
    expect(isGoodCosignature(trustRoot, ORIGIN, item, { ...cosignature, nodeId: "b" }, nodeCrypto)).toBe(false);
    const later = { ...cosignature, timeS: item.timeS + 1 };
    expect(isGoodCosignature(trustRoot, ORIGIN, item, later, nodeCrypto)).toBe(false);
  });
});

describe("a certificate", () => {
  test("is held with k distinct cosignatures, the own one among them", () => {
    a.certifier.onCosignatures("b", b.saidOf(1));
    expect(a.sizeHeld()).toBe(1);
    expect(a.certifier.heldOf(ORIGIN)?.cosignatures.map(({ nodeId }) => nodeId)).toEqual(["a", "b"]);
  });

  test("does not need the own signature", () => {
    const silent = new Replica("a");
    silent.maySign = false;
    return silent.born().then(() => {
      silent.certifier.onCosignatures("b", b.saidOf(1));
      expect(silent.sizeHeld()).toBe(0);
      silent.certifier.onCosignatures("c", c.saidOf(1));
      expect(silent.sizeHeld()).toBe(1);
    });
  });

  test("is made of what came early, as soon as this node reaches the size", async () => {
    b.apply(event(1));
    await settle();
    a.certifier.onCosignatures("b", b.saidOf(2));
    expect(a.sizeHeld()).toBe(0);
    a.apply(event(1));
    await settle();
    expect(a.sizeHeld()).toBe(2);
  });

  test("counts one node once, under whatever name its signature comes", () => {
    const item = soleOf(b.saidOf(1));
    const silent = a;
    silent.certifier.onCosignatures("c", [item]);
    expect(silent.sizeHeld()).toBe(0);
    silent.certifier.onCosignatures("d", [item]);
    expect(silent.sizeHeld()).toBe(0);
  });

  test("counts no replay of the own signature by a peer", () => {
    a.certifier.onCosignatures("b", a.saidOf(1));
    a.certifier.onCosignatures("a", a.saidOf(1));
    expect(a.sizeHeld()).toBe(0);
  });

  test.each<[string, (item: PeerCosignature) => PeerCosignature]>([
    [
      "a flipped bit",
      (item) => ({ ...item, signature: item.signature.map((byte, at) => (at === 5 ? byte ^ 1 : byte)) }),
    ],
    ["another time", (item) => ({ ...item, timeS: item.timeS + 1 })],
    ["another origin", (item) => ({ ...item, originFingerprint: identityOf(ceremony, "b").originFingerprint })],
    ["an unknown origin", (item) => ({ ...item, originFingerprint: new Uint8Array(32).fill(9) as OriginFingerprint })],
    ["a size nobody reached", (item) => ({ ...item, treeSize: 500 })],
  ])("is not made by %s", (_what, spoil) => {
    a.certifier.onCosignatures("b", [spoil(soleOf(b.saidOf(1)))]);
    expect(a.certificates).toEqual([]);
    a.certifier.onCosignatures("b", b.saidOf(1));
    expect(a.sizeHeld()).toBe(1);
  });

  test("that a key has not signed is reported with whose it should be, and not looked at twice", () => {
    const [good, forged] = [soleOf(b.saidOf(1)), new Uint8Array(64).fill(7)];
    a.certifier.onCosignatures("b", [{ ...good, signature: forged }]);
    a.certifier.onCosignatures("c", [{ ...good, signature: forged }]);
    expect([a.refused, a.sizeHeld()]).toEqual([["b", "c"], 0]);
    a.certifier.onCosignatures("b", [good]);
    expect([a.refused, a.sizeHeld()]).toEqual([["b", "c"], 1]);
  });

  test("is not made by another root, which is reported with its sender", async () => {
    b.apply(event(99));
    a.apply(event(1));
    await settle();
    a.certifier.onCosignatures("b", b.saidOf(2));
    expect(a.sizeHeld()).toBe(0);
    expect(a.contradictions).toEqual(["b: another root at size 2"]);
  });

  test("does not hide a third node that differs: what comes late, or is not needed, is compared too", async () => {
    for (const each of [a, b]) each.apply(event(1));
    c.apply(event(99));
    await settle();
    a.certifier.onCosignatures("b", b.saidOf(2));
    expect(a.sizeHeld()).toBe(2);
    a.certifier.onCosignatures("c", c.saidOf(2));
    expect(a.contradictions).toContain("c: another root at size 2");
  });

  test("is contradicted by what a key has signed, and by no word that it has not", () => {
    const forged = { ...soleOf(c.saidOf(1)), rootHash: new Uint8Array(32).fill(4) };
    a.certifier.onCosignatures("c", [forged]);
    expect([a.contradictions, a.refused]).toEqual([[], ["c"]]);
  });

  test("never goes back to a smaller size", async () => {
    for (const each of [a, b]) each.apply(event(1));
    await settle();
    a.certifier.onCosignatures("b", b.saidOf(2));
    a.certifier.onCosignatures("b", b.saidOf(1));
    a.certifier.onRecorded({ ...(a.certifier.heldOf(ORIGIN) as HeldCertificate), treeSize: 1 });
    expect(a.sizeHeld()).toBe(2);
  });

  test("from the log counts without any message of a peer", () => {
    a.certifier.onCosignatures("b", b.saidOf(1));
    c.certifier.onRecorded(a.certifier.heldOf(ORIGIN) as HeldCertificate);
    expect(c.sizeHeld()).toBe(1);
  });

  test("answers those who wait for its size or less, once, and nobody else", async () => {
    const covered: number[] = [];
    a.certifier.whenCovered(ORIGIN, 1, ({ treeSize }) => covered.push(treeSize));
    a.certifier.whenCovered(ORIGIN, 2, ({ treeSize }) => covered.push(treeSize * 10));
    a.certifier.whenCovered(ORIGIN, 1, () => covered.push(-1))();
    a.certifier.onCosignatures("b", b.saidOf(1));
    a.certifier.onCosignatures("c", c.saidOf(1));
    expect(covered).toEqual([1]);
    a.certifier.whenCovered(ORIGIN, 1, ({ treeSize }) => covered.push(treeSize + 100));
    expect(covered).toEqual([1, 101]);
  });

  test("takes bounded room for sizes that never come", () => {
    const item = soleOf(b.saidOf(1));
    for (let size = 2; size < 2000; size++) a.certifier.onCosignatures("b", [{ ...item, treeSize: size }]);
    a.certifier.onCosignatures("c", c.saidOf(1));
    expect(a.sizeHeld()).toBe(1);
  });
});

describe("a lost origin", () => {
  function lose(node: Replica): void {
    const origin = node.state.origins.get(bytesToHex(ORIGIN));
    if (origin === undefined) throw new Error("genesis lists it");
    origin.status = "lost";
    node.certifier.onTrustRoot();
  }

  test("has the certificate that the log records, whatever this node has completed since", async () => {
    a.certifier.onCosignatures("b", b.saidOf(1));
    a.certifier.onRecorded(a.certifier.heldOf(ORIGIN) as HeldCertificate);
    for (const each of [a, b]) each.apply(event(1));
    await settle();
    a.certifier.onCosignatures("b", b.saidOf(2));
    expect(a.sizeHeld()).toBe(2);
    lose(a);
    expect(a.sizeHeld()).toBe(1);
    a.certifier.onCosignatures("b", b.saidOf(2));
    expect(a.sizeHeld()).toBe(1);
  });

  test("is not signed, not even what was on its way to the promise file", async () => {
    a.saving = deferred();
    a.apply(event(1));
    lose(a);
    a.saving.resolve();
    a.apply(createKey());
    await settle();
    a.clock.advance(5000);
    a.certifier.resendUncovered(50);
    expect(a.saidOf(2)).toEqual([]);
    expect(a.certifier.uncovered().leaves).toBe(2);
  });

  test("answers nobody who waits for more than the log records", async () => {
    const covered: number[] = [];
    a.certifier.whenCovered(ORIGIN, 1, ({ treeSize }) => covered.push(treeSize));
    lose(a);
    a.certifier.onCosignatures("b", b.saidOf(1));
    expect(covered).toEqual([]);
  });
});

describe("re-sending", () => {
  test("repeats the newest cosignature while a point is uncovered for long, and stops then", () => {
    a.said.length = 0;
    a.certifier.resendUncovered(50);
    expect(a.said).toEqual([]);
    a.clock.advance(50);
    a.certifier.resendUncovered(50);
    expect(a.saidOf(1)).toHaveLength(1);
    a.certifier.onCosignatures("b", b.saidOf(1));
    a.said.length = 0;
    a.certifier.resendUncovered(50);
    expect(a.saidOf(1)).toEqual([]);
  });

  test("answers a peer that repeats a covered size: our cosignature got lost", () => {
    a.certifier.onCosignatures("b", b.saidOf(1));
    expect(a.sizeHeld()).toBe(1);
    a.certifier.onCosignatures("c", c.saidOf(1));
    expect(a.repliedTo).toEqual([]);
    a.certifier.onCosignatures("c", c.saidOf(1));
    const reply = soleOf(a.repliedTo);
    expect(reply.to).toBe("c");
    c.certifier.onCosignatures("a", reply.items);
    expect(c.sizeHeld()).toBe(1);
  });

  test("never keeps two nodes that hold a certificate talking", () => {
    a.certifier.onCosignatures("b", b.saidOf(1));
    b.certifier.onCosignatures("a", a.saidOf(1));
    for (let times = 0; times < 10; times++) a.certifier.onCosignatures("b", b.saidOf(1));
    let answers = 0;
    for (let rounds = 0; rounds < 10; rounds++) {
      for (const { items } of a.repliedTo.splice(0)) b.certifier.onCosignatures("a", items);
      answers += b.repliedTo.length;
      for (const { items } of b.repliedTo.splice(0)) a.certifier.onCosignatures("b", items);
    }
    expect(answers).toBeLessThan(5);
    expect([...a.repliedTo, ...b.repliedTo]).toEqual([]);
  });

  test("signs late what it had no need to sign, if a peer still needs it", async () => {
    for (const each of [a, b, c]) each.apply(event(1));
    await settle();
    // A new life of a that gets both others' signatures before its promise is written.
    const slow = new Replica("a");
    slow.saving = deferred();
    slow.apply({ kind: "genesis", document: slow.identity.configured.document });
    slow.certifier.onCosignatures("b", b.saidOf(1));
    slow.certifier.onCosignatures("c", c.saidOf(1));
    slow.saving.resolve();
    slow.saving = null;
    await settle();
    expect(slow.sizeHeld()).toBe(1);
    expect(slow.saidOf(1)).toEqual([]);
    slow.certifier.onCosignatures("b", b.saidOf(1));
    slow.certifier.onCosignatures("b", b.saidOf(1));
    const item = soleOf(soleOf(slow.repliedTo).items);
    expect(item).toMatchObject({ treeSize: 1 });
    const fresh = await new Replica("c").born();
    fresh.certifier.onCosignatures("a", [item]);
    expect(fresh.sizeHeld()).toBe(1);
  });

  test("says again what is uncovered when an entry without leaves marks a point", async () => {
    a.said.length = 0;
    a.apply({ kind: "mark_certify_point" });
    await settle();
    expect(a.saidOf(1)).toHaveLength(1);
  });

  test("counts leaves and age of what is uncovered", async () => {
    expect(a.certifier.uncovered()).toEqual({ leaves: 3, oldestMs: 0 });
    a.apply(event(1));
    a.clock.advance(40);
    expect(a.certifier.uncovered()).toEqual({ leaves: 4, oldestMs: 40 });
    b.apply(event(1));
    await settle();
    a.certifier.onCosignatures("b", b.said);
    expect(a.certifier.uncovered()).toEqual({ leaves: 0, oldestMs: 0 });
  });
});
