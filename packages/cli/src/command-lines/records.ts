/** Command lines that record claims, grants and revocations with keys that are here. */
import type { Command } from "commander";
import { CliError, EXIT } from "../terminal/cli-error.ts";
import { keygenCommand } from "../commands/keygen.ts";
import { recordCommand } from "../commands/record.ts";
import { revokeCommand } from "../commands/revoke.ts";
import { assertAnchorId } from "../commands/trace.ts";
import { readSigner } from "../files/key-files.ts";
import { originToWrite } from "../service/origin.ts";
import type { RecordRun } from "../commands/record-run.ts";
import { Service } from "../service/service.ts";
import { apiKeyOf } from "../files/target.ts";
import type { Target } from "../files/target.ts";
import {
  HELP,
  WITNESSED,
  targetOf,
  timeoutMsOf,
  trustOf,
  withOrigin,
  withTarget,
  withTimeout,
  withTrustRoot,
} from "./context.ts";
import type { CommandContext, CommonFlags, TargetFlags, TimeoutFlags, TrustFlags } from "./context.ts";
import {
  claimFields,
  grantFields,
  revocationFields,
  withClaimFields,
  withGrantFields,
  withRevocationFields,
} from "./record-flags.ts";
import type { ClaimFlags, GrantFlags, RevocationFlags } from "./record-flags.ts";

export interface WritingFlags extends TargetFlags, TrustFlags, TimeoutFlags {
  readonly out?: string;
  readonly witnessed?: true;
}

const KEY_HELP = `
A key file is an Ed25519 private key as PKCS #8 PEM, 32 raw bytes or 64 hex digits, and its owner's alone (mode 600);
anchorctl keygen makes one. The service never sees it.
`;

export function withWriting(command: Command): Command {
  return withTimeout(withTrustRoot(withOrigin(withTarget(command))))
    .option("--out <file>", "where to write the receipt (default: nowhere; anchorctl receipt fetches it)")
    .option(...WITNESSED)
    .option("--json", "print one JSON object");
}

/** @returns the run, and where it writes to */
export function recordRunOf(flags: WritingFlags, context: CommandContext): { run: RecordRun; target: Target } {
  const { io, printer } = context;
  const target = targetOf(flags, context);
  const timeoutMs = timeoutMsOf(flags, context);
  const { apiUrls, onWait } = target;
  const service = new Service({ apiUrls, onWait, apiKey: apiKeyOf(target), timeoutMs });
  const { workingDir } = io;
  const trust = { ...trustOf(flags, context), clusterFolder: target.clusterFolder, workingDir };
  const witnessedMs = flags.witnessed === true ? timeoutMs : null;
  const run = { service, trust, out: flags.out ?? null, witnessedMs, isJson: flags.json === true, workingDir, printer };
  return { run, target };
}

type ClaimCommandFlags = WritingFlags & ClaimFlags & { readonly subjectKey: string; readonly issuerKey: string };

export function addClaim(program: Command, context: CommandContext): void {
  const command = program
    .command("claim")
    .description("record that a key speaks for an entity, signed by subject and issuer")
    .requiredOption("--subject-key <file>", "private key of the subject")
    .requiredOption("--issuer-key <file>", "private key of the issuer");
  withWriting(withClaimFields(command))
    .addHelpText("after", KEY_HELP + HELP)
    .action(async (flags: ClaimCommandFlags) => {
      const parties = { subject: readSigner(flags.subjectKey), issuer: readSigner(flags.issuerKey) };
      const { run, target } = recordRunOf(flags, context);
      const fields = await claimFields(flags, await originToWrite(run.service, target));
      context.done(await recordCommand("claim", fields, parties, run));
    });
}

type GrantCommandFlags = WritingFlags & GrantFlags & { readonly grantorKey: string; readonly witnessKey: string };

export function addGrant(program: Command, context: CommandContext): void {
  const command = program
    .command("grant")
    .description("record a delegation, signed by grantor and witness")
    .requiredOption("--grantor-key <file>", "private key of the grantor's claim")
    .requiredOption("--witness-key <file>", "private key of the witness");
  withWriting(withGrantFields(command))
    .addHelpText("after", KEY_HELP + HELP)
    .action(async (flags: GrantCommandFlags) => {
      const parties = { grantor: readSigner(flags.grantorKey), witness: readSigner(flags.witnessKey) };
      const { run, target } = recordRunOf(flags, context);
      const fields = await grantFields(flags, await originToWrite(run.service, target));
      context.done(await recordCommand("grant", fields, parties, run));
    });
}

type RevokeCommandFlags = WritingFlags & RevocationFlags & { readonly key?: string; readonly own?: true };

export function addRevoke(program: Command, context: CommandContext): void {
  const command = program
    .command("revoke <anchor_id>")
    .description("record that a claim or grant is revoked; it cannot be taken back")
    .option("--key <file>", "private key of the claim's issuer or subject, or the grant's grantor or witness")
    .option("--own", "instead: unsigned, what this API key's client has recorded itself");
  withWriting(withRevocationFields(command))
    .addHelpText("after", KEY_HELP + HELP)
    .action(async (anchorId: string, flags: RevokeCommandFlags) => {
      assertAnchorId("an anchor id", anchorId);
      if ((flags.key === undefined) !== (flags.own === true)) {
        throw new CliError(EXIT.usage, "revoker_missing", "give one of --key and --own");
      }
      const revoker = flags.key === undefined ? null : readSigner(flags.key);
      const { run } = recordRunOf(flags, context);
      const lost = flags.origin === undefined ? {} : { origin_fingerprint: flags.origin };
      const fields = { ...revocationFields(flags), ...lost };
      context.done(await revokeCommand(anchorId.toLowerCase(), fields, revoker, run));
    });
}

interface KeygenFlags extends CommonFlags {
  readonly format: string;
}

export function addKeygen(program: Command, { printer, done }: CommandContext): void {
  program
    .command("keygen <file>")
    .description("make an Ed25519 key: <file>, mode 600, and <file>.pub; the private key is never printed")
    .option("--format <format>", "pem (PKCS #8) or seed (32 raw bytes)", "pem")
    .option("--json", "print one JSON object")
    .addHelpText("after", HELP)
    .action((file: string, flags: KeygenFlags) => {
      done(keygenCommand({ file, format: flags.format, isJson: flags.json === true }, printer));
    });
}
