import { bytesToHex } from "@event-anchoring/protocol";
import { ApiProblem, FileMonitorStore, Monitor, VerificationError } from "@event-anchoring/sdk";
import type { MonitorLook } from "@event-anchoring/sdk";
import { heldTrustRootsOf } from "../reports/check-receipt.ts";
import type { TrustOptions } from "../reports/check-receipt.ts";
import { CliError, EXIT } from "../terminal/cli-error.ts";
import type { ExitCode } from "../terminal/cli-error.ts";
import { pinJson, printPin } from "../reports/describe-pin.ts";
import { EvidenceFolder } from "../monitor/evidence-folder.ts";
import { leafSourceOf } from "../monitor/leaf-source.ts";
import type { ListenAddress } from "../monitor/monitor-listener.ts";
import { RevocationMemory } from "../monitor/revocation-memory.ts";
import { WatchService } from "../monitor/watch-service.ts";
import { WebhookQueue } from "../monitor/webhook-queue.ts";
import type { SignWebhook } from "../monitor/webhook-signature.ts";
import { Webhooks } from "../monitor/webhooks.ts";
import { monitoredNode, publicLog } from "../service/monitored-node.ts";
import type { Printer } from "../terminal/printer.ts";
import { asCliError } from "../files/read-input.ts";
import { foreignTrustRoots } from "../service/service-trust-roots.ts";
import { Service, refusedBy, unavailable } from "../service/service.ts";
import { waited } from "../terminal/waited.ts";
import { leaves } from "../terminal/words.ts";
import type { Target } from "../files/target.ts";
import type { HeldTrustRoots } from "../files/trust-roots.ts";

export interface MonitorOptions {
  /** Where what was seen of a cluster is kept, by its id of 64 hex digits. */
  readonly statePathOf: (clusterId: string) => string;
  /** Null: one look. */
  readonly intervalMs: number | null;
  readonly timeoutMs: number;
  readonly isJson: boolean;
  readonly trust: TrustOptions;
  /** Ends the watch. */
  readonly signal: AbortSignal | null;
  /** Null: the watch ends at the first alarm. */
  readonly service: LastingOptions | null;
}

/** A watch that goes on for good. */
export interface LastingOptions {
  readonly listen: ListenAddress | null;
  /** Null: beside the state. */
  readonly evidencePath: string | null;
  readonly webhookUrls: readonly string[];
  readonly webhookKeys: readonly SignWebhook[];
  /** Fingerprints of those whose revocations receivers are told; null: nobody's. */
  readonly entities: ReadonlySet<string> | null;
}

/**
 * `anchorctl monitor`: asks every node for the newest tree of every origin, and for the proof that it continues the
 * one that was seen before, on whichever node. Exit `invalid` at the first rollback or split view; the notes that
 * contradict one another are kept beside the state, which stays as it was.
 */
export async function monitorCommand(options: MonitorOptions, target: Target, printer: Printer): Promise<ExitCode> {
  const held = heldTrustRootsOf(options.trust);
  if (held === null) throw new CliError(EXIT.usage, "trust_root_missing", "no trust root: give --trust-root");
  const statePath = options.statePathOf(bytesToHex(held.chain.newest.trustRoot.clusterId));
  const store = new FileMonitorStore(statePath);
  const { timeoutMs, isJson } = options;
  const services = target.apiUrls.map((apiUrl) => {
    return new Service({ apiUrls: [apiUrl], apiKey: target.apiKey, timeoutMs, onWait: target.onWait });
  });
  const monitored = target.apiKey === null ? publicLog : monitoredNode;
  const client = services.map((service) => monitored(service.client));
  const monitor = new Monitor({ client, store, trustRoot: held.chain, watchesLost: true });
  const watch = { held, isJson, apiUrls: target.apiUrls, evidencePath: store.evidencePath };
  const look = (): Promise<MonitorLook> => lookAround(monitor, statePath);
  if (options.service !== null && options.intervalMs !== null) {
    const service = await serviceOf(options.service, options, target, statePath, printer);
    return watchForGood({ look, service, intervalMs: options.intervalMs, signal: options.signal }, watch, printer);
  }
  for (;;) {
    const seen = await look();
    report(seen, watch, printer);
    if (seen.alarms.length > 0) return EXIT.invalid;
    if (options.intervalMs === null) return seen.unanswered.length > 0 ? EXIT.unavailable : EXIT.ok;
    if (!(await waited(options.intervalMs, options.signal))) return EXIT.ok;
  }
}

