import { join } from "node:path";
import { parseIdentity } from "@event-anchoring/control-contract";
import type { ControlPlaneSettings } from "@event-anchoring/control-contract";
import { isRecord } from "../files/nearest-cluster.ts";
import { baseOf, parsed, recordsIn } from "./api-process.ts";
import type { Connecting, Host, ListenerAddress } from "./host.ts";
import { finding } from "./mistakes.ts";
import type { Finding, MistakeCode } from "./mistakes.ts";
import type { ApiSettings } from "./node-files.ts";

type Peer = ControlPlaneSettings["peers"][number];

const POSTGRES_PORT = 5432;
/** Checks of /readyz that say why the control plane has ended. */
const STOPPED_BY_ITSELF: ReadonlySet<string> = new Set(["fenced", "halted"]);

interface FailingCheck {
  readonly check: string;
  readonly detail: string;
}

const UNREACHABLE: Readonly<Record<Exclude<Connecting, "open">, readonly [code: MistakeCode, why: string]>> = {
  unknown_name: ["peer_unknown_name", "the name has no address here: /etc/hosts, extra_hosts or DNS"],
  refused: ["peer_refused", "the connection is refused: it does not run, or its port is not published"],
  silent: ["peer_silent", "no answer: a firewall on the way, or a wrong address"],
  denied: ["peer_silent", "the system forbids the connection"],
  missing: ["peer_silent", "there is no way to it"],
  failed: ["peer_silent", "there is no way to it"],
};

/** Whether each peer is there, and is the peer that is meant. */
export async function checkPeers(host: Host, { peers }: ControlPlaneSettings): Promise<Finding[]> {
  const found = await Promise.all(peers.map((peer) => checkPeer(host, peer)));
  return found.flat();
}

async function checkPeer(host: Host, { node_id: nodeId, host: name, port }: Peer): Promise<Finding[]> {
  const connecting = await host.connect({ host: name, port });
  if (connecting !== "open") {
    const [code, why] = UNREACHABLE[connecting];
    return [finding(code, `${nodeId} at ${name}:${port}: ${why}`)];
  }
  const certificate = await host.certificateOf(name, port);
  if (certificate === "silent") {
    return [finding("peer_silent", `${nodeId} at ${name}:${port}: it takes the connection, and then says nothing`)];
  }
  const names = certificate === "none" ? "" : (certificate.subjectAltName ?? "");
  const uri = names.split(", ").find((part) => part.startsWith("URI:"));
  const identity = uri === undefined ? null : parseIdentity(uri.slice("URI:".length));
  if (identity?.role === "node" && identity.id === nodeId) return [];
  const who = identity === null ? "no node" : `the ${identity.role} ${identity.id}`;
  return [finding("peer_is_another", `${name}:${port} is ${who}, not ${nodeId}: its address is wrong`)];
}

/** Whether the processes of this node and its database take connections, and each check of /readyz that fails. */
export async function checkProcesses(
  host: Host,
  settings: ControlPlaneSettings,
  api: ApiSettings | null,
): Promise<Finding[]> {
  const down = await checkListeners(host, settings);
  if (api === null) return down;
  const failing = await failingChecks(host, api);
  if (failing === null) return [...down, finding("api_down", `the api process at ${baseOf(api)} does not answer`)];
  const isDown = (code: MistakeCode): boolean => down.some((found) => found.code === code);
  // Without its database no node is ready.
  if (isDown("database_down")) return down;
  const more = isDown("control_plane_down") ? failing.filter(({ check }) => check !== "control_plane") : failing;
  const said = more.map(({ check, detail }) => finding("not_ready", `the node says: ${check}: ${detail}`));
  const isExplained = more.some(({ check }) => STOPPED_BY_ITSELF.has(check));
  return isExplained ? said : [...down, ...said];
}

async function checkListeners(host: Host, settings: ControlPlaneSettings): Promise<Finding[]> {
  const database = databaseAddress(settings.database_url);
  const connecting = await host.connect(database);
  // Without its database no control plane listens.
  if (connecting !== "open") return [finding("database_down", `Postgres at ${textOf(database)}: ${connecting}`)];
  const { listen } = settings;
  const own = await host.connect(listen);
  return own === "open" ? [] : [finding("control_plane_down", `the control plane at ${textOf(listen)}: ${own}`)];
}

function databaseAddress(databaseUrl: string): ListenerAddress {
  const url = new URL(databaseUrl);
  const port = Number(url.searchParams.get("port") ?? (url.port === "" ? POSTGRES_PORT : url.port));
  // In the place of a name an address of IPv6 has brackets, and a socket's folder is percent-encoded.
  const named = decodeURIComponent(url.hostname).replace(/^\[(.*)\]$/u, "$1");
  const host = url.searchParams.get("host") ?? named;
  return host.startsWith("/") ? { socket: join(host, `.s.PGSQL.${port}`) } : { host, port };
}

const textOf = (address: ListenerAddress): string =>
  "socket" in address ? address.socket : `${address.host}:${address.port}`;

/** What the api process says of its node; null: it does not answer. */
async function failingChecks(host: Host, api: ApiSettings): Promise<readonly FailingCheck[] | null> {
  const answer = await host.get(`${baseOf(api)}/readyz`);
  if (answer === null) return null;
  return recordsIn(parsed(answer.body)["checks"]).flatMap(({ check, result, detail }) => {
    return result === "fail" ? [{ check: String(check), detail: String(detail) }] : [];
  });
}

/** Whether the other nodes run the release that this one runs: two may be mixed, for as long as an upgrade takes. */
export async function checkReleases(host: Host, api: ApiSettings, others: readonly string[]): Promise<Finding[]> {
  const own = await releaseOf(host, baseOf(api));
  const theirs = await Promise.all(others.map(async (url) => ({ url, release: await releaseOf(host, url) })));
  return theirs.flatMap(({ url, release }) => {
    if (own === null || release === null || own === release) return [];
    return [finding("release_differs", `${url} runs release ${release}, this node ${own}`)];
  });
}

async function releaseOf(host: Host, base: string): Promise<string | null> {
  const { versions } = parsed((await host.get(`${base}/healthz`))?.body ?? "");
  const release = isRecord(versions) ? versions["service"] : null;
  return typeof release === "string" ? release : null;
}
