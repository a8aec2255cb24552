import { isOperatorCommand, operatorActMessage } from "@event-anchoring/ledger";
import type { ActPlace, Command, OperatorActCommand, OperatorCommand } from "@event-anchoring/ledger";

/** Signs operators' commands as an operator. */
export class TestActs {
  readonly #place: ActPlace;
  readonly #operator: string;
  readonly #sign: (message: Uint8Array) => Uint8Array;
  #counter = 0;

  /** @param operator the name in the trust root @param sign with the key that the trust root has for it */
  constructor(place: ActPlace, operator: string, sign: (message: Uint8Array) => Uint8Array) {
    this.#place = place;
    this.#operator = operator;
    this.#sign = sign;
  }

  /** Counter of the newest act. */
  get counter(): number {
    return this.#counter;
  }

  /** Turns an operator's command into an act with a counter of its own; other commands stay as they are. */
  signed(command: Command): Command {
    return isOperatorCommand(command) ? this.act(command) : command;
  }

  /** @param place where the act is to count, if it is another one */
  act(command: OperatorCommand, place: ActPlace = this.#place): OperatorActCommand {
    this.#counter += 1;
    const act = { operator: this.#operator, counter: this.#counter };
    return { kind: "operator_act", ...act, signature: this.#sign(operatorActMessage(place, act, command)), command };
  }
}
