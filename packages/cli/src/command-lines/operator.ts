/** Command lines of operators, but for API keys: their own key, and what they revoke and erase. */
import type { Command } from "commander";
import { operatorEraseCommand, operatorRevokeCommand } from "../commands/operator-acts.ts";
import { assertAnchorId } from "../commands/trace.ts";
import { Service } from "../service/service.ts";
import { apiKeyOf } from "../files/target.ts";
import { repeatable, targetOf, timeoutMsOf } from "./context.ts";
import type { CommandContext } from "./context.ts";
import { OPERATOR_INIT, addInit } from "./key-init.ts";
import { OPERATOR_TIMEOUT_S, actingOf, withSigner } from "./operator-flags.ts";
import type { ActFlags } from "./operator-flags.ts";
import { revocationFields, withRevocationFields } from "./record-flags.ts";
import type { RevocationFlags } from "./record-flags.ts";

/** `anchorctl operator`. */
export function addOperator(program: Command, context: CommandContext): void {
  const operator = program
    .command("operator")
    .description("operators, whose signature makes API keys and revokes or erases what is anybody's");
  addInit(operator, OPERATOR_INIT, context);
  addRevoke(operator, context);
  addErase(operator, context);
}

interface RevokeFlags extends ActFlags, RevocationFlags {
  readonly apiUrl: readonly string[];
  readonly origin?: string;
}

function addRevoke(operator: Command, context: CommandContext): void {
  const command = operator
    .command("revoke <anchor_id>")
    .description("revoke any client's claim or grant; this cannot be undone")
    .addOption(repeatable("--api-url <address>", "base address of a node, which is asked what the record is"))
    .option("--origin <fingerprint>", "active origin to write to, if that of the record is lost");
  withSigner(withRevocationFields(command)).action(async (text: string, flags: RevokeFlags) => {
    assertAnchorId("an anchor id", text);
    const target = targetOf(flags, context);
    const timeoutMs = timeoutMsOf(flags, context, OPERATOR_TIMEOUT_S);
    const service = new Service({ ...target, apiKey: apiKeyOf(target), timeoutMs });
    const asked = {
      anchorId: text.toLowerCase(),
      origin: flags.origin?.toLowerCase() ?? null,
      fields: revocationFields(flags),
    };
    context.done(await operatorRevokeCommand(asked, service, await actOptions(flags, context)));
  });
}

function addErase(operator: Command, context: CommandContext): void {
  const command = operator
    .command("erase <anchor_id>")
    .description("erase the client_event_id of any client's event; this cannot be undone");
  withSigner(command).action(async (text: string, flags: ActFlags) => {
    assertAnchorId("an anchor id", text);
    context.done(await operatorEraseCommand(text.toLowerCase(), await actOptions(flags, context)));
  });
}

async function actOptions(flags: ActFlags, context: CommandContext) {
  return { ...(await actingOf(flags, context)), isJson: flags.json === true, printer: context.printer };
}
