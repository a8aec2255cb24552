/** Random lives of the ledger alone, against the model. A failure prints the seed that brings it back. */
import { describe, expect, test } from "@jest/globals";
import fc from "fast-check";
import { diceOf, seededDice } from "./dice.ts";
import type { Dice } from "./dice.ts";
import { LedgerHistory } from "./ledger-history.ts";
import { historySeed } from "./seed.ts";

const LIVES = Number(process.env["HISTORY_LIVES"] ?? 60);
const ENTRIES = 40;
const POSITIONS = 12;
const QUESTIONED_POSITIONS = 3;
const PROPERTY_RUNS = 60;

function live(steps: readonly Dice[], afterwards: Dice): LedgerHistory {
  const history = new LedgerHistory();
  // After a first difference ledger and model live different lives.
  for (const dice of steps) if (history.differences.length === 0) history.step(dice);
  for (let count = 0; count < POSITIONS && history.differences.length === 0; count++) {
    history.compareStates(history.randomPosition(afterwards));
    if (history.model.claims().length > 0 && count < QUESTIONED_POSITIONS)
      history.compareQuestions(history.randomPosition(afterwards), afterwards);
  }
  return history;
}

describe("the ledger answers as the model does", () => {
  test("in random lives", () => {
    const firstSeed = historySeed();
    const answers = new Map<string, number>();
    const met = new Set<string>();
    let comparisons = 0;
    const startedAt = performance.now();
    for (let life = 0; life < LIVES; life++) {
      const seed = firstSeed + life;
      const dice = seededDice(seed);
      const history = live(
        Array.from({ length: ENTRIES }, () => dice),
        dice,
      );
      expect({ seed, differences: history.differences }).toEqual({ seed, differences: [] });
      comparisons += history.comparisons;
      for (const situation of history.met) met.add(situation);
      for (const [code, count] of history.answers) answers.set(code, (answers.get(code) ?? 0) + count);
    }
    const total = [...answers.values()].reduce((sum, count) => sum + count, 0);
    const seconds = (performance.now() - startedAt) / 1000;
    const said = [...answers].sort((a, b) => b[1] - a[1]).map(([code, count]) => `${code} ${count}`);
    const count = `${total} operations, ${comparisons} verifications and traces in ${seconds.toFixed(1)} s`;
    process.stdout.write(`seeds ${firstSeed} ff.: ${count}: ${said.join(", ")}\n`);
    process.stdout.write(`met: ${[...met].sort().join(", ")}\n`);
    expect([...met]).toEqual(expect.arrayContaining(EVERY_SITUATION));
    expect(total).toBeGreaterThan(LIVES * ENTRIES);
    expect([...answers.keys()]).toEqual(expect.arrayContaining(EVERY_ANSWER));
  }, 120_000);

  test("in lives that fast-check chooses and makes short when they fail", () => {
    const seed = historySeed();
    process.stdout.write(`fast-check seed ${seed}\n`);
    const throws = fc.array(fc.nat(), { minLength: 40, maxLength: 120 });
    fc.assert(
      fc.property(fc.array(throws, { maxLength: 40, size: "max" }), fc.nat(), (steps, last) => {
        expect(live(steps.map(diceOf), seededDice(last)).differences).toEqual([]);
      }),
      { seed, numRuns: PROPERTY_RUNS },
    );
  }, 120_000);
});

/** A history that never meets one of these proves nothing about it. */
const EVERY_ANSWER = [
  "claim accepted",
  "claim replayed",
  "grant accepted",
  "grant replayed",
  "revocation accepted",
  "revocation replayed",
  "event accepted",
  "event replayed",
  "erasure applied",
  "erasure unchanged",
  "operator_unknown",
  "operator_counter_used",
  "api_key_invalid",
  "not_own_record",
  "scope_missing",
  "origin_unknown",
  "origin_mismatch",
  "signature_invalid",
  "client_event_id_conflict",
  "origin_closed",
  "reference_not_found",
  "reference_wrong_kind",
  "issued_in_future",
  "window_invalid",
  "window_outside_parent",
  "claim_conflict",
  "claim_not_in_force",
  "grant_not_in_force",
  "grantor_key_mismatch",
  "witness_is_grantor",
  "parent_mismatch",
  "depth_exceeded",
];

const EVERY_SITUATION = [
  "authorised at action",
  "not authorised at action",
  "unknown at action",
  "authorised at action, not now",
  "a chain of 3",
  "possible parents",
  "revocations on the way",
  "suspect",
  "a foreign key",
  "a claim that is valid",
  "a grant that is valid",
  ...["revocation", "superseded", "window", "grantor_claim", "grantee_claim", "delegation_chain", "root_authority"].map(
    (code) => `${code} fails`,
  ),
];
