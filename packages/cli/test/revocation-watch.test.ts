/** Revocations that touch named entities: read from leaves that were verified, each once, none left out. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "@jest/globals";
import {
  EMPTY_SEMANTIC_ANCHOR,
  LEAF_KIND,
  ZERO_32,
  concatBytes,
  hexToBytes,
  toAnchorId,
} from "@event-anchoring/protocol";
import { RevocationMemory } from "../src/monitor/revocation-memory.ts";
import { RevocationWatch } from "../src/monitor/revocation-watch.ts";
import type { SeenRevocation } from "../src/monitor/revocation-watch.ts";
import { readWatchedEntities } from "../src/monitor/watched-entities.ts";
import { PaperOrigins } from "./paper-origins.ts";

const [ALICE, BOB, CARA] = ["a1", "b2", "c3"].map((byte) => byte.repeat(32)) as [string, string, string];
const SIGNATURE = new Uint8Array(64).fill(7);
const ROOT = "00".repeat(32);
const ISSUER = 1;
const GRANTOR = 3;

let folder: string;
let log: PaperOrigins;
let told: SeenRevocation[];
let room: number;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "anchorctl-revocations-"));
  log = new PaperOrigins(2);
  told = [];
  room = Number.POSITIVE_INFINITY;
});

afterEach(() => rmSync(folder, { recursive: true, force: true }));

const path = (): string => join(folder, "state.json.revocations");

function watchOf(...entities: readonly string[]): RevocationWatch {
  const tell = (revocation: SeenRevocation): void => void told.push(revocation);
  const hasRoom = (): boolean => told.length < room;
  return new RevocationWatch({ memory: new RevocationMemory(path(), new Set(entities)), source: log, hasRoom, tell });
}

const touched = (): unknown[] => told.map((each) => Object.fromEntries(each.touched));

const claim = (origin: number, entity: string, attributeType = 1): string =>
  log.append(origin, {
    kind: LEAF_KIND.claim,
    entityFingerprint: hexToBytes(entity, 32),
    attributeType,
    attributeHash: ZERO_32,
    issuedAt: 0,
    expiresAt: 0,
    subjectPublicKey: ZERO_32,
    subjectSignature: SIGNATURE,
    issuerPublicKey: ZERO_32,
    issuerSignature: SIGNATURE,
  });

const grant = (origin: number, grantor: string, grantee: string, parent = ROOT): string =>
  log.append(origin, {
    kind: LEAF_KIND.grant,
    grantorClaimRef: hexToBytes(grantor, 32),
    granteeClaimRef: hexToBytes(grantee, 32),
    parentGrantRef: hexToBytes(parent, 32),
    scopeHash: ZERO_32,
    delegationDepth: 0,
    issuedAt: 0,
    notBefore: 0,
    expiresAt: 0,
    grantorPublicKey: ZERO_32,
    grantorSignature: SIGNATURE,
    witnessPublicKey: ZERO_32,
    witnessSignature: SIGNATURE,
  });

const revoke = (origin: number, target: string, authority: number): string =>
  log.append(origin, {
    kind: LEAF_KIND.revocation,
    targetAnchorId: toAnchorId(hexToBytes(target, 32)),
    reason: 1,
    suspectSince: 0,
    issuedAt: 0,
    authority,
    revoker: ZERO_32,
    signature: authority === 0 ? new Uint8Array(64) : SIGNATURE,
  });

function events(origin: number, count: number): void {
  for (let at = 0; at < count; at++) {
    log.append(origin, {
      kind: LEAF_KIND.event,
      eventHash: hexToBytes(at.toString(16).padStart(64, "0"), 32),
      semanticAnchor: EMPTY_SEMANTIC_ANCHOR,
      clientEventCommit: ZERO_32,
    });
  }
}

describe("a revocation is told", () => {
  test("if it is of a claim of a named entity, with the grants that hang on it", async () => {
    const [alice, bob] = [claim(0, ALICE), claim(1, BOB)];
    const given = grant(1, alice, bob);
    const other = revoke(0, bob, ISSUER);
    const own = revoke(0, alice, ISSUER);
    await watchOf(ALICE).read(log.heads());
    expect(told.map(({ anchorId }) => anchorId)).toEqual([other, own]);
    expect(touched()).toEqual([{ [ALICE]: [given] }, { [ALICE]: [alice, given] }]);
  });

  test("if it is of a grant, or of a claim, on which a grant of a named entity hangs, however far above", async () => {
    const [alice, bob, cara] = [claim(0, ALICE), claim(0, BOB), claim(1, CARA)];
    const top = grant(0, alice, bob);
    const middle = grant(1, bob, bob, top);
    const low = grant(0, bob, cara, middle);
    const unrelated = grant(0, alice, bob);
    const renewed = claim(1, ALICE);
    for (const target of [unrelated, top, middle, low]) revoke(0, target, GRANTOR);
    revoke(1, renewed, ISSUER);
    await watchOf(CARA).read(log.heads());
    expect(touched()).toEqual(Array(4).fill({ [CARA]: [low] }));
  });

  test("if it is an operator's, whatever it is of", async () => {
    const [alice, bob] = [claim(0, ALICE), claim(0, BOB)];
    const given = grant(0, alice, bob);
    const renewed = claim(0, ALICE);
    const stranger = grant(1, claim(1, CARA), claim(1, CARA, 2));
    for (const target of [stranger, given, renewed]) revoke(0, target, 0);
    await watchOf(BOB).read(log.heads());
    expect(touched()).toEqual([{ [BOB]: [given] }, { [BOB]: [given] }]);
  });

  test("and no other", async () => {
    const [alice, bob] = [claim(0, ALICE), claim(0, BOB)];
    revoke(0, grant(1, alice, bob), GRANTOR);
    revoke(1, alice, ISSUER);
    await watchOf(CARA).read(log.heads());
    expect(told).toEqual([]);
    expect(log.asked.filter((asked) => !asked.startsWith("tile/"))).toEqual([]);
  });
});

describe("reading", () => {
  test("goes on where an earlier process ended, and tells nothing twice", async () => {
    const alice = claim(0, ALICE);
    events(0, 700);
    revoke(0, alice, ISSUER);
    await watchOf(ALICE).read(log.heads());
    expect(told).toHaveLength(1);
    log.asked.length = 0;
    events(1, 300);
    revoke(1, alice, ISSUER);
    await watchOf(ALICE).read(log.heads());
    expect(told).toHaveLength(2);
    expect(log.asked.filter((asked) => asked.startsWith("tile/entries/000"))).toEqual(["tile/entries/000"]);
    expect(log.asked.filter((asked) => asked === "tile/entries/001")).toEqual([]);
  });

  test("begins anew for an entity that is new, and not for one that is gone", async () => {
    const [alice, bob] = [claim(0, ALICE), claim(0, BOB)];
    revoke(0, alice, ISSUER);
    revoke(0, bob, ISSUER);
    await watchOf(ALICE).read(log.heads());
    await watchOf(ALICE, BOB).read(log.heads());
    await watchOf(BOB).read(log.heads());
    expect(touched()).toEqual([{ [ALICE]: [alice] }, { [ALICE]: [alice] }, { [BOB]: [bob] }]);
  });

  test("waits for a leaf of another origin whose head is older, and not for one that never comes", async () => {
    const alice = claim(0, ALICE);
    const before = log.head(1);
    const given = grant(1, alice, alice);
    const middle = claim(0, BOB);
    revoke(0, given, GRANTOR);
    const watch = watchOf(ALICE);
    await watch.read([log.head(0), before]);
    expect([told.length, watch.unread]).toEqual([0, 2]);
    await watch.read(log.heads());
    expect([touched(), watch.unread]).toEqual([[{ [ALICE]: [given] }], 0]);
    log.skipSequence();
    revoke(0, alice, ISSUER);
    await watch.read(log.heads());
    expect(told).toHaveLength(1);
    await watch.read(log.heads());
    expect(told).toHaveLength(2);
    expect(middle).not.toBe(alice);
  });

  test("waits as long as there is no room, and leaves nothing out", async () => {
    const alice = claim(0, ALICE);
    for (let at = 0; at < 5; at++) revoke(at % 2, alice, ISSUER);
    room = 2;
    const watch = watchOf(ALICE);
    await watch.read(log.heads());
    expect([told.length, watch.unread]).toEqual([2, 3]);
    room = 4;
    await watchOf(ALICE).read(log.heads());
    room = 9;
    await watchOf(ALICE).read(log.heads());
    expect(new Set(told.map(({ anchorId }) => anchorId)).size).toBe(5);
    expect(told).toHaveLength(5);
  });

  test.each([
    [
      "a bundle",
      "tile/entries/000",
      (good: Uint8Array) => concatBytes(good.slice(0, 400), Uint8Array.of(1), good.slice(401)),
    ],
    ["a bundle of other leaves", "tile/entries/000", (good: Uint8Array) => good.slice(0, 500)],
    ["a tile", "tile/1/000.p/2", (good: Uint8Array) => good.map((byte) => byte ^ 1)],
  ])("takes nothing of %s that is not of the head", async (_what, place, damage) => {
    const alice = claim(0, ALICE);
    events(0, 600);
    revoke(0, alice, ISSUER);
    log.instead.set(place, damage(await log.bytes(log.fingerprints[0] ?? "", place)));
    const watch = watchOf(ALICE);
    await expect(watch.read(log.heads())).rejects.toThrow("are not those of its head");
    expect(told).toEqual([]);
    log.instead.clear();
    await watch.read(log.heads());
    expect(told).toHaveLength(1);
  });

  test("takes no leaf for the one that a grant names unless it hashes to it", async () => {
    const [alice, bob, cara] = [claim(0, ALICE), claim(0, BOB), claim(0, CARA)];
    const top = grant(0, alice, bob);
    grant(0, bob, cara, top);
    log.instead.set(top, await log.leaf(alice));
    await expect(watchOf(CARA).read(log.heads())).rejects.toThrow(`what is shown as ${top} is not that leaf`);
  });

  test("does not begin from a damaged file", async () => {
    await watchOf(ALICE).read(log.heads());
    const good = readFileSync(path(), "utf8");
    for (const text of ["", "{}", good.slice(0, -2), good.replace("v1", "v2")]) {
      writeFileSync(path(), text);
      expect(() => watchOf(ALICE)).toThrow("does not hold how far leaves were read");
    }
  });
});

describe("the file of entities", () => {
  const read = (text: string): ReadonlySet<string> => {
    writeFileSync(join(folder, "entities"), text);
    return readWatchedEntities(join(folder, "entities"));
  };

  test("has fingerprints, and names behind them", () => {
    expect([...read(`# names\n\n${ALICE}  Alice of the mill\r\n${BOB.toUpperCase()}\n`)]).toEqual([ALICE, BOB]);
    expect([...read(`# names\nattribute 1 role\n${ALICE} Alice\nscope max_amount most\n`)]).toEqual([ALICE]);
  });

  test.each([`${ALICE}b`, "alice", `attribute 1 role\n${ALICE}`, `${ALICE}\n${BOB.slice(1)} Bob`, "", "# nobody"])(
    "is not: %j",
    (text) => {
      expect(() => read(text)).toThrow(/does not begin with an entity fingerprint|names no entity/u);
    },
  );
});
