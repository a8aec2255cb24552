/** What command lines share that judge by trust roots held here, in files or in a cluster folder. */
import type { Command } from "commander";
import type { TrustRootChain } from "@event-anchoring/protocol";
import { findNearestCluster } from "../files/nearest-cluster.ts";
import { loadTrustRoots, trustRootFilesIn } from "../files/trust-roots.ts";
import { trustOf, withTrustRoot } from "./context.ts";
import type { CommandContext, CommonFlags, TrustFlags } from "./context.ts";

/** Which trust roots are held: files, oldest first, or those of a cluster folder. */
export interface HeldFlags extends CommonFlags, TrustFlags {
  readonly cluster?: string;
}

/** The versions that are held here, verified from their pin. @throws CliError */
export function heldChain(flags: HeldFlags, context: CommandContext): TrustRootChain {
  const { trustRoots, pin } = trustOf(flags, context);
  const folder = trustRoots.length > 0 ? null : folderOf(flags, context);
  const paths = folder === null ? trustRoots : trustRootFilesIn(folder);
  return loadTrustRoots({ paths, pin, workingDir: context.io.workingDir }).chain;
}

/** The folder that keeps the versions; null: there is none. */
export function folderOf(flags: HeldFlags, { settings, io }: CommandContext): string | null {
  const { environment, file } = settings();
  return flags.cluster ?? environment.cluster ?? file.cluster ?? findNearestCluster(io.workingDir);
}

export function withHeld(command: Command): Command {
  return withTrustRoot(
    command.option("--cluster <folder>", "folder that keeps the trust roots (default: the nearest .anchoring)"),
  );
}
