import { addScopes, formatBundle, verifyBundle } from "@event-anchoring/bundle";
import type { BundleVerification, Scope } from "@event-anchoring/bundle";
import { nodeCrypto } from "@event-anchoring/node-crypto";
import { collectBundle } from "../bundling/collect-bundle.ts";
import { WitnessDemand } from "../drafts/await-witnesses.ts";
import { CliError, EXIT } from "../terminal/cli-error.ts";
import type { ExitCode } from "../terminal/cli-error.ts";
import type { Printer } from "../terminal/printer.ts";
import type { Progress } from "../terminal/progress.ts";
import { assertWritable, writeWhole } from "../files/read-input.ts";
import type { Service } from "../service/service.ts";
import { heldTrustRootsOf } from "../reports/check-receipt.ts";
import type { TrustOptions } from "../reports/check-receipt.ts";
import { bundleJson, printBundle } from "./verify-bundle.ts";

export interface BundleOptions {
  /** 64 hex digits. */
  readonly anchorId: string;
  readonly out: string;
  /** Disclosures to put in: whoever reads the bundle can read what they show. */
  readonly scopes: readonly Scope[];
  readonly isSmall: boolean;
  /** How long to wait for heads that enough witnesses have signed; null: certified ones do. */
  readonly witnessedMs: number | null;
  readonly isJson: boolean;
  readonly trust: TrustOptions;
}

/**
 * `anchorctl bundle`: everything that a trace needs in one file, verified before it is written. Exit 0 also if a part
 * is as the service states it: this command says so, and verify says it again.
 */
export async function bundleCommand(
  options: BundleOptions,
  service: Service,
  printer: Printer,
  progress: Progress,
): Promise<ExitCode> {
  const { anchorId, out, isSmall, witnessedMs, isJson } = options;
  const held = heldTrustRootsOf(options.trust);
  if (held === null) {
    throw new CliError(EXIT.usage, "trust_root_missing", "no trust root to judge the bundle by: give --trust-root");
  }
  assertWritable(out);
  const demand = witnessedMs === null ? null : new WitnessDemand(options.trust, witnessedMs);
  const collected = await collectBundle({ anchorId, isSmall, held, demand }, service, progress).finally(() =>
    progress.end(),
  );
  const bundle = addScopes(collected, options.scopes);
  const requireWitnessed = demand !== null;
  const verification = verifyBundle({ bundle, trust: { trustRoots: held.chain }, requireWitnessed }, nodeCrypto);
  const isInvalid = verification.outcome === "invalid";
  if (!isInvalid) writeWhole(out, formatBundle(bundle));
  if (isJson) {
    printer.json({ bundle: isInvalid ? null : out, ...bundleJson(verification, held) });
  } else {
    printBundle(out, verification, held, printer);
    printer.line(isInvalid ? `Nothing was written: ${culpritOf(verification)}.` : `Bundle written to ${out}.`);
  }
  return isInvalid ? EXIT.invalid : EXIT.ok;
}

/** Disclosures and witnesses are judged apart: when they fail, what the service sent can be good. */
function culpritOf({ checks }: BundleVerification): string {
  const failed = checks.find(({ result }) => result === "fail")?.code;
  if (failed === "scopes") return "a disclosure is not of a grant on the way";
  if (failed === "witnesses")
    return "the service has a newer trust root with other witnesses; anchorctl root fetch gets it";
  return "do not trust what the service sent";
}
