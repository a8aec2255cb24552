/** Command lines for signers that are in different places: prepare here, sign there, submit from anywhere. */
import { randomUUID } from "node:crypto";
import type { Command } from "commander";
import { bytesToHex } from "@event-anchoring/protocol";
import { CliError, EXIT } from "../terminal/cli-error.ts";
import { prepareCommand } from "../commands/prepare.ts";
import { signCommand } from "../commands/sign.ts";
import { submitCommand } from "../commands/submit.ts";
import { draftOf } from "../drafts/draft.ts";
import type { DraftKind } from "../drafts/draft.ts";
import { readPublicKey } from "../files/key-files.ts";
import { originToWrite } from "../service/origin.ts";
import { hashFile } from "../files/read-input.ts";
import { Service } from "../service/service.ts";
import { HELP, targetOf, timeoutMsOf, withOrigin, withTarget, withTimeout } from "./context.ts";
import type { CommandContext, CommonFlags, TargetFlags, TimeoutFlags } from "./context.ts";
import {
  claimFields,
  grantFields,
  revocationFields,
  semanticAnchorFields,
  withClaimFields,
  withGrantFields,
  withReferences,
  withRevocationFields,
} from "./record-flags.ts";
import type { ClaimFlags, GrantFlags, ReferenceFlags, RevocationFlags } from "./record-flags.ts";
import { recordRunOf, withWriting } from "./records.ts";
import type { WritingFlags } from "./records.ts";

interface PrepareFlags extends TargetFlags, TimeoutFlags {
  readonly out: string;
}

const SPLIT_HELP = `
prepare writes <request>, and <request>.<who>.bin with the exact bytes that <who> signs first. sign adds a signature,
verified, and writes the bytes of the next signer if there is one: they hold the first signature. submit sends it.
With --origin prepare is offline; without it a node is asked for its origin. Public keys are given as 64 hex digits, or
as a file with them or in SPKI PEM.
`;

const PUBLIC_KEY = "<public key>";

function withDraft(command: Command): Command {
  return withTimeout(withOrigin(withTarget(command)))
    .requiredOption("--out <request>", "file to write the request to")
    .option("--json", "print one JSON object")
    .addHelpText("after", SPLIT_HELP + HELP);
}

async function originOf(flags: PrepareFlags, context: CommandContext): Promise<string> {
  const given = flags.origin ?? context.settings().environment.originFingerprint;
  if (given !== null) return given;
  const target = targetOf(flags, context);
  const timeoutMs = timeoutMsOf(flags, context);
  return originToWrite(
    new Service({ apiUrls: target.apiUrls, apiKey: null, timeoutMs, onWait: target.onWait }),
    target,
  );
}

function finish(
  kind: DraftKind,
  fields: Readonly<Record<string, unknown>>,
  flags: PrepareFlags,
  { printer, done }: CommandContext,
): void {
  done(prepareCommand(draftOf(kind, fields), flags.out, flags.json === true, printer));
}

const keyField = (option: string, given: string): string => bytesToHex(readPublicKey(option, given));

export function addPrepare(program: Command, context: CommandContext): void {
  const prepare = program.command("prepare").description("write a request and the exact bytes that its parties sign");
  addPrepareClaim(prepare, context);
  addPrepareGrant(prepare, context);
  addPrepareEvent(prepare, context);
  addPrepareRevocation(prepare, context);
}

function addPrepareClaim(prepare: Command, context: CommandContext): void {
  const command = prepare
    .command("claim")
    .description("a claim: the subject signs, then the issuer")
    .requiredOption(`--subject ${PUBLIC_KEY}`, "of the subject")
    .requiredOption(`--issuer ${PUBLIC_KEY}`, "of the issuer");
  withDraft(withClaimFields(command)).action(
    async (flags: PrepareFlags & ClaimFlags & { readonly subject: string; readonly issuer: string }) => {
      const keys = {
        subject_public_key: keyField("--subject", flags.subject),
        issuer_public_key: keyField("--issuer", flags.issuer),
      };
      finish("claim", { ...(await claimFields(flags, await originOf(flags, context))), ...keys }, flags, context);
    },
  );
}

