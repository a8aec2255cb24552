import { raftIdKey } from "@event-anchoring/control-plane";
import { newestSlot } from "@event-anchoring/control-contract";
import { type Fault, SPENDING } from "./faults.ts";
import { allPairs, pairsOf } from "../machine/machine-pairs.ts";
import { type Scene, type Stage, SCRIPTS, setBackKnownToOne } from "./scripted-faults.ts";
import type { DiskImages, SimulatedMachine } from "../machine/simulated-machine.ts";
import type { SimulatedNetwork } from "../network/simulated-network.ts";
import type { VolumeImage } from "../disks/simulated-volume.ts";
import type { LifeTrace } from "../world/life-trace.ts";

export interface FaultInjectorOptions extends Scene {
  readonly trace: LifeTrace;
  /** Makes a clone: a machine with these disks and that machine's identity. */
  readonly makeClone: (original: SimulatedMachine, images: DiskImages) => SimulatedMachine;
  /** Mean pause between two faults, in ms. */
  readonly pauseMs: number;
}

/**
 * Faults that only peers can detect are injected while peers are up and connected; otherwise they are undetectable, as
 * documented.
 */
const KNOWN_TO_PEERS: ReadonlySet<Fault> = new Set([
  "both_set_back",
  "set_back_known_to_one",
  "promise_file_set_back",
  "clone",
]);
const CALM_BEFORE_MS = 2500;
const CALM_LOOK_MS = 500;
const FENCED_WITHIN_MS = 12_000;
const HOUR_MS = 3_600_000;
const LIES_MAX = 3;
/** Why a machine that the trust root retires may stop. */
export const RETIRED = "retired";
/** Reports of clocks count for 2 s. */
const CLOCK_MEMORY_MS = 2500;

/** Injects faults, and undoes them after a while. */
export class FaultInjector {
  readonly #options: FaultInjectorOptions;
  readonly #kinds: readonly Fault[];
  readonly #stage: Stage;
  readonly #undo = new Set<() => void>();
  readonly #images = new Map<SimulatedMachine, DiskImages>();
  #spent = 0;
  #lies = 0;
  #isResting = false;
  #isOver = false;
  #clocksRightFromMs = 0;

  constructor(options: FaultInjectorOptions, kinds: readonly Fault[]) {
    this.#options = options;
    this.#kinds = kinds;
    this.#stage = {
      ...options,
      leader: () => this.#leader(),
      isOver: () => this.#isOver,
      later: (delayMs, undo) => this.#later(delayMs, undo),
      startLater: (machine) => this.#startLater(machine),
      powerCut: (machine) => this.#powerCut(machine),
      corruptNewest: (machine) => {
        if (!this.#isResting) this.#corrupt(machine, { isNewest: true });
      },
    };
  }

  start(): void {
    this.#keepImages();
    this.#next();
  }

  /** Undoes all faults; machines that stopped for good stay stopped. */
  end(): void {
    this.#isOver = true;
    this.#undoAll();
    this.#reviveAll();
    // A machine that was asked to stop a moment ago has stopped by then; on a slow disk, by the second time.
    for (const afterMs of [2500, 6000]) this.#options.world.after(afterMs, () => this.#reviveAll());
  }

  #reviveAll(): void {
    for (const machine of this.#options.machines) this.#revive(machine);
  }

