/** Which node runs on which host, judged against the ceremony's cards: docs/operating/deploy-plan.md. */
import { isIPv4 } from "node:net";
import { bytesToHex, equalBytes, formatVkey } from "@event-anchoring/protocol";
import type { TrustRoot, TrustRootNode } from "@event-anchoring/protocol";
import type { NodeCard } from "./node-card.ts";

/** What a plan is made from. */
export interface DeploymentWish {
  /** Addresses in the order of the nodes, or each as `<node id>=<address>`. */
  readonly hosts: readonly string[];
  /** Cards of all nodes; empty: the trust root alone says which nodes there are. */
  readonly cards: readonly NodeCard[];
  /** The newest version, verified; null: there are only cards. */
  readonly trustRoot: TrustRoot | null;
  /** Unix seconds. */
  readonly nowS: number;
}

export interface PlacedNode {
  readonly nodeId: string;
  /** IPv4, on the network that the hosts share. */
  readonly address: string;
  /** 64 hex digits. */
  readonly originFingerprint: string;
}

/** Every node of a cluster with its host. */
export interface DeploymentPlan {
  readonly clusterName: string;
  /** 64 hex digits. */
  readonly clusterId: string;
  readonly nodes: readonly PlacedNode[];
}

/** A plan, or everything that is wrong with the wish: a sentence each. */
type Planned =
  | { readonly result: "planned"; readonly plan: DeploymentPlan }
  | { readonly result: "refused"; readonly faults: readonly string[] };

type KnownNode = Pick<TrustRootNode, "nodeId" | "originFingerprint">;

/** Gives each node its host, or says all that contradicts itself. */
export function planDeployment(wish: DeploymentWish): Planned {
  const { cards, trustRoot, nowS } = wish;
  const [cluster] = trustRoot === null ? cards : [trustRoot];
  if (cluster === undefined) return { result: "refused", faults: ["there is neither a card nor a trust root"] };
  const nodes = nodesOf(wish);
  const places = placesOf(nodes, wish.hosts);
  const faults = [
    ...cardFaults(cards, cluster),
    ...(trustRoot === null ? [] : trustRootFaults(cards, trustRoot, nowS)),
    ...places.faults,
  ];
  if (faults.length > 0) return { result: "refused", faults };
  const { clusterName, clusterId } = cluster;
  const placed = nodes.map(({ nodeId, originFingerprint }) => {
    return { nodeId, address: places.of.get(nodeId) ?? "", originFingerprint: bytesToHex(originFingerprint) };
  });
  return { result: "planned", plan: { clusterName, clusterId: bytesToHex(clusterId), nodes: placed } };
}

/** A retired or distrusted node has no host. */
const hasHost = ({ status }: TrustRootNode): boolean => status === "active" || status === "learner";

function nodesOf({ cards, trustRoot }: DeploymentWish): readonly KnownNode[] {
  const known: readonly KnownNode[] = cards.length > 0 || trustRoot === null ? cards : trustRoot.nodes.filter(hasHost);
  return known.filter(({ nodeId }, at) => known.findIndex((other) => other.nodeId === nodeId) === at);
}

/** What the cards say against each other, and against the cluster. */
function cardFaults(
  cards: readonly NodeCard[],
  cluster: { readonly clusterName: string; readonly clusterId: Uint8Array },
): string[] {
  const strangers = cards.flatMap(({ nodeId, clusterName, clusterId }) => {
    if (clusterName === cluster.clusterName && equalBytes(clusterId, cluster.clusterId)) return [];
    const [its, the] = [bytesToHex(clusterId).slice(0, 8), bytesToHex(cluster.clusterId).slice(0, 8)];
    return [`the card of ${nodeId} is of the cluster ${clusterName} ${its}…, not of ${cluster.clusterName} ${the}…`];
  });
  const pairs = cards.flatMap((card, at) =>
    cards.slice(0, at).flatMap((earlier) => {
      if (earlier.nodeId === card.nodeId) return [`there are two cards of ${card.nodeId}`];
      return sharedKeys(earlier, card).map(
        (what) => `${earlier.nodeId} and ${card.nodeId} have the same ${what}: each node draws its own`,
      );
    }),
  );
  return [...strangers, ...pairs];
}

function sharedKeys(one: NodeCard, other: NodeCard): readonly string[] {
  return [
    ...(equalBytes(one.authPublicKey, other.authPublicKey) ? ["auth key"] : []),
    ...(equalBytes(one.cosignerVkey.publicKey, other.cosignerVkey.publicKey) ? ["cosigner key"] : []),
    ...(equalBytes(one.originFingerprint, other.originFingerprint) ? ["origin"] : []),
  ];
}

