import { membershipContext } from "@event-anchoring/control-plane";
import { type Command, decodeGroup, encodeGroup } from "@event-anchoring/ledger";
import { nodeCrypto } from "@event-anchoring/node-crypto";
import { ConfChangeRefusedError, NotLeaderError, ProposalDroppedError } from "raft-ts";
import type { Seeded } from "./seeded.ts";
import type { SimulatedMachine } from "./simulated-machine.ts";
import type { SimulatedNetwork } from "./simulated-network.ts";
import type { Witness } from "./witness.ts";
import type { World } from "./world.ts";

/** Where a nemesis finds what it harms. */
export interface Scene {
  readonly world: World;
  readonly random: Seeded;
  readonly witness: Witness;
  readonly network: SimulatedNetwork;
  readonly machines: readonly SimulatedMachine[];
  /** A client reads there, now. */
  readonly readThrough: (machine: SimulatedMachine) => void;
  /** A client writes there, now. */
  readonly writeThrough: (machine: SimulatedMachine) => void;
  /** A client writes an event there that is another one each time it is decided. */
  readonly writePlainEvent: (machine: SimulatedMachine) => void;
  /** The next trust root goes there. @returns the version that was acknowledged before; null: there is none left */
  readonly writeTrustRoot: (machine: SimulatedMachine) => number | null;
}

/** What a script does with the world. */
export interface Stage extends Scene {
  readonly leader: () => SimulatedMachine | null;
  readonly isOver: () => boolean;
  /** After that time, or when faults end: whichever comes first, once. */
  readonly later: (delayMs: number, undo: () => void) => void;
  readonly startLater: (machine: SimulatedMachine) => void;
  readonly powerCut: (machine: SimulatedMachine) => void;
}

/** Faults that need several steps to come to a rare moment. */
export const SCRIPTS = {
  depose,
  busy_leader_dies: dieBusy,
  stale_leader: makeStale,
  copy_comes_late: copyComesLate,
  membership_change_comes_late: membershipChangeComesLate,
  altered_proposals: alterProposals,
} as const;

/** A leader writes what nobody hears of, comes back to another one, and is cut from power as it gives that up. */
function depose(stage: Stage, leader: SimulatedMachine): void {
  const { machines, random, world, network } = stage;
  const aloneMs = random.pick([1500, 2000, 2500, 4500]);
  const links = pairsOf(leader, machines).map(([from, to]) => network.link(from.name, to.name));
  for (const link of links) link.isCut = true;
  for (let burst = 0; burst < 3; burst++) world.after(burst * 40, () => stage.writeThrough(leader));
  stage.later(aloneMs, () => {
    for (const link of links) link.isCut = false;
    if (random.chance(0.6)) leader.database.onNextReplaced = () => stage.powerCut(leader);
    else if (random.chance(0.3)) world.after(random.between(1, 400), () => stage.powerCut(leader));
  });
}

/** What it was asked for may be in the log, and nobody who asked has heard so. */
function dieBusy(stage: Stage, leader: SimulatedMachine): void {
  const { machines, random, world } = stage;
  const others = machines.filter((each) => each !== leader);
  for (let burst = 0; burst < 8; burst++) {
    world.after(random.between(0, 8), () => stage.writeThrough(random.pick(others)));
  }
  world.after(random.between(3, 10), () => {
    if (stage.isOver()) return;
    leader.kill();
    stage.startLater(leader);
  });
}

/** A leader stands still while another is elected, and wakes up before anybody can tell it. */
function makeStale(stage: Stage, leader: SimulatedMachine): void {
  const { machines, random, world, network } = stage;
  const inward = machines.filter((each) => each !== leader).map((each) => network.link(each.name, leader.name));
  const pausedMs = random.between(1500, 3500);
  // The questions of this read get through, the answers do not.
  stage.readThrough(leader);
  for (const link of inward) link.isClogged = true;
  world.after(random.between(0, 5), () => {
    if (!stage.isOver()) leader.process?.pause();
  });
  stage.later(pausedMs, () => {
    leader.process?.resume();
    for (let probe = 0; probe < 4; probe++) world.after(probe * 15, () => stage.readThrough(leader));
  });
  stage.later(pausedMs + random.between(10, 600), () => {
    for (const link of inward) link.isClogged = false;
  });
}

