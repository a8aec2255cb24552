/** One random life of a cluster beside the model: every answer is compared as it comes. */
import { expectOk } from "@event-anchoring/testkit/clients";
import type {
  Answer,
  QueryFields,
  WireAsOf,
  WireCheck,
  WireCreated,
  WireFound,
} from "@event-anchoring/testkit/clients";
import { CLUSTER_PROPOSERS } from "./cluster-driver.ts";
import type { ClusterDriver } from "./cluster-driver.ts";
import { chance, pick } from "./dice.ts";
import type { Dice } from "./dice.ts";
import { findClaim, findGrant, traceEvent, verifyClaim, verifyEvent, verifyGrant } from "./expected-answers.ts";
import type { Found, Verification } from "./expected-answers.ts";
import { Judge } from "./expected-verdict.ts";
import { Model } from "./model.ts";
import type { Event, Recorded } from "./model.ts";
import type { Operation, Position, Verdict } from "./operations.ts";
import { ATTRIBUTE_TYPES, ENTITIES, RandomOperations } from "./random-operation.ts";
import { bytesOf } from "./signed-input.ts";
import { meetTrace, meetVerification } from "./situations.ts";

const SPAN_MS = 8000;
/** Few, so that lists have several pages. */
const PAGE_ITEMS = 3;
/** What the HTTP surface says before a record is proposed, in the words of the ledger. */
const ROUTE_CODES: ReadonlyMap<string, string> = new Map([
  ["anchor_not_found", "reference_not_found"],
  ["wrong_kind", "reference_wrong_kind"],
]);

export class ClusterHistory {
  readonly model: Model;
  readonly differences: string[] = [];
  readonly answers = new Map<string, number>();
  readonly met = new Set<string>();
  comparisons = 0;
  readonly #driver: ClusterDriver;
  readonly #judge: Judge;
  readonly #operations: RandomOperations;

