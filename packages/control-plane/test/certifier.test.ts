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

  test("promises the largest of what waits, whatever came last", async () => {
    a.saving = deferred();
    a.apply(event(1));
    a.maySign = false;
    a.apply(event(2));
    a.maySign = true;
    a.apply(event(3));
    a.certifier.onReleased(ORIGIN);
    a.saving.resolve();
    await settle();
    expect(a.heads.get(bytesToHex(ORIGIN))?.treeSize).toBe(4);
    expect([soleOf(a.saidOf(3)).treeSize, soleOf(a.saidOf(4)).treeSize]).toEqual([3, 4]);
  });

  test("leaves out what waits if a larger head is promised meanwhile", async () => {
    a.saving = deferred();
    a.apply(event(1));
    a.apply(event(2));
    const promised = a.heads.get(bytesToHex(ORIGIN));
    if (promised === undefined) throw new Error("a promise was due");
    a.heads.set(bytesToHex(ORIGIN), { ...promised, treeSize: 9 });
    a.saving.resolve();
    await settle();
    expect(a.heads.get(bytesToHex(ORIGIN))?.treeSize).toBe(9);
    expect(a.saidOf(3)).toEqual([]);
    expect(a.failures).toEqual([]);
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

  test.each([
    ["another root", 98, ["root of size 2 is not the one that was signed"]],
    ["the promised root", 1, []],
  ])("is bound by a promised size at which it never stops: %s is there", async (_what, first, forgotten) => {
    a.apply(event(1));
    await settle();
    const again = await new Replica("a", [...a.heads.values()]).born();
    again.apply(event(first), event(2));
    await settle();
    expect(again.forgotten).toEqual(forgotten);
    expect(again.saidOf(3)).toHaveLength(forgotten.length === 0 ? 1 : 0);
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
    a.hear("b", b.saidOf(1));
    expect(a.sizeHeld()).toBe(1);
    expect(a.certifier.heldOf(ORIGIN)?.cosignatures.map(({ nodeId }) => nodeId)).toEqual(["a", "b"]);
  });

  test("does not need the own signature", () => {
    const silent = new Replica("a");
    silent.maySign = false;
    return silent.born().then(() => {
      silent.hear("b", b.saidOf(1));
      expect(silent.sizeHeld()).toBe(0);
      silent.hear("c", c.saidOf(1));
      expect(silent.sizeHeld()).toBe(1);
    });
  });

  test("is made of what came early, as soon as this node reaches the size", async () => {
    b.apply(event(1));
    await settle();
    a.hear("b", b.saidOf(2));
    expect(a.sizeHeld()).toBe(0);
    a.certifier.whenCovered(ORIGIN, 2, () => {});
    a.apply(event(1));
    await settle();
    expect(a.sizeHeld()).toBe(2);
  });

  test("counts one node once, under whatever name its signature comes", () => {
    const item = soleOf(b.saidOf(1));
    const silent = a;
    silent.hear("c", [item]);
    expect(silent.sizeHeld()).toBe(0);
    silent.hear("d", [item]);
    expect(silent.sizeHeld()).toBe(0);
  });

  test("counts no replay of the own signature by a peer", () => {
    a.hear("b", a.saidOf(1));
    a.hear("a", a.saidOf(1));
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
    a.hear("b", [spoil(soleOf(b.saidOf(1)))]);
    expect(a.certificates).toEqual([]);
    a.hear("b", b.saidOf(1));
    expect(a.sizeHeld()).toBe(1);
  });

  test("that a key has not signed is reported with whose it should be, and not looked at twice", () => {
    const [good, forged] = [soleOf(b.saidOf(1)), new Uint8Array(64).fill(7)];
    a.hear("b", [{ ...good, signature: forged }]);
    a.hear("c", [{ ...good, signature: forged }]);
    expect([a.refused, a.sizeHeld()]).toEqual([["b", "c"], 0]);
    a.hear("b", [good]);
    expect([a.refused, a.sizeHeld()]).toEqual([["b", "c"], 1]);
  });

  test("is not made by another root, which is reported with its sender", async () => {
    b.apply(event(99));
    a.apply(event(1));
    await settle();
    a.hear("b", b.saidOf(2));
    expect(a.sizeHeld()).toBe(0);
    expect(a.contradictions).toEqual(["b: another root at size 2"]);
  });

  test("never goes back to a smaller size", async () => {
    for (const each of [a, b]) each.apply(event(1));
    await settle();
    a.hear("b", b.saidOf(2));
    a.hear("b", b.saidOf(1));
    a.certifier.onRecorded({ ...(a.certifier.heldOf(ORIGIN) as HeldCertificate), treeSize: 1 });
    expect(a.sizeHeld()).toBe(2);
  });

  test("from the log counts without any message of a peer", () => {
    a.hear("b", b.saidOf(1));
    c.certifier.onRecorded(a.certifier.heldOf(ORIGIN) as HeldCertificate);
    expect(c.sizeHeld()).toBe(1);
  });

  test("answers those who wait for its size or less, once, and nobody else", async () => {
    const covered: number[] = [];
    a.certifier.whenCovered(ORIGIN, 1, ({ treeSize }) => covered.push(treeSize));
    a.certifier.whenCovered(ORIGIN, 2, ({ treeSize }) => covered.push(treeSize * 10));
    a.certifier.whenCovered(ORIGIN, 1, () => covered.push(-1))();
    a.hear("b", b.saidOf(1));
    a.hear("c", c.saidOf(1));
    expect(covered).toEqual([1]);
    a.certifier.whenCovered(ORIGIN, 1, ({ treeSize }) => covered.push(treeSize + 100));
    expect(covered).toEqual([1, 101]);
  });

  test("takes bounded room for sizes that never come", () => {
    const item = soleOf(b.saidOf(1));
    for (let size = 2; size < 2000; size++) a.hear("b", [{ ...item, treeSize: size }]);
    a.hear("c", c.saidOf(1));
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
    a.hear("b", b.saidOf(1));
    a.certifier.onRecorded(a.certifier.heldOf(ORIGIN) as HeldCertificate);
    for (const each of [a, b]) each.apply(event(1));
    await settle();
    a.hear("b", b.saidOf(2));
    expect(a.sizeHeld()).toBe(2);
    lose(a);
    expect(a.sizeHeld()).toBe(1);
    a.hear("b", b.saidOf(2));
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
    a.hear("b", b.saidOf(1));
    expect(covered).toEqual([]);
  });
});

