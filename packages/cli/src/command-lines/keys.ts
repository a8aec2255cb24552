/** Command lines of operators: API keys. */
import type { Command } from "commander";
import {
  createKeyCommand,
  listKeysCommand,
  parseId,
  parseLabel,
  parseRate,
  parseScopes,
  revokeKeyCommand,
  rotateKeyCommand,
} from "../commands/keys.ts";
import type { KeysOptions } from "../commands/keys.ts";
import { openOperators } from "../operators.ts";
import { parseDuration, parseExpiry } from "../time-options.ts";
import { HELP, collect, timeoutMsOf, trustOf, withTrustRoot } from "./context.ts";
import type { CommandContext, CommonFlags, TimeoutFlags, TrustFlags } from "./context.ts";

interface OperatorFlags extends CommonFlags, TrustFlags, TimeoutFlags {
  readonly operatorCert?: string;
  readonly operatorKey?: string;
  readonly ca?: string;
  readonly node: readonly string[];
  readonly cluster?: string;
}

interface CreateFlags extends OperatorFlags {
  readonly label: string;
  readonly scopes: string;
  readonly client?: string;
  readonly expires: string;
  readonly rate?: string;
}

interface RotateFlags extends OperatorFlags {
  readonly overlap: string;
  readonly expires?: string;
}

const OPERATOR_TIMEOUT_S = 10;

const OPERATOR_HELP = `
Operators call the control planes, not the API. From a cluster folder everything is found there: its CA issues a
certificate for the occasion. Elsewhere give certificate, key and CA (certificates of operators live a day at most),
the nodes and the trust root.
`;

export function addKeys(program: Command, context: CommandContext): void {
  const keys = program.command("keys").description("create, list, revoke and rotate API keys");
  addCreate(keys, context);
  addList(keys, context);
  addRevoke(keys, context);
  addRotate(keys, context);
}

function withOperator(command: Command): Command {
  return withTrustRoot(
    command
      .option("--cluster <folder>", "folder with cluster.json (default: the nearest .anchoring)")
      .option("--operator-cert <file>", "operator's certificate, PEM")
      .option("--operator-key <file>", "its private key, PEM, mode 600")
      .option("--ca <file>", "certificate of the cluster's CA, PEM")
      .option("--node <id@host:port>", "control plane of a node; may be repeated", collect, [])
      .option("--timeout <seconds>", `how long to try, over all nodes (default: ${OPERATOR_TIMEOUT_S})`)
      .option("--json", "print one JSON object"),
  ).addHelpText("after", OPERATOR_HELP + HELP);
}

async function keysOptions(flags: OperatorFlags, context: CommandContext): Promise<KeysOptions> {
  const { surroundings, printer, settings } = context;
  const { stdout, workingDir } = surroundings;
  const { environment, file } = settings();
  const operators = await openOperators({
    certificate: flags.operatorCert ?? null,
    key: flags.operatorKey ?? null,
    ca: flags.ca ?? null,
    nodes: flags.node,
    cluster: flags.cluster ?? environment.cluster ?? file.cluster,
    ...trustOf(flags, context),
    workingDir,
  });
  return {
    operators,
    timeoutMs: timeoutMsOf(flags, context, OPERATOR_TIMEOUT_S),
    isJson: flags.json === true,
    nowMs: Date.now(),
    printer,
    // A script that reads the secret from stdout reads nothing else there.
    aside: stdout.isTTY ? printer : context.aside,
  };
}

function addCreate(keys: Command, context: CommandContext): void {
  const command = keys
    .command("create")
    .description("make a key and print its secret, once: to stdout alone unless that is a terminal")
    .option("--label <text>", "what the key is for", "anchorctl")
    .option("--scopes <list>", "some of read,write,revoke,admin", "read,write,revoke")
    .option("--client <id>", "API client, 32 hex digits (default: a new one)")
    .option("--expires <when>", "never, a duration such as 30d, or an RFC 3339 time", "never")
    .option("--rate <requests>", "requests per second at each node (default: as the nodes are configured)");
  withOperator(command).action(async (flags: CreateFlags) => {
    const key = {
      label: parseLabel(flags.label),
      scopes: parseScopes(flags.scopes),
      apiClientId: flags.client === undefined ? null : parseId("--client", flags.client),
      expiresMs: parseExpiry("--expires", flags.expires, Date.now()),
      requestsPerSecond: flags.rate === undefined ? 0 : parseRate(flags.rate),
    };
    context.done(await createKeyCommand(key, await keysOptions(flags, context)));
  });
}

function addList(keys: Command, context: CommandContext): void {
  const command = keys.command("list").description("show every key, live or not; never a secret");
  withOperator(command).action(async (flags: OperatorFlags) => {
    context.done(await listKeysCommand(await keysOptions(flags, context)));
  });
}

function addRevoke(keys: Command, context: CommandContext): void {
  const command = keys.command("revoke <key_id>").description("make a key powerless on every node, for good");
  withOperator(command).action(async (text: string, flags: OperatorFlags) => {
    const keyId = parseId("a key id", text);
    context.done(await revokeKeyCommand(keyId, await keysOptions(flags, context)));
  });
}

function addRotate(keys: Command, context: CommandContext): void {
  const command = keys
    .command("rotate <key_id>")
    .description("replace a key by one of the same client, label, scopes and rate; print the new secret, once")
    .option("--overlap <duration>", "how long the old key stays good", "24h")
    .option("--expires <when>", "of the new key: never, a duration, or an RFC 3339 time (default: never)");
  withOperator(command).action(async (text: string, flags: RotateFlags) => {
    const rotation = {
      keyId: parseId("a key id", text),
      overlapMs: parseDuration("--overlap", flags.overlap),
      expiresMs: flags.expires === undefined ? null : parseExpiry("--expires", flags.expires, Date.now()),
    };
    context.done(await rotateKeyCommand(rotation, await keysOptions(flags, context)));
  });
}
