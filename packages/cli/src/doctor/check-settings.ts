import type { ControlPlaneSettings } from "@event-anchoring/control-contract";
import { bytesToHex } from "@event-anchoring/protocol";
import type { TrustRoot } from "@event-anchoring/protocol";
import { finding } from "./mistakes.ts";
import type { Finding } from "./mistakes.ts";
import type { ApiSettings } from "./node-files.ts";

const EVERYWHERE: ReadonlySet<string> = new Set(["0.0.0.0", "::", "[::]"]);

/** What the settings of the control plane say that no single setting shows. */
export function checkControlPlaneSettings(settings: ControlPlaneSettings, trustRoot: TrustRoot | null): Finding[] {
  const found: Finding[] = [];
  const { node_id: nodeId, peers, listen, metrics } = settings;
  if (peers.some((peer) => peer.node_id === nodeId)) {
    found.push(finding("peer_is_itself", `peers names ${nodeId}, which is this node`));
  }
  for (const [name, address] of Object.entries({ listen, metrics })) {
    if (address === null || !EVERYWHERE.has(address.host)) continue;
    found.push(finding("listens_everywhere", `${name}.host is ${address.host}: name the private address instead`));
  }
  if (trustRoot !== null) found.push(...comparePeers(settings, trustRoot));
  return found;
}

function comparePeers({ node_id: nodeId, peers }: ControlPlaneSettings, { nodes }: TrustRoot): Finding[] {
  const members = nodes.filter(({ status }) => status === "active" || status === "learner");
  const missing = members.filter(
    (node) => node.nodeId !== nodeId && !peers.some((peer) => peer.node_id === node.nodeId),
  );
  const unlisted = peers.filter((peer) => !members.some((node) => node.nodeId === peer.node_id));
  return [
    ...missing.map((node) =>
      finding("peer_missing", `the trust root lists ${node.nodeId}, and peers does not name it`),
    ),
    ...unlisted.map((peer) => finding("peer_unlisted", `peers names ${peer.node_id}, no member by the trust root`)),
  ];
}

/** Where the two processes of a node contradict each other. */
export function compareProcesses(
  controlPlane: ControlPlaneSettings,
  api: ApiSettings,
  trustRoot: TrustRoot | null,
): Finding[] {
  const found: Finding[] = [];
  // The trust root says which of the two is of another cluster, if it is the control plane.
  const isOfCluster = trustRoot === null || controlPlane.cluster_id === bytesToHex(trustRoot.clusterId);
  for (const name of isOfCluster ? (["node_id", "cluster_id"] as const) : (["node_id"] as const)) {
    if (controlPlane[name] === api[name]) continue;
    found.push(finding("settings_differ", `${name} of the api process is not that of the control plane`));
  }
  if (controlPlane.api_socket !== api.control_socket) {
    const [its, own] = [api.control_socket, controlPlane.api_socket];
    found.push(finding("socket_differs", `control_socket of the api process is ${its}, the control plane has ${own}`));
  }
  const owner = roleOf(controlPlane.database_url);
  if (owner !== "" && owner === roleOf(api.database_url)) {
    found.push(
      finding("api_owns_tables", `the api process uses the role ${owner}, which may write: give it the reader`),
    );
  }
  return found;
}

function roleOf(databaseUrl: string): string {
  return URL.canParse(databaseUrl) ? new URL(databaseUrl).username : "";
}
