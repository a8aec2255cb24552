/** What operators sign: docs/PROTOCOL.md, "Operators' acts". */
import { ByteWriter, asciiToBytes, tag } from "@event-anchoring/protocol";
import type { TrustRoot } from "@event-anchoring/protocol";
import { encodeCommand } from "./command-codec.ts";
import type { OperatorAct, OperatorActCommand, OperatorCommand } from "./command.ts";
import type { SignatureToVerify } from "@event-anchoring/records";

/** The cluster, and how often it was restored: an act is not valid in another cluster, or again after a restore. */
export type ActPlace = Pick<TrustRoot, "clusterId" | "epoch">;

/** tag "operator-act" ‖ cluster id 32 ‖ epoch u32 ‖ length of the name u16 ‖ name ‖ counter u64 ‖ encoded command. */
export function operatorActMessage(
  { clusterId, epoch }: ActPlace,
  { operator, counter }: OperatorAct,
  command: OperatorCommand,
): Uint8Array {
  return new ByteWriter(256)
    .bytes(tag("operator-act"))
    .bytes(clusterId, 32)
    .u32(epoch)
    .lengthPrefixed16(asciiToBytes(operator))
    .u64(counter)
    .bytes(encodeCommand(command))
    .finish();
}

/** The text for an operator whose counter is used up. `usedCounterIn` reads the number back. */
export function usedCounterText({ operator, counter }: OperatorAct): string {
  return `the newest act of ${operator} has counter ${counter}`;
}

/** The counter in such a text; null: it is another text. */
export function usedCounterIn(text: string): number | null {
  const [, digits] = / has counter (\d{1,15})$/u.exec(text) ?? [];
  return digits === undefined ? null : Number(digits);
}

/** The signature of an act, by the key that the trust root has for its operator; null: it lists no such operator. */
export function operatorActSignature(act: OperatorActCommand, trustRoot: TrustRoot): SignatureToVerify | null {
  const operator = trustRoot.operators.find(({ name }) => name === act.operator);
  if (operator === undefined) return null;
  const message = operatorActMessage(trustRoot, act, act.command);
  return { publicKey: operator.vkey.publicKey, message, signature: act.signature, pointer: "/signature" };
}
