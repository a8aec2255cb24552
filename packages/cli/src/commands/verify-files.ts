import { existsSync, readdirSync, statSync } from "node:fs";
import { join, resolve } from "node:path";
import { verifyBundle } from "@event-anchoring/bundle";
import { nodeCrypto } from "@event-anchoring/node-crypto";
import { bytesToHex, verifyReceipt } from "@event-anchoring/protocol";
import type { Crypto } from "@event-anchoring/protocol";
import { rememberVerdicts } from "@event-anchoring/records";
import {
  RECEIPT_MARKS,
  certifiedAtS,
  contentDiffersText,
  envelopeLine,
  isoSeconds,
  judgeReceiptVerification,
  pinnedOutcomeOf,
} from "@event-anchoring/verdicts";
import type { Mark } from "@event-anchoring/verdicts";
import { BUNDLE_ENDING, looksLikeBundle, readBundle } from "../files/bundle-file.ts";
import { readEnvelopeFile } from "../files/envelope-file.ts";
import { expandPatterns } from "../files/file-patterns.ts";
import { hashFile } from "../files/read-input.ts";
import { RECEIPT_ENDING, readReceipt, receiptPathOf } from "../files/receipt-file.ts";
import { loadTrustRoots } from "../files/trust-roots.ts";
import type { HeldTrustRoots } from "../files/trust-roots.ts";
import { envelopeJson } from "../reports/describe-envelope.ts";
import { printPin, pinJson } from "../reports/describe-pin.ts";
import { CliError, EXIT } from "../terminal/cli-error.ts";
import type { ExitCode } from "../terminal/cli-error.ts";
import type { Printer } from "../terminal/printer.ts";
import type { Progress } from "../terminal/progress.ts";
import { isSuperseded } from "./verify-bundle.ts";
import type { VerifyDemand } from "./verify-demand.ts";

export interface VerifyFilesOptions extends VerifyDemand {
  /** Files, patterns, and folders, of which every file is taken that has a receipt beside it, and every bundle. */
  readonly given: readonly string[];
}

const REMEMBER_EVERY = 4_096;

type FileOutcome = "valid" | "valid_as_stated" | "not_pinned" | "invalid";

interface JudgedFile {
  readonly file: string;
  readonly outcome: FileOutcome;
  /** Why it is not valid. */
  readonly failure: string | null;
  /** For people. */
  readonly detail: string;
  readonly envelope: object | null;
}

/** The worst comes first: it is the exit code of all. */
const EXITS: readonly (readonly [FileOutcome, ExitCode])[] = [
  ["invalid", EXIT.invalid],
  ["not_pinned", EXIT.notPinned],
  ["valid_as_stated", EXIT.asStated],
];
const MARKS: Readonly<Record<FileOutcome, Mark>> = {
  valid: "pass",
  valid_as_stated: "warn",
  not_pinned: RECEIPT_MARKS.not_pinned,
  invalid: "fail",
};

/** Whether more than one file may be meant. */
export function areManyMeant(given: readonly string[], workingDir: string): boolean {
  const [first, ...others] = given;
  if (first === undefined) return false;
  if (others.length > 0) return true;
  const path = resolve(workingDir, first);
  return existsSync(path) ? statSync(path).isDirectory() : /[*?]/u.test(first);
}

/** `anchorctl verify` of many: a line for each, and a summary. Each is judged alone. */
export async function verifyFilesCommand(
  options: VerifyFilesOptions,
  printer: Printer,
  progress: Progress,
): Promise<ExitCode> {
  const { given, trustRoots: paths, pin, workingDir, isJson } = options;
  const held = loadTrustRoots({ paths, pin, workingDir });
  const files = filesOf(given, workingDir);
  if (files.length === 0)
    throw new CliError(EXIT.usage, "no_files", "no file there has a receipt beside it, or is a bundle");
  if (!isJson) printPin(printer, held);
  const counts = new Map<FileOutcome, number>();
  const judged: JudgedFile[] = [];
  let crypto = rememberVerdicts(nodeCrypto);
  for (const [at, file] of files.entries()) {
    // Receipts of one time share a checkpoint, whose signatures are verified once.
    if (at % REMEMBER_EVERY === 0) crypto = rememberVerdicts(nodeCrypto);
    const each = await judgeFile(file, options, held, crypto);
    counts.set(each.outcome, (counts.get(each.outcome) ?? 0) + 1);
    if (isJson) judged.push(each);
    else printer.line(`${printer.sign(MARKS[each.outcome])} ${each.file}  ${each.detail}`);
    progress.say(`judged ${at + 1} of ${files.length} files`);
  }
  progress.end();
  const [worst, exitCode] = EXITS.find(([outcome]) => counts.has(outcome)) ?? ["valid" as const, EXIT.ok];
  const count = (outcome: FileOutcome): number => counts.get(outcome) ?? 0;
  if (isJson) {
    const summary = { total: files.length, valid: count("valid"), valid_as_stated: count("valid_as_stated") };
    const bad = { not_pinned: count("not_pinned"), invalid: count("invalid") };
    printer.json({ valid: worst === "valid", pin: pinJson(held), summary: { ...summary, ...bad }, files: judged });
  } else {
    const others = EXITS.filter(([outcome]) => counts.has(outcome));
    const rest = others.map(([outcome]) => `, ${count(outcome)} ${outcome.replaceAll("_", " ")}`).join("");
    printer.verdict(MARKS[worst], `${count("valid")} of ${files.length} valid${rest}`);
  }
  return exitCode;
}

