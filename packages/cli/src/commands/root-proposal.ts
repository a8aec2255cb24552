import { NoteError, TrustRootError, bytesToHex, hexToBytes, parseVkey } from "@event-anchoring/protocol";
import type { TrustRootChain, TrustRootWitness, Vkey } from "@event-anchoring/protocol";
import { nodeCrypto } from "@event-anchoring/node-crypto";
import {
  NodeCardError,
  TrustRootChangeError,
  composeTrustRoot,
  countSignatures,
  formatProposal,
  judgeProposal,
  mergeProposals,
  parseNodeCard,
  parseProposal,
  readSealedKey,
  signProposal,
  spkiSha256Of,
} from "@event-anchoring/provision";
import type { NodeCard, TrustRootChange, TrustRootProposal } from "@event-anchoring/provision";
import { askPerson } from "../terminal/ask-person.ts";
import { CliError, EXIT } from "../terminal/cli-error.ts";
import type { ExitCode } from "../terminal/cli-error.ts";
import type { ProgramIo } from "../terminal/program-io.ts";
import { describeTrustRoot, trustRootJson } from "../reports/describe-trust-root.ts";
import type { DescribedTrustRoot } from "../reports/describe-trust-root.ts";
import type { Printer } from "../terminal/printer.ts";
import { readText, writeWhole } from "../files/read-input.ts";
import { asUsage, existingPassphrase } from "./root-key.ts";

export const PROPOSAL_BYTES_MAX = 512 * 1024;
const CARD_BYTES_MAX = 4096;
const PEM_BYTES_MAX = 64 * 1024;
const HEX_32 = /^[0-9a-f]{64}$/u;

/** What a command about a proposal knows. */
export interface ProposalOptions {
  /** Null: none is held, and the proposal is a cluster's first version. */
  readonly chain: TrustRootChain | null;
  readonly isJson: boolean;
}

/** `anchorctl root propose`: writes the next version, unsigned. */
export function proposeCommand(
  change: TrustRootChange,
  out: string,
  { chain, isJson }: ProposalOptions & { readonly chain: TrustRootChain },
  printer: Printer,
): ExitCode {
  const proposal = asRefusal(() => composeTrustRoot(chain, change));
  writeProposal(out, { chain, isJson }, proposal, printer);
  return EXIT.ok;
}

/** Writes a version without signatures, and shows it. */
export function writeProposal(
  out: string,
  { chain, isJson }: ProposalOptions,
  proposal: TrustRootProposal,
  printer: Printer,
): void {
  writeWhole(out, formatProposal(proposal));
  show(chain, proposal, isJson, printer);
  if (isJson) return;
  printer.line();
  printer.verdict("pass", `Written to ${out}. Next: ${printer.next("root", "sign", out, "--key", "<file>")}`);
}

export interface SignRootOptions extends ProposalOptions {
  readonly path: string;
  readonly key: string;
  readonly passphraseFile: string | null;
  /** RootTHK that the signer was told by another way, lower case; null: ask. */
  readonly expected: string | null;
}

/** `anchorctl root sign`: shows what is to be signed, asks, and adds one signature. Needs no network. */
export async function signRootCommand(
  options: SignRootOptions,
  io: ProgramIo,
  printer: Printer,
  aside: Printer,
): Promise<ExitCode> {
  const { chain, path, key, passphraseFile, expected, isJson } = options;
  const proposal = readProposal(chain, path);
  describeTrustRoot(describedOf(chain, proposal), aside);
  await confirm(proposal, expected, io);
  const signer = await asUsage(() => readSealedKey(key, existingPassphrase(passphraseFile, key, io)));
  const signed = asRefusal(() => signProposal(chain, proposal, signer));
  writeWhole(path, formatProposal(signed));
  const missing = missingOf(chain, signed);
  if (isJson) printer.json({ ...trustRootJson(describedOf(chain, signed)), complete: missing.length === 0 });
  else if (missing.length === 0) {
    const next = chain === null ? ["finish", path, "--out", "<folder>"] : ["submit", path];
    printer.verdict("pass", `Signed, and signed enough: ${printer.next("root", ...next)}`);
  } else printer.verdict("pass", `Signed. Still missing: ${missing.join("; ")}`);
  return EXIT.ok;
}

/** An unintended signature cannot be undone. */
async function confirm(
  { rootThk, trustRoot }: TrustRootProposal,
  expected: string | null,
  io: ProgramIo,
): Promise<void> {
  const actual = bytesToHex(rootThk);
  if (expected !== null) {
    if (expected === actual) return;
    const message = `the proposal has RootTHK ${actual}, not the expected ${expected}: nothing was signed`;
    throw new CliError(EXIT.invalid, "root_thk_differs", message);
  }
  const instead = "there is no terminal: give --expect <RootTHK>, as you got it by another way";
  const question = `Type ${trustRoot.version} to sign version ${trustRoot.version}: `;
  const answer = await askPerson(io, question, { isHidden: false, instead });
  if (answer.trim() !== String(trustRoot.version)) throw new CliError(EXIT.usage, "not_signed", "nothing was signed");
}

/** `anchorctl root show` of a proposal. */
export function showProposalCommand(path: string, { chain, isJson }: ProposalOptions, printer: Printer): ExitCode {
  show(chain, readProposal(chain, path), isJson, printer);
  return EXIT.ok;
}

