/** The command lines that show a node's evidence against others. */
import type { Command } from "commander";
import { clearEvidence, evidenceCommand } from "../commands/evidence.ts";
import { loadTrustRoots } from "../files/trust-roots.ts";
import { HELP, trustOf, withTrustRoot } from "./context.ts";
import type { CommandContext, CommonFlags, TrustFlags } from "./context.ts";

interface EvidenceFlags extends CommonFlags, TrustFlags {}

export function addEvidence(program: Command, context: CommandContext): void {
  const command = program
    .command("evidence")
    .description("show and verify, offline, signatures over two trees: what a node keeps in its folder evidence")
    .argument("[paths...]", "files, or folders of *.notes")
    .option("--json", "print one JSON object");
  withTrustRoot(command)
    .addHelpText("after", HELP)
    .action((paths: string[], flags: EvidenceFlags) => {
      const { trustRoots, pin } = trustOf(flags, context);
      const { workingDir } = context.io;
      const held = loadTrustRoots({ paths: trustRoots, pin, workingDir });
      context.done(evidenceCommand({ paths, held, workingDir, isJson: flags.json === true }, context.printer));
    });
  command
    .command("clear")
    .description("move evidence into the folder cleared beside it: within seconds the node counts the key again")
    .argument("<paths...>", "files, or folders of *.notes")
    .addHelpText("after", HELP)
    .action((paths: string[]) => {
      context.done(clearEvidence({ paths, workingDir: context.io.workingDir }, context.printer));
    });
}
