import { existsSync } from "node:fs";
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { ReleaseError } from "../artefact.ts";
import type { Maker } from "../artefact.ts";
import { CHECKOUT } from "../checkout.ts";
import type { Part } from "../contents.ts";
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

/** What `pip` fetches with it: names and ranges, of which no version is known here. */
async function requiredParts(python: string, wheel: string): Promise<readonly Part[]> {
  const script = `import email, json, sys, zipfile
wheel = zipfile.ZipFile(sys.argv[1])
name = next(name for name in wheel.namelist() if name.endswith(".dist-info/METADATA"))
lines = email.message_from_bytes(wheel.read(name)).get_all("Requires-Dist")
print(json.dumps([line for line in lines if "extra ==" not in line]))`;
  const lines = JSON.parse(await run(python, ["-c", script, wheel])) as readonly string[];
  return lines.map((line) => {
    const [, name = "", range = ""] = /^([\w.-]+)\s*([^;]*?)\s*(?:;|$)/u.exec(line) ?? [];
    const ranges = range === "" ? {} : { range };
    return { registry: "pypi", name, version: null, ...ranges, license: null, relation: "DEPENDS_ON" } as const;
  });
}

/** Source distribution and wheel of the Python SDK; the wheel is built from the source distribution. */
export const pythonPackages: Maker = {
  name: "python",
  make: async ({ folder, sourceDateEpoch, hasParts }) => {
    const python = await findPython(NEEDED);
    await run(python, ["-m", "build", "--no-isolation", "--outdir", folder, PACKAGE], {
      env: { SOURCE_DATE_EPOCH: String(sourceDateEpoch), PYTHONDONTWRITEBYTECODE: "1" },
    });
    const files = await readdir(folder);
    const wheel = files.find((file) => file.endsWith(".whl")) ?? "";
    const parts = await requiredParts(python, join(folder, wheel));
    for (const file of files) hasParts(file, parts);
    return files;
  },
};
