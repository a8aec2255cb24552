import { join } from "node:path";
import type { Maker } from "../artefact.ts";
import { CHECKOUT } from "../checkout.ts";
import { npmParts } from "../contents.ts";
import { filesUnder } from "../files.ts";
import { lockedLibraries } from "../npm/locked.ts";
import { run } from "../run.ts";

const SCRIPT = join(CHECKOUT, "packages/site/bin/build-site.js");

/** The documentation as a site, a folder that any web server can serve at the root of a host. */
export const site: Maker = {
  name: "site",
  make: async ({ folder, hasParts }) => {
    await run(process.execPath, [SCRIPT, join(folder, "site")]);
    hasParts("site", npmParts(await lockedLibraries(["site"], []), "BUILD_DEPENDENCY_OF"));
    return filesUnder(folder);
  },
};
