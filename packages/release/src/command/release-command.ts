import { join, resolve } from "node:path";
import { parseArgs } from "node:util";
import type { Maker } from "../artefact.ts";
import { ReleaseError } from "../artefact.ts";
import { CHECKOUT, checkoutVersion, sourceDateEpoch, uncommittedFiles } from "../checkout.ts";
import { namesShown } from "../files.ts";
import { makeRelease } from "../make-release.ts";
import { MAKERS } from "../makers/makers.ts";
import type { Output } from "./possible-makers.ts";
import { possibleMakers } from "./possible-makers.ts";

const HELP = `Usage: npm run release -- --dry [options]

Makes everything that is released into release/, with its SHA-256 sums. Nothing is published.

  --dry         needed: publishing is not part of this command
  --only NAME   makes this artefact alone; may be repeated. One of:
                ${MAKERS.map(({ name }) => name).join(", ")}
  --out FOLDER  instead of release/
  --twice       makes everything twice, and fails if the bytes differ
  --sign KEY    signs the sums with this OpenSSH key, into SHA256SUMS.sig
  --help, --version

Without --only, every tool that a maker needs must be on this machine, but for the image: where there is no Docker
engine with buildx that exports OCI layouts, it is left out, and a line says why. SOURCE_DATE_EPOCH is the time of the
files in the artefacts; the default is the time of the last commit.
`;

interface ReleaseOptions {
  readonly only: readonly string[];
  readonly folder: string;
  readonly isTwice: boolean;
  readonly signingKey: string | null;
}

/**
 * The command behind `npm run release`.
 * @returns the exit code: 1 if an artefact could not be made, 2 for invalid arguments
 */
export async function releaseCommand(args: readonly string[], stdout: Output, stderr: Output): Promise<number> {
  try {
    const options = parseOptions(args);
    if (typeof options === "string") {
      stdout.write(options);
      return 0;
    }
    const makers = possibleMakers(chosen(options.only), options.only, stderr);
    const uncommitted = await uncommittedFiles();
    if (uncommitted.length > 0) stderr.write(`not of a commit: ${uncommitted.length} files are changed or new\n`);
    const files = await makeRelease({
      makers,
      version: checkoutVersion(),
      sourceDateEpoch: await sourceDateEpoch(),
      folder: options.folder,
      isTwice: options.isTwice,
      signingKey: options.signingKey,
      onMade: (name, made, milliseconds) =>
        stdout.write(`${name}: ${namesShown(made)} (${(milliseconds / 1000).toFixed(1)} s)\n`),
    });
    stdout.write(`${files.length} files in ${options.folder}\n`);
    return 0;
  } catch (error) {
    if (error instanceof UsageError) {
      stderr.write(`${error.message}\n`);
      return 2;
    }
    if (!(error instanceof ReleaseError)) throw error;
    stderr.write(`${error.message}\n`);
    return 1;
  }
}

class UsageError extends Error {}

/** @returns a text to be printed instead, if one is asked for */
function parseOptions(args: readonly string[]): ReleaseOptions | string {
  const { help, version, dry, only, out, twice, sign } = valuesOf(args);
  if (help === true) return HELP;
  if (version === true) return `${checkoutVersion()}\n`;
  if (dry !== true) throw new UsageError("--dry is needed: this command makes a release and publishes nothing");
  return {
    only: only ?? [],
    folder: resolve(out ?? join(CHECKOUT, "release")),
    isTwice: twice === true,
    signingKey: sign ?? null,
  };
}

function valuesOf(args: readonly string[]) {
  try {
    return parseArgs({
      args: [...args],
      options: {
        dry: { type: "boolean" },
        only: { type: "string", multiple: true },
        out: { type: "string" },
        twice: { type: "boolean" },
        sign: { type: "string" },
        help: { type: "boolean", short: "h" },
        version: { type: "boolean" },
      },
    }).values;
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    if (code?.startsWith("ERR_PARSE_ARGS") === true) throw new UsageError(message);
    throw error;
  }
}

function chosen(only: readonly string[]): readonly Maker[] {
  const unknown = only.filter((name) => !MAKERS.some((maker) => maker.name === name));
  if (unknown.length > 0) throw new UsageError(`--only: there is no ${unknown.join(", ")}; see --help`);
  return only.length === 0 ? MAKERS : MAKERS.filter(({ name }) => only.includes(name));
}
