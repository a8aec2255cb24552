import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { tmpdir } from "node:os";
import { Extractor, ExtractorConfig, ExtractorLogLevel } from "@microsoft/api-extractor";
import { ReleaseError } from "../artefact.ts";

/** One declaration file to be made of those of a build. */
export interface TypesOrder {
  /** The folder of the package whose types they are. */
  readonly package: string;
  /** A declaration file in its build. */
  readonly entry: string;
  /** Packages of this repository whose types go in. */
  readonly bundled: readonly string[];
  readonly files: readonly string[];
  /** What stays outside. A file imports it under this name, or from `index` beside it. */
  readonly sibling?: { readonly name: string; readonly isBeside: boolean };
}

/** Compiled as a user without Node's types would. */
const COMPILER = {
  target: "es2022",
  module: "nodenext",
  moduleResolution: "nodenext",
  lib: ["es2022", "dom"],
  types: [],
  strict: true,
};

/**
 * Writes one declaration file without imports, but for those of a sibling, with API Extractor, under one or more names.
 * @throws ReleaseError if one does not compile by itself, or still imports something else
 */
export async function bundleTypes(order: TypesOrder): Promise<void> {
  const work = await mkdtemp(join(tmpdir(), "release-types-"));
  try {
    const rollup = join(work, "index.d.ts");
    const said = extract(order, rollup);
    if (said.length > 0) throw new ReleaseError(`the types of ${order.entry}:\n${said.join("\n")}`);
    const text = await readFile(rollup, "utf8");
    const { sibling: { name, isBeside } = { name: "", isBeside: false } } = order;
    const sibling = `'${name}'`;
    const imported = (text.match(/^import .*$/gmu) ?? []).find((line) => !line.endsWith(`from ${sibling};`));
    if (imported !== undefined) throw new ReleaseError(`the types of ${order.entry} still have ${imported}`);
    for (const file of order.files) {
      await mkdir(dirname(file), { recursive: true });
      const beside = file.endsWith(".cts") ? '"./index.cjs"' : '"./index.js"';
      await writeFile(file, isBeside ? text.replaceAll(sibling, beside) : text);
    }
  } finally {
    await rm(work, { recursive: true });
  }
}

/** @returns what is wrong, a line each */
function extract(order: TypesOrder, rollup: string): readonly string[] {
  const quiet = { default: { logLevel: ExtractorLogLevel.None } };
  const config = ExtractorConfig.prepare({
    configObjectFullPath: undefined,
    packageJsonFullPath: join(order.package, "package.json"),
    configObject: {
      projectFolder: order.package,
      mainEntryPointFilePath: order.entry,
      bundledPackages: [...order.bundled],
      compiler: { overrideTsconfig: { compilerOptions: COMPILER, files: [order.entry] } },
      apiReport: { enabled: false },
      docModel: { enabled: false },
      tsdocMetadata: { enabled: false },
      dtsRollup: { enabled: true, untrimmedFilePath: rollup },
      messages: {
        compilerMessageReporting: { default: { logLevel: ExtractorLogLevel.Error } },
        extractorMessageReporting: quiet,
        tsdocMessageReporting: quiet,
      },
    },
  });
  const said: string[] = [];
  Extractor.invoke(config, {
    messageCallback: (message) => {
      if (message.logLevel === ExtractorLogLevel.Error) said.push(message.formatMessageWithLocation(order.package));
      message.handled = true;
    },
  });
  return said;
}
