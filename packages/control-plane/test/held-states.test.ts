/** Who may keep a signed state readable, how many at a time, and when it is let go. */
import { beforeEach, expect, test } from "@jest/globals";
import { STATE_HELD_MS } from "@event-anchoring/control-contract";
import type { HoldPurpose } from "@event-anchoring/control-contract";
import { StoreError } from "@event-anchoring/store";
import { HeldStates } from "../src/local/held-states.ts";
import { StepClock, quietLogger, settle } from "./doubles.ts";

const POINT = { databaseSnapshot: "0000000A-1-1", stateHead: "note", raftIndex: 12 };

let clock: StepClock;
let open: number;
let lines: string[];
let asked: unknown[];
let sign: () => Promise<typeof POINT>;
let states: HeldStates;

beforeEach(() => {
  clock = new StepClock();
  open = 0;
  lines = [];
  asked = [];
  sign = async () => POINT;
  states = new HeldStates({
    clock,
    logger: { ...quietLogger, info: (event) => void lines.push(event) },
    session: () => ({
      holdSigned: (_hold, { signers, withinMs }) => {
        asked.push({ signers, withinMs });
        return sign().then((point) => ({ ...point, hasHonestSigner: true }));
      },
    }),
    openStateHold: async () => {
      open++;
      return { hold: async () => ({ databaseSnapshot: "s", raftIndex: 1 }), release: async () => void open-- };
    },
  });
});

const hold = (
  gone = new AbortController().signal,
  { remainingMs = 9000, purpose = "backup" }: { remainingMs?: number; purpose?: HoldPurpose } = {},
): ReturnType<HeldStates["hold"]> => states.hold({ type: "hold_state", requestId: 7, remainingMs, purpose }, gone);

test("a state is held as a quorum has signed it, until the asker has gone; one line says so", async () => {
  const asker = new AbortController();
  expect(await hold(asker.signal)).toEqual({ type: "state_held", requestId: 7, ...POINT });
  expect(asked).toEqual([{ signers: "quorum", withinMs: 9000 }]);
  expect(open).toBe(1);
  asker.abort();
  await settle();
  expect(open).toBe(0);
  clock.advance(2 * STATE_HELD_MS);
  await settle();
  expect(open).toBe(0);
  expect(lines).toEqual(["state_held"]);
});

test("an asker who stays has it for a minute", async () => {
  const asker = new AbortController();
  await hold(asker.signal);
  clock.advance(STATE_HELD_MS - 1);
  await settle();
  expect(open).toBe(1);
  clock.advance(1);
  await settle();
  asker.abort();
  await settle();
  expect(open).toBe(0);
});

test("two are held at a time, and a third once one of them has ended", async () => {
  const asker = new AbortController();
  await hold(asker.signal);
  await hold();
  expect(await hold()).toMatchObject({ type: "refused", code: "overloaded" });
  expect(open).toBe(2);
  asker.abort();
  await settle();
  expect(await hold()).toMatchObject({ type: "state_held" });
});

test("proofs have one place of their own: they take none from backups, and backups none from them", async () => {
  const asker = new AbortController();
  const forProofs = (gone?: AbortSignal) => hold(gone, { purpose: "proof" });
  await forProofs(asker.signal);
  expect(await forProofs()).toMatchObject({ type: "refused", code: "overloaded" });
  for (let again = 0; again < 2; again++) expect(await hold()).toMatchObject({ type: "state_held" });
  asker.abort();
  await settle();
  expect(await forProofs()).toMatchObject({ type: "state_held" });
  expect(await hold()).toMatchObject({ type: "refused", code: "overloaded" });
});

test("what no quorum signs is refused with the reason, and nothing stays open", async () => {
  sign = () => Promise.reject(new StoreError("unavailable", "n1 alone signed the state after entry 12 in time"));
  for (let again = 0; again < 3; again++) {
    const answer = await hold();
    expect(answer).toMatchObject({ type: "refused", requestId: 7, code: "unavailable" });
    expect(answer).toMatchObject({ detail: "n1 alone signed the state after entry 12 in time" });
    expect(open).toBe(0);
  }
  expect(lines).toEqual([]);
});

test("nobody waits for signatures for ever, whatever the asker says", async () => {
  await hold(new AbortController().signal, { remainingMs: 0xffff_ffff });
  expect(asked).toEqual([{ signers: "quorum", withinMs: 30_000 }]);
});

test("an asker who went while it was signed leaves nothing behind", async () => {
  const asker = new AbortController();
  sign = async () => {
    asker.abort();
    return POINT;
  };
  await hold(asker.signal);
  await settle();
  expect(open).toBe(0);
});