function filesOf(given: readonly string[], workingDir: string): readonly string[] {
  const found = given.flatMap((path) => {
    const isFolder = statSync(resolve(workingDir, path), { throwIfNoEntry: false })?.isDirectory() === true;
    return isFolder ? filesIn(path, workingDir) : expandPatterns([path], workingDir);
  });
  return [...new Set(found)];
}

/** In byte order. A receipt whose file is gone is named by that file. */
function filesIn(folder: string, workingDir: string): readonly string[] {
  const entries = readdirSync(resolve(workingDir, folder), { withFileTypes: true });
  const names = new Set<string>();
  const below: string[] = [];
  for (const entry of entries) {
    if (entry.isDirectory()) below.push(...filesIn(join(folder, entry.name), workingDir));
    else if (entry.name.endsWith(RECEIPT_ENDING)) names.add(entry.name.slice(0, -RECEIPT_ENDING.length));
    else if (entry.name.endsWith(BUNDLE_ENDING)) names.add(entry.name);
  }
  return [...[...names].map((name) => join(folder, name)), ...below].toSorted();
}

async function judgeFile(
  file: string,
  options: VerifyFilesOptions,
  held: HeldTrustRoots,
  crypto: Crypto,
): Promise<JudgedFile> {
  const path = resolve(options.workingDir, file);
  try {
    return looksLikeBundle(path)
      ? judgeBundleFile(file, path, options, held)
      : await judgeReceiptFile(file, path, options, held, crypto);
  } catch (error) {
    if (!(error instanceof CliError)) throw error;
    // One file that cannot be read is not valid, and the others are judged all the same.
    return { file, outcome: "invalid", failure: error.code, detail: error.message, envelope: null };
  }
}

function judgeBundleFile(
  file: string,
  path: string,
  { isCurrentRequired, isWitnessedRequired: requireWitnessed }: VerifyFilesOptions,
  held: HeldTrustRoots,
): JudgedFile {
  const input = { bundle: readBundle(path), trust: { trustRoots: held.chain }, expect: {}, requireWitnessed };
  const verification = verifyBundle(input, nodeCrypto);
  const isRefused = isCurrentRequired && isSuperseded(verification);
  const outcome = isRefused ? "invalid" : pinnedOutcomeOf(verification, held);
  const failed = verification.checks.find(({ result }) => result === "fail")?.code ?? null;
  const failure = isRefused ? "superseded_trust_root" : outcome === "not_pinned" ? outcome : failed;
  const verdict = `bundle: authorised at action ${verification.authorisedAtAction}, now ${verification.authorisedNow}`;
  return { file, outcome, failure, detail: failure === null ? verdict : `NOT VALID (${failure})`, envelope: null };
}

async function judgeReceiptFile(
  file: string,
  path: string,
  { isCurrentRequired, isWitnessedRequired: requireWitnessed }: VerifyFilesOptions,
  held: HeldTrustRoots,
  crypto: Crypto,
): Promise<JudgedFile> {
  const eventHash = await hashFile(path);
  const receipt = readReceipt(receiptPathOf(path));
  const input = { receipt, trustRoots: held.chain, expect: { eventHash }, requireWitnessed };
  const verification = verifyReceipt(input, crypto);
  const { outcome, failure } = judgeReceiptVerification(verification, held, isCurrentRequired);
  const read = await readEnvelopeFile(path);
  const foreign = read && contentDiffersText(read.held);
  const envelope = envelopeJson(read);
  if (foreign !== null) {
    return { file, outcome: "invalid", failure: "content_differs", detail: foreign, envelope };
  }
  const said = read?.read.envelope ? `, says ${envelopeLine(read.read.envelope)}` : "";
  const at = certifiedAtS(verification, held.chain);
  const anchored = `${at === null ? bytesToHex(eventHash) : `certified at ${isoSeconds(at)}`}${said}`;
  const words = { valid: anchored, not_pinned: `NOT PINNED${said}`, not_compared: "NOT COMPARED" } as const;
  const detail = outcome === "invalid" ? `NOT VALID (${failure ?? ""})` : words[outcome];
  return { file, outcome: outcome === "not_compared" ? "invalid" : outcome, failure, detail, envelope };
}