describe("verifying", () => {
  let verified: number;

  /** A new life of node a that counts what its certifier verifies. */
  async function counting(): Promise<Replica> {
    verified = 0;
    const made = new Replica("a");
    const isGood = made.certifier.isGood.bind(made.certifier);
    made.certifier.isGood = (...what) => {
      verified += 1;
      return isGood(...what);
    };
    return made.born();
  }

  test("is left until somebody waits, and then as much as is needed", async () => {
    const counted = await counting();
    counted.certifier.onCosignatures("b", b.saidOf(1), false);
    counted.certifier.onCosignatures("c", c.saidOf(1), false);
    expect([verified, counted.sizeHeld(), counted.certifier.uncovered().leaves]).toEqual([0, 0, 2]);
    const covered: number[] = [];
    counted.certifier.whenCovered(ORIGIN, 1, ({ treeSize }) => covered.push(treeSize));
    expect([verified, counted.sizeHeld(), covered]).toEqual([1, 1, [1]]);
  });

  test("is done at once for whoever waits already", async () => {
    const counted = await counting();
    const covered: number[] = [];
    counted.certifier.whenCovered(ORIGIN, 1, ({ treeSize }) => covered.push(treeSize));
    counted.certifier.onCosignatures("b", b.saidOf(1), false);
    expect([verified, covered]).toEqual([1, [1]]);
  });

  test("is not done for what is only measured", async () => {
    const counted = await counting();
    let cosigned = 0;
    counted.certifier.whenCosigned(ORIGIN, 1, () => (cosigned += 1));
    expect(cosigned).toBe(0);
    counted.certifier.onCosignatures("b", b.saidOf(1), false);
    expect([verified, cosigned, counted.sizeHeld()]).toEqual([0, 1, 0]);
  });

  test("of the newest head certifies the older ones", async () => {
    const counted = await counting();
    counted.apply(event(1));
    b.apply(event(1));
    await settle();
    counted.certifier.onCosignatures("b", b.said, false);
    counted.certifier.certifyNewest();
    expect(counted.sizeHeld()).toBe(2);
    // One for each of the three origins.
    expect(verified).toBe(3);
  });

  test("finds what is bad: the size is uncovered again, and nothing of it is shown", async () => {
    const counted = await counting();
    const spoilt = { ...soleOf(b.saidOf(1)), signature: new Uint8Array(64) };
    counted.certifier.onCosignatures("b", [spoilt], false);
    expect(counted.certifier.cosignedSizeOf(ORIGIN)).toBe(1);
    const covered: number[] = [];
    counted.certifier.whenCovered(ORIGIN, 1, ({ treeSize }) => covered.push(treeSize));
    expect([covered, counted.sizeHeld(), counted.refused]).toEqual([[], 0, ["b"]]);
    expect([counted.certifier.cosignedSizeOf(ORIGIN), counted.certifier.hasUncovered]).toEqual([0, true]);
    counted.certifier.onCosignatures("c", c.saidOf(1), false);
    expect(covered).toEqual([1]);
  });
});

