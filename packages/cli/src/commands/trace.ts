import { CliError, EXIT } from "../terminal/cli-error.ts";
import type { ExitCode } from "../terminal/cli-error.ts";
import { printFindings, printTree } from "../reports/describe-trace.ts";
import type { Printer } from "../terminal/printer.ts";
import type { Names } from "@event-anchoring/verdicts";
import { Service } from "../service/service.ts";
import { apiKeyOf } from "../files/target.ts";
import type { Target } from "../files/target.ts";
import { readTrace } from "../service/trace-answer.ts";
import { askWholeTrace } from "../service/whole-trace.ts";
import { pinnedTrustRoots, provedText, writeProof } from "./trace-proof.ts";
import type { ProofOptions } from "./trace-proof.ts";

export interface TraceOptions {
  /** 64 hex digits. */
  readonly anchorId: string;
  /** A sequence or an RFC 3339 time; null: the newest position. */
  readonly asOf: string | null;
  /** Anchor ids of claims. */
  readonly trustedRoots: readonly string[];
  readonly timeoutMs: number;
  readonly isJson: boolean;
  /** By hex digits. */
  readonly names: Names;
  /** Null: the service's word is enough. */
  readonly proof: ProofOptions | null;
}

const HEX_32 = /^[0-9a-f]{64}$/iu;

/** @throws CliError `usage` unless it is 64 hex digits */
export function assertAnchorId(what: string, text: string): void {
  if (HEX_32.test(text)) return;
  throw new CliError(EXIT.usage, "anchor_id_invalid", `${what} has 64 hex digits, not: ${text}`);
}

/**
 * `anchorctl trace`: from an act back to who delegated it. Exit `invalid` if the records contradict one another, or if
 * the proof that was asked for proves something else; an act that was not authorised is an answer like any other.
 */
export async function traceCommand(options: TraceOptions, target: Target, printer: Printer): Promise<ExitCode> {
  assertAnchorId("an anchor id", options.anchorId);
  for (const root of options.trustedRoots) assertAnchorId("--trusted-root", root);
  const { apiUrls, onWait } = target;
  const service = new Service({ apiUrls, apiKey: apiKeyOf(target), timeoutMs: options.timeoutMs, onWait });
  const query = { as_of: options.asOf, trusted_roots: options.trustedRoots.join(",") || null };
  const { proof } = options;
  const held = proof === null ? null : pinnedTrustRoots(proof.trust);
  const ofFirst = proof === null ? {} : { proof: "true" };
  const answer = await askWholeTrace(service, options.anchorId.toLowerCase(), query, ofFirst);
  const trace = answer.read(readTrace);
  if (proof !== null && held !== null) writeProof(provedText(answer, trace, held), proof, printer);
  if (options.isJson) {
    printer.json(answer.body);
  } else if (proof === null || proof.out !== null) {
    printTree(printer, trace, options.names);
    printer.line();
    printFindings(printer, trace, options.names);
    const sequence = trace.asOf.sequence === null ? "" : `, sequence ${trace.asOf.sequence}`;
    printer.check("skip", "as of", `${trace.asOf.time}${sequence}`);
    if (proof !== null) printer.check("pass", "proof", `of all this, verified, and written to ${proof.out ?? ""}`);
  }
  return trace.violations.length === 0 ? EXIT.ok : EXIT.invalid;
}
