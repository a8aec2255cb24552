import { homedir, tmpdir } from "node:os";
import { join } from "node:path";
import { ReleaseError } from "../artefact.ts";
import { CHECKOUT } from "../checkout.ts";
import type { Part, Relation } from "../contents.ts";
import { run } from "../run.ts";

const PACKAGE = join(CHECKOUT, "packages/sdk-rust");

/**
 * The crates that a build has in it, or fetches.
 * @param options of `cargo tree` that choose features and target
 */
export async function crateParts(relation: Relation, ...options: readonly string[]): Promise<readonly Part[]> {
  const shape = ["--edges", "normal", "--prefix", "none", "--no-dedupe", "--format", "{p}|{l}"];
  const lines = (await cargo(tmpdir(), "tree", ...shape, ...options)).trim().split("\n");
  const [own, ...others] = lines.flatMap((line) => {
    const [, name, version, license] = /^(\S+) v(\S+)(?: [^|]*)?\|(.*)$/u.exec(line) ?? [];
    if (name === undefined || version === undefined) throw new ReleaseError(`cargo tree says: ${line}`);
    const expression = license === undefined || license === "" ? null : license.replaceAll("/", " OR ");
    return { registry: "cargo", name, version, license: expression, relation } as const;
  });
  return others.filter(({ name }) => name !== own?.name);
}

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
