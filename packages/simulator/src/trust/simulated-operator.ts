/** The operator of a simulated cluster, and forgeries of one. */
import type { ActPlace, Command, OperatorCommand } from "@event-anchoring/ledger";
import { nodeCrypto } from "@event-anchoring/node-crypto";
import { type TrustRootOperator, VKEY_TYPE, assertNever, makeVkey, operatorKeyName } from "@event-anchoring/protocol";
import { TestActs } from "@event-anchoring/testkit/records";
import { simulatedSigner } from "./simulated-crypto.ts";

const OPERATOR = "simulation";
const SIGNER = simulatedSigner("operator simulation");

/** The line of the trust root. */
export function simulatedOperator(clusterName: string): TrustRootOperator {
  const name = operatorKeyName(clusterName, OPERATOR);
  return { name: OPERATOR, vkey: makeVkey(name, VKEY_TYPE.ed25519, SIGNER.publicKey, nodeCrypto.sha256) };
}

/** Ways to forge an operator's act. */
export const FORGERIES = [
  "unsigned",
  "of_a_stranger",
  "for_another_cluster",
  "for_another_epoch",
  "of_nobody",
  "of_another_act",
] as const;
type Forgery = (typeof FORGERIES)[number];

/** Signs each try anew, with a counter of its own. */
export class SimulatedActs {
  readonly #own: TestActs;
  readonly #strangers: TestActs;
  readonly #nobody: TestActs;
  readonly #elsewhere: ActPlace;
  readonly #later: ActPlace;

  constructor(clusterId: Uint8Array) {
    const place = { clusterId, epoch: 0 };
    this.#own = new TestActs(place, OPERATOR, (message) => SIGNER.sign(message));
    const stranger = simulatedSigner("a stranger");
    this.#strangers = new TestActs(place, OPERATOR, (message) => stranger.sign(message));
    this.#nobody = new TestActs(place, "nobody", (message) => SIGNER.sign(message));
    this.#elsewhere = { ...place, clusterId: new Uint8Array(32).fill(1) };
    this.#later = { ...place, epoch: 1 };
  }

  signed(command: OperatorCommand): Command {
    return this.#own.act(command);
  }

  forged(command: OperatorCommand, forgery: Forgery): Command {
    switch (forgery) {
      case "unsigned":
        return command;
      case "of_a_stranger":
        return this.#strangers.act(command);
      case "for_another_cluster":
        return this.#own.act(command, this.#elsewhere);
      case "for_another_epoch":
        return this.#own.act(command, this.#later);
      case "of_nobody":
        return this.#nobody.act(command);
      case "of_another_act":
        return { ...this.#own.act({ kind: "revoke_api_key", keyId: new Uint8Array(16) }), command };
      default:
        return assertNever(forgery);
    }
  }
}
