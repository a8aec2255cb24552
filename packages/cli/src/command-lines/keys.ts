/** Command lines of operators: API keys. */
import type { Command } from "commander";
import {
  RATE_DEFAULT,
  createKeyCommand,
  listKeysCommand,
  parseId,
  parseLabel,
  parseRate,
  parseScopes,
  revokeKeyCommand,
  rotateKeyCommand,
} from "../commands/keys.ts";
import type { ActOptions, KeysOptions } from "../commands/keys.ts";
import { parseDuration, parseExpiry } from "../terminal/time-options.ts";
import { timeoutMsOf } from "./context.ts";
import type { CommandContext } from "./context.ts";
import { OPERATOR_TIMEOUT_S, actingOf, operatorsOf, withOperator, withSigner } from "./operator-flags.ts";
import type { ActFlags, OperatorFlags } from "./operator-flags.ts";

interface CreateKeyFlags extends ActFlags {
  readonly label: string;
  readonly scopes: string;
  readonly client?: string;
  readonly expires: string;
  readonly rate: string;
}

interface RotateFlags extends ActFlags {
  readonly overlap: string;
  readonly expires: string;
}

export function addKeys(program: Command, context: CommandContext): void {
  const keys = program.command("keys").description("create, list, revoke and rotate API keys");
  addCreate(keys, context);
  addList(keys, context);
  addRevoke(keys, context);
  addRotate(keys, context);
}

function optionsOf(
  called: Pick<KeysOptions, "operators" | "timeoutMs">,
  flags: OperatorFlags,
  { io, printer, aside }: CommandContext,
): KeysOptions {
  return {
    ...called,
    isJson: flags.json === true,
    nowMs: Date.now(),
    printer,
    // A script that reads the secret from stdout reads nothing else there.
    aside: io.stdout.isTTY ? printer : aside,
  };
}

async function listOptions(flags: OperatorFlags, context: CommandContext): Promise<KeysOptions> {
  const operators = await operatorsOf(flags, context);
  return optionsOf({ operators, timeoutMs: timeoutMsOf(flags, context, OPERATOR_TIMEOUT_S) }, flags, context);
}

async function actOptions(flags: ActFlags, context: CommandContext): Promise<ActOptions> {
  const acting = await actingOf(flags, context);
  return { ...optionsOf(acting, flags, context), ...acting };
}

function addCreate(keys: Command, context: CommandContext): void {
  const command = keys
    .command("create")
    .description("make a key and print its secret, once: to stdout alone unless that is a terminal")
    .option("--label <text>", "what the key is for", "anchorctl")
    .option("--scopes <list>", "some of read,write,revoke,admin", "read,write,revoke")
    .option("--client <id>", "API client, 32 hex digits (default: a new one)")
    .option("--expires <when>", "never, a duration such as 30d, or an RFC 3339 time", "90d")
    .option("--rate <tokens>", "tokens a second at each node, or node: as each is configured", String(RATE_DEFAULT));
  withSigner(command).action(async (flags: CreateKeyFlags) => {
    const key = {
      label: parseLabel(flags.label),
      scopes: parseScopes(flags.scopes),
      apiClientId: flags.client === undefined ? null : parseId("--client", flags.client),
      expiresMs: parseExpiry("--expires", flags.expires, Date.now()),
      requestsPerSecond: parseRate(flags.rate),
    };
    context.done(await createKeyCommand(key, await actOptions(flags, context)));
  });
}

function addList(keys: Command, context: CommandContext): void {
  const command = keys.command("list").description("show every key, live or not; never a secret");
  withOperator(command).action(async (flags: OperatorFlags) => {
    context.done(await listKeysCommand(await listOptions(flags, context)));
  });
}

function addRevoke(keys: Command, context: CommandContext): void {
  const command = keys.command("revoke <key_id>").description("make a key powerless on every node, for good");
  withSigner(command).action(async (text: string, flags: ActFlags) => {
    const keyId = parseId("a key id", text);
    context.done(await revokeKeyCommand(keyId, await actOptions(flags, context)));
  });
}

function addRotate(keys: Command, context: CommandContext): void {
  const command = keys
    .command("rotate <key_id>")
    .description("replace a key by one of the same client, label, scopes and rate; print the new secret, once")
    .option("--overlap <duration>", "how long the old key stays good", "24h")
    .option("--expires <when>", "of the new key: never, a duration such as 30d, or an RFC 3339 time", "90d");
  withSigner(command).action(async (text: string, flags: RotateFlags) => {
    const rotation = {
      keyId: parseId("a key id", text),
      overlapMs: parseDuration("--overlap", flags.overlap),
      expiresMs: parseExpiry("--expires", flags.expires, Date.now()),
    };
    context.done(await rotateKeyCommand(rotation, await actOptions(flags, context)));
  });
}