function serviceOf(
  { listen, evidencePath, webhookUrls: urls, webhookKeys: keys, entities }: LastingOptions,
  { intervalMs, timeoutMs }: Pick<MonitorOptions, "intervalMs" | "timeoutMs">,
  { apiUrls, apiKey, onWait }: Target,
  statePath: string,
  printer: Printer,
): Promise<WatchService> {
  const now = (): number => Date.now();
  const say = (text: string): void => printer.check("warn", "watch", text);
  const queue = new WebhookQueue(`${statePath}.webhooks`);
  const webhooks = urls.length === 0 ? null : new Webhooks({ urls, keys, queue, now, chance: Math.random, say });
  const evidence = new EvidenceFolder(evidencePath ?? `${statePath}.evidence`);
  const source = leafSourceOf(new Service({ apiUrls, apiKey, timeoutMs, onWait }));
  const memory = entities === null ? null : new RevocationMemory(`${statePath}.revocations`, entities);
  const named = memory === null ? null : { memory, source };
  const silenceMsMax = 3 * (intervalMs ?? 0) + 3 * timeoutMs * apiUrls.length;
  return WatchService.start({ apiUrls, listen, evidence, webhooks, named, say, silenceMsMax, now });
}

interface LastingWatch {
  readonly look: () => Promise<MonitorLook>;
  readonly service: WatchService;
  readonly intervalMs: number;
  readonly signal: AbortSignal | null;
}

/** Goes on after an alarm, and after a node has refused. What the operator has set wrong ends it. */
async function watchForGood(
  { look, service, intervalMs, signal }: LastingWatch,
  watch: Watch,
  printer: Printer,
): Promise<ExitCode> {
  try {
    do {
      try {
        const seen = await look();
        report(seen, watch, printer);
        service.looked(seen);
      } catch (error) {
        if (!(error instanceof CliError) || error.exitCode === EXIT.usage) throw error;
        service.refused();
        printer.check("warn", error.code, error.message);
      }
    } while (await waited(intervalMs, signal));
    return EXIT.ok;
  } finally {
    await service.close();
  }
}

/** @throws CliError */
async function lookAround(monitor: Monitor, statePath: string): Promise<MonitorLook> {
  try {
    return await monitor.look();
  } catch (error) {
    if (error instanceof ApiProblem) throw refusedBy(error);
    if (!(error instanceof VerificationError)) throw asCliError(statePath, "write", error);
    if (error.code === "monitor_state_malformed") {
      throw new CliError(EXIT.usage, "state_malformed", `${statePath} is no state of anchorctl monitor`);
    }
    if (error.code === "monitor_state_of_another_cluster") {
      const message = `${statePath}: ${error.message}: give another --state`;
      throw new CliError(EXIT.usage, "state_of_another_cluster", message);
    }
    throw foreignTrustRoots(error);
  }
}

interface Watch {
  readonly held: HeldTrustRoots;
  readonly isJson: boolean;
  readonly apiUrls: readonly string[];
  readonly evidencePath: string;
}

function report(look: MonitorLook, { held, isJson, apiUrls, evidencePath: path }: Watch, printer: Printer): void {
  const { alarms, trustRootVersion } = look;
  const evidencePath = alarms.some(({ evidence }) => evidence.length > 0) ? path : null;
  const silent = look.unanswered.map(({ error }) => unavailable(error).message);
  const origins = look.origins.map(({ originFingerprint, treeSize, previousTreeSize }) => {
    return { originFingerprint, treeSize, grownBy: treeSize - (previousTreeSize ?? 0) };
  });
  if (isJson) {
    printer.jsonLine({
      time: new Date().toISOString(),
      consistent: alarms.length === 0,
      origins: origins.map(({ originFingerprint, treeSize, grownBy }) => ({
        origin_fingerprint: originFingerprint,
        tree_size: treeSize,
        grown_by: grownBy,
      })),
      trust_root_version: trustRootVersion,
      pin: pinJson(held),
      alarms: alarms.map(({ code, originFingerprint, node, detail }) => ({
        code,
        origin_fingerprint: originFingerprint,
        api_url: apiUrls[node],
        detail,
      })),
      evidence: evidencePath,
      unavailable: silent,
    });
    return;
  }
  if (held.pin === null) printPin(printer, held);
  for (const { originFingerprint, treeSize, grownBy } of origins) {
    const grown = grownBy === treeSize ? "seen for the first time" : grownBy === 0 ? "as before" : `${grownBy} more`;
    printer.check("pass", "consistent", `${originFingerprint}  ${leaves(treeSize)}, ${grown}`);
  }
  for (const reason of silent) printer.check("warn", "not asked", reason);
  for (const { code, originFingerprint, node, detail } of alarms) {
    const where = `${originFingerprint ?? "trust root"} at ${apiUrls[node] ?? ""}`;
    printer.check("fail", code.replaceAll("_", " "), `${where}: ${detail}`);
  }
  const at = new Date().toISOString();
  if (alarms.length > 0) {
    const evidence = evidencePath === null ? "" : ` The signed notes are kept in ${evidencePath}.`;
    printer.verdict("fail", `${at}: ALARM. Do not trust this service until it is explained.${evidence}`);
  } else if (origins.length === 0) {
    printer.verdict("warn", `${at}: there is nothing to watch yet: no tree could be seen.`);
  } else {
    const isFirst = origins.every(({ treeSize, grownBy }) => treeSize === grownBy);
    const seen = isFirst
      ? "what was seen is remembered, and the next look compares"
      : "every tree continues the one seen";
    printer.verdict("pass", `${at}: ${seen}.`);
  }
}
