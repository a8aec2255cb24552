/** The next operation of a random history: mostly one that may succeed, and every way to fail now and then. */
import { chance, pick } from "./dice.ts";
import type { Dice } from "./dice.ts";
import { NEVER } from "./model.ts";
import type { Claim, Grant, Model } from "./model.ts";
import { NOWHERE } from "./operations.ts";
import type {
  Act,
  ClaimOperation,
  ErasureOperation,
  EventOperation,
  GrantOperation,
  Operation,
  Proposer,
  Reference,
  RevocationOperation,
} from "./operations.ts";

export interface World {
  readonly origins: readonly string[];
  /** The first is the one that may do everything usual. */
  readonly proposers: readonly Proposer[];
  /** How far ahead short windows and expiries end, milliseconds. */
  readonly spanMs: number;
  /** Who may sign acts, and somebody who may not; empty: there are none, and no erasures. */
  readonly operators: readonly string[];
}

export const ENTITIES = ["deployer", "agent", "tool"];
export const ATTRIBUTE_TYPES = [1, 0xffff_ffff];
const SUBJECTS = ["k0", "k1", "k2", "k3"];
const ISSUERS = ["i0", "i1"];
const HOUR_MS = 3_600_000;
const ISSUED_AHEAD_MS = 300_000;

export class RandomOperations {
  readonly #model: Model;
  readonly #world: World;
  /** What was proposed: to be proposed again. */
  readonly #earlier: Operation[] = [];
  /** Counter of the newest act. */
  #counter = 0;

  constructor(model: Model, world: World) {
    this.#model = model;
    this.#world = world;
  }

  next(dice: Dice, nowMs: number): Operation {
    const operation = this.#again(dice) ?? this.#fresh(dice, nowMs);
    this.#earlier.push(operation);
    return operation;
  }

