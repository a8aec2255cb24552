import { membershipContext } from "@event-anchoring/control-plane";
import { type Command, decodeGroup, encodeGroup } from "@event-anchoring/ledger";
import { nodeCrypto } from "@event-anchoring/node-crypto";
import { isBefore } from "@event-anchoring/control-contract";
import {
  type RaftIndex,
  type Term,
  ConfChangeRefusedError,
  NotLeaderError,
  ProposalDroppedError,
  encodeMessage,
} from "raft-ts";
import { endOf } from "../disks/database-image.ts";
import { pairsOf } from "../machine/machine-pairs.ts";
import { offerSignedAnew, rotSlot, setHeadsBack } from "./promise-faults.ts";
import type { Seeded } from "../world/seeded.ts";
import type { SimulatedMachine } from "../machine/simulated-machine.ts";
import type { SimulatedNetwork } from "../network/simulated-network.ts";
import type { Invariants } from "../machine/invariants.ts";
import type { World } from "../world/world.ts";

/** What faults act on. */
export interface Scene {
  readonly world: World;
  readonly random: Seeded;
  readonly invariants: Invariants;
  readonly network: SimulatedNetwork;
  readonly machines: readonly SimulatedMachine[];
  /** A client reads there, now. */
  readonly readThrough: (machine: SimulatedMachine) => void;
  /** A client writes there, now. */
  readonly writeThrough: (machine: SimulatedMachine) => void;
  /** A client writes an event there that is a new one each time it is decided. */
  readonly writePlainEvent: (machine: SimulatedMachine) => void;
  /** Submits the next trust root there. @returns the version that was acknowledged before; null: there is none left */
  readonly writeTrustRoot: (machine: SimulatedMachine) => number | null;
}

/** What a script can do with the world. */
export interface Stage extends Scene {
  readonly leader: () => SimulatedMachine | null;
  readonly isOver: () => boolean;
  /** After that time, or when faults end: whichever comes first, once. */
  readonly later: (delayMs: number, undo: () => void) => void;
  readonly startLater: (machine: SimulatedMachine) => void;
  readonly powerCut: (machine: SimulatedMachine) => void;
  /** Its newest row fails its checksum from now on, and it starts anew; not while another machine is excused. */
  readonly corruptNewest: (machine: SimulatedMachine) => void;
}

/** Faults that need several steps to come to a rare moment. */
export const SCRIPTS = {
  depose,
  busy_leader_dies: dieBusy,
  debtor_dies: dieOwing,
  leader_loads_slowly: loadSlowly,
  newest_row_rots: rotNewestRow,
  newcomers_are_late: keepNewcomersBack,
  read_before_certified: readBeforeCertified,
  stale_leader: makeStale,
  copy_comes_late: copyComesLate,
  membership_change_comes_late: membershipChangeComesLate,
  altered_proposals: alterProposals,
  rotten_slot: rotSlot,
  heads_set_back: setHeadsBack,
  signed_entry_offered_anew: offerSignedAnew,
  false_commit: (stage: Stage) => lie(stage, (term) => ({ term: term + 1000, commit: 9_000_000 })),
  giant_term: (stage: Stage) => lie(stage, () => ({ term: 2 ** 53 - 2, commit: 0 })),
} as const;

/** One machine of a life lies, always the same: it claims to lead, in a term of its own. */
function lie({ machines }: Stage, said: (term: Term) => { readonly term: Term; readonly commit: RaftIndex }): void {
  const [liar, ...others] = machines;
  const node = liar?.node ?? null;
  const network = node?.network ?? null;
  const session = node?.session ?? null;
  if (liar === undefined || network === null || session === null) return;
  for (const { identity } of others) {
    const message = encodeMessage({
      ...said(session.consensus.view().term),
      type: "MsgHeartbeat",
      from: liar.identity.raftId,
      to: identity.raftId,
      logTerm: 0,
      index: 0,
      vote: 0n,
      reject: false,
      rejectHint: 0,
      context: new Uint8Array(0),
      snapshot: null,
      entries: [],
    });
    network.send(identity.nodeId, "control", { type: "raft", message });
  }
}

