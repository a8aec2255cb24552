import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Maker, Target } from "../artefact.ts";
import { CHECKOUT } from "../checkout.ts";
import { run } from "../run.ts";
import { buildImage, whatBuildingLacks } from "../image/build-image.ts";
import { ImageLayout } from "../image/image-layout.ts";
import { partsOfImage } from "../image/parts-of-image.ts";
import { provenanceOf } from "../image/provenance.ts";

/**
 * The image, for the platform of this machine, as an OCI layout in one tar (https://opencontainers.org),
 * and the statement how it was made. It is built from the last commit, whatever else is in the checkout.
 */
export const image: Maker = {
  name: "image",
  lacks: whatBuildingLacks,
  make: async ({ folder, version, sourceDateEpoch, hasParts }: Target) => {
    const work = await mkdtemp(join(tmpdir(), "release-image-"));
    try {
      const commit = (await run("git", ["-C", CHECKOUT, "rev-parse", "HEAD"])).trim();
      const built = join(work, "image.tar");
      const { platform, base } = await buildImage({ commit, version, sourceDateEpoch, work, file: built });
      const name = `event-anchoring-${version}-image-${platform.replace("/", "-")}`;
      const file = `${name}.tar`;
      const layout = await ImageLayout.unpack(built, join(work, "layout"));
      await layout.pack(join(folder, file), sourceDateEpoch);
      hasParts(file, await partsOfImage(layout));
      const statement = provenanceOf({ version, commit, platform, sourceDateEpoch, base, digest: layout.digest });
      await writeFile(join(folder, `${name}.intoto.json`), statement);
      return [file, `${name}.intoto.json`];
    } finally {
      await rm(work, { recursive: true });
    }
  },
};
