/** Command lines of a cluster's beginning, when its keys are made apart. */
import type { Command } from "commander";
import { QUORUM_SHAPES, describeQuorumShape } from "@event-anchoring/provision";
import type { FirstTrustRoot } from "@event-anchoring/provision";
import { CliError, EXIT } from "../terminal/cli-error.ts";
import { beginCommand, draftCommand, finishCommand } from "../commands/root-first.ts";
import { caPinOf, readNodeCard, readPublicVkey } from "../commands/root-proposal.ts";
import { parseExpiry } from "../terminal/time-options.ts";
import { HELP, collect } from "./context.ts";
import type { CommandContext, CommonFlags } from "./context.ts";

/** What quorums buy. */
export const SHAPES_HELP = `
Quorums, cosigning nodes of active ones:
${QUORUM_SHAPES.map((shape) => `  ${describeQuorumShape(shape)}`).join("\n")}
`;

interface DraftFlags extends CommonFlags {
  readonly out: string;
  readonly node: readonly string[];
  readonly rootKey: readonly string[];
  readonly operator: readonly string[];
  readonly rootThreshold: string;
  readonly ca: readonly string[];
  readonly quorum: string;
  readonly expires: string;
}

export function addFirstTrustRoot(root: Command, context: CommandContext): void {
  addBegin(root, context);
  addDraft(root, context);
  addFinish(root, context);
}

function addBegin(root: Command, context: CommandContext): void {
  root
    .command("begin <folder>")
    .description("make a new cluster's id and log seed, before any of its keys")
    .requiredOption("--cluster-name <name>", "a host name, perhaps with a path; it never changes")
    .option("--json", "print one JSON object")
    .addHelpText("after", HELP)
    .action(async (folder: string, flags: CommonFlags & { readonly clusterName: string }) => {
      const options = { folder, clusterName: flags.clusterName, isJson: flags.json === true };
      context.done(await beginCommand(options, context.printer));
    });
}

function addDraft(root: Command, context: CommandContext): void {
  root
    .command("draft")
    .description("write a new cluster's first version, from the public halves of keys that were made apart")
    .requiredOption("--out <file>", "where the version goes, to be signed")
    .option("--node <card>", "a node that is active from the start; repeat for each", collect, [])
    .option("--root-key <file>", "the .pub file of a root key; repeat for each", collect, [])
    .requiredOption("--root-threshold <n>", "how many root keys must sign")
    .option("--operator <file>", "the .pub file of an operator, who may make API keys; repeat for each", collect, [])
    .option("--ca <pin or certificate>", "an authority whose certificates nodes accept; may be repeated", collect, [])
    .requiredOption("--quorum <n>", "how many nodes must cosign")
    .option("--expires <when>", "a duration such as 365d, or an RFC 3339 time", "365d")
    .option("--json", "print one JSON object")
    .addHelpText("after", SHAPES_HELP + HELP)
    .action((flags: DraftFlags) => {
      const options = { first: firstOf(flags, Date.now()), out: flags.out, isJson: flags.json === true };
      context.done(draftCommand(options, context.printer));
    });
}

function firstOf(flags: DraftFlags, nowMs: number): FirstTrustRoot {
  if (flags.operator.length === 0) {
    throw new CliError(EXIT.usage, "operator_missing", "give --operator: without one no API key can be made");
  }
  const expiresMs = parseExpiry("--expires", flags.expires, nowMs);
  if (expiresMs === 0) throw new CliError(EXIT.usage, "expiry_invalid", "a trust root always expires");
  return {
    nodes: flags.node.map(readNodeCard),
    rootKeys: flags.rootKey.map(readPublicVkey),
    operatorKeys: flags.operator.map(readPublicVkey),
    rootThreshold: countOf("--root-threshold", flags.rootThreshold),
    cas: flags.ca.map(caPinOf),
    quorum: countOf("--quorum", flags.quorum),
    issuedS: Math.floor(nowMs / 1000),
    expiresS: Math.floor(expiresMs / 1000),
  };
}

/** @throws CliError `usage` */
export function countOf(option: string, text: string): number {
  if (/^[1-9][0-9]{0,3}$/u.test(text)) return Number(text);
  throw new CliError(EXIT.usage, "count_invalid", `${option} takes a number from 1 on`);
}

function addFinish(root: Command, context: CommandContext): void {
  root
    .command("finish <version...>")
    .description("put the signatures of a first version together (copies signed apart), and write it with its pin")
    .requiredOption("--out <folder>", "where trust-root.txt and root-thk.txt go")
    .option("--json", "print one JSON object")
    .addHelpText("after", HELP)
    .action(async (paths: readonly string[], flags: CommonFlags & { readonly out: string }) => {
      const options = { paths, folder: flags.out, isJson: flags.json === true };
      context.done(await finishCommand(options, context.printer));
    });
}
