/** Command lines of those who run nodes: joining, other keys, and who is in the group. */
import type { Command } from "commander";
import { NODE_KEY_NAMES } from "@event-anchoring/provision";
import type { NodeKeyName } from "@event-anchoring/provision";
import { CliError, EXIT } from "../terminal/cli-error.ts";
import {
  discardMemberCommand,
  installMemberCommand,
  listMembersCommand,
  prepareFirstMemberCommand,
  prepareMemberCommand,
  rotateMemberCommand,
  settleMemberCommand,
  witnessMemberCommand,
} from "../commands/member.ts";
import { HELP, timeoutMsOf } from "./context.ts";
import type { CommandContext, CommonFlags } from "./context.ts";
import { OPERATOR_TIMEOUT_S, operatorsOf, withOperator } from "./operator-flags.ts";
import type { OperatorFlags } from "./operator-flags.ts";
import { heldChain, withHeld } from "./held-trust-roots.ts";
import type { HeldFlags } from "./held-trust-roots.ts";

interface IdentityFlags extends HeldFlags {
  readonly identity: string;
}

interface PrepareMemberFlags extends IdentityFlags {
  readonly logSeed: string;
  readonly clusterCard?: string;
  readonly card?: string;
}

interface InstallFlags extends CommonFlags {
  readonly identity: string;
  readonly document: string;
  readonly rootThk: string;
  readonly ca: string;
  readonly certificate: string;
}

interface RotateMemberFlags extends IdentityFlags {
  readonly keys: string;
  readonly card?: string;
}

export function addMember(program: Command, context: CommandContext): void {
  const member = program.command("member").description("nodes: prepare one, rotate its keys, list the group");
  addPrepare(member, context);
  addInstall(member, context);
  addRotate(member, context);
  addSettle(member, context);
  addDiscard(member, context);
  addWitness(member, context);
  addList(member, context);
}

function withIdentity(command: Command): Command {
  return withHeld(
    command
      .requiredOption("--identity <folder>", "the node's identity folder")
      .option("--json", "print one JSON object"),
  ).addHelpText("after", HELP);
}

const cardOf = (flags: { readonly card?: string }, nodeId: string): string => flags.card ?? `${nodeId}.card`;

function addPrepare(member: Command, context: CommandContext): void {
  const command = member
    .command("prepare <node_id>")
    .description("make the identity folder of a node that shall join, and its card")
    .requiredOption("--log-seed <file>", "log.seed of a node of the cluster")
    .option("--cluster-card <file>", "of a cluster that has no trust root yet: cluster.card of anchorctl root begin")
    .option("--card <file>", "where the card goes (default: <node_id>.card)");
  withIdentity(command).action(async (nodeId: string, flags: PrepareMemberFlags) => {
    const { identity: identityDir, logSeed, clusterCard } = flags;
    const common = { nodeId, identityDir, logSeed, card: cardOf(flags, nodeId), isJson: flags.json === true };
    context.done(
      clusterCard === undefined
        ? await prepareMemberCommand({ ...common, chain: heldChain(flags, context) }, context.printer)
        : await prepareFirstMemberCommand({ ...common, clusterCard }, context.printer),
    );
  });
}

function addInstall(member: Command, context: CommandContext): void {
  member
    .command("install <node_id>")
    .description(
      "give a node of a new cluster its trust root and its certificate, after checking that they are its own",
    )
    .requiredOption("--identity <folder>", "the node's identity folder, as prepare --cluster-card made it")
    .requiredOption("--document <file>", "trust-root.txt of anchorctl root finish")
    .requiredOption("--root-thk <hex>", "its RootTHK, as it was read aloud")
    .requiredOption("--ca <file>", "ca.crt: the authorities that the trust root pins")
    .requiredOption("--certificate <file>", "what was issued for the node's tls.csr")
    .option("--json", "print one JSON object")
    .addHelpText("after", HELP)
    .action(async (nodeId: string, { identity: identityDir, json, ...files }: InstallFlags) => {
      const options = { nodeId, identityDir, ...files, isJson: json === true };
      context.done(await installMemberCommand(options, context.printer));
    });
}

function addRotate(member: Command, context: CommandContext): void {
  const command = member
    .command("rotate <node_id>")
    .description("make new keys for a node, beside those it uses, and write its new card")
    .option("--keys <list>", "some of auth,cosigner", "cosigner")
    .option("--card <file>", "where the card goes (default: <node_id>.card)");
  withIdentity(command).action(async (nodeId: string, flags: RotateMemberFlags) => {
    const options = {
      nodeId,
      identityDir: flags.identity,
      chain: heldChain(flags, context),
      keys: keyNamesOf(flags.keys),
      card: cardOf(flags, nodeId),
      isJson: flags.json === true,
    };
    context.done(await rotateMemberCommand(options, context.printer));
  });
}

function keyNamesOf(text: string): readonly NodeKeyName[] {
  return text.split(",").map((word) => {
    const name = NODE_KEY_NAMES.find((each) => each === word);
    if (name !== undefined) return name;
    throw new CliError(EXIT.usage, "keys_invalid", `--keys takes ${NODE_KEY_NAMES.join(",")}, or one of them`);
  });
}

function addSettle(member: Command, context: CommandContext): void {
  const command = member
    .command("settle <node_id>")
    .description("write the newest trust root into a node's folder; keys that it names take the old ones' place");
  withIdentity(command).action(async (nodeId: string, flags: IdentityFlags) => {
    const { identity: identityDir } = flags;
    const options = { nodeId, identityDir, chain: heldChain(flags, context), isJson: flags.json === true };
    context.done(await settleMemberCommand(options, context.printer));
  });
}

interface WitnessFlags extends CommonFlags {
  readonly identity: string;
  readonly name: string;
  readonly promiseFile: string;
}

function addWitness(member: Command, context: CommandContext): void {
  member
    .command("witness")
    .description("make a node's key as a witness of other logs, and the file of what it promises them")
    .requiredOption("--identity <folder>", "the node's identity folder")
    .requiredOption("--name <name>", "name of the key, such as witness.example/n1")
    .requiredOption("--promise-file <file>", "on another volume than Postgres")
    .option("--json", "print one JSON object")
    .addHelpText("after", HELP)
    .action(async ({ identity: identityDir, name, promiseFile, json }: WitnessFlags) => {
      const options = { identityDir, name, promiseFile, isJson: json === true };
      context.done(await witnessMemberCommand(options, context.printer));
    });
}

function addDiscard(member: Command, context: CommandContext): void {
  member
    .command("discard")
    .description("delete keys that were drawn by rotate and will not be used")
    .requiredOption("--identity <folder>", "the node's identity folder")
    .option("--json", "print one JSON object")
    .addHelpText("after", HELP)
    .action(async (flags: IdentityFlags) => {
      context.done(await discardMemberCommand(flags.identity, flags.json === true, context.printer));
    });
}

function addList(member: Command, context: CommandContext): void {
  const command = member
    .command("list")
    .description("the group as the leader sees it, beside what the trust root asks");
  withOperator(command).action(async (flags: OperatorFlags) => {
    const operators = await operatorsOf(flags, context);
    const timeoutMs = timeoutMsOf(flags, context, OPERATOR_TIMEOUT_S);
    context.done(await listMembersCommand({ operators, timeoutMs, isJson: flags.json === true }, context.printer));
  });
}
