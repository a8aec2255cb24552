/** What the command lines of operators share: whom they call, and with which credential. */
import type { Command } from "commander";
import { openActSigner } from "../commands/act-signer.ts";
import type { Acting } from "../commands/act-signer.ts";
import { openOperators } from "../files/operators.ts";
import type { Operators } from "../files/operators.ts";
import { HELP, repeatable, timeoutMsOf, trustOf, withTrustRoot } from "./context.ts";
import type { CommandContext, CommonFlags, TimeoutFlags, TrustFlags } from "./context.ts";

export interface OperatorFlags extends CommonFlags, TrustFlags, TimeoutFlags {
  readonly operatorCert?: string;
  readonly operatorKey?: string;
  readonly ca?: string;
  readonly node: readonly string[];
  readonly cluster?: string;
}

export const OPERATOR_TIMEOUT_S = 10;

const OPERATOR_HELP = `
Operators call the control planes, not the API. From a cluster folder everything is found there: its CA issues a
certificate for the occasion. Elsewhere give certificate, key and CA (certificates of operators live a day at most),
the nodes and the trust root.
`;

export function withOperator(command: Command): Command {
  return withTrustRoot(
    command
      .option("--cluster <folder>", "folder with cluster.json (default: the nearest .anchoring)")
      .option("--operator-cert <file>", "operator's certificate, PEM")
      .option("--operator-key <file>", "its private key, PEM, mode 600")
      .option("--ca <file>", "certificate of the cluster's CA, PEM")
      .addOption(repeatable("--node <id@host:port>", "control plane of a node; may be repeated"))
      .option("--timeout <seconds>", `how long to try, over all nodes (default: ${OPERATOR_TIMEOUT_S})`)
      .option("--json", "print one JSON object"),
  ).addHelpText("after", OPERATOR_HELP + HELP);
}

/** Flags of the commands that an operator signs. */
export interface ActFlags extends OperatorFlags {
  readonly signKey?: string;
  readonly passphraseFile?: string;
}

export function withSigner(command: Command): Command {
  return withOperator(
    command
      .option("--sign-key <file>", "key of an operator whom the trust root lists (default: that of the cluster folder)")
      .option("--passphrase-file <file>", "its passphrase is the first line of a file (default: ask)"),
  );
}

/** @throws CliError */
export async function actingOf(flags: ActFlags, context: CommandContext): Promise<Acting> {
  const operators = await operatorsOf(flags, context);
  const key = { path: flags.signKey ?? null, passphraseFile: flags.passphraseFile ?? null };
  const signer = await openActSigner(key, operators, context.io);
  return { operators, signer, timeoutMs: timeoutMsOf(flags, context, OPERATOR_TIMEOUT_S) };
}

/** @throws CliError */
export async function operatorsOf(flags: OperatorFlags, context: CommandContext): Promise<Operators> {
  const { io, settings } = context;
  const { environment, file } = settings();
  return openOperators({
    certificate: flags.operatorCert ?? null,
    key: flags.operatorKey ?? null,
    ca: flags.ca ?? null,
    nodes: flags.node,
    cluster: flags.cluster ?? environment.cluster ?? file.cluster,
    ...trustOf(flags, context),
    workingDir: io.workingDir,
  });
}