describe("asking", () => {
  test("goes to all while too few cosignatures are in hand for long, and stops then", () => {
    a.certifier.resendUncovered(50);
    expect(a.asked).toEqual([]);
    a.clock.advance(50);
    a.certifier.resendUncovered(50);
    expect(a.asked.filter((item) => sameOrigin(item, ORIGIN))).toHaveLength(1);
    for (const { originFingerprint } of a.said) {
      const items = b.said.filter((item) => sameOrigin(item, originFingerprint));
      a.certifier.onCosignatures("b", items, false);
    }
    a.asked.length = 0;
    a.certifier.resendUncovered(50);
    expect(a.asked).toEqual([]);
  });

  test("is answered with the own cosignature, by who holds a certificate as by who does not; an answer is not", () => {
    b.hear("a", a.saidOf(1));
    for (const each of [b, c]) {
      each.certifier.onCosignatures("a", a.saidOf(1), true);
      const reply = soleOf(each.repliedTo);
      expect([reply.to, soleOf(reply.items).treeSize]).toEqual(["a", 1]);
      a.certifier.onCosignatures(each.identity.nodeId, reply.items, false);
    }
    expect(a.repliedTo).toEqual([]);
  });

  test("gets no answer from a node that has not signed the size", () => {
    b.apply(event(1));
    a.certifier.onCosignatures("b", [{ ...soleOf(b.saidOf(1)), treeSize: 2 }], true);
    expect(a.repliedTo).toEqual([]);
  });

  test("says again what is uncovered when an entry without leaves marks a point", async () => {
    a.apply({ kind: "mark_certify_point" });
    await settle();
    expect(a.asked.filter((item) => sameOrigin(item, ORIGIN))).toHaveLength(1);
  });

  test("counts leaves and age of what is uncovered", async () => {
    expect(a.certifier.uncovered()).toEqual({ leaves: 3, oldestMs: 0 });
    a.apply(event(1));
    a.clock.advance(40);
    expect(a.certifier.uncovered()).toEqual({ leaves: 4, oldestMs: 40 });
    b.apply(event(1));
    await settle();
    a.certifier.onCosignatures("b", b.said, false);
    expect(a.certifier.uncovered()).toEqual({ leaves: 0, oldestMs: 0 });
  });

  test("signs also what others have certified before: the peers may need it", async () => {
    const slow = new Replica("a");
    slow.saving = deferred();
    slow.apply({ kind: "genesis", document: slow.identity.configured.document });
    slow.hear("b", b.saidOf(1));
    slow.hear("c", c.saidOf(1));
    expect(slow.sizeHeld()).toBe(1);
    slow.saving.resolve();
    await settle();
    expect(slow.saidOf(1)).toHaveLength(1);
  });
});
