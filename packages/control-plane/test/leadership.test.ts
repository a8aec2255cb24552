import { beforeEach, describe, expect, test } from "@jest/globals";
import { emptyLedgerState } from "@event-anchoring/ledger";
import { nodeCrypto } from "@event-anchoring/node-crypto";
import { bytesToHex, toOriginFingerprint } from "@event-anchoring/protocol";
import type { Certifier, HeldCertificate } from "../src/certification/certifier.ts";
import { ClockGuard } from "../src/session/clock-guard.ts";
import { Leadership } from "../src/session/leadership.ts";
import type { Submission } from "../src/proposals/proposals.ts";
import { StepClock, quietLogger } from "./doubles.ts";

const ORIGIN = toOriginFingerprint(new Uint8Array(32).fill(3));

let clock: StepClock;
/** So far are the other voters' clocks from this one's; who is not named is silent. */
function tellTheTime(...offsetsMs: number[]): void {
  for (const peer of ["b", "c"]) guard.onPeerDown(peer);
  offsetsMs.forEach((offsetMs, at) => guard.onReport(["b", "c"][at] ?? "", clock.wallMs() + offsetMs, 0));
}

let guard: ClockGuard;
let uncovered: { leaves: number; oldestMs: number };
let held: number;
let recorded: number;
let submitted: Submission[];
let transfers: number;
let isBorn: boolean;
let isStopped: boolean;
let leadership: Leadership;

beforeEach(() => {
  clock = new StepClock();
  guard = new ClockGuard(clock, () => ["a", "b", "c"]);
  tellTheTime(0, 0);
  uncovered = { leaves: 0, oldestMs: 0 };
  held = 0;
  recorded = 0;
  submitted = [];
  transfers = 0;
  isBorn = true;
  isStopped = false;
  const state = emptyLedgerState(nodeCrypto.sha256);
  Object.defineProperty(state, "trustRootChain", { get: () => (isBorn ? {} : null) });
  Object.defineProperty(state, "origins", {
    get: () => {
      const certified = recorded === 0 ? null : { treeSize: recorded };
      return new Map([[bytesToHex(ORIGIN), { originFingerprint: ORIGIN, certified }]]);
    },
  });
  const certifier = {
    uncovered: () => uncovered,
    isStopped: () => isStopped,
    cosignedSizeOf: () => held,
    certifyNewest: () => {},
    heldOf: () => (held === 0 ? null : ({ originFingerprint: ORIGIN, treeSize: held } as HeldCertificate)),
  };
  leadership = new Leadership({
    environment: { clock, random: { fill: () => {} }, verify: async () => [], logger: quietLogger },
    state,
    certifier: certifier as unknown as Certifier,
    clockGuard: guard,
    genesisDocument: "the document",
    submit: (submission) => submitted.push(submission),
    transferLeadership: () => (transfers += 1),
  });
});

describe("the gate for client commands", () => {
  test("is open when nothing stands against it", () => {
    uncovered = { leaves: 20_000, oldestMs: 5000 };
    expect(leadership.gate()).toBeNull();
  });

  test.each<[string, () => void]>([
    ["not_initialised", () => (isBorn = false)],
    ["certification_stalled", () => (uncovered = { leaves: 20_001, oldestMs: 1 })],
    ["certification_stalled", () => (uncovered = { leaves: 1, oldestMs: 5001 })],
    ["clock_unsafe", () => tellTheTime(-6000, -6000)],
    ["clock_unsafe", () => tellTheTime(6000, 6000)],
    ["clock_unsafe", () => tellTheTime()],
  ])("is closed: %s", (code, arrange) => {
    arrange();
    expect(leadership.gate()).toMatchObject({ code });
  });

  test("hands leadership on when the clock is wrong, before genesis too", () => {
    isBorn = false;
    tellTheTime(-6000, -6000);
    expect(leadership.gate()).toMatchObject({ code: "clock_unsafe" });
    expect(transfers).toBe(1);
    tellTheTime(6000, 6000);
    expect(leadership.gate()).toMatchObject({ code: "clock_unsafe" });
    expect(transfers).toBe(2);
  });

  test.each<[string, number[]]>([
    ["too few clocks were heard", []],
    ["of two clocks nobody knows which is right", [6000]],
  ])("keeps leadership while %s: another node knows no more", (_what, offsets) => {
    tellTheTime(...offsets);
    expect(leadership.gate()).toMatchObject({ code: "clock_unsafe" });
    expect(transfers).toBe(0);
  });
});

describe("a new leader", () => {
  const proposed = (): string[] => submitted.map(({ command }) => command.kind);

  test("does nothing before an entry of its own term is applied", () => {
    isBorn = false;
    leadership.onApplied(3, 4);
    expect(proposed()).toEqual([]);
    leadership.onApplied(4, 4);
    leadership.onApplied(4, 4);
    expect(proposed()).toEqual(["genesis"]);
    expect(submitted[0]).toMatchObject({ answer: "committed" });
  });

  test("marks a certify point when it finds uncovered leaves, once a term", () => {
    uncovered = { leaves: 2, oldestMs: 0 };
    leadership.onApplied(4, 4);
    leadership.onApplied(4, 4);
    leadership.onApplied(5, 5);
    expect(proposed()).toEqual(["mark_certify_point", "mark_certify_point"]);
  });

  test("asks everybody to sign where the trees end, every few seconds while leaves wait for a certificate", () => {
    leadership.onApplied(4, 4);
    clock.advance(10_000);
    leadership.look(0);
    uncovered = { leaves: 2, oldestMs: 2900 };
    leadership.look(0);
    expect(proposed()).toEqual([]);
    uncovered = { leaves: 2, oldestMs: 3000 };
    leadership.look(0);
    leadership.look(0);
    clock.advance(2900);
    leadership.look(0);
    expect(proposed()).toEqual(["mark_certify_point"]);
    clock.advance(100);
    leadership.look(0);
    expect(proposed()).toEqual(["mark_certify_point", "mark_certify_point"]);
  });

  test("hands leadership on when an entry of its own is not applied for two seconds", () => {
    leadership.look(2000);
    expect(transfers).toBe(0);
    leadership.look(2001);
    expect(transfers).toBe(1);
  });

  test("proposes nothing when all is well", () => {
    leadership.onApplied(4, 4);
    expect(proposed()).toEqual([]);
  });
});

describe("certificates to record", () => {
  const sizes = (): number[] => leadership.certificatesToRecord().map(({ treeSize }) => treeSize);

  test("are those above what the log has, until they are proposed", () => {
    expect(sizes()).toEqual([]);
    expect(leadership.hasCertificatesToRecord()).toBe(false);
    held = 5;
    expect(leadership.hasCertificatesToRecord()).toBe(true);
    expect(sizes()).toEqual([5]);
    expect(sizes()).toEqual([5]);
    leadership.onRecording(leadership.certificatesToRecord());
    expect(sizes()).toEqual([]);
    expect(leadership.hasCertificatesToRecord()).toBe(false);
    held = 6;
    expect(sizes()).toEqual([6]);
    recorded = 6;
    expect(sizes()).toEqual([]);
  });

  test("are none of an origin that has stopped: both certificates of a fork are kept out of the log", () => {
    held = 5;
    isStopped = true;
    expect(sizes()).toEqual([]);
    expect(leadership.hasCertificatesToRecord()).toBe(false);
  });

  test("are proposed again after a change of office: the entry may be lost", () => {
    held = 5;
    leadership.onRecording(leadership.certificatesToRecord());
    leadership.onRoleChange();
    expect(sizes()).toEqual([5]);
  });
});
