import { CliError, EXIT } from "../terminal/cli-error.ts";
import type { ExitCode } from "../terminal/cli-error.ts";
import { isRecord } from "../files/nearest-cluster.ts";
import { certificateExpiryOf } from "../files/node-certificate.ts";
import type { Printer } from "../terminal/printer.ts";
import { Service } from "../service/service.ts";
import type { Answer } from "../service/service.ts";
import type { Target } from "../files/target.ts";

const TIMEOUT_MS = 3000;
const DAY_MS = 86_400_000;
const SOON_MS = 30 * DAY_MS;

export interface StatusOptions {
  readonly isJson: boolean;
  readonly nowMs: number;
}

interface NodeState {
  readonly apiUrl: string;
  readonly isReady: boolean;
  /** Null when the node did not answer. */
  readonly health: Readonly<Record<string, unknown>> | null;
  /** Checks that fail, or why there was no answer. */
  readonly failing: readonly string[];
  /** Checks that warn: the node serves, and a person should look. */
  readonly warnings: readonly string[];
  /** When the node's TLS certificate expires, Unix milliseconds; null: it has no known TLS listener. */
  readonly certificateExpiresMs: number | null;
}

/** What all nodes say together. */
interface ClusterState {
  /** Nodes that say how they take part in consensus: their control plane answers, and the key has `read`. */
  readonly terms: readonly number[];
  readonly leaders: readonly string[];
  /** False: the answer did not include the leader. */
  readonly isRaftTold: boolean;
  readonly rootThks: readonly string[];
  readonly highestCommit: number;
}

/** `anchorctl status`: each node's health and readiness, and what they disagree on. Exit 0 if all are ready. */
export async function statusCommand(options: StatusOptions, target: Target, printer: Printer): Promise<ExitCode> {
  const nodes = await Promise.all(
    target.apiUrls.map((apiUrl, at) => stateOf(apiUrl, target.apiKey, target.controlAddresses[at] ?? null)),
  );
  const cluster = clusterOf(nodes);
  const areReady = nodes.every((node) => node.isReady);
  if (options.isJson) {
    printer.json({
      ready: areReady,
      terms: cluster.terms,
      leaders: cluster.leaders,
      root_thks: cluster.rootThks,
      commit_index: cluster.highestCommit,
      nodes: nodes.map((node) => ({
        api_url: node.apiUrl,
        ready: node.isReady,
        failing: node.failing,
        warnings: node.warnings,
        lag: lagOf(node, cluster),
        certificate_expires_at: node.certificateExpiresMs === null ? null : timeText(node.certificateExpiresMs),
        health: node.health,
      })),
    });
  } else {
    for (const node of nodes) printNode(printer, node, cluster, options.nowMs);
    printCluster(printer, cluster, areReady);
  }
  return areReady ? EXIT.ok : EXIT.unavailable;
}

/** @param apiKey with it, nodes also say how they take part in consensus; null: they do not */
async function stateOf(apiUrl: string, apiKey: string | null, controlAddress: string | null): Promise<NodeState> {
  const service = new Service({ apiUrls: [apiUrl], apiKey, timeoutMs: TIMEOUT_MS });
  const [health, ready, certificateExpiresMs] = await Promise.all([
    answerOf(service, "/healthz"),
    answerOf(service, "/readyz"),
    expiryOf(apiUrl, controlAddress),
  ]);
  const node = { apiUrl, certificateExpiresMs, warnings: [] };
  if (typeof health === "string") return { ...node, isReady: false, health: null, failing: [health] };
  if (typeof ready === "string") return { ...node, isReady: false, health: health.body, failing: [ready] };
  const [failing, warnings] = [checksThat("fail", ready), checksThat("warn", ready)];
  return { ...node, isReady: ready.status === 200, health: health.body, failing, warnings };
}

/** The certificate of the control plane if its address is known, else of the API if that has TLS. */
async function expiryOf(apiUrl: string, controlAddress: string | null): Promise<number | null> {
  const { protocol, hostname, port } = new URL(controlAddress === null ? apiUrl : `https://${controlAddress}`);
  if (protocol !== "https:") return null;
  return certificateExpiryOf(hostname.replace(/^\[(.*)\]$/u, "$1"), port === "" ? 443 : Number(port), TIMEOUT_MS);
}

async function answerOf(service: Service, path: string): Promise<Answer | string> {
  try {
    return await service.askOnce({ method: "GET", path });
  } catch (error) {
    if (error instanceof CliError) return error.message;
    throw error;
  }
}

function checksThat(result: "fail" | "warn", { body }: Answer): readonly string[] {
  return recordsOf(body.checks).flatMap((check) =>
    check.result === result ? [`${word(check.check)}: ${word(check.detail)}`] : [],
  );
}

function recordsOf(value: unknown): readonly Readonly<Record<string, unknown>>[] {
  const items: readonly unknown[] = Array.isArray(value) ? value : [];
  return items.filter(isRecord);
}

function sectionOf(
  { health }: NodeState,
  name: "raft" | "prime_root_thk" | "versions",
): Readonly<Record<string, unknown>> {
  const section = health?.[name];
  return isRecord(section) ? section : {};
}

const numbersOf = (value: unknown): readonly number[] => (typeof value === "number" ? [value] : []);
const textsOf = (value: unknown): readonly string[] => (typeof value === "string" ? [value] : []);

