import { type Clients, operationOf } from "./clients.ts";
import { type ClusterPlan, lastVersionOf } from "../trust/cluster-plan.ts";
import type { Seeded } from "../world/seeded.ts";
import type { SimulatedMachine } from "../machine/simulated-machine.ts";
import type { LifeTrace } from "../world/life-trace.ts";
import type { World } from "../world/world.ts";

export interface GrowthOptions {
  readonly world: World;
  readonly random: Seeded;
  readonly trace: LifeTrace;
  readonly plan: ClusterPlan;
  /** Founders first. */
  readonly machines: readonly SimulatedMachine[];
  readonly clients: Pick<Clients, "write">;
  readonly trustRootOf: (version: number) => string;
}

const LOOK_EVERY_MS = 50;
/** An operator who gets no answer retries after this long. */
const ASK_AGAIN_MS = 2000;
/** Longer than a leader waits for certificates before it holds clients back. */
const STALLED_AFTER_MS = 7000;

/**
 * The operators of a cluster that grows: they submit the trust root, and machines die at every step from there to the
 * last promotion.
 */
export class Growth {
  readonly #options: GrowthOptions;
  readonly #founders: readonly SimulatedMachine[];
  readonly #newcomers: readonly SimulatedMachine[];
  #group = "";
  #askedMs = Number.NEGATIVE_INFINITY;
  #grownMs = Number.POSITIVE_INFINITY;
  #mayStrike = true;
  #asked = 0;

  constructor(options: GrowthOptions) {
    this.#options = options;
    const { machines, plan } = options;
    this.#founders = machines.slice(0, plan.founders);
    this.#newcomers = machines.slice(plan.founders);
  }

  /** The last version of the plan is applied somewhere. */
  get isDone(): boolean {
    return this.#version() >= lastVersionOf(this.#options.plan);
  }

  start(): void {
    const { world, random, plan } = this.#options;
    if (plan.isGivenUp) for (const machine of this.#newcomers) machine.burnDown();
    world.after(random.between(500, 4000), () => this.#look());
  }

  /** From now on no machine dies; the operators go on. */
  endStrikes(): void {
    this.#mayStrike = false;
  }

  #look(): void {
    const { world } = this.#options;
    const version = this.#version();
    if (version < 2) this.#ask(2);
    else if (this.#options.plan.isGivenUp) this.#giveUp(version);
    this.#onStep(version);
    if (!this.isDone || this.#mayStrike) world.after(LOOK_EVERY_MS, () => this.#look());
  }

  #giveUp(version: number): void {
    const { world } = this.#options;
    if (version < 3 && world.nowMs - this.#grownMs > STALLED_AFTER_MS) this.#ask(3);
  }

  /** A version, or the group, is another one than at the last look. */
  #onStep(version: number): void {
    const { random, trace, world } = this.#options;
    const group = this.#groupNow();
    if (version < 2 || group === this.#group) return;
    const isFirst = this.#group === "";
    this.#group = group;
    trace.note("grows", `version ${version}`, group);
    if (isFirst) this.#grownMs = world.nowMs;
    const [founder] = this.#founders.length > 1 ? [random.pick(this.#founders)] : [];
    const { isGivenUp } = this.#options.plan;
    // Four of five, or two of three, are enough once all of them vote and sign.
    if (isFirst && founder !== undefined && (isGivenUp || random.chance(0.5))) founder.burnDown();
    else if (this.#mayStrike && !isGivenUp && random.chance(0.8)) this.#strike(random.pick(this.#options.machines));
  }

  #strike(machine: SimulatedMachine): void {
    const { random, world } = this.#options;
    if (random.chance(0.5)) machine.kill();
    else machine.losePower();
    world.after(random.pick([5, 100, 700, 3000]), () => {
      if (machine.stopped === null) machine.start();
    });
  }

  #ask(version: number): void {
    const { clients, random, trustRootOf, world } = this.#options;
    if (world.nowMs - this.#askedMs < ASK_AGAIN_MS) return;
    this.#askedMs = world.nowMs;
    this.#asked += 1;
    const command = { kind: "trust_root", document: trustRootOf(version) } as const;
    const made = { command, isIdempotent: true, forbidden: null, contents: [] };
    clients.write(operationOf(`growth.${this.#asked}`, made), random.pick(this.#founders), 0, () => {});
  }

  #version(): number {
    return Math.max(0, ...this.#options.machines.map(({ node }) => node?.session?.trustRoot().version ?? 0));
  }

  /** By raft ids, as the most advanced machine knows it. */
  #groupNow(): string {
    const sessions = this.#options.machines.flatMap(({ node }) => node?.session ?? []);
    const [ahead] = sessions.toSorted((left, right) => right.state.appliedIndex - left.state.appliedIndex);
    if (ahead === undefined) return this.#group;
    const { voters, learners } = ahead.membership.group.confState;
    return `${voters.length} voters, ${learners.length} learners`;
  }
}
