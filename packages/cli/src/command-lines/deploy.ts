/** The command line of what is rendered for hosts. */
import type { Command } from "commander";
import { deployPlanCommand } from "../commands/deploy-plan.ts";
import { readNodeCard } from "../commands/root-proposal.ts";
import { HELP, repeatable, trustOf } from "./context.ts";
import type { CommandContext } from "./context.ts";
import { folderOf, heldChain, withHeld } from "./held-trust-roots.ts";
import type { HeldFlags } from "./held-trust-roots.ts";

interface DeployPlanFlags extends HeldFlags {
  readonly hosts: string;
  readonly card: readonly string[];
  readonly out: string;
}

export function addDeploy(program: Command, context: CommandContext): void {
  const deploy = program.command("deploy").description("what each host of a cluster runs");
  const plan = deploy
    .command("plan")
    .description("write each host's settings for Compose, systemd and Helm, from the ceremony's cards and trust root")
    .requiredOption("--hosts <list>", "an IPv4 address for each node, in their order, or n1=<address>,n2=…")
    .addOption(repeatable("--card <file>", "a node's card; repeat for each, or leave it to the trust root"))
    .requiredOption("--out <folder>", "where a folder for each node goes")
    .option("--json", "print one JSON object");
  withHeld(plan)
    .addHelpText("after", HELP)
    .action(async (flags: DeployPlanFlags) => {
      // A ceremony's cards come before its trust root.
      const isHeld = trustOf(flags, context).trustRoots.length > 0 || folderOf(flags, context) !== null;
      const options = {
        hosts: flags.hosts.split(",").map((host) => host.trim()),
        cards: flags.card.map(readNodeCard),
        trustRoot: isHeld || flags.card.length === 0 ? heldChain(flags, context).newest.trustRoot : null,
        out: flags.out,
        nowMs: Date.now(),
        isJson: flags.json === true,
      };
      context.done(await deployPlanCommand(options, context.printer, context.aside));
    });
}
