import { mkdirSync, readdirSync, renameSync, statSync } from "node:fs";
import { basename, dirname, join, resolve } from "node:path";
import { nodeCrypto } from "@event-anchoring/node-crypto";
import {
  type ContradictingNote,
  type Contradiction,
  ContradictionError,
  type TrustRoot,
  bytesToHex,
  verifyContradiction,
} from "@event-anchoring/protocol";
import { notPinnedText } from "@event-anchoring/verdicts";
import { CliError, EXIT } from "../terminal/cli-error.ts";
import type { ExitCode } from "../terminal/cli-error.ts";
import { PIN_ADVICE, pinJson, printPin } from "../reports/describe-pin.ts";
import type { Printer } from "../terminal/printer.ts";
import { asCliError, readText } from "../files/read-input.ts";
import type { HeldTrustRoots } from "../files/trust-roots.ts";

const SUFFIX = ".notes";
const FILE_BYTES_MAX = 1024 * 1024;

export interface EvidenceOptions {
  /** Files, or folders that hold them. */
  readonly paths: readonly string[];
  readonly held: HeldTrustRoots;
  readonly workingDir: string;
  readonly isJson: boolean;
}

interface Judged {
  readonly path: string;
  readonly proven: Contradiction | null;
  /** Why it proves nothing. */
  readonly failure: { readonly code: string; readonly detail: string } | null;
}

/**
 * `anchorctl evidence`: what each file proves, and to whom it points. Exit 1 if one of them proves nothing, 6 without
 * a pin.
 */
export function evidenceCommand(options: EvidenceOptions, printer: Printer): ExitCode {
  const { held, paths, workingDir, isJson } = options;
  const trustRoots = held.chain.versions.map(({ trustRoot }) => trustRoot);
  const judged = filesOf(paths, workingDir).map((path) => judge(path, trustRoots));
  if (isJson) printer.json({ pin: pinJson(held), evidence: judged.map(inJson) });
  else if (judged.length === 0) printer.line("no evidence is kept there");
  else {
    printPin(printer, held);
    for (const each of judged) describe(each, printer);
    if (held.pin === null) printer.verdict("warn", `NOT PINNED: ${notPinnedText(held, PIN_ADVICE)}`);
  }
  if (judged.some(({ failure }) => failure !== null)) return EXIT.invalid;
  return held.pin === null && judged.length > 0 ? EXIT.notPinned : EXIT.ok;
}

export type ClearOptions = Pick<EvidenceOptions, "paths" | "workingDir">;

/** `anchorctl evidence clear`: nothing is deleted. */
export function clearEvidence({ paths, workingDir }: ClearOptions, printer: Printer): ExitCode {
  for (const path of filesOf(paths, workingDir)) {
    const folder = join(dirname(path), "cleared");
    try {
      mkdirSync(folder, { recursive: true, mode: 0o700 });
      renameSync(path, join(folder, basename(path)));
    } catch (error) {
      throw asCliError(path, "write", error);
    }
    printer.line(`cleared ${path}; it is in ${folder}`);
  }
  return EXIT.ok;
}

function filesOf(paths: readonly string[], workingDir: string): readonly string[] {
  if (paths.length === 0) {
    throw new CliError(EXIT.usage, "evidence_missing", "name a file of evidence, or a node's folder evidence");
  }
  return paths.flatMap((given) => {
    const path = resolve(workingDir, given);
    try {
      if (!statSync(path).isDirectory()) return [path];
      const names = readdirSync(path).filter((name) => name.endsWith(SUFFIX));
      return names.sort().map((name) => join(path, name));
    } catch (error) {
      throw asCliError(given, "read", error);
    }
  });
}

function judge(path: string, trustRoots: readonly TrustRoot[]): Judged {
  try {
    const proven = verifyContradiction(readText(path, FILE_BYTES_MAX), trustRoots, nodeCrypto);
    return { path, proven, failure: null };
  } catch (error) {
    if (!(error instanceof ContradictionError)) throw error;
    return { path, proven: null, failure: { code: error.code, detail: error.message } };
  }
}

function describe({ path, proven, failure }: Judged, printer: Printer): void {
  printer.heading(path);
  if (proven === null) {
    printer.verdict("fail", `NOT VALID: ${failure?.detail ?? ""} (${failure?.code ?? ""})`);
    return;
  }
  const { origin, treeSize, notes, named } = proven;
  printer.line(`  origin         ${origin}`);
  printer.line(`  size           ${treeSize}`);
  for (const note of notes) printer.check("pass", bytesToHex(note.rootHash).slice(0, 12), signersText(note));
  if (named.length === 0)
    printer.check("skip", "named", "no key: each key signed one root, and it is not known which is wrong");
  for (const { name } of named) printer.check("fail", "named", `${name} has signed both roots`);
  const isFork = notes.every(({ certifiedBy }) => certifiedBy.length > 0);
  if (isFork) printer.check("fail", "fork", "each root has a quorum certificate: receipts of both may exist");
}

function signersText({ signers, certifiedBy }: ContradictingNote): string {
  const names = signers.map(({ name }) => name.split("/").at(-1)).join(", ");
  const certificate =
    certifiedBy.length === 0 ? "no certificate" : `a certificate by trust root ${certifiedBy.join(", ")}`;
  return `signed by ${names}: ${certificate}`;
}

function inJson({ path, proven, failure }: Judged): object {
  if (proven === null) return { file: path, valid: false, failure: failure?.code, detail: failure?.detail };
  return {
    file: path,
    valid: true,
    origin: proven.origin,
    tree_size: proven.treeSize,
    notes: proven.notes.map(({ rootHash, signers, certifiedBy }) => ({
      root_hash: bytesToHex(rootHash),
      signers: signers.map(({ name }) => name),
      certified_by: certifiedBy,
    })),
    named: proven.named.map(({ name }) => name),
  };
}
