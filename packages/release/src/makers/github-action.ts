import { cp } from "node:fs/promises";
import { join } from "node:path";
import type { Maker } from "../artefact.ts";
import { filesUnder } from "../files.ts";
import { bundleCode } from "../npm/bundle-code.ts";
import { packageFolder } from "../npm/package.ts";

const ADAPTERS = packageFolder("adapters");

/** The step that anchors build artefacts: a folder that a workflow names, with all its code in one file. */
export const githubAction: Maker = {
  name: "github-action",
  make: async ({ folder }) => {
    const place = join(folder, "github-action");
    await cp(join(ADAPTERS, "github-action"), place, { recursive: true });
    for (const file of ["LICENSE", "NOTICE"]) await cp(join(ADAPTERS, file), join(place, file));
    await bundleCode({
      entry: join(ADAPTERS, "src/github-action/main.ts"),
      file: join(place, "index.mjs"),
      format: "es",
      platform: "node",
      target: "node20",
      hasMap: false,
      hasSideEffects: true,
    });
    return filesUnder(folder);
  },
};
