/** The command line of doctor. */
import { existsSync } from "node:fs";
import type { Command } from "commander";
import { doctorCommand } from "../commands/doctor.ts";
import { thisHost } from "../doctor/this-host.ts";
import { parseDuration } from "../terminal/time-options.ts";
import { HELP, repeatable } from "./context.ts";
import type { CommandContext, CommonFlags } from "./context.ts";

interface DoctorFlags extends CommonFlags {
  readonly controlPlane?: string;
  readonly api?: string;
  readonly databaseDir?: string;
  readonly backups?: string;
  readonly backupAge: string;
  readonly apiUrl: readonly string[];
}

/** Where the units of systemd and the containers have a node's files: the first that is there. */
const CONTROL_PLANE_FILES = ["/etc/anchoring/control-plane/control-plane.json", "/config/control-plane.json"] as const;
const API_FILES = ["/etc/anchoring/api/api.json", "/config/api.json"] as const;
const DATABASE_FOLDERS = ["/var/lib/postgresql/18/anchoring"] as const;
const BACKUP_FOLDERS = ["/var/backups/anchoring", "/backups"] as const;

export function addDoctor(program: Command, context: CommandContext): void {
  program
    .command("doctor")
    .description("look at the host of a node and name each mistake in one line with its page; changes nothing")
    .option("--control-plane <file>", `settings of the control plane (default: ${CONTROL_PLANE_FILES[0]})`)
    .option("--api <file>", `settings of the api process (default: ${API_FILES[0]}, if there)`)
    .option(
      "--database-dir <folder>",
      `where Postgres keeps the node's data (default: ${DATABASE_FOLDERS[0]}, if there)`,
    )
    .option("--backups <folder>", `where backups are kept (default: ${BACKUP_FOLDERS[0]}, if there)`)
    .option("--backup-age <duration>", "how old the newest backup may be", "25h")
    .addOption(repeatable("--api-url <address>", "base address of another node, whose clock and release are compared"))
    .option("--json", "print one JSON object")
    .addHelpText("after", HELP)
    .action(async (flags: DoctorFlags) => {
      const { io, printer } = context;
      const there = (paths: readonly string[]): string | undefined => paths.find((path) => existsSync(path));
      const examination = {
        controlPlaneFile: flags.controlPlane ?? there(CONTROL_PLANE_FILES) ?? CONTROL_PLANE_FILES[0],
        apiFile: flags.api ?? there(API_FILES) ?? null,
        folders: {
          database: flags.databaseDir ?? there(DATABASE_FOLDERS) ?? null,
          backups: flags.backups ?? there(BACKUP_FOLDERS) ?? null,
        },
        backupAgeMsMax: parseDuration("--backup-age", flags.backupAge),
        others: flags.apiUrl.map((url) => url.replace(/\/+$/u, "")),
      };
      context.done(await doctorCommand(examination, thisHost(io.environment), flags.json === true, printer));
    });
}