  private constructor(driver: ClusterDriver) {
    const origins = [...driver.origins.keys()];
    this.#driver = driver;
    this.model = new Model(origins);
    this.#judge = new Judge(this.model);
    this.#operations = new RandomOperations(this.model, {
      origins,
      proposers: CLUSTER_PROPOSERS,
      spanMs: SPAN_MS,
      operators: [],
    });
  }

  static async on(driver: ClusterDriver): Promise<ClusterHistory> {
    const history = new ClusterHistory(driver);
    for (const { accepted_ms: acceptedMs } of await driver.begin()) history.model.addOther(acceptedMs);
    return history;
  }

  /** One operation, at any node. */
  async step(dice: Dice): Promise<void> {
    const before = Date.now();
    const operation = this.#operations.next(dice, Math.max(before, this.model.lastMs));
    if (operation.kind === "erasure") throw new Error("without operators there are no erasures");
    const nodeId = pick(dice, this.#driver.nodeIds);
    const answer = await this.#driver.propose(operation, nodeId);
    // The entry was stamped in between: what may have been decided at either end is right.
    const expected = [before, Date.now()].map((stampMs) => this.#judge.decide(operation, stampMs));
    const found = this.#describeAnswer(answer);
    const verdict = expected.find((one) => this.#describe(one) === found.split(" pointer ")[0]);
    const isPlaced = verdict?.result !== "refused" || verdict.pointer === null || found.endsWith(verdict.pointer);
    this.#count(operation, answer);
    if (verdict === undefined || !isPlaced)
      this.differences.push(
        `${nodeId}: ${JSON.stringify(operation)}\n  expected ${said(expected)}\n  answered ${found}`,
      );
    if (!answer.ok || answer.status !== 201) return;
    const { anchor } = answer.body;
    this.#driver.anchors.push(anchor);
    this.model.add(operation, verdict?.result === "accepted" ? verdict.origin : "unknown", anchor.accepted_ms);
  }

  #count(operation: Operation, answer: Answer<WireCreated>): void {
    const word = answer.status === 201 ? "accepted" : "replayed";
    const code = answer.ok ? `${operation.kind} ${word}` : answer.body.code;
    this.answers.set(code, (this.answers.get(code) ?? 0) + 1);
  }

  #describe(verdict: Verdict): string {
    if (verdict.result === "refused") return verdict.code;
    if (verdict.result === "replayed") return `replayed ${verdict.sequence}`;
    if (verdict.result !== "accepted") return verdict.result;
    return `accepted ${this.model.recorded.length} in ${verdict.origin}`;
  }

  #describeAnswer(answer: Answer<WireCreated>): string {
    if (!answer.ok) {
      const { code, errors = [] } = answer.body;
      return `${ROUTE_CODES.get(code) ?? code} pointer ${errors[0]?.pointer ?? "/anchor_id"}`;
    }
    const { anchor, replayed } = answer.body;
    if (replayed !== (answer.status === 200)) return `replayed is ${replayed} with status ${answer.status}`;
    if (replayed) return `replayed ${this.#driver.sequenceOf(anchor.anchor_id)}`;
    const { origins } = this.#driver;
    const origin = [...origins].find(([, bytes]) => Buffer.from(bytes).toString("hex") === anchor.origin_fingerprint);
    return `accepted ${anchor.sequence} in ${origin?.[0]}`;
  }

  /** What one node says of a pair's active claim, and of the active grant between two entities. */
  async compareQueries(nodeId: string): Promise<void> {
    const client = this.#driver.client(nodeId);
    for (const entity of ENTITIES) {
      for (const attributeType of ATTRIBUTE_TYPES)
        await this.#compareQuery(
          () => client.claimOf(hexOf(entity), attributeType),
          (at) => findClaim(this.model, entity, attributeType, at),
        );
      for (const grantee of ENTITIES)
        await this.#compareQuery(
          () => client.grantBetween(hexOf(entity), hexOf(grantee)),
          (at) => findGrant(this.model, entity, grantee, at),
        );
    }
  }

  async #compareQuery(ask: () => Promise<Answer<WireFound>>, find: (at: Position) => Found): Promise<void> {
    const sequence = this.model.recorded.length - 1;
    const before = Math.max(Date.now(), this.model.lastMs);
    const answer = await ask();
    const expected = [before, Math.max(Date.now(), this.model.lastMs)].map((timeMs) => find({ sequence, timeMs }));
    const found = this.#foundOf(answer);
    this.#hold("query", expected, found);
  }

  #foundOf(answer: Answer<WireFound>): Found {
    if (answer.ok) {
      const { anchor, state, others = 0 } = answer.body;
      return { sequence: anchor.sequence, state: state as "active", others };
    }
    const { anchor_id: anchorId, state } = answer.body;
    if (anchorId === undefined) return { newest: null };
    return { newest: { sequence: this.#driver.sequenceOf(anchorId) ?? -1, state: state as "active" } };
  }

  /** Every list of events that one node can give, page by page. */
  async compareLists(nodeId: string): Promise<void> {
    const events = this.model.recorded.filter((one) => one.kind === "event");
    for (const hash of new Set(events.map((event) => event.hash)))
      await this.#compareList(nodeId, { event_hash: hexOf(hash) }, (event) => event.hash === hash);
    for (const { sequence } of this.model.claims())
      await this.#compareList(nodeId, { iris_ref: this.#driver.idOf(sequence) }, ({ iris }) => iris === sequence);
    for (const { sequence } of this.model.grants())
      await this.#compareList(nodeId, { grant_ref: this.#driver.idOf(sequence) }, ({ grant }) => grant === sequence);
    for (const { clientEventId: id, by } of events)
      if (id !== null && by.client === CLUSTER_PROPOSERS[0]?.client)
        await this.#compareList(
          nodeId,
          { client_event_id: id },
          (event) => event.clientEventId === id && event.by.client === by.client,
        );
  }

  async #compareList(nodeId: string, filter: QueryFields, isListed: (event: Event) => boolean): Promise<void> {
    const wanted = this.model.recorded.filter((one) => one.kind === "event" && isListed(one));
    const found: number[] = [];
    let cursor: string | undefined;
    do {
      const page = expectOk(await this.#driver.client(nodeId).events({ ...filter, limit: PAGE_ITEMS, cursor }));
      found.push(...page.items.map(({ sequence }) => sequence));
      cursor = page.next_cursor ?? undefined;
    } while (cursor !== undefined);
    this.#hold(`list of ${JSON.stringify(filter)} at ${nodeId}`, [wanted.map(({ sequence }) => sequence)], found);
  }

  /** What one node says of one record at some position. */
  async compareRecord(nodeId: string, dice: Dice): Promise<void> {
    const record = pick(dice, this.model.recorded.slice(this.#driver.origins.size * 2));
    const anchorId = this.#driver.idOf(record.sequence);
    const asOf = this.#randomAsOf(dice, record);
    const client = this.#driver.client(nodeId);
    if (record.kind === "other" || record.kind === "revocation") return;
    const roots = record.kind !== "grant" || chance(dice, 50) ? null : [pick(dice, this.model.claims()).sequence];
    const answer = await client.verify(record.kind, {
      anchor_id: anchorId,
      ...(asOf === null ? {} : { as_of: asOf }),
      ...(roots === null ? {} : { trusted_roots: roots.map((root) => this.#driver.idOf(root)) }),
    });
    const { as_of: position, valid, checks, state } = expectOk(answer);
    const at = this.#position(position, asOf);
    const wanted = this.#verification(record, at, roots);
    if (record.kind !== "event") meetVerification(record.kind, wanted, this.met);
    const context = `verify ${record.sequence} at ${nodeId} as of ${JSON.stringify(at)}`;
    if (at.sequence < record.sequence) {
      const isThere = checks.some(({ code, result }) => code === "exists" && result === "pass");
      return this.#hold(context, [{ valid: false, isThere: false }], { valid, isThere });
    }
    this.#hold(context, [wanted], { valid, failing: failingOf(checks) });
    if (record.kind !== "event") this.#hold(`${context}: state`, [this.#state(record, at)], state);
    if (record.kind === "event") await this.#compareTrace(nodeId, record, asOf);
  }

  #verification(record: Recorded, at: Position, roots: readonly number[] | null): Verification {
    if (record.kind === "claim") return verifyClaim(this.model, record, at);
    if (record.kind === "grant") return verifyGrant(this.model, record, at, roots);
    if (record.kind === "event") return verifyEvent(this.model, record, at, null);
    throw new Error(`a ${record.kind} is not verified here`);
  }

  #state(record: Recorded, at: Position): string | null {
    if (record.kind === "claim") return this.model.claimState(record, at);
    return record.kind === "grant" ? this.model.grantState(record, at) : null;
  }

  async #compareTrace(nodeId: string, event: Event, asOf: number | string | null): Promise<void> {
    const query = asOf === null ? {} : { as_of: asOf };
    const trace = expectOk(await this.#driver.client(nodeId).trace(this.#driver.idOf(event.sequence), query));
    const at = this.#position(trace.as_of, asOf);
    const wanted = traceEvent(this.model, event, at);
    meetTrace(wanted, this.met);
    const sequenceOf = (anchorId: string): number => this.#driver.sequenceOf(anchorId) ?? -1;
    this.#hold(`trace ${event.sequence} at ${nodeId} as of ${JSON.stringify(at)}`, [wanted], {
      isActorProven: trace.actor_proven,
      authorisedAtAction: trace.authorised_at_action,
      authorisedNow: trace.authorised_now,
      delegation: trace.delegation.map(({ grant }) => sequenceOf(grant.anchor_id)),
      possibleParents: trace.possible_parents.map(sequenceOf),
      revocations: trace.revocations.map(({ anchor }) => sequenceOf(anchor.anchor_id)),
      isSuspect: trace.suspect,
      actorState: trace.actor.state,
      isForeignKey: trace.violations.some(({ code }) => code === "actor_key_mismatch"),
    });
  }

  /** Nothing, a sequence, or a time; for events never before the event: there is nothing to trace then. */
  #randomAsOf(dice: Dice, record: Recorded): number | string | null {
    if (chance(dice, 30)) return null;
    const newest = this.model.recorded.length - 1;
    const lowest = record.kind === "event" ? record.sequence : 0;
    const sequence = lowest + dice.below(newest - lowest + 1);
    if (chance(dice, 50)) return sequence;
    const acceptedMs = this.model.recorded[sequence]?.acceptedMs ?? 0;
    const past = this.model.bounds().filter((bound) => bound > acceptedMs && bound < this.model.lastMs);
    const moment = past.length > 0 && chance(dice, 60) ? pick(dice, past) - 1 : acceptedMs;
    return new Date(moment + dice.below(2)).toISOString();
  }

  /** The position that an answer names, which must be the one that was asked for. */
  #position({ sequence, time_ms: timeMs }: WireAsOf, asked: number | string | null): Position {
    const { recorded } = this.model;
    const newest = recorded.length - 1;
    if (typeof asked === "number") this.#hold("as_of", [[asked, recorded[asked]?.acceptedMs]], [sequence, timeMs]);
    if (typeof asked === "string") {
      const wantedMs = Date.parse(asked);
      const last = this.model.positionAt(wantedMs)?.sequence ?? null;
      this.#hold("as_of", [[last, wantedMs]], [sequence, timeMs]);
    }
    if (asked === null) this.#hold("as_of", [newest], sequence);
    return { sequence: sequence ?? -1, timeMs };
  }

  #hold(what: string, expected: readonly unknown[], found: unknown): void {
    this.comparisons += 1;
    if (expected.some((one) => JSON.stringify(one) === JSON.stringify(found))) return;
    this.differences.push(`${what}\n  expected ${said(expected)}\n  answered ${JSON.stringify(found)}`);
  }
}

function hexOf(name: string): string {
  return Buffer.from(bytesOf(name)).toString("hex");
}

function said(expected: readonly unknown[]): string {
  return [...new Set(expected.map((one) => JSON.stringify(one)))].join(" or ");
}

function failingOf(checks: readonly WireCheck[]): readonly string[] {
  return checks
    .filter(({ result }) => result === "fail")
    .map(({ code }) => code)
    .sort();
}
