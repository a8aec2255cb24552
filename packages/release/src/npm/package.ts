import { cp, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { readdirSync } from "node:fs";
import { join, posix } from "node:path";
import { tmpdir } from "node:os";
import { publint } from "publint";
import { ReleaseError } from "../artefact.ts";
import type { Target } from "../artefact.ts";
import { CHECKOUT } from "../checkout.ts";
import { npmParts } from "../contents.ts";
import { run } from "../run.ts";
import type { Library } from "./bundle-code.ts";
import { licencesOf } from "./licences.ts";

type Manifest = Readonly<Record<string, unknown>>;

/** An npm package that is to be made. */
export interface PackageOrder {
  /** Its folder in this repository: name, version, README, LICENSE and NOTICE are taken from there. */
  readonly source: string;
  /** What its package.json has beside name, version, description, keywords, license, type and engines. */
  readonly manifest: Manifest;
  /** Writes everything else into the folder. */
  readonly fill: (staging: string) => Promise<readonly Library[]>;
}

/** Lists of licences of what is inside, where there is something inside. */
const LICENCES_FILE = "THIRD-PARTY-LICENSES.txt";

/**
 * Makes the tarball of a package.
 * @returns its name in the folder of the target
 * @throws ReleaseError if publint finds fault, or the README leads out of the package
 */
export async function packNpm(order: PackageOrder, { folder, hasParts }: Target): Promise<string> {
  const staging = await mkdtemp(join(tmpdir(), "release-npm-"));
  try {
    const libraries = await order.fill(staging);
    for (const file of ["README.md", "LICENSE", "NOTICE"]) await cp(join(order.source, file), join(staging, file));
    if (libraries.length > 0) await writeFile(join(staging, LICENCES_FILE), await licencesOf(libraries));
    await writeFile(join(staging, "package.json"), `${JSON.stringify(await manifestOf(order), null, 2)}\n`);
    await assertLinksStay(staging);
    await assertLinted(staging);
    const packed = await run("npm", ["pack", "--silent", "--ignore-scripts", "--pack-destination", folder], {
      cwd: staging,
      env: { npm_config_update_notifier: "false" },
    });
    const file = packed.trim().split("\n").at(-1) ?? "";
    hasParts(file, npmParts(libraries));
    return file;
  } finally {
    await rm(staging, { recursive: true });
  }
}

async function manifestOf({ source, manifest }: PackageOrder): Promise<Manifest> {
  const own = JSON.parse(await readFile(join(source, "package.json"), "utf8")) as Manifest;
  const kept = ["name", "version", "description", "keywords", "license", "type", "engines"];
  return { ...Object.fromEntries(kept.filter((key) => key in own).map((key) => [key, own[key]])), ...manifest };
}

const LINK = /\]\(([^)\s]+)\)/gu;

/** A relative link of a published README has to lead to a file of the package. */
async function assertLinksStay(staging: string): Promise<void> {
  const text = await readFile(join(staging, "README.md"), "utf8");
  const files = new Set(readdirSync(staging, { recursive: true }).map(String));
  const leading = [...text.matchAll(LINK)]
    .map(([, target = ""]) => target)
    .filter((target) => !/^(https:\/\/|#)/u.test(target))
    .filter((target) => !files.has(posix.normalize(target.replace(/#.*$/u, ""))));
  if (leading.length > 0) throw new ReleaseError(`a README leads out of its package: ${leading.join(", ")}`);
}

async function assertLinted(staging: string): Promise<void> {
  const { messages } = await publint({ pkgDir: staging, strict: true, pack: false });
  const texts = messages.map(({ code, path, args }) => `${code} at ${path.join(".")}: ${JSON.stringify(args)}`);
  if (texts.length > 0) throw new ReleaseError(`publint: ${texts.join("\n")}`);
}

/** The folder of a package of this repository. */
export function packageFolder(name: string): string {
  return join(CHECKOUT, "packages", name);
}