/** `anchorctl root show` without one: the newest version that is held, and what it changed. */
export function showNewestCommand(
  { chain, isJson }: { readonly chain: TrustRootChain; readonly isJson: boolean },
  printer: Printer,
): ExitCode {
  const { newest, versions } = chain;
  const before = versions.at(-2)?.trustRoot ?? null;
  const described = { trustRoot: newest.trustRoot, rootThk: newest.rootThk, before, signatures: [] };
  if (isJson) printer.json(trustRootJson(described));
  else describeTrustRoot(described, printer);
  return EXIT.ok;
}

/** Whether a proposal is a cluster's first version: nothing has to be held to judge it. @throws CliError */
export function isFirstVersion(path: string): boolean {
  return asRefusal(() => parseProposal(readText(path, PROPOSAL_BYTES_MAX))).trustRoot.version === 1;
}

/** Copies of one proposal that different people have signed, as one, signed enough. @throws CliError */
export function completeProposal(chain: TrustRootChain | null, paths: readonly string[]): TrustRootProposal {
  const merged = asRefusal(() => mergeProposals(paths.map((path) => readProposal(chain, path))));
  const missing = missingOf(chain, merged);
  if (missing.length === 0) return merged;
  throw new CliError(EXIT.usage, "signatures_missing", `not signed enough: ${missing.join("; ")}`);
}

/** Reads a proposal and holds it against the rules: what may not follow is not worth anybody's signature. */
function readProposal(chain: TrustRootChain | null, path: string): TrustRootProposal {
  const proposal = asRefusal(() => parseProposal(readText(path, PROPOSAL_BYTES_MAX)));
  const refusal = asRefusal(() => judgeProposal(chain, proposal));
  if (refusal === null) return proposal;
  const where =
    chain === null ? "be a first version" : `follow version ${chain.newest.trustRoot.version}, the newest held here`;
  const message = `${path} may not ${where}: ${refusal.detail} (${refusal.code})`;
  throw new CliError(EXIT.invalid, refusal.code, message);
}

function missingOf(chain: TrustRootChain | null, proposal: TrustRootProposal): readonly string[] {
  return countSignatures(chain, proposal).flatMap(({ version, threshold, signed, waiting }) =>
    signed.length >= threshold ? [] : [`${threshold - signed.length} of ${waiting.join(", ")} for version ${version}`],
  );
}

function describedOf(chain: TrustRootChain | null, proposal: TrustRootProposal): DescribedTrustRoot {
  const { trustRoot, rootThk } = proposal;
  const before = chain?.newest.trustRoot ?? null;
  return { trustRoot, rootThk, before, signatures: countSignatures(chain, proposal) };
}

function show(chain: TrustRootChain | null, proposal: TrustRootProposal, isJson: boolean, printer: Printer): void {
  const described = describedOf(chain, proposal);
  if (isJson) printer.json(trustRootJson(described));
  else describeTrustRoot(described, printer);
}

export function asRefusal<Result>(work: () => Result): Result {
  try {
    return work();
  } catch (error) {
    if (error instanceof TrustRootChangeError) throw new CliError(EXIT.usage, "change_invalid", error.message, error);
    if (error instanceof TrustRootError || error instanceof NoteError) {
      throw new CliError(EXIT.invalid, error.code, error.message, error);
    }
    throw error;
  }
}

/** A node's card, from the file that its operator sent. @throws CliError */
export function readNodeCard(path: string): NodeCard {
  try {
    return parseNodeCard(readText(path, CARD_BYTES_MAX));
  } catch (error) {
    if (error instanceof NodeCardError)
      throw new CliError(EXIT.usage, "card_invalid", `${path}: ${error.message}`, error);
    throw error;
  }
}

/** The public half of a key, from the `.pub` file that its holder sent. @throws CliError */
export function readPublicVkey(path: string): Vkey {
  try {
    return parseVkey(readText(path, CARD_BYTES_MAX).trimEnd(), nodeCrypto.sha256);
  } catch (error) {
    if (error instanceof NoteError) {
      throw new CliError(EXIT.usage, "key_malformed", `${path} holds no public key: ${error.message}`, error);
    }
    throw error;
  }
}

/** A witness as a trust root lists it: `<name> <vkey> <url>`. @throws CliError */
export function parseWitness(text: string): TrustRootWitness {
  const [name = "", vkey = "", url = "", ...others] = text.split(" ");
  try {
    if (url !== "" && others.length === 0) return { name, vkey: parseVkey(vkey, nodeCrypto.sha256), url };
  } catch (error) {
    if (!(error instanceof NoteError)) throw error;
    throw new CliError(EXIT.usage, "witness_invalid", `the key of witness ${name}: ${error.message}`, error);
  }
  throw new CliError(EXIT.usage, "witness_invalid", `--add-witness takes "<name> <vkey> <url>", not: ${text}`);
}

/** A CA's pin: 64 hex digits, or a file with its certificate. @throws CliError */
export function caPinOf(given: string): Uint8Array {
  if (HEX_32.test(given)) return hexToBytes(given, 32);
  try {
    return spkiSha256Of(readText(given, PEM_BYTES_MAX));
  } catch (error) {
    if (error instanceof CliError) throw error;
    throw new CliError(EXIT.usage, "certificate_invalid", `${given} is neither a pin nor a certificate`, error);
  }
}