/** What the trust root says against the cards, and whether it still counts. */
function trustRootFaults(cards: readonly NodeCard[], trustRoot: TrustRoot, nowS: number): string[] {
  const { nodes, version, expiresS } = trustRoot;
  const expired = new Date(expiresS * 1000).toISOString();
  const missing = nodes.filter((node) => hasHost(node) && !cards.some(({ nodeId }) => nodeId === node.nodeId));
  return [
    ...(expiresS > nowS ? [] : [`version ${version} of the trust root expired at ${expired}`]),
    ...(cards.length === 0
      ? []
      : missing.map(({ nodeId }) => `the trust root names ${nodeId}, and there is no card of it`)),
    ...cards.flatMap((card) => {
      const named = nodes.find(({ nodeId }) => nodeId === card.nodeId);
      return named === undefined
        ? [`there is a card of ${card.nodeId}, which the trust root does not name`]
        : differences(card, named, trustRoot);
    }),
  ];
}

function differences(card: NodeCard, named: TrustRootNode, { origins }: TrustRoot): readonly string[] {
  const { nodeId } = card;
  if (!hasHost(named)) return [`${nodeId} is ${named.status}: it has no host`];
  const logVkey = origins.find(({ originFingerprint }) =>
    equalBytes(originFingerprint, named.originFingerprint),
  )?.logVkey;
  const differing = [
    ...(equalBytes(card.authPublicKey, named.authPublicKey) ? [] : ["auth key"]),
    ...(formatVkey(card.cosignerVkey) === formatVkey(named.cosignerVkey) ? [] : ["cosigner key"]),
    ...(equalBytes(card.originFingerprint, named.originFingerprint) ? [] : ["origin"]),
    ...(logVkey !== undefined && formatVkey(card.logVkey) === formatVkey(logVkey) ? [] : ["log key"]),
  ];
  return differing.map((what) => `the card of ${nodeId} has another ${what} than the trust root`);
}

interface Places {
  /** By node id. */
  readonly of: ReadonlyMap<string, string>;
  readonly faults: readonly string[];
}

function placesOf(nodes: readonly KnownNode[], hosts: readonly string[]): Places {
  const ids = nodes.map(({ nodeId }) => nodeId);
  const isNamed = hosts.some((host) => host.includes("="));
  const given = hosts.map((host, at) => pairOf(host, isNamed ? "" : (ids[at] ?? "")));
  const addresses = given.map(({ address }) => address);
  const named = given.map(({ nodeId }) => nodeId);
  const unnamed = given.filter(({ nodeId }) => isNamed && nodeId === "").map(({ address }) => address);
  const count = `there are ${ids.length} nodes (${ids.join(", ")}), and ${hosts.length} hosts`;
  const faults = [
    ...(!isNamed && hosts.length !== ids.length ? [count] : []),
    ...(unnamed.length === 0 ? [] : [`name the node of ${unnamed.join(", ")}, too, or of no host`]),
    ...(isNamed ? ids.filter((id) => !named.includes(id)).map((id) => `there is no host for ${id}`) : []),
    ...repeated(named.filter((id) => id !== "")).map((id) => `${id} has two hosts`),
    ...named.filter((id) => isNamed && id !== "" && !ids.includes(id)).map((id) => `there is no node ${id}`),
    ...repeated(addresses).map((address) => `the host ${address} is there twice: two nodes on one go down together`),
    ...[...new Set(addresses)].flatMap(addressFault),
  ];
  return { of: new Map(given.map(({ nodeId, address }) => [nodeId, address])), faults };
}

function pairOf(host: string, nodeId: string): { readonly nodeId: string; readonly address: string } {
  const [name = "", address] = host.split("=");
  return address === undefined ? { nodeId, address: name } : { nodeId: name, address };
}

const repeated = (items: readonly string[]): readonly string[] => [
  ...new Set(items.filter((item, at) => items.indexOf(item) !== at)),
];

/** An address of one host that the others can reach: no name, for it says where to listen, too. */
function addressFault(address: string): readonly string[] {
  if (!isIPv4(address)) return [`a host is given by its IPv4 address on the network of the nodes, not: ${address}`];
  const first = Number(address.split(".")[0]);
  if (first === 0 || first >= 224) return [`${address} is no address of one host`];
  return first === 127 ? [`${address} is loopback: no other host reaches it`] : [];
}
