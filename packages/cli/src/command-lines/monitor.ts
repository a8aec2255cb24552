/** The command line of a watch, once or for good. */
import type { Command } from "commander";
import { monitorCommand } from "../commands/monitor.ts";
import type { LastingOptions } from "../commands/monitor.ts";
import { listenAddressOf } from "../monitor/monitor-listener.ts";
import { readWatchedEntities } from "../monitor/watched-entities.ts";
import { webhookUrlOf } from "../monitor/webhooks.ts";
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
import type { CommandContext } from "./context.ts";
import { checkMonitor } from "./check-monitor.ts";
import { assertWhole, defaultStatePath, webhookKeysIn } from "./monitor-flags.ts";
import type { MonitorFlags } from "./monitor-flags.ts";

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
    .option("--check", "read all settings and files, do nothing, and print every fault")
    .option("--json", "print one JSON object")
    .addHelpText("after", HELP)
    .action(async (flags: MonitorFlags) => {
      if (flags.check === true) return checkMonitor(flags, context);
      const target = targetOf(flags, context);
      const { workingDir, signal = null } = context.io;
      const intervalMs = intervalOf(flags.interval);
      assertWhole(flags, intervalMs);
      const service = serviceOf(flags);
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
  if (listen === undefined && webhook.length === 0) return null;
  return {
    listen: listen === undefined ? null : listenAddressOf(listen),
    evidencePath: evidence ?? null,
    webhookUrls: webhook.map(webhookUrlOf),
    webhookKeys: webhookKeys === undefined ? [] : webhookKeysIn(webhookKeys),
    entities: entities === undefined ? null : readWatchedEntities(entities),
  };
}
