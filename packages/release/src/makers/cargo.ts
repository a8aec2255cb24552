import { homedir } from "node:os";
import { join } from "node:path";
import { CHECKOUT } from "../checkout.ts";
import { run } from "../run.ts";

const PACKAGE = join(CHECKOUT, "packages/sdk-rust");

/** Runs cargo in the Rust SDK, for what is built into this folder; no path of this machine gets into a program. */
export async function cargo(target: string, ...args: readonly string[]): Promise<string> {
  const home = process.env["CARGO_HOME"] ?? join(homedir(), ".cargo");
  const renamed = [
    [PACKAGE, "event-anchoring"],
    [home, "cargo"],
    [target, "target"],
  ];
  const flags = renamed.map(([path, name]) => `--remap-path-prefix=${path}=${name}`);
  // No flags of this machine either. The separator is a byte that no path has.
  const env = { CARGO_TARGET_DIR: target, CARGO_ENCODED_RUSTFLAGS: flags.join("\u001f"), RUSTFLAGS: undefined };
  return run("cargo", [...args, "--locked", "--quiet"], { cwd: PACKAGE, env });
}