/** How long a machine that is set back may go on while one peer that remembers is there. */
const KNOWN_TO_ONE_MS = 4000;
/** What that peer was told is durable after a second. */
const KEPT_AFTER_MS = 1500;

/**
 * A follower that only the leader hears is set back, both disks at once, and the leader restarts: only the leader's
 * promise file is evidence against the follower. No node has received a cosignature of it.
 * @returns when it is over, in ms; null: not possible at this moment
 */
export function setBackKnownToOne(stage: Stage, machine: SimulatedMachine): number | null {
  const { network, machines, world, invariants } = stage;
  const keeper = stage.leader();
  // Without a session it tells nobody how far its log reaches: nobody could remember.
  const session = machine.node?.session ?? null;
  if (keeper === null || keeper === machine || session === null) return null;
  const images = machine.images();
  const others = machines.filter((each) => each !== machine && each !== keeper);
  const apart = others.flatMap(({ name }) => [network.link(machine.name, name), network.link(name, machine.name)]);
  for (const link of apart) link.isCut = true;
  network.link(machine.name, keeper.name).losesCosignatures = true;
  for (let burst = 0; burst < 8; burst++) world.after(burst * 80, () => stage.writeThrough(keeper));
  const steps: readonly (readonly [number, () => void])[] = [
    [1000, () => machine.kill()],
    [
      1000 + KEPT_AFTER_MS,
      () => {
        const forgets = isBefore(endOf(images.database), endOf(machine.database));
        machine.database.restore(images.database);
        machine.volume.restore(images.volume);
        keeper.kill();
        keeper.start();
        machine.start();
        if (!forgets) return;
        world.after(KNOWN_TO_ONE_MS, () => {
          if (stage.isOver() || machine.stopped?.reason === "fenced") return;
          // A trust root has retired the one peer that remembers: it has stopped, and tells nobody.
          if (keeper.stopped?.code === "retired") return;
          invariants.fail("aNodeThatForgotIsFenced", `${machine.name} goes on, and ${keeper.name} remembers`);
        });
      },
    ],
  ];
  for (const [atMs, step] of steps) {
    world.after(atMs, () => {
      if (!stage.isOver()) step();
    });
  }
  const endMs = 1000 + KEPT_AFTER_MS + KNOWN_TO_ONE_MS + 100;
  stage.later(endMs, () => {
    for (const link of apart) link.isCut = false;
  });
  return endMs;
}

/**
 * A leader appends entries that no follower gets, rejoins under another leader, and loses power while it replaces them.
 */
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

/** A busy leader dies: its clients' writes may be in the log, and none of them was answered. */
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

const DEBTOR_LOOKED_FOR_MS = 2000;

/** The next node whose log holds what an erasure has to take out dies. */
function dieOwing(stage: Stage): void {
  const { machines, world, startLater } = stage;
  const untilMs = world.nowMs + DEBTOR_LOOKED_FOR_MS;
  const look = (): void => {
    if (stage.isOver() || world.nowMs > untilMs) return;
    const debtor = machines.find(({ node }) => node?.session?.consensus.compaction.isOwing === true);
    if (debtor === undefined) world.after(10, look);
    else {
      debtor.kill();
      startLater(debtor);
    }
  };
  look();
}

const READ_EVERY_MS = 20;
const UNCERTIFIED_MS = 400;

/** A leader cannot write a promise, loads again from a slow disk, and is read from all the time. */
function loadSlowly(stage: Stage, leader: SimulatedMachine): void {
  const { random, world } = stage;
  leader.volume.failsNext = true;
  for (let burst = 0; burst < 3; burst++) world.after(burst * 5, () => stage.writeThrough(leader));
  world.after(100, () => {
    if (!stage.isOver()) leader.database.slowness = random.pick([60, 400]);
  });
  const slowMs = random.between(3000, 6000);
  for (let atMs = 0; atMs < slowMs; atMs += READ_EVERY_MS) {
    world.after(atMs, () => {
      if (!stage.isOver()) stage.readThrough(leader);
    });
  }
  stage.later(slowMs, () => (leader.database.slowness = 1));
}

