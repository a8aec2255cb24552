/** What claims, grants, events and revocations are made of, as options: the same for `claim` and `prepare claim`. */
import { nodeCrypto } from "@event-anchoring/node-crypto";
import { attributeTypeOf, bytesToHex } from "@event-anchoring/protocol";
import type { Command } from "commander";
import { CliError, EXIT } from "../terminal/cli-error.ts";
import type { RevocationFields } from "../commands/operator-acts.ts";
import { hashFile } from "../files/read-input.ts";
import { readScope } from "../files/scope-files.ts";
import { parseExpiry, parseTime } from "../terminal/time-options.ts";

export interface ClaimFlags {
  readonly entity: string;
  readonly attributeType: string;
  readonly attributeHash?: string;
  readonly attributeFile?: string;
  readonly expires: string;
  readonly issuedAt?: string;
}

export interface GrantFlags {
  readonly grantorClaim: string;
  readonly granteeClaim: string;
  readonly parent?: string;
  readonly scopeHash?: string;
  readonly scope?: string;
  readonly depth: string;
  readonly notBefore?: string;
  readonly expires?: string;
  readonly issuedAt?: string;
}

export interface ReferenceFlags {
  readonly irisRef?: string;
  readonly scrollRef?: string;
  readonly grantRef?: string;
  readonly bondRef?: string;
  readonly yieldRef?: string;
  readonly eventDataHash?: string;
}

export interface RevocationFlags {
  readonly reason?: string;
  readonly suspectSince?: string;
  readonly issuedAt?: string;
}

const ISSUED_AT = "when it is issued, an RFC 3339 time (default: now)";

export function withClaimFields(command: Command): Command {
  return command
    .requiredOption("--entity <hash>", "entity_fingerprint: whom the claim is about")
    .requiredOption("--attribute-type <type>", ATTRIBUTE_TYPE)
    .option("--attribute-hash <hash>", "attribute_hash")
    .option("--attribute-file <file>", "instead: the file whose SHA-256 it is")
    .option("--expires <when>", "never, a duration such as 365d, or an RFC 3339 time", "never")
    .option("--issued-at <time>", ISSUED_AT);
}

export function withGrantFields(command: Command): Command {
  return command
    .requiredOption("--grantor-claim <anchor_id>", "claim of who delegates")
    .requiredOption("--grantee-claim <anchor_id>", "claim of whom it is delegated to")
    .option("--parent <anchor_id>", "parent grant, to this grantor (default: none, a root grant)")
    .option("--scope <file>", "a scope document: what may be done (anchorctl scope make)")
    .option("--scope-hash <hash>", "instead: scope_hash, made in another way")
    .option("--depth <hops>", "delegation_depth: how many further hops may be granted", "0")
    .option("--not-before <time>", "an RFC 3339 time (default: as the parent has it)")
    .option("--expires <when>", "a duration such as 30d, or an RFC 3339 time (default: as the parent has it)")
    .option("--issued-at <time>", ISSUED_AT);
}

export function withReferences(command: Command): Command {
  return command
    .option("--iris-ref <anchor_id>", "claim of who acts")
    .option("--grant-ref <anchor_id>", "grant under which it is done")
    .option("--scroll-ref <anchor_id>", "another anchor that the event refers to")
    .option("--bond-ref <anchor_id>", "the same")
    .option("--yield-ref <anchor_id>", "the same")
    .option("--event-data-hash <hash>", "event_data_hash");
}

export function withRevocationFields(command: Command): Command {
  return command
    .option(
      "--reason <word>",
      "unspecified, key_compromise, superseded, cessation, privilege_withdrawn, issued_in_error",
    )
    .option("--suspect-since <time>", "an RFC 3339 time from which acts are suspect")
    .option("--issued-at <time>", ISSUED_AT);
}

const nowOr = (text: string | undefined): number => (text === undefined ? Date.now() : parseTime("--issued-at", text));

const timeOr0 = (option: string, text: string | undefined): number =>
  text === undefined ? 0 : parseTime(option, text);

/** Exactly one of a hash and a file. */
async function hashOrFile(what: string, hash: string | undefined, file: string | undefined): Promise<string> {
  if ((hash === undefined) === (file === undefined)) {
    throw new CliError(EXIT.usage, "hash_missing", `give one of --${what}-hash and --${what}-file`);
  }
  return hash ?? Buffer.from(await hashFile(file ?? "")).toString("hex");
}

/** Exactly one of a hash and a document. */
function scopeHashOf({ scopeHash, scope }: GrantFlags): string {
  if ((scopeHash === undefined) === (scope === undefined)) {
    throw new CliError(EXIT.usage, "hash_missing", "give one of --scope and --scope-hash");
  }
  return scopeHash ?? bytesToHex(readScope(scope ?? "").scopeHash);
}

/** How a type is given. */
export const ATTRIBUTE_TYPE = "attribute_type: a number, 0x and hex digits, or a name such as role";

/** A number, or the value of a name; what is neither is left to be refused by name. docs/names.md */
export function attributeTypeIn(text: string): number | string {
  return attributeTypeOf(text, nodeCrypto.sha256) ?? numberOf(text);
}

/** Digits become a number; what is neither is left to be refused by name. */
const numberOf = (text: string): number | string => (/^\d{1,16}$/u.test(text) ? Number(text) : text);

export async function claimFields(flags: ClaimFlags, origin: string): Promise<Readonly<Record<string, unknown>>> {
  return {
    origin_fingerprint: origin,
    entity_fingerprint: flags.entity,
    attribute_type: attributeTypeIn(flags.attributeType),
    attribute_hash: await hashOrFile("attribute", flags.attributeHash, flags.attributeFile),
    issued_at: nowOr(flags.issuedAt),
    expires_at: parseExpiry("--expires", flags.expires, Date.now()),
  };
}

export async function grantFields(flags: GrantFlags, origin: string): Promise<Readonly<Record<string, unknown>>> {
  return {
    origin_fingerprint: origin,
    grantor_claim_ref: flags.grantorClaim,
    grantee_claim_ref: flags.granteeClaim,
    parent_grant_ref: flags.parent,
    scope_hash: scopeHashOf(flags),
    delegation_depth: numberOf(flags.depth),
    issued_at: nowOr(flags.issuedAt),
    not_before: timeOr0("--not-before", flags.notBefore),
    expires_at: flags.expires === undefined ? 0 : parseExpiry("--expires", flags.expires, Date.now()),
  };
}

export function semanticAnchorFields(flags: ReferenceFlags): Readonly<Record<string, unknown>> {
  return {
    iris_ref: flags.irisRef,
    scroll_ref: flags.scrollRef,
    grant_ref: flags.grantRef,
    bond_ref: flags.bondRef,
    yield_ref: flags.yieldRef,
    event_data_hash: flags.eventDataHash,
  };
}

export function revocationFields(flags: RevocationFlags): RevocationFields {
  return {
    reason: flags.reason,
    suspect_since: timeOr0("--suspect-since", flags.suspectSince),
    issued_at: nowOr(flags.issuedAt),
  };
}