function clusterOf(nodes: readonly NodeState[]): ClusterState {
  const rafts = nodes.map((node) => sectionOf(node, "raft"));
  const distinct = <Item>(items: readonly Item[]): readonly Item[] => [...new Set(items)];
  return {
    isRaftTold: rafts.some(({ role }) => typeof role === "string"),
    terms: distinct(rafts.flatMap(({ term }) => numbersOf(term))),
    leaders: distinct(
      nodes.flatMap((node) => (sectionOf(node, "raft").role === "leader" ? textsOf(node.health?.node_id) : [])),
    ),
    rootThks: distinct(nodes.flatMap((node) => textsOf(sectionOf(node, "prime_root_thk").root_thk))),
    highestCommit: Math.max(0, ...rafts.flatMap(({ commit_index: commit }) => numbersOf(commit))),
  };
}

/** Entries that others have committed and the node has not applied; null if it does not say. */
function lagOf(node: NodeState, { highestCommit }: ClusterState): number | null {
  const [applied] = numbersOf(sectionOf(node, "raft").applied_index);
  return applied === undefined ? null : Math.max(0, highestCommit - applied);
}

function printNode(printer: Printer, node: NodeState, cluster: ClusterState, nowMs: number): void {
  const { apiUrl, isReady, health, failing, certificateExpiresMs } = node;
  const raft = sectionOf(node, "raft");
  const sync = sectionOf(node, "prime_root_thk");
  const name = typeof health?.node_id === "string" ? health.node_id : apiUrl;
  const lag = lagOf(node, cluster);
  const indexes = `commit ${word(raft.commit_index)}, applied ${word(raft.applied_index)}, lag ${lag ?? "?"}`;
  const raftText = raft.role === undefined ? "" : `${word(raft.role)}, term ${word(raft.term)}  ${indexes}  `;
  const rootSync = `trust root ${word(sync.version)} ${sync.in_sync === true ? "in sync" : "not in sync"}`;
  printer.check(isReady ? "pass" : "fail", name, health === null ? apiUrl : `${apiUrl}  ${raftText}${rootSync}`);
  // One that has ended for good waits for a person; whatever else fails may pass.
  for (const reason of failing) printer.check(/^(?:fenced|halted): /u.test(reason) ? "fail" : "warn", "", reason);
  for (const warning of node.warnings.flatMap((text) => text.split("; "))) printer.check("warn", "", warning);
  for (const peer of recordsOf(health?.peers_cut_off)) printCutOff(printer, peer);
  printRules(printer, sectionOf(node, "versions"));
  if (certificateExpiresMs !== null) printExpiry(printer, "certificate", certificateExpiresMs, nowMs);
  const trustRootExpiresMs = Date.parse(typeof sync.expires_at === "string" ? sync.expires_at : "");
  if (!Number.isNaN(trustRootExpiresMs)) printExpiry(printer, "trust root", trustRootExpiresMs, nowMs);
}

/** A peer that the node does not listen to, and why: its word, which nothing proves, costs that peer alone. */
function printCutOff(printer: Printer, peer: Readonly<Record<string, unknown>>): void {
  const why = recordsOf(peer.offences).map(({ offence, count }) => `${word(offence)} ${word(count)}`);
  printer.check(
    "warn",
    "",
    `cut off: ${word(peer.node_id)} for ${word(peer.remaining_seconds)} s more (${why.join(", ")})`,
  );
}

/** By which rules the node decides, and for whom higher ones wait. */
function printRules(printer: Printer, versions: Readonly<Record<string, unknown>>): void {
  const { rules, rules_known: known, rules_held_back_by: holders, entry_version: entryVersion } = versions;
  if (typeof rules !== "number" || typeof known !== "number") return;
  const inForce = `rules ${rules}, entries of version ${word(entryVersion)}`;
  if (rules >= known) printer.check("skip", "", inForce);
  else printer.check("warn", "", `${inForce}; rules ${known} are held back by ${word(holders) || "no node any more"}`);
}

function printExpiry(printer: Printer, what: string, expiresMs: number, nowMs: number): void {
  const days = Math.floor((expiresMs - nowMs) / DAY_MS);
  const isOver = expiresMs <= nowMs;
  const mark = isOver ? "fail" : expiresMs - nowMs < SOON_MS ? "warn" : "skip";
  printer.check(
    mark,
    "",
    `${what} ${isOver ? "expired" : "expires"} ${timeText(expiresMs)}${isOver ? "" : `, in ${days} days`}`,
  );
}

function leaderText({ leaders, isRaftTold }: ClusterState): string {
  if (!isRaftTold) return "the leader is shown only with an API key that has the scope read";
  return leaders.length === 0 ? "no leader" : `${leaders.join(", ")} leads`;
}

function printCluster(printer: Printer, cluster: ClusterState, areReady: boolean): void {
  const { terms, rootThks } = cluster;
  if (terms.length > 1)
    printer.check("warn", "terms", `the nodes are in terms ${terms.join(", ")}: an election goes on`);
  if (rootThks.length > 1) printer.check("fail", "trust root", `the nodes have ${rootThks.length} trust roots`);
  const [rootThk] = rootThks;
  if (rootThk !== undefined && rootThks.length === 1) printer.check("skip", "RootTHK", rootThk);
  const led = leaderText(cluster);
  printer.verdict(
    areReady ? "pass" : "fail",
    areReady ? `All nodes are ready; ${led}.` : `Not all nodes are ready; ${led}.`,
  );
}

function timeText(ms: number): string {
  return new Date(ms).toISOString();
}

/** A field of an answer, as a person reads it. */
function word(value: unknown): string {
  return typeof value === "string" || typeof value === "number" ? String(value) : "?";
}
