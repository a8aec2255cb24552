/** The key with which an operator signs: a file that is given, or the one that a ceremony in one place has made. */
import type { ActSigner, OperatorCall } from "@event-anchoring/control-contract";
import { act, actSignerOf, operatorKeyPath, readSealedKey } from "@event-anchoring/provision";
import { CliError, EXIT } from "../terminal/cli-error.ts";
import type { ProgramIo } from "../terminal/program-io.ts";
import { asUsage, existingPassphrase } from "./root-key.ts";
import { write } from "../files/operators.ts";
import type { Done, Operators } from "../files/operators.ts";

export interface SignKey {
  /** null: that of the cluster folder. */
  readonly path: string | null;
  /** null: the person is asked, if the key is sealed. */
  readonly passphraseFile: string | null;
}

/** @throws CliError */
export async function openActSigner(
  { path: given, passphraseFile }: SignKey,
  { trustRoot, folder }: Operators,
  io: ProgramIo,
): Promise<ActSigner> {
  const path = given ?? (folder === null ? null : operatorKeyPath(folder));
  if (path === null) throw new CliError(EXIT.usage, "sign_key_missing", "give --sign-key: an operator signs this");
  const signer = await asUsage(() => readSealedKey(path, existingPassphrase(passphraseFile, path, io)));
  const found = actSignerOf(trustRoot, signer);
  if (found !== null) return found;
  const message = `version ${trustRoot.version} of the trust root lists no operator with the key in ${path}`;
  throw new CliError(EXIT.usage, "operator_unknown", message);
}

/** Who signs, and whom to hand it to. */
export interface Acting {
  readonly operators: Operators;
  readonly signer: ActSigner;
  /** Over all nodes. */
  readonly timeoutMs: number;
}

/** Signed anew for each node that is asked: what one of them has decided no other takes again. @throws CliError */
export function actDone(call: OperatorCall, { operators, signer, timeoutMs }: Acting): Promise<Done> {
  return write(operators, timeoutMs, (to) => act({ ...to, signer, call }));
}
