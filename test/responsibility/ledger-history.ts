/** One random life of the ledger beside the model: every answer is compared as it comes. */
import { LoadedRecords, claimStateAt, grantForceAt, grantStateOf } from "@event-anchoring/records";
import { bytesToHex } from "@event-anchoring/protocol";
import { chance, pick } from "./dice.ts";
import type { Dice } from "./dice.ts";
import { Judge } from "./expected-verdict.ts";
import { meetTrace, meetVerification } from "./situations.ts";
import { traceEvent, verifyClaim, verifyEvent, verifyGrant } from "./expected-answers.ts";
import { LEDGER_OPERATOR, LEDGER_ORIGINS, LEDGER_PROPOSERS, LedgerDriver } from "./ledger-driver.ts";
import type { Answered } from "./ledger-driver.ts";
import { LedgerQuestions } from "./ledger-questions.ts";
import { Model } from "./model.ts";
import type { Grant } from "./model.ts";
import type { Operation, Position, Verdict } from "./operations.ts";
import { RandomOperations } from "./random-operation.ts";

/** How far the stamp of an entry is from the one before; a new leader's clock may be behind. */
const STAMP_STEPS_MS = [0, 1, 10, 100, 400, -50];
const SPAN_MS = 2000;
const SOON_MS = 500;
const ENTRY_OPERATIONS_MAX = 4;

export class LedgerHistory {
  readonly driver = new LedgerDriver();
  readonly model = new Model([...LEDGER_ORIGINS.keys()], new Map([[LEDGER_OPERATOR, this.driver.counter]]));
  /** What was answered otherwise than expected: empty is what a test wants. */
  readonly differences: string[] = [];
  /** How often each answer was given, by its code. */
  readonly answers = new Map<string, number>();
  /** What kinds of situations verify and trace were asked about. */
  readonly met = new Set<string>();
  /** How many answers of verify and trace were compared. */
  comparisons = 0;
  readonly #judge = new Judge(this.model);
  readonly #operations: RandomOperations;
  #stampMs = 1_800_000_000_000;
  /** No entry is accepted before the one ahead of it: the newest stamp there was. */
  #nowMs = 0;

  constructor() {
    for (const { acceptedMs } of this.driver.leaves) this.model.addOther(acceptedMs);
    this.#nowMs = this.model.lastMs;
    const operators = [LEDGER_OPERATOR, "mallory"];
    const world = { origins: [...LEDGER_ORIGINS.keys()], proposers: LEDGER_PROPOSERS, spanMs: SPAN_MS, operators };
    this.#operations = new RandomOperations(this.model, world);
  }

  get operationCount(): number {
    return [...this.answers.values()].reduce((sum, count) => sum + count, 0);
  }

  /** One entry. */
  step(dice: Dice): void {
    this.#stampMs = this.#nextStamp(dice);
    this.#nowMs = Math.max(this.#nowMs, this.#stampMs);
    if (chance(dice, 2)) this.#turnOrigin();
    const count = 1 + dice.below(ENTRY_OPERATIONS_MAX);
    const operations = Array.from({ length: count }, () => this.#operations.next(dice, this.#nowMs));
    for (const [at, outcome] of this.driver.runEntry(operations, this.#stampMs).entries()) {
      const operation = operations[at];
      if (operation !== undefined) this.#compare(operation, outcome);
    }
  }

  /** Some time later, or about when something begins or ends. */
  #nextStamp(dice: Dice): number {
    const soon = this.model.bounds().filter((bound) => bound > this.#stampMs && bound < this.#stampMs + SOON_MS);
    if (soon.length > 0 && chance(dice, 20)) return pick(dice, soon) - 1 + dice.below(3);
    return this.#stampMs + pick(dice, STAMP_STEPS_MS);
  }

  #turnOrigin(): void {
    const status = this.model.origins.get("c");
    if (status === undefined || status === "lost") return;
    const next = status === "active" ? "closed" : "lost";
    for (let leaves = this.driver.turnOrigin(next, this.#stampMs); leaves > 0; leaves--)
      this.model.addOther(this.#nowMs);
    this.model.origins.set("c", next);
  }

  #compare(operation: Operation, outcome: Answered): void {
    const expected = this.#judge.decide(operation, this.#nowMs);
    const code = expected.result === "refused" ? expected.code : `${operation.kind} ${expected.result}`;
    this.answers.set(code, (this.answers.get(code) ?? 0) + 1);
    const wanted = this.#describe(expected);
    const found = this.#found(outcome, expected);
    if (wanted !== found)
      this.differences.push(`${JSON.stringify(operation)}\n  expected ${wanted}\n  answered ${found}`);
    this.#note(operation, expected, outcome);
  }

  #note(operation: Operation, expected: Verdict, outcome: Answered): void {
    const isAct = operation.kind === "revocation" || operation.kind === "erasure";
    if (isAct && operation.act !== null) this.model.noteAct(operation.act);
    if (operation.kind === "erasure") {
      if (expected.result === "applied") this.model.erased.add(operation.target);
    } else if (outcome.status === "accepted" && expected.result === "accepted") {
      this.model.add(operation, expected.origin, outcome.leaf.acceptedMs);
    }
  }

  /** Where the rules name no place, any place is right. */
  #found(outcome: Answered, expected: Verdict): string {
    const isPlaceOpen = expected.result === "refused" && expected.pointer === null;
    if (isPlaceOpen && outcome.status === "rejected") return `${outcome.rejection.code} `;
    return describeOutcome(outcome);
  }

  #describe(verdict: Verdict): string {
    switch (verdict.result) {
      case "accepted": {
        const { length: sequence } = this.model.recorded;
        const origin = bytesToHex(this.driver.origin(verdict.origin)).slice(0, 8);
        return `accepted ${sequence} in ${origin} at ${this.#nowMs}`;
      }
      case "replayed":
        return `replayed ${verdict.sequence}`;
      case "applied":
      case "unchanged":
        return verdict.result;
      case "refused":
        return `${verdict.code} ${verdict.pointer ?? ""}`;
    }
  }