  /** An operation of before, as it was or by somebody else or with another signature. */
  #again(dice: Dice): Operation | null {
    if (this.#earlier.length === 0 || !chance(dice, 12)) return null;
    const operation = pick(dice, this.#earlier);
    return chance(dice, 20) ? { ...operation, by: pick(dice, this.#world.proposers) } : operation;
  }

  #fresh(dice: Dice, nowMs: number): Operation {
    const kind = dice.below(100);
    if (this.#model.claims().length < 2 || kind < 28) return this.#claim(dice, nowMs);
    if (kind < 64) return this.#grant(dice, nowMs);
    if (kind < 76) return this.#revocation(dice, nowMs);
    return kind < 82 && this.#world.operators.length > 0 ? this.#erasure(dice) : this.#event(dice, nowMs);
  }

  #by(dice: Dice): Proposer {
    const [usual] = this.#world.proposers;
    return usual !== undefined && chance(dice, 88) ? usual : pick(dice, this.#world.proposers);
  }

  /** Whoever it is: what is another's is asked for as often as one's own. */
  #anybody(dice: Dice): Proposer {
    return pick(dice, this.#world.proposers);
  }

  /** null: with the API key. */
  #act(dice: Dice): Act | null {
    const { operators } = this.#world;
    if (operators.length === 0 || chance(dice, 50)) return null;
    const newest = Math.max(this.#counter, ...this.#model.operators.values());
    const counter = chance(dice, 8) ? newest - dice.below(2) : newest + 1 + dice.below(3);
    this.#counter = Math.max(newest, counter);
    const [usual] = operators;
    const operator = usual !== undefined && chance(dice, 92) ? usual : pick(dice, operators);
    return { operator, counter, isForged: chance(dice, 6) };
  }

  #origin(dice: Dice): string {
    return chance(dice, 2) ? "unknown" : pick(dice, this.#world.origins);
  }

  #issuedAt(dice: Dice, nowMs: number): number {
    if (chance(dice, 4)) return nowMs + ISSUED_AHEAD_MS - 1 + dice.below(4);
    return chance(dice, 20) ? 0 : nowMs - dice.below(1000);
  }

  /** None, far, soon, or at once and therefore too late. */
  #expiresAt(dice: Dice, nowMs: number): number {
    if (chance(dice, 55)) return 0;
    if (chance(dice, 20)) return nowMs + HOUR_MS;
    return chance(dice, 8) ? nowMs - 1 + dice.below(3) : nowMs + 1 + dice.below(this.#world.spanMs);
  }

  #claim(dice: Dice, nowMs: number): ClaimOperation {
    const entity = pick(dice, ENTITIES);
    const attributeType = pick(dice, ATTRIBUTE_TYPES);
    const newest = this.#model.newestOfPair(entity, attributeType);
    const isRevoked = newest !== null && this.#model.revokedAt(newest.sequence) < NEVER;
    const issuer = newest !== null && chance(dice, isRevoked ? 40 : 75) ? newest.issuer : pick(dice, ISSUERS);
    const heirs = this.#world.proposers.filter(({ scopes }) => scopes.includes("admin"));
    return {
      kind: "claim",
      by: isRevoked && chance(dice, 40) ? pick(dice, heirs) : this.#by(dice),
      origin: this.#origin(dice),
      issuedAt: this.#issuedAt(dice, nowMs),
      entity,
      attributeType,
      attribute: pick(dice, ["a0", "a1"]),
      expiresAt: this.#expiresAt(dice, nowMs),
      subject: newest !== null && chance(dice, 50) ? newest.subject : pick(dice, SUBJECTS),
      issuer,
      forged: chance(dice, 4) ? pick(dice, ["subject", "issuer"] as const) : null,
    };
  }

  /** A claim that a grant may name, if there is one. */
  #party(dice: Dice, nowMs: number): number {
    if (chance(dice, 2)) return NOWHERE;
    if (chance(dice, 2)) return this.#any(dice);
    const at = { sequence: this.#model.recorded.length, timeMs: nowMs };
    const inForce = this.#model.claims().filter((claim) => this.#model.isClaimInForce(claim, at));
    const choice = inForce.length > 0 && chance(dice, 88) ? inForce : this.#model.claims();
    return pick(dice, choice).sequence;
  }

  /** Any leaf, of whatever kind. */
  #any(dice: Dice): number {
    return pick(dice, this.#model.recorded).sequence;
  }

  #grant(dice: Dice, nowMs: number): GrantOperation {
    const parent = this.#parent(dice);
    const outer = this.#model.grants().find(({ sequence }) => sequence === parent) ?? null;
    const grantor = outer !== null && chance(dice, 85) ? this.#granteeOf(dice, outer) : this.#party(dice, nowMs);
    const claim = this.#model.claims().find(({ sequence }) => sequence === grantor);
    const grantorKey = claim !== undefined && chance(dice, 95) ? claim.subject : pick(dice, SUBJECTS);
    const others = [...SUBJECTS, ...ISSUERS].filter((key) => key !== grantorKey);
    const isDeep = outer === null || chance(dice, 15);
    return {
      kind: "grant",
      by: this.#by(dice),
      origin: this.#origin(dice),
      issuedAt: this.#issuedAt(dice, nowMs),
      grantor,
      grantee: this.#party(dice, nowMs),
      parent,
      scope: pick(dice, ["s0", "s1"]),
      delegationDepth: isDeep ? dice.below(6) : Math.max(0, outer.delegationDepth - 1),
      ...this.#window(dice, nowMs, outer),
      grantorKey,
      witnessKey: chance(dice, 96) ? pick(dice, others) : grantorKey,
      forged: chance(dice, 3) ? pick(dice, ["grantor", "witness"] as const) : null,
    };
  }

