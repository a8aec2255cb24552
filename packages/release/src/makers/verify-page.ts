import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Maker } from "../artefact.ts";
import { CHECKOUT } from "../checkout.ts";
import { npmParts } from "../contents.ts";
import { lockedLibraries } from "../npm/locked.ts";
import { run } from "../run.ts";
import { sumsOf } from "../sums.ts";

const SCRIPT = join(CHECKOUT, "packages/explorer/scripts/build-page.js");
const PAGE = "verify.html";

/** The proof page, one HTML file that checks receipts and bundles in a browser, and its own SHA-256 beside it. */
export const verifyPage: Maker = {
  name: "verify-page",
  make: async ({ folder, hasParts }) => {
    await run(process.execPath, [SCRIPT, join(folder, PAGE)]);
    await writeFile(join(folder, `${PAGE}.sha256`), await sumsOf(folder, [PAGE]));
    hasParts(PAGE, npmParts(await lockedLibraries(["explorer"], ["--omit=dev", "--omit=optional"])));
    return [PAGE, `${PAGE}.sha256`];
  },
};
