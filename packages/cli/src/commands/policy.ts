import { bytesToHex, renderPolicy } from "@event-anchoring/protocol";
import type { PolicyDemand, PolicyFormat } from "@event-anchoring/protocol";
import { CliError, EXIT } from "../terminal/cli-error.ts";
import type { ExitCode } from "../terminal/cli-error.ts";
import { pinJson, printPin } from "../reports/describe-pin.ts";
import type { Printer } from "../terminal/printer.ts";
import { writeWhole } from "../files/read-input.ts";
import { loadTrustRoots } from "../files/trust-roots.ts";
import type { GivenPin } from "../files/trust-roots.ts";

export interface PolicyOptions {
  readonly format: PolicyFormat;
  /** What a checkpoint must be to satisfy it. */
  readonly demand: PolicyDemand;
  /** Null: standard output. */
  readonly out: string | null;
  readonly trustRoots: readonly string[];
  readonly pin: GivenPin | null;
  readonly isJson: boolean;
  readonly workingDir: string;
}

/** `anchorctl policy`: the quorum rule of the newest trust root held, once it is verified, for tools of others. */
export function policyCommand(
  options: PolicyOptions,
  { printer, aside }: { readonly printer: Printer; readonly aside: Printer },
): ExitCode {
  const { format, demand, out, trustRoots: paths, pin, workingDir } = options;
  const held = loadTrustRoots({ paths, pin, workingDir });
  const { newest } = held.chain;
  const { version, witnesses } = newest.trustRoot;
  if (demand === "witnessed" && witnesses.length === 0)
    throw new CliError(EXIT.invalid, "no_witnesses", `trust root ${version} lists no witness`);
  const policy = renderPolicy(newest, format, demand);
  if (out !== null) writeWhole(out, policy);
  const rootThk = bytesToHex(newest.rootThk);
  if (options.isJson) {
    printer.json({ format, trust_root_version: version, root_thk: rootThk, pin: pinJson(held), policy, out });
    return EXIT.ok;
  }
  if (held.pin === null) printPin(aside, held);
  if (out === null) printer.raw(policy);
  else
    printer.verdict(
      held.pin === null ? "warn" : "pass",
      `Policy of trust root ${version} (RootTHK ${rootThk}) written to ${out}.`,
    );
  return EXIT.ok;
}
