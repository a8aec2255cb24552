import { copyFile, mkdtemp, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ReleaseError } from "../artefact.ts";
import type { Maker } from "../artefact.ts";
import { run } from "../run.ts";
import { cargo, crateParts } from "./cargo.ts";

const TARGET = "x86_64-unknown-linux-musl";
const PROGRAM = "anchor-verify";
const BYTES_MAX = 1_000_000;

/** @throws ReleaseError if this Rust cannot build for the target */
async function assertTarget(): Promise<void> {
  const library = (await run("rustc", ["--print", "target-libdir", "--target", TARGET])).trim();
  const isThere = await stat(library).catch((error: NodeJS.ErrnoException) => {
    if (error.code === "ENOENT") return null;
    throw error;
  });
  if (isThere === null) {
    throw new ReleaseError(
      `Rust's target ${TARGET} is needed, and is not on this machine: rustup target add ${TARGET}`,
    );
  }
}

/** The offline verifier: one file that runs on any Linux of this architecture, without a library. */
export const anchorVerify: Maker = {
  name: "anchor-verify",
  make: async ({ folder, hasParts }) => {
    await assertTarget();
    const build = await mkdtemp(join(tmpdir(), "anchoring-verify-"));
    try {
      await cargo(build, "build", "--no-default-features", "--profile", "small", "--target", TARGET, "--bin", PROGRAM);
      const program = join(build, TARGET, "small", PROGRAM);
      const { size } = await stat(program);
      if (size > BYTES_MAX) throw new ReleaseError(`${PROGRAM} has ${size} bytes, more than ${BYTES_MAX}`);
      const file = `${PROGRAM}-linux-x86_64`;
      await copyFile(program, join(folder, file));
      hasParts(file, await crateParts("CONTAINS", "--no-default-features", "--target", TARGET));
      return [file];
    } finally {
      await rm(build, { recursive: true });
    }
  },
};
