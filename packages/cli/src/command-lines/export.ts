/** The command line that writes a log as files. */
import type { Command } from "commander";
import { exportCommand } from "../commands/export.ts";
import { Service } from "../service/service.ts";
import { Progress } from "../terminal/progress.ts";
import { HELP, intervalOf, targetOf, timeoutMsOf, trustOf, withTarget, withTimeout, withTrustRoot } from "./context.ts";
import type { CommandContext, TargetFlags, TimeoutFlags, TrustFlags } from "./context.ts";

interface ExportFlags extends TargetFlags, TrustFlags, TimeoutFlags {
  readonly interval?: string;
  readonly receipts?: true;
}

export function addExport(program: Command, context: CommandContext): void {
  const command = program
    .command("export <folder>")
    .description("write the log as files for any web server, verified; go on where an earlier export ended")
    .option("--interval <duration>", "go on again and again, for example every 30s (default: once)")
    .option("--receipts", "also a receipt for each new leaf, one file each");
  withTimeout(withTrustRoot(withTarget(command)))
    .option("--json", "print one JSON object")
    .addHelpText("after", HELP)
    .action(async (out: string, flags: ExportFlags) => {
      const target = targetOf(flags, context);
      const { apiUrls, apiKey, onWait, clusterFolder } = target;
      const { workingDir, signal = null, stderr } = context.io;
      const service = new Service({ apiUrls, apiKey, timeoutMs: timeoutMsOf(flags, context), onWait });
      const options = {
        out,
        intervalMs: intervalOf(flags.interval),
        withReceipts: flags.receipts === true,
        isJson: flags.json === true,
        trust: { ...trustOf(flags, context), clusterFolder, workingDir },
        signal,
      };
      context.done(await exportCommand(options, service, context.printer, new Progress(stderr)));
    });
}
