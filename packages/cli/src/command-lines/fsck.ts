/** The command line of fsck. */
import type { Command } from "commander";
import { fsckCommand } from "../commands/fsck.ts";
import { nodeDatabaseOf } from "../files/node-database.ts";
import { Progress } from "../terminal/progress.ts";
import { PIN_SOURCES, loadTrustRoots, parsePin } from "../files/trust-roots.ts";
import { HELP, trustOf, withTrustRoot } from "./context.ts";
import type { CommandContext, CommonFlags, TrustFlags } from "./context.ts";
import { countOf } from "./root.ts";

interface FsckFlags extends CommonFlags, TrustFlags {
  readonly database: string;
  readonly all?: true;
  readonly max: string;
}

export function addFsck(program: Command, context: CommandContext): void {
  const command = program
    .command("fsck")
    .description("derive a node's tables again from its leaves, and name the first difference; writes nothing")
    .requiredOption("--database <address or settings file>", "the node's database; it may be running")
    .option("--all", "go on after the first difference, and count them")
    .option("--max <n>", "how many differences --all names", "100")
    .option("--json", "print one JSON object");
  withTrustRoot(command)
    .addHelpText("after", HELP)
    .action(async (flags: FsckFlags) => {
      const { io, printer } = context;
      const options = {
        database: nodeDatabaseOf(flags.database, io.environment),
        pinnedRootThk: pinOf(flags, context),
        findsAll: flags.all === true,
        differencesMax: countOf("--max", flags.max),
        isJson: flags.json === true,
      };
      context.done(await fsckCommand(options, printer, new Progress(io.stderr)));
    });
}

/** The newest version that the person holds; a hash alone is enough. */
function pinOf(flags: FsckFlags, context: CommandContext): Uint8Array | null {
  const { trustRoots: paths, pin } = trustOf(flags, context);
  if (paths.length > 0) {
    return loadTrustRoots({ paths, pin, workingDir: context.io.workingDir }).chain.newest.rootThk;
  }
  return pin === null ? null : parsePin(pin.rootThk, PIN_SOURCES[pin.source]);
}
