/** Command lines of the holders of root keys: the trust root and its versions. */
import type { Command } from "commander";
import type { TrustRootChain } from "@event-anchoring/protocol";
import type { TrustRootChange } from "@event-anchoring/provision";
import { CliError, EXIT } from "../terminal/cli-error.ts";
import {
  caPinOf,
  isFirstVersion,
  parseWitness,
  proposeCommand,
  readNodeCard,
  readPublicVkey,
  showNewestCommand,
  showProposalCommand,
  signRootCommand,
} from "../commands/root-proposal.ts";
import { fetchRootCommand, submitRootCommand } from "../commands/root-submit.ts";
import { parseDuration, parseExpiry } from "../terminal/time-options.ts";
import { SHAPES_HELP, addFirstTrustRoot, countOf } from "./first-trust-root.ts";
import { HELP, collect, timeoutMsOf, trustOf } from "./context.ts";
import type { CommandContext } from "./context.ts";
import { folderOf, heldChain, withHeld } from "./held-trust-roots.ts";
import type { HeldFlags } from "./held-trust-roots.ts";
import { ROOT_INIT, addInit } from "./key-init.ts";
import { OPERATOR_TIMEOUT_S, operatorsOf, withOperator } from "./operator-flags.ts";
import type { OperatorFlags } from "./operator-flags.ts";

export { countOf } from "./first-trust-root.ts";

interface ProposeFlags extends HeldFlags {
  readonly out: string;
  readonly addLearner: readonly string[];
  readonly addActive: readonly string[];
  readonly promote: readonly string[];
  readonly retire: readonly string[];
  readonly distrust: readonly string[];
  readonly newKeys: readonly string[];
  readonly addRootKey: readonly string[];
  readonly removeRootKey: readonly string[];
  readonly rootThreshold?: string;
  readonly addCa: readonly string[];
  readonly removeCa: readonly string[];
  readonly quorum?: string;
  readonly addOperator: readonly string[];
  readonly removeOperator: readonly string[];
  readonly addWitness: readonly string[];
  readonly removeWitness: readonly string[];
  readonly witnesses?: string;
  readonly expires?: string;
  readonly loseOrigin: readonly string[];
  readonly raiseEpoch?: true;
}

interface SignRootFlags extends HeldFlags {
  readonly key: string;
  readonly passphraseFile?: string;
  readonly expect?: string;
}

interface SubmitFlags extends OperatorFlags {
  readonly wait: string | false;
  readonly out?: string;
}

export function addRoot(program: Command, context: CommandContext): void {
  const root = program.command("root").description("trust root: keys, versions, who is a node and who may cosign");
  addFirstTrustRoot(root, context);
  addInit(root, ROOT_INIT, context);
  addPropose(root, context);
  addSignRoot(root, context);
  addSubmitRoot(root, context);
  addShow(root, context);
  addFetch(root, context);
}

/** The versions that a proposal must follow; null: it is a first version, and follows none. @throws CliError */
function chainBefore(path: string, flags: HeldFlags, context: CommandContext): TrustRootChain | null {
  return isFirstVersion(path) ? null : heldChain(flags, context);
}

function addPropose(root: Command, context: CommandContext): void {
  const command = root
    .command("propose")
    .description("write the next version: the newest one held here with the changes that are named")
    .requiredOption("--out <file>", "where the proposal goes")
    .option("--add-learner <card>", "a new node that first follows; may be repeated", collect, [])
    .option("--add-active <card>", "a new node that votes and cosigns once it follows", collect, [])
    .option("--promote <node>", "a learner becomes active", collect, [])
    .option("--retire <node>", "a node leaves in good standing; its origin is closed", collect, [])
    .option("--distrust <node>", "a node's keys may be in wrong hands", collect, [])
    .option("--new-keys <card>", "a node has other keys", collect, [])
    .option("--add-root-key <file>", "the .pub file of a new root key", collect, [])
    .option("--remove-root-key <label>", "a root key that counts no more", collect, [])
    .option("--root-threshold <n>", "how many root keys must sign")
    .option("--add-ca <pin or certificate>", "an authority whose certificates are accepted", collect, [])
    .option("--remove-ca <pin or certificate>", "one that is accepted no more", collect, [])
    .option("--quorum <n>", "how many nodes must cosign")
    .option("--add-operator <file>", "the .pub file of an operator, who may make API keys", collect, [])
    .option("--remove-operator <name>", "an operator whose signature counts no more", collect, [])
    .option("--add-witness <name vkey url>", "somebody outside who cosigns, three words in quotes", collect, [])
    .option("--remove-witness <name>", "a witness who does so no more", collect, [])
    .option("--witnesses <m>", "how many witnesses must cosign (for the first ones: more than half)")
    .option("--expires <when>", "a duration such as 365d, or an RFC 3339 time (default: as long as before)")
    .option("--lose-origin <fingerprint>", "an origin that is given up: it is never written again", collect, [])
    .option("--raise-epoch", "after a restore of the whole cluster")
    .option("--json", "print one JSON object");
  withHeld(command)
    .addHelpText("after", SHAPES_HELP + HELP)
    .action((flags: ProposeFlags) => {
      const options = { chain: heldChain(flags, context), isJson: flags.json === true };
      context.done(proposeCommand(changeOf(flags, Date.now()), flags.out, options, context.printer));
    });
}

