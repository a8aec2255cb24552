/** What a node is called on its networks, and the ports it listens on: the same in containers and beside systemd. */

export const CONTROL_PORT = 7400;
export const API_PORT = 8080;
export const METRICS_PORT = 9100;

/** The database of a node, in a Postgres of its own. */
export const DATABASE = "anchoring";
/** Owns the tables; of the control plane. */
export const OWNER_ROLE = "anchoring_owner";
/** May read the state tables; of the api process. */
export const READER_ROLE = "anchoring_reader";

/** A process listens on one network by listening on its name there; the api process's certificate has its name. */
export const controlHost = (nodeId: string): string => `${nodeId}.control.internal`;
export const apiHost = (nodeId: string): string => `${nodeId}.api.internal`;
export const metricsHost = (nodeId: string): string => `${nodeId}.metrics.internal`;

/** A node's entry in `cluster.json`, by which anchorctl finds it. */
export const nodeAddresses = ({
  nodeId,
  originFingerprint,
}: {
  nodeId: string;
  originFingerprint: string;
}): object => ({
  id: nodeId,
  api_url: `https://${apiHost(nodeId)}:${API_PORT}`,
  control_address: `${controlHost(nodeId)}:${CONTROL_PORT}`,
  origin_fingerprint: originFingerprint,
});
