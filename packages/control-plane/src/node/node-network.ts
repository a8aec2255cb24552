import { join } from "node:path";
import { trustRootsAfter } from "@event-anchoring/control-contract";
import type { HelloRefusal, NodeStatus, PeerFrame } from "@event-anchoring/control-contract";
import type { TrustRoot } from "@event-anchoring/protocol";
import type { ControlPlaneConfig } from "./config.ts";
import type { Environment } from "../ports/environment.ts";
import type { NodeIdentity } from "../ports/identity.ts";
import type { Machine } from "./machine.ts";
import type { Session } from "../session/session.ts";
import type { SnapshotExporter } from "../snapshots/snapshot-exporter.ts";
import type { KnownTrustRoot } from "../membership/known-trust-root.ts";
import { authUnder } from "../membership/own-keys.ts";
import type { PeerAddress, PeerNetwork, TlsFiles } from "../transport/network-types.ts";
import { unaryHandlers } from "../calls/unary-handlers.ts";

export interface NodeNetworkOptions {
  readonly environment: Environment;
  readonly config: ControlPlaneConfig;
  readonly createNetwork: Machine["createNetwork"];
  readonly identity: NodeIdentity;
  readonly known: KnownTrustRoot;
  readonly peers: readonly PeerAddress[];
  readonly incarnation: number;
  /** null before the session is made, and after it ended: peers are then answered from the configuration. */
  readonly session: () => Session | null;
  readonly status: () => NodeStatus;
  readonly snapshots: SnapshotExporter;
  readonly onRefused: (peer: string, refusal: HelloRefusal) => void;
  /** Sees each frame before the session does. */
  readonly onFrame: (from: string, frame: PeerFrame) => void;
}

/** What a node presents and trusts in TLS lies beside its keys. */
export function tlsFilesOf(identityDir: string): TlsFiles {
  return {
    caFile: join(identityDir, "ca.crt"),
    certificateFile: join(identityDir, "tls.crt"),
    keyFile: join(identityDir, "tls.key"),
  };
}

/** The node's place in the private network: its identity, its peers, and who handles their frames. */
export function openNetwork(options: NodeNetworkOptions): PeerNetwork {
  const { environment, config, identity, session, known } = options;
  const network: PeerNetwork = options.createNetwork({
    self: {
      nodeId: identity.nodeId,
      clusterId: identity.clusterId,
      // A rotation takes effect with the version that names the new key.
      get authSigner() {
        return authUnder(identity, known.newest) ?? identity.authSigner;
      },
      incarnation: options.incarnation,
    },
    tls: tlsFilesOf(config.identity_dir),
    listen: config.listen,
    peers: options.peers,
    hello: () => session()?.hello() ?? null,
    judgeHello: (peer) =>
      session()?.judgeHello(peer) ?? { accepted: false, code: "not_ready", detail: "this node is loading" },
    onHelloRefused: options.onRefused,
    ownWordOf: (nodeId) => session()?.ownWordOf(nodeId) ?? null,
    authKeyOf: (nodeId) => authKeyOf(known.newest, nodeId),
    trustRootsAfter: (version) => {
      const applied = session()?.state.trustRootChain;
      return trustRootsAfter((applied ?? known.configured).versions, version);
    },
    trustRootVersion: () => known.newest.version,
    caSpkiPins: () => known.newest.ca,
    onFrame: (from, _lane, frame) => {
      options.onFrame(from, frame);
      session()?.onFrame(from, frame);
    },
    onPeerUp: (nodeId) => {
      options.snapshots.onPeerUp(nodeId);
      session()?.onPeerUp(nodeId);
    },
    onPeerDown: (nodeId, { refusedReconnects }) => {
      options.snapshots.onPeerDown(nodeId);
      session()?.onPeerDown(nodeId, refusedReconnects);
    },
    unary: unaryHandlers({
      ...options,
      clock: environment.clock,
      logger: environment.logger,
      call: (to, path, body, bounds) => network.call(to, path, body, bounds),
    }),
    environment,
  });
  return network;
}

/** A retired node has a key too, so that it can be told; a distrusted node has no key here. */
function authKeyOf({ nodes }: TrustRoot, nodeId: string): Uint8Array | null {
  const line = nodes.find((node) => node.nodeId === nodeId);
  return line === undefined || line.status === "distrusted" ? null : line.authPublicKey;
}
