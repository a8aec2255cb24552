/** Command lines that draw a person's key: of a holder of root keys, of an operator. */
import type { Command } from "commander";
import { initKeyCommand } from "../commands/root-key.ts";
import type { KeyRole } from "../commands/root-key.ts";
import { HELP } from "./context.ts";
import type { CommandContext } from "./context.ts";
import { heldChain, withHeld } from "./held-trust-roots.ts";
import type { HeldFlags } from "./held-trust-roots.ts";

interface InitFlags extends HeldFlags {
  readonly label: string;
  readonly clusterName?: string;
  readonly plain?: true;
  readonly passphraseFile?: string;
}

export interface KeyInit {
  readonly role: KeyRole;
  readonly description: string;
  /** What --label takes. */
  readonly label: string;
}

export const ROOT_INIT: KeyInit = {
  role: "root",
  description: "make an offline root key; do it on a machine without a network",
  label: "whose key it is: a–z, 0–9 and hyphens",
};

export const OPERATOR_INIT: KeyInit = {
  role: "operator",
  description: "make an operator's key; it counts once the trust root names it",
  label: "the operator's name: a–z, 0–9 and hyphens, a letter first",
};

export function addInit(group: Command, { role, description, label }: KeyInit, context: CommandContext): void {
  const command = group
    .command("init <file>")
    .description(description)
    .requiredOption("--label <name>", label)
    .option("--cluster-name <name>", "the cluster it is for (default: that of the trust root held here)")
    .option("--passphrase-file <file>", "seal the key with the first line of a file (default: ask)")
    .option("--plain", "do not seal it: the file alone is then the key")
    .option("--json", "print one JSON object");
  withHeld(command)
    .addHelpText("after", HELP)
    .action(async (path: string, flags: InitFlags) => {
      const options = {
        role,
        path,
        label: flags.label,
        clusterName: flags.clusterName ?? heldChain(flags, context).newest.trustRoot.clusterName,
        isPlain: flags.plain === true,
        passphraseFile: flags.passphraseFile ?? null,
        isJson: flags.json === true,
      };
      context.done(await initKeyCommand(options, context.io, context.printer));
    });
}
