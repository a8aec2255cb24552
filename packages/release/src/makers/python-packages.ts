import { existsSync } from "node:fs";
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { ReleaseError } from "../artefact.ts";
import type { Maker } from "../artefact.ts";
import { CHECKOUT } from "../checkout.ts";
import { run } from "../run.ts";

const PACKAGE = join(CHECKOUT, "packages/sdk-python");
const NEEDED = "import build, hatchling";

/**
 * The interpreter that packages/sdk-python/ci.sh has set up, or one of the machine.
 * @param imports a statement that it can run
 * @throws ReleaseError if there is none
 */
export async function findPython(imports: string, env: Readonly<Record<string, string>> = {}): Promise<string> {
  const own = join(PACKAGE, ".venv/bin/python");
  const named = process.env["EVENT_ANCHORING_PYTHON"];
  for (const python of [...(named === undefined ? [] : [named]), ...(existsSync(own) ? [own] : []), "python3"]) {
    try {
      await run(python, ["-c", imports], { env });
      return python;
    } catch (error) {
      if (!(error instanceof ReleaseError)) throw error;
    }
  }
  throw new ReleaseError(
    `a Python for "${imports}" is needed, and is not on this machine: packages/sdk-python/ci.sh sets one up`,
  );
}

/** Source distribution and wheel of the Python SDK; the wheel is built from the source distribution. */
export const pythonPackages: Maker = {
  name: "python",
  make: async ({ folder, sourceDateEpoch }) => {
    await run(await findPython(NEEDED), ["-m", "build", "--no-isolation", "--outdir", folder, PACKAGE], {
      env: { SOURCE_DATE_EPOCH: String(sourceDateEpoch), PYTHONDONTWRITEBYTECODE: "1" },
    });
    return readdir(folder);
  },
};
