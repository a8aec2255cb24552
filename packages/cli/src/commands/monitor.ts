import { setTimeout as delay } from "node:timers/promises";
import { bytesToHex, compareWithHighestSeen } from "@event-anchoring/protocol";
import type { TrustRootChain } from "@event-anchoring/protocol";
import { heldTrustRootsOf } from "../check-receipt.ts";
import type { TrustOptions } from "../check-receipt.ts";
import { CliError, EXIT } from "../cli-error.ts";
import type { ExitCode } from "../cli-error.ts";
import { readMonitorState, writeMonitorState } from "../monitoring/monitor-state.ts";
import type { MonitorState, SeenHead } from "../monitoring/monitor-state.ts";
import { observeOrigin } from "../monitoring/observe-origin.ts";
import type { Alarm } from "../monitoring/observe-origin.ts";
import { pinJson, printPin } from "../describe-pin.ts";
import type { Printer } from "../printer.ts";
import { writeWhole } from "../read-input.ts";
import { fetchTrustRoots } from "../service-trust-roots.ts";
import { Service } from "../service.ts";
import { leaves } from "../words.ts";
import { apiKeyOf } from "../target.ts";
import type { Target } from "../target.ts";
import type { HeldTrustRoots } from "../trust-roots.ts";

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
}

interface Look {
  readonly state: MonitorState;
  readonly alarms: readonly Alarm[];
  /** Nodes that could not be asked, with the reason. */
  readonly silent: readonly string[];
  readonly origins: readonly {
    readonly originFingerprint: string;
    readonly treeSize: number;
    readonly grownBy: number;
  }[];
}

/**
 * `anchorctl monitor`: asks every node for the newest tree of every origin, and for the proof that it continues the
 * one that was seen before, on whichever node. Exit `invalid` at the first rollback or split view; the notes that
 * contradict one another are kept beside the state, which stays as it was.
 */
export async function monitorCommand(options: MonitorOptions, target: Target, printer: Printer): Promise<ExitCode> {
  const held = heldTrustRootsOf(options.trust);
  if (held === null) throw new CliError(EXIT.usage, "trust_root_missing", "no trust root: give --trust-root");
  const clusterId = bytesToHex(held.chain.newest.trustRoot.clusterId);
  const statePath = options.statePathOf(clusterId);
  for (;;) {
    const state = readMonitorState(statePath, clusterId);
    const look = await lookAround(state, held.chain, options, target);
    report(look, { statePath, held, isJson: options.isJson }, printer);
    if (look.alarms.length > 0) return EXIT.invalid;
    writeMonitorState(statePath, clusterId, look.state);
    if (options.intervalMs === null) return look.silent.length > 0 ? EXIT.unavailable : EXIT.ok;
    try {
      await delay(options.intervalMs, undefined, options.signal === null ? {} : { signal: options.signal });
    } catch (error) {
      if (options.signal?.aborted === true) return EXIT.ok;
      throw error;
    }
  }
}

async function lookAround(
  state: MonitorState,
  held: TrustRootChain,
  { timeoutMs }: MonitorOptions,
  target: Target,
): Promise<Look> {
  const heads = new Map(state.heads);
  const alarms: Alarm[] = [];
  const silent: string[] = [];
  let { trustRoot } = state;
  for (const apiUrl of target.apiUrls) {
    const service = new Service({ apiUrls: [apiUrl], apiKey: apiKeyOf(target), timeoutMs, onWait: target.onWait });
    try {
      const { chain } = await fetchTrustRoots(service, held);
      const change = trustRoot === null ? null : compareWithHighestSeen(chain, trustRoot);
      if (change !== null) {
        alarms.push(trustRootAlarm(change, apiUrl, chain));
        continue;
      }
      trustRoot = { version: chain.newest.trustRoot.version, rootThk: chain.newest.rootThk };
      alarms.push(...(await lookAtNode(service, chain, heads)));
    } catch (error) {
      if (!(error instanceof CliError) || error.exitCode !== EXIT.unavailable) throw error;
      silent.push(error.message);
    }
  }
  const origins = [...heads].map(([originFingerprint, { treeSize }]) => ({
    originFingerprint,
    treeSize,
    grownBy: treeSize - (state.heads.get(originFingerprint)?.treeSize ?? 0),
  }));
  return { state: { heads, trustRoot }, alarms, silent, origins };
}

/** @param heads what is known of each origin, from any node; it is brought up to date */
async function lookAtNode(
  service: Service,
  chain: TrustRootChain,
  heads: Map<string, SeenHead>,
): Promise<readonly Alarm[]> {
  const alarms: Alarm[] = [];
  for (const { originFingerprint } of chain.newest.trustRoot.origins) {
    const origin = bytesToHex(originFingerprint);
    const observation = await observeOrigin(service, origin, heads.get(origin) ?? null, chain);
    if (observation.outcome === "alarm") alarms.push(observation.alarm);
    else if (observation.outcome !== "empty") heads.set(origin, observation.head);
  }
  return alarms;
}

function trustRootAlarm(change: "rollback" | "fork", apiUrl: string, chain: TrustRootChain): Alarm {
  const { version } = chain.newest.trustRoot;
  const detail =
    change === "rollback"
      ? `the service's newest trust root is version ${version}, and a higher one was seen`
      : `the service has another trust root than the one seen, its newest is version ${version}`;
  return { code: `trust_root_${change}`, originFingerprint: null, apiUrl, detail, evidence: [] };
}

interface Watch {
  readonly statePath: string;
  readonly held: HeldTrustRoots;
  readonly isJson: boolean;
}

function report({ alarms, silent, origins, state }: Look, { statePath, held, isJson }: Watch, printer: Printer): void {
  const evidencePath = alarms.some(({ evidence }) => evidence.length > 0) ? `${statePath}.alarm` : null;
  if (evidencePath !== null) writeWhole(evidencePath, alarms.flatMap(({ evidence }) => evidence).join("\n"));
  if (isJson) {
    printer.jsonLine({
      time: new Date().toISOString(),
      consistent: alarms.length === 0,
      origins: origins.map(({ originFingerprint, treeSize, grownBy }) => ({
        origin_fingerprint: originFingerprint,
        tree_size: treeSize,
        grown_by: grownBy,
      })),
      trust_root_version: state.trustRoot?.version ?? null,
      pin: pinJson(held),
      alarms: alarms.map(({ code, originFingerprint, apiUrl, detail }) => ({
        code,
        origin_fingerprint: originFingerprint,
        api_url: apiUrl,
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
  for (const { code, originFingerprint, apiUrl, detail } of alarms) {
    printer.check("fail", code.replaceAll("_", " "), `${originFingerprint ?? "trust root"} at ${apiUrl}: ${detail}`);
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