const ENTRIES_BETWEEN = 60;
const ENTRY_EVERY_MS = 20;

/**
 * What a follower proposed stays on its way to the leader; another leader decides the copy that it gets, and many
 * entries later the first one leads again, and gets its own.
 */
function copyComesLate(stage: Stage, leader: SimulatedMachine): void {
  const { machines, random, world, network } = stage;
  const proposer = random.pick(machines.filter((each) => each !== leader));
  const link = network.link(proposer.name, leader.name);
  link.holdsProposals = true;
  for (let burst = 0; burst < 3; burst++) stage.writePlainEvent(proposer);
  const handOver = (): void => {
    const now = stage.leader();
    now?.process?.turn(() => now.node?.session?.transferLeadership());
  };
  world.after(20, () => {
    if (stage.leader() === leader) handOver();
  });
  for (let entry = 0; entry < ENTRIES_BETWEEN; entry++) {
    world.after(60 + entry * ENTRY_EVERY_MS, () => stage.writePlainEvent(random.pick(machines)));
  }
  const handBack = (tries: number): void => {
    if (stage.isOver()) return;
    if (stage.leader() === leader || tries === 0) link.holdsProposals = false;
    else {
      handOver();
      world.after(150, () => handBack(tries - 1));
    }
  };
  world.after(100 + ENTRIES_BETWEEN * ENTRY_EVERY_MS, () => handBack(10));
}

/** A leader proposes who shall follow; meanwhile a newer trust root is on its way into the log. */
function membershipChangeComesLate(stage: Stage, leader: SimulatedMachine): void {
  const { random, world } = stage;
  const version = stage.writeTrustRoot(leader);
  if (version === null) return;
  world.after(random.between(0, 6), () => {
    leader.process?.turn(() => {
      const node = leader.rawNode;
      if (node === null || leader.node?.session?.isLeader() !== true) return;
      const change = { type: "add_learner", id: 0x9n } as const;
      try {
        node.proposeConfChange({ transition: "auto", changes: [change], context: membershipContext(version) });
      } catch (error) {
        const isNotNow =
          error instanceof ProposalDroppedError ||
          error instanceof ConfChangeRefusedError ||
          error instanceof NotLeaderError;
        if (!isNotNow) throw error;
      }
    });
  });
}

const LIES_FOR_MS = 1500;
/** Queues whose leader lies at the moment. */
const LYING = new WeakSet<object>();

/** A leader proposes other events than a follower has sent it, under the follower's id. */
function alterProposals(stage: Stage, leader: SimulatedMachine): void {
  const { machines, random, world } = stage;
  const queue = leader.node?.session?.leaderQueue;
  if (queue === undefined || LYING.has(queue)) return;
  LYING.add(queue);
  const offer = queue.offer.bind(queue);
  queue.offer = (groups) => offer(groups.map((group) => (group.from === null ? group : altered(group))));
  stage.later(LIES_FOR_MS, () => {
    queue.offer = offer;
    LYING.delete(queue);
  });
  const followers = machines.filter((each) => each !== leader);
  for (let burst = 0; burst < 4; burst++) {
    world.after(burst * 50, () => stage.writePlainEvent(random.pick(followers)));
  }
}

function altered<Queued extends { readonly bytes: Uint8Array }>(queued: Queued): Queued {
  const group = decodeGroup(queued.bytes);
  const commands = group.commands.map((command): Command => {
    if (command.kind !== "record_events") return command;
    const events = command.events.map((event) => ({ ...event, eventHash: nodeCrypto.sha256(event.eventHash) }));
    return { ...command, events };
  });
  return { ...queued, bytes: encodeGroup({ ...group, commands }) };
}

export function pairsOf(
  machine: SimulatedMachine,
  machines: readonly SimulatedMachine[],
): (readonly [SimulatedMachine, SimulatedMachine])[] {
  return machines
    .filter((each) => each !== machine)
    .flatMap((each) => [[machine, each] as const, [each, machine] as const]);
}

export function allPairs(machines: readonly SimulatedMachine[]): (readonly [SimulatedMachine, SimulatedMachine])[] {
  return machines.flatMap((from) => machines.filter((to) => to !== from).map((to) => [from, to] as const));
}
