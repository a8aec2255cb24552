import type { Command, OperatorCommand } from "@event-anchoring/ledger";
import { CREATE_FIRST_KEY, createKeyNamed } from "../trust/key-ring.ts";
import { FORGERIES, SimulatedActs } from "../trust/simulated-operator.ts";
import { type LiarSelf, NoLie } from "./lie.ts";

const TICKS_BETWEEN = 3;

/** Submits operators' acts that no operator of this cluster has signed, or replays of old ones. */
export class ForgedActs extends NoLie {
  readonly #self: LiarSelf;
  readonly #acts: SimulatedActs;
  /** As the operator signed it when the first key was made. */
  readonly #first: Command;
  #ticks = 0;

  constructor(self: LiarSelf) {
    super();
    this.#self = self;
    this.#acts = new SimulatedActs(self.clusterId);
    this.#first = new SimulatedActs(self.clusterId).signed(CREATE_FIRST_KEY);
  }

  override onTick(): void {
    this.#ticks += 1;
    if (this.#ticks % TICKS_BETWEEN !== 0) return;
    const at = this.#ticks / TICKS_BETWEEN;
    const forgery = FORGERIES[at % (FORGERIES.length + 1)];
    const command: OperatorCommand = createKeyNamed(`forged ${at}`);
    this.#self.submit(forgery === undefined ? this.#first : this.#acts.forged(command, forgery));
  }
}
