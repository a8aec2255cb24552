import type { SimulatedMachine } from "./simulated-machine.ts";

/** Both directions between one machine and each of the others. */
export function pairsOf(
  machine: SimulatedMachine,
  machines: readonly SimulatedMachine[],
): (readonly [SimulatedMachine, SimulatedMachine])[] {
  return machines
    .filter((each) => each !== machine)
    .flatMap((each) => [[machine, each] as const, [each, machine] as const]);
}

/** Every two machines, in both directions. */
export function allPairs(machines: readonly SimulatedMachine[]): (readonly [SimulatedMachine, SimulatedMachine])[] {
  return machines.flatMap((from) => machines.filter((to) => to !== from).map((to) => [from, to] as const));
}