  #parent(dice: Dice): Reference {
    const grants = this.#model.grants();
    if (grants.length === 0 || chance(dice, 35)) return null;
    if (chance(dice, 4)) return chance(dice, 50) ? NOWHERE : this.#any(dice);
    const newest = grants.slice(-4);
    return pick(dice, chance(dice, 75) ? newest : grants).sequence;
  }

  /** The newest claim of the grantee's lineage, who alone may grant further. */
  #granteeOf(dice: Dice, grant: Grant): number {
    const lineage = this.#lineageOf(grant.grantee);
    return lineage.at(chance(dice, 90) ? -1 : 0)?.sequence ?? grant.grantee;
  }

  #lineageOf(sequence: number): Claim[] {
    const wanted = this.#model.lineage(this.#model.claim(sequence));
    return this.#model.claims().filter((claim) => this.#model.lineage(claim) === wanted);
  }

  /** The parent's bounds again are inside, and one more or less is now and then not. */
  #window(dice: Dice, nowMs: number, outer: Grant | null): Pick<GrantOperation, "notBefore" | "expiresAt"> {
    if (outer !== null && chance(dice, 25)) {
      const { notBefore, expiresAt } = this.#model.window(outer);
      const bound = pick(dice, [notBefore, expiresAt]);
      const near = bound === 0 ? 0 : bound - 1 + dice.below(3);
      return chance(dice, 50) ? { notBefore: near, expiresAt: 0 } : { notBefore: 0, expiresAt: near };
    }
    const { spanMs } = this.#world;
    const notBefore = chance(dice, 75) ? 0 : nowMs - spanMs + dice.below(spanMs * 2);
    const expiresAt = chance(dice, 4) ? notBefore : this.#expiresAt(dice, nowMs);
    return { notBefore, expiresAt };
  }

  #revocation(dice: Dice, nowMs: number): RevocationOperation {
    const kind = chance(dice, 45) ? ("claim" as const) : ("grant" as const);
    const records: readonly (Claim | Grant)[] = kind === "claim" ? this.#model.claims() : this.#model.grants();
    const isOdd = records.length === 0 || chance(dice, 6);
    const target = isOdd ? pick(dice, [NOWHERE, this.#any(dice)]) : pick(dice, records).sequence;
    const record = records.find(({ sequence }) => sequence === target);
    const revoker = chance(dice, 40) ? null : this.#revoker(dice, record);
    const named = record !== undefined && chance(dice, 70) ? record.placedIn : this.#origin(dice);
    return {
      kind: "revocation",
      by: revoker === null && chance(dice, 30) ? this.#anybody(dice) : this.#by(dice),
      act: revoker === null ? this.#act(dice) : null,
      origin: chance(dice, 65) ? null : named,
      issuedAt: this.#issuedAt(dice, nowMs),
      target,
      targetKind: kind,
      reason: dice.below(6),
      suspectSince: chance(dice, 60) ? 0 : nowMs - dice.below(this.#world.spanMs),
      revoker,
      isForged: revoker !== null && chance(dice, 5),
    };
  }

  #revoker(dice: Dice, record: Claim | Grant | undefined): string {
    if (record === undefined || chance(dice, 10)) return pick(dice, [...SUBJECTS, ...ISSUERS]);
    const parties = record.kind === "claim" ? [record.subject, record.issuer] : [record.grantorKey, record.witnessKey];
    return pick(dice, parties);
  }

  #erasure(dice: Dice): ErasureOperation {
    const events = this.#model.recorded.filter((one) => one.kind === "event" && one.clientEventId !== null);
    const target = events.length > 0 && chance(dice, 85) ? pick(dice, events).sequence : this.#any(dice);
    const admins = this.#world.proposers.filter(({ scopes }) => scopes.includes("admin"));
    const by = chance(dice, 90) ? pick(dice, admins) : this.#anybody(dice);
    return { kind: "erasure", by, act: this.#act(dice), target: chance(dice, 4) ? NOWHERE : target };
  }

  #event(dice: Dice, nowMs: number): EventOperation {
    const grants = this.#model.grants();
    const grant = grants.length > 0 && chance(dice, 80) ? pick(dice, grants) : null;
    const iris = this.#iris(dice, nowMs, grant);
    const subject = this.#model.claims().find(({ sequence }) => sequence === iris)?.subject;
    const own = subject !== undefined && chance(dice, 75) ? subject : pick(dice, SUBJECTS);
    const actor = chance(dice, 55) ? null : own;
    const hash = pick(dice, ["h0", "h1", "h2"]);
    const clientEventId = chance(dice, 55) ? null : `id-${dice.below(8)}`;
    return {
      kind: "event",
      by: this.#by(dice),
      origin: this.#origin(dice),
      hash,
      iris,
      scroll: this.#reference(dice),
      grant: chance(dice, 3) ? this.#reference(dice) : (grant?.sequence ?? null),
      bond: this.#reference(dice),
      yield: this.#reference(dice),
      eventDataHash: chance(dice, 60) ? null : pick(dice, [hash, "h1"]),
      clientEventId,
      actor,
      isForged: actor !== null && chance(dice, 4),
    };
  }

  #iris(dice: Dice, nowMs: number, grant: Grant | null): Reference {
    if (chance(dice, 12)) return null;
    if (grant !== null && chance(dice, 75)) return this.#granteeOf(dice, grant);
    return this.#party(dice, nowMs);
  }

  /** Mostly empty. */
  #reference(dice: Dice): Reference {
    if (!chance(dice, 12)) return null;
    return chance(dice, 8) ? NOWHERE : this.#any(dice);
  }
}
