import { describe, expect, test } from "@jest/globals";
import type { SignedProgress } from "@event-anchoring/control-contract";
import { bytesToHex, toOriginFingerprint } from "@event-anchoring/protocol";
import {
  EMPTY_PEER_MEMORY,
  type RememberedCosignature,
  judgeHello,
  rememberCosignature,
  rememberProgress,
} from "../src/promises/peer-memory.ts";

const filled = (byte: number, length: number): Uint8Array => new Uint8Array(length).fill(byte);
const ORIGIN = toOriginFingerprint(filled(7, 32));
const OTHER_ORIGIN = toOriginFingerprint(filled(8, 32));

const said = (change: Partial<SignedProgress> = {}): SignedProgress => ({
  epoch: 1,
  incarnation: 4,
  lifeId: filled(2, 16),
  term: 5,
  index: 100,
  signature: filled(3, 64),
  ...change,
});
const signed = (treeSize: number, root = treeSize): RememberedCosignature => ({
  originFingerprint: ORIGIN,
  treeSize,
  rootHash: filled(root, 32),
  timeS: 1_790_000_000,
  signature: filled(9, 64),
  raftIndex: 90,
});

const memory = rememberCosignature(rememberProgress(EMPTY_PEER_MEMORY, said()), signed(40));
const hello = { progress: said(), signed: [signed(40)] };

describe("what a peer remembers", () => {
  test.each([
    ["exactly what we remember", {}],
    ["more than we remember", { progress: said({ incarnation: 5, index: 200 }), signed: [signed(41)] }],
    ["a shorter log of a later term", { progress: said({ term: 6, index: 60 }) }],
    ["origins we know nothing of", { signed: [signed(40), { ...signed(1), originFingerprint: OTHER_ORIGIN }] }],
    ["the log of another group", { progress: said({ epoch: 2, incarnation: 5, term: 1, index: 1 }) }],
  ])("a hello with %s is accepted", (_, change) => {
    expect(judgeHello(memory, { ...hello, ...change })).toEqual({ accepted: true });
  });

  test("a first hello is accepted, whatever it says", () => {
    const first = { progress: said({ incarnation: 0, term: 0, index: 0 }), signed: [] };
    expect(judgeHello(EMPTY_PEER_MEMORY, first)).toEqual({ accepted: true });
  });

  test.each([
    ["stale_incarnation", { progress: said({ incarnation: 3 }) }],
    ["stale_incarnation", { progress: said({ incarnation: 3, index: 900 }), signed: [] }],
    ["stale_incarnation", { progress: said({ lifeId: filled(5, 16), index: 900 }) }],
    ["amnesia", { progress: said({ index: 99 }) }],
    ["amnesia", { progress: said({ incarnation: 5, index: 99 }) }],
    ["amnesia", { progress: said({ incarnation: 5, term: 4, index: 900 }) }],
  ])("%s is shown by what the peer has said of its log (%#)", (code, change) => {
    const verdict = judgeHello(memory, { ...hello, ...change });
    expect(verdict).toMatchObject({ accepted: false, code, ownWord: { kind: "progress", progress: said() } });
  });

  test.each([
    ["nothing", []],
    ["a smaller size", [signed(39)]],
    ["another root", [signed(40, 1)]],
    ["another origin", [{ ...signed(40), originFingerprint: OTHER_ORIGIN }]],
  ])("amnesia of a peer that claims to have signed %s is shown by its cosignature", (_, claimed) => {
    const verdict = judgeHello(memory, { ...hello, signed: claimed });
    const ownWord = { kind: "cosignature", treeSize: 40, signature: filled(9, 64) };
    expect(verdict).toMatchObject({ accepted: false, code: "amnesia", ownWord });
  });

  test("memory only ever grows, and never in place", () => {
    expect(rememberProgress(memory, said({ incarnation: 2, index: 900 }))).toBe(memory);
    expect(rememberProgress(memory, said({ index: 99 }))).toBe(memory);
    expect(rememberProgress(memory, said({ term: 4, index: 900 }))).toBe(memory);
    expect(rememberProgress(memory, said({ term: 6, index: 60 })).progress).toMatchObject({ term: 6, index: 60 });
    expect(rememberCosignature(memory, signed(39))).toBe(memory);
    expect(rememberCosignature(memory, signed(40, 1))).toBe(memory);
    const larger = rememberCosignature(memory, signed(41));
    expect(larger.signed.get(bytesToHex(ORIGIN))?.treeSize).toBe(41);
    expect(memory.signed.get(bytesToHex(ORIGIN))?.treeSize).toBe(40);
    expect(EMPTY_PEER_MEMORY).toEqual({ progress: null, signed: new Map() });
  });
});
