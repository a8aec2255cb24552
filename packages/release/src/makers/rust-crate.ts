import { copyFile, mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ReleaseError } from "../artefact.ts";
import type { Maker } from "../artefact.ts";
import { cargo, crateParts } from "./cargo.ts";

/** The crate of the Rust SDK, as `cargo publish` sends it. That it builds is a test of the SDK, not done here again. */
export const rustCrate: Maker = {
  name: "crate",
  make: async ({ folder, hasParts }) => {
    const target = await mkdtemp(join(tmpdir(), "anchoring-crate-"));
    try {
      await cargo(target, "package", "--no-verify", "--allow-dirty");
      const crates = (await readdir(join(target, "package"))).filter((name) => name.endsWith(".crate"));
      const [crate] = crates;
      if (crate === undefined || crates.length > 1) throw new ReleaseError(`cargo package made ${crates.join(", ")}`);
      await copyFile(join(target, "package", crate), join(folder, crate));
      hasParts(crate, await crateParts("DEPENDS_ON", "--depth", "1"));
      return [crate];
    } finally {
      await rm(target, { recursive: true });
    }
  },
};