function changeOf(flags: ProposeFlags, nowMs: number): TrustRootChange {
  const expiresMs = flags.expires === undefined ? null : parseExpiry("--expires", flags.expires, nowMs);
  if (expiresMs === 0) throw new CliError(EXIT.usage, "expiry_invalid", "a trust root always expires");
  return {
    issuedS: Math.floor(nowMs / 1000),
    ...(expiresMs === null ? {} : { expiresS: Math.floor(expiresMs / 1000) }),
    learners: flags.addLearner.map(readNodeCard),
    actives: flags.addActive.map(readNodeCard),
    promote: flags.promote,
    retire: flags.retire,
    distrust: flags.distrust,
    newKeys: flags.newKeys.map(readNodeCard),
    addRootKeys: flags.addRootKey.map(readPublicVkey),
    removeRootKeys: flags.removeRootKey,
    ...(flags.rootThreshold === undefined ? {} : { rootThreshold: countOf("--root-threshold", flags.rootThreshold) }),
    addCas: flags.addCa.map(caPinOf),
    removeCas: flags.removeCa.map(caPinOf),
    ...(flags.quorum === undefined ? {} : { quorum: countOf("--quorum", flags.quorum) }),
    addOperators: flags.addOperator.map(readPublicVkey),
    removeOperators: flags.removeOperator,
    addWitnesses: flags.addWitness.map(parseWitness),
    removeWitnesses: flags.removeWitness,
    ...(flags.witnesses === undefined ? {} : { witnessQuorum: countOf("--witnesses", flags.witnesses) }),
    loseOrigins: flags.loseOrigin,
    raiseEpoch: flags.raiseEpoch === true,
  };
}

function addSignRoot(root: Command, context: CommandContext): void {
  const command = root
    .command("sign <proposal>")
    .description("show a proposal, ask, and add the signature of one root key; needs no network")
    .requiredOption("--key <file>", "the root key")
    .option("--passphrase-file <file>", "its passphrase is the first line of a file (default: ask)")
    .option("--expect <RootTHK>", "sign without a question if the proposal has this RootTHK")
    .option("--json", "print one JSON object");
  withHeld(command)
    .addHelpText("after", HELP)
    .action(async (path: string, flags: SignRootFlags) => {
      const options = {
        path,
        key: flags.key,
        passphraseFile: flags.passphraseFile ?? null,
        expected: flags.expect?.replaceAll(" ", "").toLowerCase() ?? null,
        chain: chainBefore(path, flags, context),
        isJson: flags.json === true,
      };
      context.done(await signRootCommand(options, context.io, context.printer, context.aside));
    });
}

function addSubmitRoot(root: Command, context: CommandContext): void {
  const command = root
    .command("submit <proposal...>")
    .description("propose a version that is signed enough (copies signed apart are put together), and wait")
    .option("--wait <duration>", "how long to wait until the group is as it asks", "2m")
    .option("--no-wait", "do not wait for the group")
    .option("--out <folder>", "folder that keeps the versions (default: the cluster folder, if there is one)");
  withOperator(command).action(async (paths: readonly string[], flags: SubmitFlags) => {
    const options = {
      paths,
      chain: heldChain(flags, context),
      operators: await operatorsOf(flags, context),
      timeoutMs: timeoutMsOf(flags, context, OPERATOR_TIMEOUT_S),
      waitMs: flags.wait === false ? 0 : parseDuration("--wait", flags.wait),
      folder: flags.out ?? keptIn(flags, context),
      isJson: flags.json === true,
    };
    context.done(await submitRootCommand(options, context.printer, context.aside));
  });
}

/** Where the versions that are judged by are kept, unless they were given one by one. */
function keptIn(flags: OperatorFlags, context: CommandContext): string | null {
  return trustOf(flags, context).trustRoots.length > 0 ? null : folderOf(flags, context);
}

function addShow(root: Command, context: CommandContext): void {
  const command = root
    .command("show [proposal]")
    .description("show a proposal, or the newest local version, and what it changes")
    .option("--json", "print one JSON object");
  withHeld(command)
    .addHelpText("after", HELP)
    .action((path: string | undefined, flags: HeldFlags) => {
      const { printer } = context;
      const isJson = flags.json === true;
      const code =
        path === undefined
          ? showNewestCommand({ chain: heldChain(flags, context), isJson }, printer)
          : showProposalCommand(path, { chain: chainBefore(path, flags, context), isJson }, printer);
      context.done(code);
    });
}

function addFetch(root: Command, context: CommandContext): void {
  const command = root
    .command("fetch")
    .description("bring the versions held here up to the cluster's newest, verified from the pin")
    .option("--out <folder>", "folder that keeps the versions (default: the cluster folder)");
  withOperator(command).action(async (flags: OperatorFlags & { readonly out?: string }) => {
    const folder = flags.out ?? keptIn(flags, context);
    if (folder === null) throw new CliError(EXIT.usage, "folder_missing", "give --out: where the versions go");
    const options = {
      chain: heldChain(flags, context),
      operators: await operatorsOf(flags, context),
      timeoutMs: timeoutMsOf(flags, context, OPERATOR_TIMEOUT_S),
      folder,
      isJson: flags.json === true,
    };
    context.done(await fetchRootCommand(options, context.printer));
  });
}