function addPrepareGrant(prepare: Command, context: CommandContext): void {
  const command = prepare
    .command("grant")
    .description("a grant: the grantor signs, then the witness")
    .requiredOption(`--grantor ${PUBLIC_KEY}`, "the subject key of the grantor's claim")
    .requiredOption(`--witness ${PUBLIC_KEY}`, "of the witness");
  withDraft(withGrantFields(command)).action(
    async (flags: PrepareFlags & GrantFlags & { readonly grantor: string; readonly witness: string }) => {
      const keys = {
        grantor_public_key: keyField("--grantor", flags.grantor),
        witness_public_key: keyField("--witness", flags.witness),
      };
      finish("grant", { ...(await grantFields(flags, await originOf(flags, context))), ...keys }, flags, context);
    },
  );
}

interface EventFlags extends PrepareFlags, ReferenceFlags {
  readonly eventHash?: string;
  readonly file?: string;
  readonly eventId?: string;
  readonly actor: string;
}

function addPrepareEvent(prepare: Command, context: CommandContext): void {
  const command = prepare
    .command("event")
    .description("an event that its actor signs")
    .requiredOption(`--actor ${PUBLIC_KEY}`, "of who acts")
    .option("--event-hash <hash>", "event_hash")
    .option("--file <file>", "instead: the file whose SHA-256 it is")
    .option("--event-id <id>", "client_event_id (default: a random one)");
  withDraft(withReferences(command)).action(async (flags: EventFlags) => {
    if ((flags.eventHash === undefined) === (flags.file === undefined)) {
      throw new CliError(EXIT.usage, "hash_missing", "give one of --event-hash and --file");
    }
    const fields = {
      origin_fingerprint: await originOf(flags, context),
      event_hash: flags.eventHash ?? bytesToHex(await hashFile(flags.file ?? "")),
      semantic_anchor: semanticAnchorFields(flags),
      client_event_id: flags.eventId ?? `anchorctl-${randomUUID()}`,
      actor_public_key: keyField("--actor", flags.actor),
    };
    finish("event", fields, flags, context);
  });
}

interface PreparedRevocationFlags extends PrepareFlags, RevocationFlags {
  readonly target: string;
  readonly targetKind: string;
  readonly revoker: string;
}

function addPrepareRevocation(prepare: Command, context: CommandContext): void {
  const command = prepare
    .command("revocation")
    .description("a revocation of a claim or grant, signed by one of its parties; --origin is that of the target")
    .requiredOption("--target <anchor_id>", "the claim or grant")
    .requiredOption("--target-kind <kind>", "claim or grant")
    .requiredOption(`--revoker ${PUBLIC_KEY}`, "of the issuer, subject, grantor or witness");
  withDraft(withRevocationFields(command)).action((flags: PreparedRevocationFlags) => {
    if (flags.origin === undefined) {
      throw new CliError(EXIT.usage, "origin_missing", "give --origin: the target's origin");
    }
    const fields = {
      ...revocationFields(flags),
      target_kind: flags.targetKind,
      target_anchor_id: flags.target,
      target_origin_fingerprint: flags.origin,
      revoker_public_key: keyField("--revoker", flags.revoker),
    };
    finish("revocation", fields, flags, context);
  });
}

interface SignFlags extends CommonFlags {
  readonly key?: string;
  readonly signature?: string;
}

export function addSign(program: Command, { printer, done }: CommandContext): void {
  program
    .command("sign <request>")
    .description("add the next signature to a prepared request, offline")
    .option("--key <file>", "private key of who signs next")
    .option("--signature <hex or file>", "instead: a signature made elsewhere, over the bytes of the .bin file")
    .option("--json", "print one JSON object")
    .addHelpText("after", SPLIT_HELP + HELP)
    .action((path: string, flags: SignFlags) => {
      const { key = null, signature = null } = flags;
      done(signCommand({ path, key, signature, isJson: flags.json === true }, printer));
    });
}

export function addSubmit(program: Command, context: CommandContext): void {
  const command = program.command("submit <request>").description("send a request that everybody has signed");
  withWriting(command)
    .addHelpText("after", SPLIT_HELP + HELP)
    .action(async (path: string, flags: WritingFlags) => {
      context.done(await submitCommand(path, recordRunOf(flags, context).run));
    });
}
