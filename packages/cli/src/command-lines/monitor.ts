/** The command line of a watch, once or for good. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { Command } from "commander";
import { monitorCommand } from "../commands/monitor.ts";
import type { LastingOptions } from "../commands/monitor.ts";
import { asCliError } from "../files/read-input.ts";
import { stateHome } from "../files/settings.ts";
import { listenAddressOf } from "../monitor/monitor-listener.ts";
import { readWatchedEntities } from "../monitor/watched-entities.ts";
import { readWebhookKeys } from "../monitor/webhook-signature.ts";
import { webhookUrlOf } from "../monitor/webhooks.ts";
import { CliError, EXIT } from "../terminal/cli-error.ts";
import {
  HELP,
  intervalOf,
  repeatable,
  targetOf,
  timeoutMsOf,
  trustOf,
  withTarget,
  withTimeout,
  withTrustRoot,
} from "./context.ts";
import type { CommandContext, TargetFlags, TimeoutFlags, TrustFlags } from "./context.ts";

interface MonitorFlags extends TargetFlags, TrustFlags, TimeoutFlags {
  readonly state?: string;
  readonly interval?: string;
  readonly listen?: string;
  readonly evidence?: string;
  readonly webhook: readonly string[];
  readonly webhookKeys?: string;
  readonly entities?: string;
}

export function addMonitor(program: Command, context: CommandContext): void {
  const command = program
    .command("monitor")
    .description("check that every origin's tree continues the one seen before; raise on rollback and split view")
    .option(
      "--state <file>",
      "what was seen of this cluster (default: ~/.local/state/anchorctl/monitor/<cluster id>.json)",
    )
    .option("--interval <duration>", "look again and again, for example every 30s (default: one look)")
    .option("--listen <address>", "go on after alarms; metrics and health at host:port, such as 127.0.0.1:9110")
    .option("--evidence <folder>", "a file for each alarm (default: <state>.evidence; with --listen or --webhook)")
    .addOption(repeatable("--webhook <url>", "go on after alarms; who is told of heads and alarms; may be repeated"))
    .option("--webhook-keys <file>", "what webhooks are signed with: whsec_… or whsk_…, one a line")
    .option("--entities <file>", "entity fingerprints, one a line: tell revocations that touch them, too");
  withTimeout(withTrustRoot(withTarget(command)))
    .option("--json", "print one JSON object")
    .addHelpText("after", HELP)
    .action(async (flags: MonitorFlags) => {
      const target = targetOf(flags, context);
      const { workingDir, signal = null } = context.io;
      const intervalMs = intervalOf(flags.interval);
      const service = serviceOf(flags);
      if (service !== null && intervalMs === null) {
        throw new CliError(EXIT.usage, "interval_missing", "--listen and --webhook need --interval");
      }
      const options = {
        statePathOf: (clusterId: string) => flags.state ?? defaultStatePath(clusterId, context),
        intervalMs,
        timeoutMs: timeoutMsOf(flags, context),
        isJson: flags.json === true,
        trust: { ...trustOf(flags, context), clusterFolder: target.clusterFolder, workingDir },
        signal,
        service,
      };
      context.done(await monitorCommand(options, target, context.printer));
    });
}

/** Null: it ends at the first alarm. @throws CliError `usage` */
function serviceOf({ listen, evidence, webhook, webhookKeys, entities }: MonitorFlags): LastingOptions | null {
  if (entities !== undefined && webhook.length === 0) {
    throw new CliError(EXIT.usage, "webhook_missing", "--entities needs --webhook");
  }
  if (listen === undefined && webhook.length === 0) return null;
  if (webhook.length > 0 && webhookKeys === undefined) {
    throw new CliError(EXIT.usage, "webhook_keys_missing", "--webhook needs --webhook-keys");
  }
  return {
    listen: listen === undefined ? null : listenAddressOf(listen),
    evidencePath: evidence ?? null,
    webhookUrls: webhook.map(webhookUrlOf),
    webhookKeys: webhookKeys === undefined ? [] : readWebhookKeys(readKeys(webhookKeys)),
    entities: entities === undefined ? null : readWatchedEntities(entities),
  };
}

function readKeys(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch (error) {
    throw asCliError(path, "read", error);
  }
}

function defaultStatePath(clusterId: string, { io }: CommandContext): string {
  const home = stateHome(io.environment);
  if (home !== null) return join(home, "monitor", `${clusterId}.json`);
  throw new CliError(EXIT.usage, "state_missing", "there is no home folder: give --state");
}