  #revive(machine: SimulatedMachine): void {
    machine.database.startServer();
    machine.database.slowness = 1;
    machine.database.isFull = false;
    machine.database.nextFault = null;
    machine.volume.failsNext = false;
    machine.volume.onNextWrite = null;
    machine.database.onNextAppend = null;
    machine.database.onNextReplaced = null;
    machine.wallOffsetMs = 0;
    machine.process?.resume();
    if (machine.stopped?.reason === "halted" && machine.excuse === "corrupt_row") {
      machine.database.repair();
      machine.start();
    } else if (machine.excuse === "corrupt_row") machine.database.repair();
    if (machine.stopped === null) machine.start();
  }

  #undoAll(): void {
    for (const undo of this.#undo) undo();
    this.#undo.clear();
    this.#options.network.heal();
  }

  #keepImages(): void {
    const { world, random, machines } = this.#options;
    world.after(random.between(500, 4000), () => {
      if (this.#isOver) return;
      const machine = random.pick(machines);
      if (machine.database.appliedIndex > 0) this.#images.set(machine, machine.images());
      this.#keepImages();
    });
  }

  #next(): void {
    const { world, random, pauseMs } = this.#options;
    world.after(random.between(0.2 * pauseMs, 1.8 * pauseMs), () => {
      if (this.#isOver) return;
      if (!this.#isResting) this.#strike(random.pick(this.#kinds));
      this.#next();
    });
  }

  #strike(fault: Fault): void {
    const { random, machines, trace } = this.#options;
    const machine = (random.chance(0.4) ? this.#leader() : null) ?? random.pick(machines);
    if (SPENDING.has(fault)) {
      if (this.#canSpare(machine)) this.#spend(fault, machine);
      return;
    }
    trace.note("fault", fault, machine.name);
    this.#harm(fault, machine);
  }

  #canSpare(machine: SimulatedMachine): boolean {
    const { length } = this.#options.machines;
    return this.#spent < length - (Math.floor(length / 2) + 1) && machine.excuse === null && machine.stopped === null;
  }

  /** The trust root is about to take a node out of the group. @returns false: the group cannot do without it */
  retire(machine: SimulatedMachine): boolean {
    if (machine.excuse === RETIRED) return true;
    if (this.#isOver || !this.#canSpare(machine)) return false;
    this.#spent += 1;
    machine.excuse = RETIRED;
    return true;
  }

  #harm(fault: Fault, machine: SimulatedMachine): void {
    if (this.#harmLinks(fault, machine) || this.#harmDatabase(fault, machine)) return;
    const { random, machines } = this.#options;
    const { database } = machine;
    switch (fault) {
      case "kill":
        machine.kill();
        return this.#startLater(machine);
      case "power":
        machine.losePower();
        return this.#startLater(machine);
      case "power_everywhere":
        for (const each of machines) each.losePower();
        for (const each of machines) this.#startLater(each);
        return;
      case "stop":
        machine.stop();
        return this.#startLater(machine);
      case "pause":
        machine.process?.pause();
        return this.#later(random.pick([200, 800, 2000, 6000]), () => machine.process?.resume());
      case "clock":
        return this.#bendClock(machine);
      case "promise_fault":
        machine.volume.failsNext = true;
        return;
      case "power_in_promise_write":
        machine.volume.onNextWrite = () => this.#powerCut(machine);
        return;
      case "power_in_append":
        database.onNextAppend = () => this.#powerCut(machine);
        return;
      case "depose":
      case "busy_leader_dies":
      case "debtor_dies":
      case "leader_loads_slowly":
      case "newest_row_rots":
      case "newcomers_are_late":
      case "read_before_certified":
      case "stale_leader":
      case "copy_comes_late":
      case "membership_change_comes_late":
      case "altered_proposals":
      case "rotten_slot":
      case "heads_set_back":
        return SCRIPTS[fault](this.#stage, this.#leader() ?? machine);
      case "signed_entry_offered_anew":
        this.#lies += 1;
        return this.#lies > LIES_MAX ? undefined : SCRIPTS[fault](this.#stage, this.#leader() ?? machine);
      case "false_commit":
      case "giant_term":
        // A machine that lies more often is cut off for longer than a life lasts.
        this.#lies += 1;
        return this.#lies > LIES_MAX ? undefined : SCRIPTS[fault](this.#stage);
      case "corrupt_row":
        return this.#corrupt(machine, { isNewest: false });
      default:
        throw new Error(`${fault} spends an identity`);
    }
  }

  /** One clock at a time: a median of wrong clocks is wrong, and what was heard of one counts for a while. */
  #bendClock(machine: SimulatedMachine): void {
    const { random, world } = this.#options;
    if (world.nowMs < this.#clocksRightFromMs) return;
    const bentMs = random.between(1000, 6000);
    this.#clocksRightFromMs = world.nowMs + bentMs + CLOCK_MEMORY_MS;
    machine.wallOffsetMs = random.pick([-HOUR_MS, -3000, 3000, 20_000, HOUR_MS]);
    this.#later(bentMs, () => (machine.wallOffsetMs = 0));
  }

  /** @returns false if the fault is none of a link */
  #harmLinks(fault: Fault, machine: SimulatedMachine): boolean {
    const { random, machines, network } = this.#options;
    const other = random.pick(machines.filter((each) => each !== machine));
    switch (fault) {
      case "cut":
        this.#links(
          [
            [machine, other],
            [other, machine],
          ],
          { isCut: true },
        );
        return true;
      case "cut_one_way":
        this.#links([[machine, other]], { isCut: true });
        return true;
      case "isolate":
        this.#links(pairsOf(machine, machines), { isCut: true });
        return true;
      case "partial":
        this.#links(
          [
            [machine, other],
            [other, machine],
          ],
          { isClogged: true },
        );
        return true;
      case "swizzle":
        this.#swizzle();
        return true;
      case "flaky":
        this.#links(allPairs(machines), {
          loss: random.pick([0, 0.05, 0.2, 0.6]),
          duplication: random.between(0, 0.3),
          reorders: true,
          maxMs: random.between(2, 60),
        });
        return true;
      case "cosignatures_lost":
        this.#links(allPairs(machines), { losesCosignatures: true });
        return true;
      case "slow_link":
        this.#links([[machine, other]], { minMs: 20, maxMs: random.between(40, 400) });
        return true;
      case "reset":
        network.reset(machine.name, other.name);
        return true;
      default:
        return false;
    }
  }

  /** @returns false if the fault is none of a database */
  #harmDatabase(fault: Fault, machine: SimulatedMachine): boolean {
    const { random } = this.#options;
    const { database } = machine;
    switch (fault) {
      case "slow_disk":
        database.slowness = random.pick([10, 60, 400, 2000]);
        for (let probe = 0; probe < 6; probe++) {
          this.#options.world.after(random.between(0, 1500), () => this.#options.readThrough(machine));
        }
        this.#later(random.between(500, 4000), () => (database.slowness = 1));
        return true;
      case "write_fault":
        database.nextFault = random.pick(["refused", "lost_unknown", "done_unknown"]);
        return true;
      case "disk_full":
        database.isFull = true;
        this.#later(random.between(500, 4000), () => (database.isFull = false));
        return true;
      case "server_restart":
        database.restartServer();
        return true;
      case "server_stop":
        database.stopServer();
        this.#later(random.between(300, 4000), () => database.startServer());
        return true;
      default:
        return false;
    }
  }

  #leader(): SimulatedMachine | null {
    return this.#options.machines.find(({ node }) => node?.session?.isLeader() === true) ?? null;
  }

  #powerCut(machine: SimulatedMachine): void {
    if (this.#isOver || !machine.isRunning) return;
    machine.losePower();
    this.#startLater(machine);
  }

  #links(
    pairs: readonly (readonly [SimulatedMachine, SimulatedMachine])[],
    change: Partial<ReturnType<SimulatedNetwork["link"]>>,
  ): void {
    const { network, random } = this.#options;
    const before = pairs.map(([from, to]) => {
      const link = network.link(from.name, to.name);
      const kept = { ...link };
      Object.assign(link, change);
      return { link, kept };
    });
    this.#later(random.pick([300, 1200, 3000, 7000]), () => {
      for (const { link, kept } of before) Object.assign(link, kept);
    });
  }

  /** Links stop one by one and come back in another order. */
  #swizzle(): void {
    const { network, random, machines, world } = this.#options;
    for (const [from, to] of allPairs(machines)) {
      const link = network.link(from.name, to.name);
      const stopsMs = random.between(0, 1500);
      world.after(stopsMs, () => (link.isClogged = !this.#isOver && !this.#isResting));
      this.#later(stopsMs + random.between(200, 2500), () => (link.isClogged = false));
    }
  }

  /** A bit flips, and is noticed when the row is read again: at the next start at the latest. */
  #corrupt(machine: SimulatedMachine, { isNewest }: { readonly isNewest: boolean }): void {
    const { random, machines, world, invariants } = this.#options;
    const isSomebodyElses = machines.some((each) => each !== machine && each.excuse !== null);
    const { rows, compacted } = machine.database;
    if (isSomebodyElses || rows.length === 0 || !machine.isRunning || machine.stopped !== null) return;
    const isLast = isNewest || random.chance(0.5);
    const at = isLast ? rows.length - 1 : random.below(rows.length);
    machine.losePower();
    machine.excuse = "corrupt_row";
    machine.database.corrupt(compacted.index + 1 + at);
    const { repairs } = machine.database;
    machine.start();
    world.after(4000, () => {
      if (this.#isOver) return;
      const session = machine.node?.session ?? null;
      const isCorrupt = machine.database.repairs === repairs;
      if (isCorrupt && session !== null && machine.process?.isPaused === false) {
        invariants.fail("corruptionNeverLooksLikeAbsence", `${machine.name} serves with a corrupt row`);
      }
      this.#revive(machine);
    });
  }

  #spend(fault: Fault, machine: SimulatedMachine): void {
    const { trace, world } = this.#options;
    const images = this.#images.get(machine);
    if (images === undefined || !machine.isRunning) return;
    this.#spent += 1;
    this.#isResting = true;
    machine.excuse = fault;
    trace.note("calm_before", fault, machine.name);
    this.#undoAll();
    this.#reviveAll();
    const isKnownToPeers = KNOWN_TO_PEERS.has(fault);
    const strike = (): void => {
      trace.note("fault", fault, machine.name);
      if (fault === "set_back_known_to_one") {
        world.after(setBackKnownToOne(this.#stage, machine) ?? 0, () => (this.#isResting = false));
        return;
      }
      this.#setBack(fault, machine, images);
      world.after(isKnownToPeers ? FENCED_WITHIN_MS / 3 : 2600, () => (this.#isResting = false));
    };
    if (isKnownToPeers) return this.#afterCalm(strike);
    world.after(50, () => {
      if (!this.#isOver) strike();
    });
  }

  /** Waits until every machine has had a session for a whole calm: one that starts or catches up hears no promise. */
  #afterCalm(strike: () => void, calmMs = 0): void {
    if (calmMs >= CALM_BEFORE_MS) return strike();
    this.#options.world.after(CALM_LOOK_MS, () => {
      if (this.#isOver) return;
      const isCalm = this.#options.machines.every(
        ({ node, stopped, isBurnt }) => isBurnt || stopped !== null || (node?.session ?? null) !== null,
      );
      // A machine that was still stopping could not be started before.
      if (!isCalm) this.#reviveAll();
      this.#afterCalm(strike, isCalm ? calmMs + CALM_LOOK_MS : 0);
    });
  }

  #setBack(fault: Fault, machine: SimulatedMachine, images: DiskImages): void {
    if (fault === "clone") {
      if (machine === this.#leader()) return;
      this.#options.makeClone(machine, machine.images()).start();
      return;
    }
    if (fault === "database_set_back" && this.#isUnheard(machine, images)) return;
    machine.kill();
    const forgets = this.#forgets(fault, machine, images);
    if (fault !== "promise_file_lost" && fault !== "promise_file_set_back") machine.database.restore(images.database);
    if (fault === "promise_file_lost") machine.volume.restore({ bytes: new Uint8Array(0), durable: null });
    else if (fault !== "database_set_back") machine.volume.restore(images.volume);
    machine.start();
    if (forgets) this.#mustBeFenced(fault, machine);
  }

  /**
   * Whether a leader would forget entries that it alone knows to have acknowledged: peers hear of them up to 100 ms
   * later, and its promise file with the next promise.
   */
  #isUnheard(machine: SimulatedMachine, images: DiskImages): boolean {
    if (machine !== this.#leader() || this.#forgets("database_set_back", machine, images)) return false;
    return images.database.rows.at(-1)?.entry.index !== machine.database.rows.at(-1)?.entry.index;
  }

  /** Whether the images lack a promise that another node or disk can know of. */
  #forgets(fault: Fault, machine: SimulatedMachine, images: DiskImages): boolean {
    if (fault === "promise_file_lost") return true;
    if (fault === "database_set_back") {
      const promised = machine.volume.durable?.lastAppend ?? { index: 0, term: 0 };
      const kept = images.database.rows.at(-1)?.entry ?? images.database.compacted;
      return kept.term === promised.term ? kept.index < promised.index : kept.term < promised.term;
    }
    // The database still has the heads and votes that it forgot; only its later incarnations are detectable.
    if (fault === "promise_file_set_back") return incarnationAfter(images.volume) <= this.#newestKnownOf(machine);
    return this.#options.invariants
      .recordedSizesOf(machine.identity.nodeId)
      .some(([origin, treeSize]) => treeSize > (images.volume.durable?.signedHeads.get(origin)?.treeSize ?? 0));
  }

  /**
   * The newest incarnation of it that a peer can show: the peer has heard it and runs since, or has kept what was
   * signed in it. No node knows of a start that ended before it spoke, and forgetting it breaks no promise.
   */
  #newestKnownOf({ identity: { nodeId, raftId } }: SimulatedMachine): number {
    const { machines, network } = this.#options;
    const peers = machines.filter(({ identity }) => identity.nodeId !== nodeId);
    const kept = peers.map(({ volume }) => volume.durable?.peers.get(raftIdKey(raftId))?.incarnation ?? 0);
    return Math.max(network.newestHeardOf(nodeId), ...kept);
  }

  #mustBeFenced(fault: Fault, machine: SimulatedMachine): void {
    const { world, invariants, machines, network } = this.#options;
    const isAlone = fault === "database_set_back" || fault === "promise_file_lost";
    const links = isAlone ? pairsOf(machine, machines).map(([from, to]) => network.link(from.name, to.name)) : [];
    for (const link of links) link.isCut = true;
    world.after(isAlone ? 2500 : FENCED_WITHIN_MS, () => {
      for (const link of links) link.isCut = false;
      if (machine.stopped?.reason === "fenced") return;
      invariants.fail("aNodeThatForgotIsFenced", `${machine.name} goes on after ${fault}`);
    });
  }

  #startLater(machine: SimulatedMachine): void {
    const delayMs = this.#options.random.pick([5, 100, 700, 3000]);
    this.#later(delayMs, () => {
      if (machine.stopped === null) machine.start();
    });
  }

  #later(delayMs: number, undo: () => void): void {
    const once = (): void => {
      if (this.#undo.delete(once)) undo();
    };
    this.#undo.add(once);
    this.#options.world.after(delayMs, once);
  }
}

/** How the next start from these slots counts itself: two further on where a slot that cannot be read may hold one. */
function incarnationAfter({ bytes }: VolumeImage): number {
  const newest = newestSlot(bytes);
  // A start that finds no promises is fenced in any case.
  if (newest.state !== "good") return 0;
  return newest.promises.incarnation + (newest.hasDamagedSlot ? 2 : 1);
}