/** What a leader has applied gets no certificate for a while, and it is read from all the time. */
function readBeforeCertified(stage: Stage, leader: SimulatedMachine): void {
  const { machines, world, network } = stage;
  const links = machines
    .flatMap((each) => pairsOf(each, machines))
    .map(([from, to]) => network.link(from.name, to.name));
  for (const link of links) link.losesCosignatures = true;
  for (let burst = 0; burst < 3; burst++) world.after(burst * 40, () => stage.writeThrough(leader));
  for (let atMs = 0; atMs < UNCERTIFIED_MS; atMs += READ_EVERY_MS) {
    world.after(atMs, () => {
      if (!stage.isOver()) stage.readThrough(leader);
    });
  }
  stage.later(UNCERTIFIED_MS, () => {
    for (const link of links) link.losesCosignatures = false;
  });
}

/** A leader that nobody hears appends entries, of which no promise speaks; the last one fails its checksum. */
function rotNewestRow(stage: Stage, leader: SimulatedMachine): void {
  const { machines, random, world, network } = stage;
  if (stage.leader() !== leader) return;
  const links = pairsOf(leader, machines).map(([from, to]) => network.link(from.name, to.name));
  for (const link of links) link.isCut = true;
  stage.writeThrough(leader);
  world.after(200, () => {
    if (!stage.isOver()) stage.corruptNewest(leader);
  });
  stage.later(random.pick([300, 1200, 3000, 7000]), () => {
    for (const link of links) link.isCut = false;
  });
}

const GROWTH_LOOKED_FOR_MS = 6000;
/** More than the logs of many lives keep. */
const EVENTS_WITHOUT_NEWCOMERS = 120;
const EVENT_EVERY_MS = 15;

/**
 * A trust root adds nodes to a leader that is the only voter. As soon as they know it, it goes on alone, and its log
 * moves on without them: a newcomer takes over no state that only one node has signed.
 */
function keepNewcomersBack(stage: Stage, leader: SimulatedMachine): void {
  const { machines, world, network } = stage;
  if (stage.leader() !== leader) return;
  const untilMs = world.nowMs + GROWTH_LOOKED_FOR_MS;
  const others = machines.filter((each) => each !== leader);
  const outward = others.map((each) => network.link(leader.name, each.name));
  const look = (): void => {
    const session = leader.node?.session ?? null;
    const isAlone = session === null || session.membership.group.voters().length === 1;
    if (stage.isOver() || world.nowMs > untilMs || !isAlone || outward.some((link) => link.isCut)) return;
    if (!others.every((each) => (each.node?.session?.trustRoot().version ?? 1) > 1)) {
      world.after(5, look);
      return;
    }
    for (const link of outward) link.isCut = true;
    for (let event = 0; event < EVENTS_WITHOUT_NEWCOMERS; event++) {
      world.after(event * EVENT_EVERY_MS, () => {
        if (!stage.isOver()) stage.writePlainEvent(leader);
      });
    }
    stage.later(EVENTS_WITHOUT_NEWCOMERS * EVENT_EVERY_MS + 500, () => {
      for (const link of outward) link.isCut = false;
    });
  };
  look();
}

/** A leader is paused while another is elected, and resumes before any message can tell it. */
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
 * A follower's proposal is delayed on its way to the leader; another leader decides its copy, and many entries later
 * the first one leads again, and receives its copy.
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

/** A leader proposes a membership change; meanwhile a newer trust root is being appended to the log. */
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
/** Queues whose leader is lying at the moment. */
const LYING = new WeakSet<object>();

/** A leader proposes other events than a follower has sent it, under the follower's id. */
function alterProposals(stage: Stage, leader: SimulatedMachine): void {
  const { machines, random, world } = stage;
  const queue = leader.node?.session?.writes.queue;
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