  /** States of every record that is there at a position, both ways. */
  compareStates(at: Position): void {
    const { claims, grants } = this.driver;
    const records = new LoadedRecords([...claims.values()], [...grants.values()]);
    const isThere = (one: { readonly sequence: number }): boolean => one.sequence <= at.sequence;
    const wanted = [
      ...this.model
        .claims()
        .filter(isThere)
        .map((claim) => `${claim.sequence} ${this.model.claimState(claim, at)}`),
      ...this.model
        .grants()
        .filter(isThere)
        .map((grant) => `${grant.sequence} ${this.model.grantState(grant, at)} ${this.#forceOf(grant, at)}`),
    ];
    const found = [
      ...[...claims.values()].filter(isThere).map((claim) => `${claim.sequence} ${claimStateAt(claim, at)}`),
      ...[...grants.values()].filter(isThere).map((grant) => {
        const force = grantForceAt(grant, at, records);
        const isInForce = force.faults.length === 0 && force.isComplete;
        return `${grant.sequence} ${grantStateOf(force)} ${isInForce ? "in force" : "not in force"}`;
      }),
    ];
    for (const [index, line] of wanted.entries())
      if (found[index] !== line)
        this.differences.push(`at ${at.sequence}, ${at.timeMs}: expected ${line}, found ${found[index]}`);
  }

  /** What verify says of every record that is there at a position, and trace of every event. */
  compareQuestions(at: Position, dice: Dice): void {
    const { model } = this;
    const questions = new LedgerQuestions(this.driver);
    const trustedRoots = chance(dice, 50) ? null : [pick(dice, model.claims()).sequence];
    for (const one of model.recorded.filter(({ sequence }) => sequence <= at.sequence)) {
      const { kind, sequence } = one;
      if (kind === "claim") {
        const wanted = verifyClaim(model, one, at);
        meetVerification(kind, wanted, this.met);
        this.#hold(sequence, at, wanted.failing, questions.failingOfClaim(sequence, at));
      }
      if (kind === "grant") {
        const wanted = verifyGrant(model, one, at, trustedRoots);
        meetVerification(kind, wanted, this.met);
        this.#hold(sequence, at, wanted.failing, questions.failingOfGrant(sequence, at, trustedRoots));
      }
      if (kind !== "event") continue;
      this.#hold(sequence, at, verifyEvent(model, one, at, null).failing, questions.failingOfEvent(sequence, at));
      const wanted = traceEvent(model, one, at);
      meetTrace(wanted, this.met);
      this.#hold(sequence, at, wanted, questions.trace(sequence, at));
    }
  }

  #hold(sequence: number, at: Position, expected: unknown, found: unknown): void {
    const [wanted, said] = [JSON.stringify(expected), JSON.stringify(found)];
    this.comparisons += 1;
    if (wanted === said) return;
    this.differences.push(`${sequence} at ${JSON.stringify(at)}\n  expected ${wanted}\n  answered ${said}`);
  }

  #forceOf(grant: Grant, at: Position): string {
    return this.model.isGrantInForce(grant, at) ? "in force" : "not in force";
  }

  /** Any position of this life, or a moment after it; often about when something begins or ends. */
  randomPosition(dice: Dice): Position {
    const newest = this.model.recorded.length - 1;
    const bounds = this.model.bounds();
    if (bounds.length > 0 && chance(dice, 40)) {
      const position = this.model.positionAt(pick(dice, bounds) - 1 + dice.below(3));
      if (position !== null) return position;
    }
    if (chance(dice, 30)) return { sequence: newest, timeMs: this.model.lastMs + dice.below(SPAN_MS) };
    const sequence = dice.below(newest + 1);
    return { sequence, timeMs: this.model.recorded[sequence]?.acceptedMs ?? 0 };
  }
}

function describeOutcome(outcome: Answered): string {
  switch (outcome.status) {
    case "accepted": {
      const { sequence, originFingerprint, acceptedMs } = outcome.leaf;
      return `accepted ${sequence} in ${bytesToHex(originFingerprint).slice(0, 8)} at ${acceptedMs}`;
    }
    case "replayed":
      return `replayed ${outcome.sequence}`;
    case "applied":
    case "unchanged":
      return outcome.status;
    case "rejected":
      return `${outcome.rejection.code} ${outcome.rejection.pointer ?? ""}`;
  }
}
