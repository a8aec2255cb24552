import { type Entry, encodeMessage } from "raft-ts";
import { withOtherEvents } from "../lies/other-bytes.ts";
import { allPairs, pairsOf } from "../machine/machine-pairs.ts";
import type { Stage } from "./scripted-faults.ts";
import type { SimulatedMachine } from "../machine/simulated-machine.ts";

const ROTS_AFTER_MS = 600;
const ALONE_MS = 2000;
const LOOK_MS = 50;
/** Whose disk has suffered once: a second loss may be of what was saved after the first. */
const STRUCK = new WeakSet<SimulatedMachine>();

/**
 * A node whose newest promises cannot be read starts while it is cut off, over uncertified leaves: it may have signed
 * another root over them.
 */
export function rotSlot(stage: Stage, machine: SimulatedMachine): void {
  const { machines, network, invariants, world } = stage;
  const links = allPairs(machines).map(([from, to]) => network.link(from.name, to.name));
  const apart = pairsOf(machine, machines).map(([from, to]) => network.link(from.name, to.name));
  for (const link of links) link.losesCosignatures = true;
  for (let burst = 0; burst < 6; burst++) world.after(burst * 80, () => stage.writePlainEvent(machine));
  const look = (): void => {
    if (stage.isOver() || !apart.every(({ isCut }) => isCut)) return;
    const { certifying, membership } = machine.node?.session ?? {};
    const isOneOfSeveral = (membership?.group.voters().length ?? 0) > 1;
    if (isOneOfSeveral && (certifying?.certifier.newestOwn().length ?? 0) > 0) {
      invariants.fail("nobodySignsWhatItMayHaveForgotten", `${machine.name} has asked nobody`);
    }
    world.after(LOOK_MS, look);
  };
  world.after(ROTS_AFTER_MS, () => {
    if (stage.isOver() || machine.stopped !== null || STRUCK.has(machine)) return;
    STRUCK.add(machine);
    machine.kill();
    const isRotten = machine.volume.rotNewest();
    for (const link of apart) link.isCut = true;
    machine.start();
    if (isRotten) look();
  });
  stage.later(ROTS_AFTER_MS + ALONE_MS, () => {
    for (const link of apart) link.isCut = false;
    for (const link of links) link.losesCosignatures = false;
  });
}

const MUTE_AFTER_MS = 700;
const APART_AFTER_MS = 1500;
const BACK_AFTER_MS = 1700;
const HEARD_WITHIN_MS = 5000;

/**
 * Only the promise file of a follower is set back, within one life: it forgets heads that peers have heard of, and the
 * database has grown beyond them, as the others certify without it. A peer shows such a head, and the node learns from
 * its database that it has forgotten nothing.
 */
export function setHeadsBack(stage: Stage, leader: SimulatedMachine): void {
  const { machines, network, world, invariants } = stage;
  const machine = machines.find((each) => each !== leader && each.stopped === null && !STRUCK.has(each));
  if (machine === undefined) return;
  STRUCK.add(machine);
  const others = machines.filter((each) => each !== machine);
  const { volume } = machine.images();
  const process = machine.process;
  const apart = pairsOf(machine, machines).map(([from, to]) => network.link(from.name, to.name));
  for (let burst = 0; burst < 5; burst++) {
    world.after(burst * 80, () => stage.writePlainEvent(machine));
    world.after(MUTE_AFTER_MS + burst * 80, () => stage.writePlainEvent(stage.random.pick(others)));
  }
  world.after(MUTE_AFTER_MS, () => {
    if (!stage.isOver()) for (const link of apart) link.losesCosignatures = true;
  });
  world.after(APART_AFTER_MS, () => {
    if (!stage.isOver()) for (const link of apart) link.isCut = true;
  });
  world.after(BACK_AFTER_MS, () => {
    if (stage.isOver() || machine.process !== process || machine.stopped !== null) return;
    machine.kill();
    machine.volume.restore(volume);
    machine.start();
  });
  stage.later(BACK_AFTER_MS, () => {
    for (const link of apart) Object.assign(link, { isCut: false, losesCosignatures: false });
  });
  world.after(BACK_AFTER_MS + HEARD_WITHIN_MS, () => {
    const peers = machine.node?.network ?? null;
    if (stage.isOver() || peers === null || others.some(({ name }) => peers.isConnected(name))) return;
    invariants.fail("whoHasForgottenNothingIsHeard", `${machine.name} is refused by all`);
  });
}

const SIGNS_WITHIN_MS = 60;
const SIGNED_LOOK_MS = 0.1;
const ALONE_WITH_A_LIAR_MS = 1500;

/**
 * A follower has signed the newest entry of its log when its power goes, and neither its tables nor its log say that
 * the entry is committed. When it is back, another follower, which lies, is all that it hears, and offers it another
 * entry in that place in the name of a later leader.
 */
export function offerSignedAnew(stage: Stage, leader: SimulatedMachine): void {
  const { machines, network, world } = stage;
  const [liar, ...others] = machines;
  const victim = others.find((each) => each !== leader);
  if (liar === undefined || liar === leader || victim === undefined || !victim.isRunning) return;
  const process = victim.process;
  const apart = pairsOf(victim, machines)
    .filter((pair) => !pair.includes(liar))
    .map(([from, to]) => network.link(from.name, to.name));
  const untilMs = world.nowMs + SIGNS_WITHIN_MS;
  const look = (): void => {
    if (stage.isOver() || victim.process !== process || world.nowMs > untilMs) return;
    const signed = signedEndOf(victim);
    if (signed === null) {
      world.after(SIGNED_LOOK_MS, look);
      return;
    }
    victim.losePower();
    for (const link of apart) link.isCut = true;
    victim.start();
    offer(stage, liar, victim, signed);
    stage.later(ALONE_WITH_A_LIAR_MS, () => {
      for (const link of apart) link.isCut = false;
    });
  };
  stage.writePlainEvent(leader);
  look();
}

/** The last entry of its log, if its promise file alone says that it is committed. */
function signedEndOf({ database, volume }: SimulatedMachine): Entry | null {
  const end = database.rows.at(-1)?.entry ?? null;
  const heads = [...(volume.durable?.signedHeads.values() ?? [])];
  const isSigned = end !== null && heads.some(({ raftIndex }) => raftIndex === end.index);
  return isSigned && database.rowsCommitHint < end.index ? end : null;
}

/** Once they are connected, while its log ends there. */
function offer(stage: Stage, liar: SimulatedMachine, victim: SimulatedMachine, signed: Entry): void {
  const { database, node, stopped } = victim;
  if (stage.isOver() || stopped !== null || database.rows.at(-1)?.entry !== signed) return;
  const connection = liar.node?.network ?? null;
  const session = node?.session ?? null;
  if (session === null || connection?.isConnected(victim.identity.nodeId) !== true) {
    stage.world.after(1, () => offer(stage, liar, victim, signed));
    return;
  }
  const { index } = signed;
  // No election ends in that term.
  const term = session.consensus.view().term + 1000;
  const entry: Entry = { index, term, type: "normal", payload: withOtherEvents(signed.payload) };
  const message = encodeMessage({
    type: "MsgApp",
    from: liar.identity.raftId,
    to: victim.identity.raftId,
    term,
    logTerm: database.rows.at(-2)?.entry.term ?? database.compacted.term,
    index: index - 1,
    commit: index,
    vote: 0n,
    reject: false,
    rejectHint: 0,
    context: new Uint8Array(0),
    snapshot: null,
    entries: [entry],
  });
  connection.send(victim.identity.nodeId, "control", { type: "raft", message });
}
