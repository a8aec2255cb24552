/** `--check`: what would be refused of the settings and the files that they name. Nothing is asked of any service. */
import { CommanderError } from "commander";
import type { Command } from "commander";
import { readNearbyCluster } from "../files/nearest-cluster.ts";
import { ConfigFileError, unknownVariables } from "../files/settings.ts";
import type { SettingsLevel } from "../files/settings.ts";
import { assertAddress, originOf } from "../files/target.ts";
import { loadTrustRoots, parsePin } from "../files/trust-roots.ts";
import { CliError, EXIT } from "../terminal/cli-error.ts";
import { offlineTrustOf, parseTimeout } from "./context.ts";
import type { CommandContext } from "./context.ts";

/** Collects what is wrong in several parts; what is no fault of a person is thrown. */
export class Faults {
  readonly #lines: string[] = [];

  get lines(): readonly string[] {
    return [...new Set(this.#lines)];
  }

  /** @param name of the setting, before what is wrong with it; null: the fault names it */
  take<Value>(name: string | null, read: () => Value): Value | null {
    try {
      return read();
    } catch (error) {
      this.#add(name, error);
      return null;
    }
  }

  /** As `take`. */
  async takeLater<Value>(name: string | null, read: () => Promise<Value>): Promise<Value | null> {
    try {
      return await read();
    } catch (error) {
      this.#add(name, error);
      return null;
    }
  }

  add(line: string): void {
    this.#lines.push(line);
  }

  #add(name: string | null, error: unknown): void {
    if (!(error instanceof CliError)) throw error;
    const faults = error instanceof ConfigFileError ? error.faults : [error.message];
    this.#lines.push(...faults.map((fault) => (name === null ? fault : `${name}: ${fault}`)));
  }
}

/** @param args the whole command line: an option counts wherever it stands */
export function addCheck(program: Command, args: readonly string[], context: CommandContext): void {
  program
    .option("--check", "read all settings and the files that they name, do nothing, and print every fault")
    .option("--json", "with --check: print one JSON object")
    .on("option:check", () => {
      const faults = new Faults();
      checkSettings(faults, context);
      finishCheck(faults, args.includes("--json"), context);
      throw new CommanderError(0, "anchorctl.checked", "the settings were checked");
    })
    .on("option:json", () => {
      const command = args.findIndex((word) => !word.startsWith("-"));
      const own = command < 0 ? args : args.slice(0, command);
      if (!own.includes("--check")) program.error("--json stands after the command's name, or beside --check");
    });
}

/** Prints the faults: a line each, or all in one object. */
export function finishCheck({ lines }: Faults, isJson: boolean, { printer, aside, done }: CommandContext): void {
  const isGood = lines.length === 0;
  if (isJson) {
    const failure = isGood ? {} : { failure: "settings_invalid", detail: lines.join("; ") };
    printer.json({ ...failure, faults: lines });
  } else {
    for (const line of lines) aside.line(`anchorctl: ${line}`);
    if (isGood) printer.line("anchorctl: nothing is wrong");
  }
  done(isGood ? EXIT.ok : EXIT.usage);
}

const VARIABLE_OF: Readonly<Record<keyof SettingsLevel, string>> = {
  apiUrls: "ANCHORCTL_API_URLS",
  apiKey: "ANCHORCTL_API_KEY",
  cluster: "ANCHORCTL_CLUSTER",
  originFingerprint: "ANCHORCTL_ORIGIN",
  trustRoots: "ANCHORCTL_TRUST_ROOTS",
  rootThk: "ANCHORCTL_ROOT_THK",
  timeoutS: "ANCHORCTL_TIMEOUT",
};
const FIELD_OF: Readonly<Record<keyof SettingsLevel, string>> = {
  apiUrls: "api_urls",
  apiKey: "api_key",
  cluster: "cluster",
  originFingerprint: "origin_fingerprint",
  trustRoots: "trust_roots",
  rootThk: "root_thk",
  timeoutS: "timeout_seconds",
};

/** What the environment and the config file set. @returns whether all of it can be used */
export function checkSettings(faults: Faults, context: CommandContext): boolean {
  for (const line of unknownVariables(context.io.environment)) faults.add(line);
  const settings = faults.take(null, context.settings);
  if (settings === null) return false;
  const before = faults.lines.length;
  checkLevel(faults, settings.environment, (name) => `environment: ${VARIABLE_OF[name]}`);
  checkLevel(faults, settings.file, (name) => `${settings.path ?? ""}: ${FIELD_OF[name]}`);
  faults.take(null, () => {
    const { trustRoots: paths, pin } = offlineTrustOf({ trustRoot: [] }, context);
    if (paths.length > 0) loadTrustRoots({ paths, pin, workingDir: context.io.workingDir });
  });
  return faults.lines.length === before;
}

function checkLevel(faults: Faults, level: SettingsLevel, nameOf: (field: keyof SettingsLevel) => string): void {
  const { apiUrls, cluster, rootThk, timeoutS } = level;
  for (const url of apiUrls) faults.take(nameOf("apiUrls"), () => assertAddress(url));
  if (cluster !== null) faults.take(nameOf("cluster"), () => readNearbyCluster(cluster));
  faults.take(nameOf("originFingerprint"), () => originOf([level]));
  if (rootThk !== null) faults.take(null, () => parsePin(rootThk, nameOf("rootThk")));
  if (timeoutS !== null) faults.take(nameOf("timeoutS"), () => parseTimeout(timeoutS));
}
