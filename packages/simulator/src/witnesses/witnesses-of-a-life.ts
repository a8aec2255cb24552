import type { TrustRoot } from "@event-anchoring/protocol";
import type { Invariants } from "../machine/invariants.ts";
import type { LifeParts, SimulatedMachine } from "../machine/simulated-machine.ts";
import { simulatedLogKey } from "../trust/simulated-ceremony.ts";
import { Seeded } from "../world/seeded.ts";
import type { World } from "../world/world.ts";
import { SimulatedWitness } from "./simulated-witness.ts";
import { SimulatedWitnesses } from "./simulated-witnesses.ts";
import { WitnessWatch } from "./witness-watch.ts";

export interface WitnessesOfALifeOptions {
  readonly world: World;
  readonly seed: number;
  readonly invariants: Invariants;
  /** Version 1, which lists the witnesses. */
  readonly trustRoot: TrustRoot;
  readonly machines: () => readonly SimulatedMachine[];
}

const LOOK_EVERY_MS = 500;
/** All witnesses are away for one such time of three. */
const OUTAGE_MS = 3000;

export interface WitnessesOfALife {
  readonly parts: Pick<LifeParts, "witnessTransportOf">;
  /** How many lines they have signed. */
  readonly lines: () => number;
}

/** The witnesses of a trust root, watched; nothing if it lists none. */
export function witnessesOfALife(options: WitnessesOfALifeOptions): WitnessesOfALife {
  const { world, seed, invariants, trustRoot, machines } = options;
  if (trustRoot.witnesses.length === 0) return { parts: {}, lines: () => 0 };
  const watch = new WitnessWatch(invariants, trustRoot);
  const onSigned = watch.onSigned.bind(watch);
  const witnesses = new SimulatedWitnesses({
    witnesses: trustRoot.witnesses.map(
      ({ name }) => new SimulatedWitness({ name, logKeyOf: simulatedLogKey, onSigned }),
    ),
    random: new Seeded(seed, 11),
    nowS: () => 1 + Math.floor(world.nowMs / 1000),
    areDown: () => Math.floor(world.nowMs / OUTAGE_MS) % 3 === seed % 3,
  });
  const look = (): void => {
    for (const { name, node } of machines()) watch.everyLineKeptIsGood(name, node);
    world.after(LOOK_EVERY_MS, look);
  };
  world.after(LOOK_EVERY_MS, look);
  const witnessTransportOf: LifeParts["witnessTransportOf"] = (process) => witnesses.transportOf(process);
  return { parts: { witnessTransportOf }, lines: () => watch.linesSigned };
}
