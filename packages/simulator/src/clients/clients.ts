import type { LatestAnchor, LocalResponse, SubmittedOutcome, SubmittedRecord } from "@event-anchoring/control-contract";
import { type Command, encodeCommand, isOperatorCommand } from "@event-anchoring/ledger";
import { nodeCrypto } from "@event-anchoring/node-crypto";
import { type OriginFingerprint, bytesToHex, decodeLeaf, equalBytes, verifyInclusion } from "@event-anchoring/protocol";
import type { Bugs } from "../planted/planted-bugs.ts";
import { type MadeCommand, CommandMaker } from "./command-maker.ts";
import type { Seeded } from "../world/seeded.ts";
import type { SimulatedMachine } from "../machine/simulated-machine.ts";
import { FORGERIES, SimulatedActs } from "../trust/simulated-operator.ts";
import type { LifeTrace } from "../world/life-trace.ts";
import { type Invariants, contentNameOf } from "../machine/invariants.ts";
import type { Scheduled, World } from "../world/world.ts";

export interface ClientsOptions {
  readonly world: World;
  readonly random: Seeded;
  readonly trace: LifeTrace;
  readonly invariants: Invariants;
  readonly bugs: Bugs;
  readonly machines: readonly SimulatedMachine[];
  readonly trustRootOf: (version: number) => string;
  readonly mayPropose: (version: number) => boolean;
  readonly erases: boolean;
  readonly clients: number;
  /** Mean pause of a client between two operations, in ms. */
  readonly pauseMs: number;
}

export interface Operation extends MadeCommand {
  readonly name: string;
  /** Every answer so far was a definite refusal. */
  wasOnlyRefused: boolean;
}

const TRIES_MAX = 6;

/** Counts of what the clients of a life have seen. */
export interface ClientCounts {
  certified: number;
  committed: number;
  replayed: number;
  rejected: number;
  refused: number;
  silent: number;
  reads: number;
  readsFromMemory: number;
  readsRefused: number;
}

/** Clients, and the api processes they talk to: they write, read, time out, retry and move between machines. */
export class Clients {
  readonly #options: ClientsOptions;
  readonly #maker: CommandMaker;
  readonly #acts: SimulatedActs;
  readonly counts: ClientCounts = {
    certified: 0,
    committed: 0,
    replayed: 0,
    rejected: 0,
    refused: 0,
    silent: 0,
    reads: 0,
    readsFromMemory: 0,
    readsRefused: 0,
  };
  readonly #refusedOnly: Operation[] = [];
  #requestId = 0;
  #operations = 0;
  #isStopped = false;
  readonly rejections = new Map<string, number>();

  constructor(options: ClientsOptions) {
    this.#options = options;
    const { random, trustRootOf, mayPropose, erases } = options;
    const [machine] = options.machines;
    if (machine === undefined) throw new RangeError("a cluster has machines");
    this.#acts = new SimulatedActs(machine.identity.clusterId);
    const origins = options.machines.map(({ identity }) => identity.originFingerprint);
    this.#maker = new CommandMaker({ random, origins, trustRootOf, mayPropose, erases });
  }

