/** `monitor --check`: what would keep a watch from starting. Nothing is asked of any service, and nothing written. */
import { FileMonitorStore, VerificationError } from "@event-anchoring/sdk";
import { bytesToHex } from "@event-anchoring/protocol";
import { asCliError } from "../files/read-input.ts";
import { heldTrustRootsOf } from "../reports/check-receipt.ts";
import { readWatchedEntities } from "../monitor/watched-entities.ts";
import { RevocationMemory } from "../monitor/revocation-memory.ts";
import { WebhookQueue } from "../monitor/webhook-queue.ts";
import { webhookUrlOf } from "../monitor/webhooks.ts";
import { listenAddressOf } from "../monitor/monitor-listener.ts";
import { CliError, EXIT } from "../terminal/cli-error.ts";
import { Faults, checkSettings, finishCheck } from "./check.ts";
import { intervalOf, parseTimeout, targetOf, trustOf } from "./context.ts";
import type { CommandContext } from "./context.ts";
import { assertWhole, defaultStatePath, webhookKeysIn } from "./monitor-flags.ts";
import type { MonitorFlags } from "./monitor-flags.ts";

export async function checkMonitor(flags: MonitorFlags, context: CommandContext): Promise<void> {
  const faults = new Faults();
  checkFlags(faults, flags);
  if (checkSettings(faults, context)) {
    const target = faults.take(null, () => targetOf(flags, context));
    const held = faults.take(null, () => {
      const { workingDir } = context.io;
      const found = heldTrustRootsOf({
        ...trustOf(flags, context),
        clusterFolder: target?.clusterFolder ?? null,
        workingDir,
      });
      if (found !== null || target === null) return found;
      throw new CliError(EXIT.usage, "trust_root_missing", "no trust root: give --trust-root");
    });
    if (held !== null) await checkState(faults, flags, bytesToHex(held.chain.newest.trustRoot.clusterId), context);
  }
  finishCheck(faults, flags.json === true, context);
}

function checkFlags(faults: Faults, flags: MonitorFlags): void {
  const { listen, webhook, webhookKeys, entities, timeout } = flags;
  const intervalMs = faults.take(null, () => intervalOf(flags.interval));
  if (timeout !== undefined) faults.take(null, () => parseTimeout(timeout));
  faults.take(null, () => assertWhole(flags, intervalMs));
  if (listen !== undefined) faults.take(null, () => listenAddressOf(listen));
  for (const url of webhook) faults.take(null, () => webhookUrlOf(url));
  if (webhookKeys !== undefined) faults.take("--webhook-keys", () => webhookKeysIn(webhookKeys));
  if (entities !== undefined) faults.take(null, () => readWatchedEntities(entities));
}

/** What was seen before: it need not be there, and a damaged one is not taken for none. */
async function checkState(
  faults: Faults,
  { state, webhook, entities }: MonitorFlags,
  clusterId: string,
  context: CommandContext,
): Promise<void> {
  const path = faults.take(null, () => state ?? defaultStatePath(clusterId, context));
  if (path === null) return;
  await faults.takeLater(null, async () => {
    try {
      await new FileMonitorStore(path).load();
    } catch (error) {
      if (error instanceof VerificationError) throw new CliError(EXIT.usage, error.code, error.message);
      throw asCliError(path, "read", error);
    }
  });
  if (webhook.length > 0) faults.take(null, () => new WebhookQueue(`${path}.webhooks`));
  if (entities === undefined) return;
  faults.take(null, () => new RevocationMemory(`${path}.revocations`, new Set()).load());
}
