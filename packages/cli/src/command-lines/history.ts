/** Command lines that list all claims or grants that there have been. */
import type { Command } from "commander";
import { historyCommand } from "../commands/history.ts";
import type { HistoryOptions } from "../commands/history.ts";
import { NAMES, namesOf } from "../files/names-file.ts";
import type { NamesFlags } from "../files/names-file.ts";
import { apiKeyOf } from "../files/target.ts";
import { Service } from "../service/service.ts";
import { CliError, EXIT } from "../terminal/cli-error.ts";
import type { Printer } from "../terminal/printer.ts";
import { HELP, targetOf, timeoutMsOf, withTarget, withTimeout } from "./context.ts";
import type { CommandContext, TargetFlags, TimeoutFlags } from "./context.ts";
import { ATTRIBUTE_TYPE, attributeTypeIn } from "./record-flags.ts";

interface HistoryFlags extends TargetFlags, TimeoutFlags, NamesFlags {
  readonly limit: string;
  readonly cursor?: string;
}

const LIMIT_DEFAULT = "1000";

function withPages(command: Command): Command {
  return withTimeout(withTarget(command))
    .option("--limit <count>", "how many to show at most", LIMIT_DEFAULT)
    .option("--cursor <cursor>", "continue where an earlier answer ended, with the same filter")
    .option(...NAMES)
    .option("--json", "print one JSON object")
    .addHelpText("after", HELP);
}

function optionsOf({ limit, cursor, json, ...flags }: HistoryFlags): HistoryOptions {
  if (!/^[1-9][0-9]{0,5}$/u.test(limit))
    throw new CliError(EXIT.usage, "limit_invalid", "--limit takes a number from 1 to 999999");
  return { cursor: cursor ?? null, limit: Number(limit), isJson: json === true, names: namesOf(flags) };
}

function sourcesOf(flags: HistoryFlags, context: CommandContext): { service: Service; printer: Printer } {
  const target = targetOf(flags, context);
  const { apiUrls, onWait } = target;
  const timeoutMs = timeoutMsOf(flags, context);
  const service = new Service({ apiUrls, apiKey: apiKeyOf(target), timeoutMs, onWait });
  return { service, printer: context.printer };
}

type ClaimsFlags = HistoryFlags & { readonly entity: string; readonly attributeType?: string };
type GrantsFlags = HistoryFlags & { readonly grantor?: string; readonly grantee?: string };

export function addHistory(program: Command, context: CommandContext): void {
  const history = program.command("history").description("all claims or grants, with how each has ended");
  const claims = history
    .command("claims")
    .description("all claims of an entity, or of one attribute type of it")
    .requiredOption("--entity <hash>", "entity_fingerprint: whom the claims are about")
    .option("--attribute-type <type>", `${ATTRIBUTE_TYPE} (default: every type)`);
  withPages(claims).action(async (flags: ClaimsFlags) => {
    const { entity: entityFingerprint, attributeType: type } = flags;
    const attributeType = type === undefined ? undefined : attributeTypeIn(type);
    const done = await historyCommand(
      { one: "claim", own: "TYPE" },
      (client, page) => client.listClaimAnchors({ entityFingerprint, attributeType }, page),
      optionsOf(flags),
      sourcesOf(flags, context),
    );
    context.done(done);
  });
  const grants = history
    .command("grants")
    .description("all grants of a grantor, to a grantee, or from one to the other")
    .option("--grantor <hash>", "entity_fingerprint of the grantor")
    .option("--grantee <hash>", "entity_fingerprint of the grantee");
  withPages(grants).action(async (flags: GrantsFlags) => {
    const { grantor: grantorFingerprint, grantee: granteeFingerprint } = flags;
    if (grantorFingerprint === undefined && granteeFingerprint === undefined)
      throw new CliError(EXIT.usage, "party_missing", "give --grantor, --grantee or both");
    const done = await historyCommand(
      { one: "grant", own: "HOPS" },
      (client, page) => client.listGrantAnchors({ grantorFingerprint, granteeFingerprint }, page),
      optionsOf(flags),
      sourcesOf(flags, context),
    );
    context.done(done);
  });
}