  start(): void {
    for (let client = 0; client < this.#options.clients; client++) this.#live(client);
  }

  stop(): void {
    this.#isStopped = true;
  }

  /** One operation whose outcome no client waits for. */
  writeOnce(machine: SimulatedMachine): void {
    if (!this.#isStopped) this.write(this.#operation(99), machine, 0, () => {});
  }

  /** One event that no client waits for, and that is a new one each time it is sent. */
  writePlainEvent(machine: SimulatedMachine): void {
    if (this.#isStopped) return;
    const name = this.#nextName(98);
    this.write(operationOf(name, this.#maker.plainEvent(name)), machine, 0, () => {});
  }

  /** The next version of the trust root. @returns the newest one that was acknowledged before; null: none is left */
  writeTrustRoot(machine: SimulatedMachine): number | null {
    const made = this.#maker.trustRoot();
    if (this.#isStopped || made === null) return null;
    this.write(operationOf(this.#nextName(97), made), machine, 0, () => {});
    return this.#maker.trustRootVersion;
  }

  /** One more event, after everything else. */
  lastWord(machine: string): Operation {
    return operationOf(`last.${machine}`, this.#maker.event(`last word of ${machine}`));
  }

  /** Operations of which every attempt was definitely refused, by the content of each leaf they would have made. */
  refused(): ReadonlyMap<string, string> {
    return new Map(
      this.#refusedOnly.flatMap(({ name, contents }) => contents.map((content) => [content, name] as const)),
    );
  }

  #live(client: number): void {
    const { world, random, pauseMs } = this.#options;
    const next = (): void => {
      if (this.#isStopped) return;
      world.after(random.between(0, 2 * pauseMs), () => this.#act(client, next));
    };
    next();
  }

  #act(client: number, done: () => void): void {
    const { random, machines } = this.#options;
    const machine = random.pick(machines);
    if (random.chance(0.45)) this.read(machine, done);
    else this.write(this.#operation(client), machine, 0, done);
  }

  #operation(client: number): Operation {
    const name = this.#nextName(client);
    return operationOf(name, this.#maker.next(name));
  }

  #nextName(client: number): string {
    this.#operations += 1;
    return `w${client}.${this.#operations}`;
  }

  /** Sends one operation through one machine, and again through others while its outcome is open. */
  write(operation: Operation, machine: SimulatedMachine, tries: number, done: (isDone: boolean) => void): void {
    const { random, trace, world } = this.#options;
    const patienceMs = random.pick([300, 1000, 3000]);
    this.#requestId += 1;
    const requestId = this.#requestId;
    let isOver = false;
    const finish = (outcome: "done" | "refused" | "unknown"): void => {
      if (isOver) return;
      isOver = true;
      timer.isCancelled = true;
      if (outcome !== "refused") operation.wasOnlyRefused = false;
      const mayRetry = outcome !== "done" && (operation.isIdempotent || outcome === "refused") && tries < TRIES_MAX;
      if (!mayRetry) {
        if (operation.wasOnlyRefused) this.#refusedOnly.push(operation);
        if (outcome !== "done") this.#maker.settle(operation.command, false);
        return done(outcome === "done");
      }
      const elsewhere = random.chance(0.7) ? random.pick(this.#options.machines) : machine;
      world.after(random.between(10, 400), () => this.write(operation, elsewhere, tries + 1, done));
    };
    const timer: Scheduled = world.after(patienceMs + 300, () => {
      this.counts.silent += 1;
      trace.note("silence", operation.name, machine.name);
      finish("unknown");
    });
    const command = this.#asSent(operation);
    trace.note("write", operation.name, machine.name, command.kind);
    const bytes = encodeCommand(command);
    machine.ask(
      { type: "submit", requestId, remainingMs: patienceMs, answer: "certified", command: bytes, call: null },
      (response) => {
        if (!isOver) finish(this.#onAnswer(operation, machine, response));
      },
    );
  }

  /** An operator signs each try anew; a forger sends what it has. */
  #asSent({ command, forbidden }: Operation): Command {
    if (!isOperatorCommand(command)) return command;
    if (forbidden === null) return this.#acts.signed(command);
    return this.#acts.forged(command, this.#options.random.pick(FORGERIES));
  }

  #onAnswer(operation: Operation, machine: SimulatedMachine, response: LocalResponse): "done" | "refused" | "unknown" {
    const { trace } = this.#options;
    if (response.type === "refused") {
      this.counts.refused += 1;
      trace.note("refused", operation.name, machine.name, response.code);
      return response.code === "outcome_unknown" ? "unknown" : "refused";
    }
    if (response.type !== "submitted") return "unknown";
    const { outcome, finality } = response;
    trace.note("answer", operation.name, machine.name, finality, outcome.kind);
    if (outcome.kind === "records") {
      for (const [at, record] of outcome.records.entries()) {
        this.#onRecord(operation, at, record, finality);
      }
    } else this.#settle(operation, outcome);
    return "done";
  }

  /** A command without records: the key table, the trust root, an erasure. */
  #settle(operation: Operation, outcome: Exclude<SubmittedOutcome, { kind: "records" }>): void {
    const { invariants } = this.#options;
    const isApplied = outcome.kind !== "rejected";
    if (outcome.kind === "rejected") this.#reject(operation, outcome.rejection.code);
    else if (operation.forbidden !== null)
      invariants.fail(operation.forbidden, `${operation.name} was ${outcome.kind}`);
    this.#maker.settle(operation.command, isApplied);
    const { command } = operation;
    if (isApplied && command.kind === "erase_client_event") invariants.erased.add(bytesToHex(command.anchorId));
  }

  #reject({ name }: Operation, code: string): void {
    this.counts.rejected += 1;
    this.rejections.set(code, (this.rejections.get(code) ?? 0) + 1);
    this.#options.trace.note("rejected", name, code);
  }

  #onRecord(operation: Operation, at: number, record: SubmittedRecord, finality: "certified" | "committed"): void {
    const { invariants } = this.#options;
    const name = `${operation.name}/${at}`;
    if (record.status === "rejected") return this.#reject(operation, record.rejection.code);
    const content = record.status === "accepted" ? contentNameOf(record.leaf) : null;
    if (content !== null && content !== operation.contents[at]) {
      invariants.fail("anAnswerIsAboutWhatWasAsked", `${name} is acknowledged as a leaf with another content`);
    }
    const anchorId = bytesToHex(record.anchorId);
    if (record.status === "replayed") {
      this.counts.replayed += 1;
      invariants.acknowledge(name, anchorId, null);
    } else {
      if (finality === "certified") this.#certifiedMeansCertified(name, record);
      else this.counts.committed += 1;
      const { originFingerprint, depth } = decodeLeaf(record.leaf);
      invariants.acknowledge(name, anchorId, { origin: bytesToHex(originFingerprint), depth });
    }
    const { forbidden } = operation;
    // A grant may have been accepted before a record it depends on was revoked: only a replay of it is allowed.
    const isExcused = forbidden === "whatIsRevokedStaysRevoked" && record.status === "replayed";
    if (forbidden !== null && !isExcused) invariants.fail(forbidden, `${name} was ${record.status}`);
    this.#maker.learn(operation.command, at, record.anchorId);
  }

  /** A certified answer carries what a verifier needs: a path to a root that a quorum has signed. */
  #certifiedMeansCertified(name: string, record: Extract<SubmittedRecord, { status: "accepted" }>): void {
    const { invariants } = this.#options;
    this.counts.certified += 1;
    const leaf = decodeLeaf(record.leaf);
    const { anchorId: leafHash, inclusion } = record;
    if (inclusion === null) {
      invariants.fail("certifiedMeansCertified", `${name} is called certified and has no certificate`);
      return;
    }
    const { certificate, path } = inclusion;
    invariants.everyHeadShownIsCertifiedAndTrue(certificate);
    const { treeSize: size, rootHash, originFingerprint } = certificate;
    const isOfOrigin = equalBytes(originFingerprint, leaf.originFingerprint);
    const isIncluded =
      isOfOrigin && verifyInclusion({ index: leaf.depth, size, leafHash, rootHash, path }, nodeCrypto.sha256);
    if (!isIncluded) invariants.fail("certifiedMeansCertified", `${name} is not under the root of its certificate`);
  }

  read(machine: SimulatedMachine, done: () => void): void {
    const { random, trace, invariants, world, machines } = this.#options;
    this.#requestId += 1;
    const requestId = this.#requestId;
    const floor = invariants.floor();
    const remainingMs = random.pick([200, 1000, 2500]);
    const origin = random.pick(machines).identity.originFingerprint;
    const question = random.chance(0.7)
      ? ({ type: "read_latest", origin } as const)
      : ({ type: "read", origins: "all" } as const);
    const erased = new Set(invariants.erased);
    let isOver = false;
    const finish = (): void => {
      if (isOver) return;
      isOver = true;
      timer.isCancelled = true;
      done();
    };
    const timer = world.after(remainingMs + 300, finish);
    machine.ask({ ...question, requestId, remainingMs }, (response) => {
      if (isOver) return;
      if (response.type !== "ready_to_read") {
        this.counts.readsRefused += 1;
        return finish();
      }
      if (response.latest === null) return this.#answerFromTables(machine, response, floor, remainingMs, finish);
      this.#answerFromMemory(machine, response.latest, floor, erased);
      finish();
    });
    trace.mix(`read ${machine.name}`);
  }

  /** The api has the answer itself: it looks at no table. */
  #answerFromMemory(
    machine: SimulatedMachine,
    { certificate, leaf, anchorId, path, clientEvent }: LatestAnchor,
    floor: ReadonlyMap<string, number>,
    erased: ReadonlySet<string>,
  ): void {
    const { invariants, trace } = this.#options;
    const { treeSize: size, rootHash, originFingerprint } = certificate;
    const key = bytesToHex(originFingerprint);
    this.counts.reads += 1;
    this.counts.readsFromMemory += 1;
    trace.note("shows", machine.name, key.slice(0, 4), size);
    invariants.everyHeadShownIsCertifiedAndTrue(certificate);
    invariants.latestAnchorNeverGoesBack(machine.name, key, size, floor);
    const { depth } = decodeLeaf(leaf);
    const isLast =
      depth === size - 1 &&
      verifyInclusion({ index: depth, size, leafHash: anchorId, rootHash, path }, nodeCrypto.sha256);
    if (!isLast) invariants.fail("readsAreLinearizable", `${machine.name} shows depth ${depth} as the last of ${size}`);
    const isShown = clientEvent !== null && clientEvent.clientEventId !== null;
    if (isShown && erased.has(bytesToHex(anchorId))) {
      invariants.fail("readsAreLinearizable", `${machine.name} shows a client event id that was erased before`);
    }
  }

  /** The api answers once a snapshot of its tables has reached the read index. */
  #answerFromTables(
    machine: SimulatedMachine,
    response: Extract<LocalResponse, { type: "ready_to_read" }>,
    floor: ReadonlyMap<string, number>,
    remainingMs: number,
    done: () => void,
  ): void {
    const { world, bugs, invariants, trace } = this.#options;
    const { readIndex, certificates } = response;
    const { database } = machine;
    if (database.appliedIndex < readIndex && !bugs.has("api_ignores_applied_index")) {
      if (remainingMs <= 0) return done();
      world.after(5, () => this.#answerFromTables(machine, response, floor, remainingMs - 5, done));
      return;
    }
    this.counts.reads += 1;
    for (const held of certificates) {
      const key = bytesToHex(held.originFingerprint);
      const shown = this.#shownSize(machine, held.originFingerprint, held.treeSize);
      trace.note("shows", machine.name, key.slice(0, 4), shown);
      if (shown > held.treeSize) {
        invariants.fail(
          "everyHeadShownIsCertifiedAndTrue",
          `${machine.name} shows size ${shown}, certified is ${held.treeSize}`,
        );
      }
      invariants.everyHeadShownIsCertifiedAndTrue(held);
      invariants.latestAnchorNeverGoesBack(machine.name, key, shown, floor);
      const rows = leavesIn(machine, held.originFingerprint);
      if (rows < shown) {
        invariants.fail("readsAreLinearizable", `${machine.name} shows size ${shown}, its tables hold ${rows} leaves`);
      }
    }
    done();
  }

  #shownSize(machine: SimulatedMachine, origin: OriginFingerprint, treeSize: number): number {
    const { bugs } = this.#options;
    const state = machine.node?.session?.state.origins.get(bytesToHex(origin));
    if (bugs.has("shown_before_certified")) return state?.tree.size ?? treeSize;
    if (bugs.has("read_of_recorded_certificate")) return state?.certified?.treeSize ?? 0;
    return treeSize;
  }
}

export function operationOf(name: string, made: MadeCommand): Operation {
  return { name, ...made, wasOnlyRefused: true };
}

function leavesIn(machine: SimulatedMachine, origin: OriginFingerprint): number {
  const key = bytesToHex(origin);
  const newest = machine.database.applied.findLast(({ decision }) =>
    decision.writes.leaves.some(({ originFingerprint }) => bytesToHex(originFingerprint) === key),
  );
  const depths = newest?.decision.writes.leaves.filter(
    ({ originFingerprint }) => bytesToHex(originFingerprint) === key,
  );
  return (depths?.at(-1)?.depth ?? -1) + 1;
}
