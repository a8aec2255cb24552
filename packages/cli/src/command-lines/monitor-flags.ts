/** The options of a watch, and what is read for them. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { asCliError } from "../files/read-input.ts";
import { stateHome } from "../files/settings.ts";
import { readWebhookKeys } from "../monitor/webhook-signature.ts";
import type { SignWebhook } from "../monitor/webhook-signature.ts";
import { CliError, EXIT } from "../terminal/cli-error.ts";
import type { CommandContext, TargetFlags, TimeoutFlags, TrustFlags } from "./context.ts";

export interface MonitorFlags extends TargetFlags, TrustFlags, TimeoutFlags {
  readonly state?: string;
  readonly interval?: string;
  readonly listen?: string;
  readonly evidence?: string;
  readonly webhook: readonly string[];
  readonly webhookKeys?: string;
  readonly entities?: string;
  readonly check?: true;
}

/** Which options need which others. @throws CliError `usage` */
export function assertWhole({ listen, webhook, webhookKeys, entities }: MonitorFlags, intervalMs: number | null): void {
  if (entities !== undefined && webhook.length === 0) {
    throw new CliError(EXIT.usage, "webhook_missing", "--entities needs --webhook");
  }
  if (webhook.length > 0 && webhookKeys === undefined) {
    throw new CliError(EXIT.usage, "webhook_keys_missing", "--webhook needs --webhook-keys");
  }
  if ((listen !== undefined || webhook.length > 0) && intervalMs === null) {
    throw new CliError(EXIT.usage, "interval_missing", "--listen and --webhook need --interval");
  }
}

/** @throws CliError `usage` */
export function webhookKeysIn(path: string): readonly SignWebhook[] {
  let text: string;
  try {
    text = readFileSync(path, "utf8");
  } catch (error) {
    throw asCliError(path, "read", error);
  }
  return readWebhookKeys(text);
}

/** @throws CliError `usage` where there is no home */
export function defaultStatePath(clusterId: string, { io }: CommandContext): string {
  const home = stateHome(io.environment);
  if (home !== null) return join(home, "monitor", `${clusterId}.json`);
  throw new CliError(EXIT.usage, "state_missing", "there is no home folder: give --state");
}
