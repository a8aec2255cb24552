/** What a node's operator hands to the holders of the root keys: the node's public keys, on a card. */
import { nodeCrypto } from "@event-anchoring/node-crypto";
import {
  VKEY_TYPE,
  bytesToHex,
  checkpointOrigin,
  cosignerName,
  formatVkey,
  hexToBytes,
  isClusterName,
  isNodeId,
  parseVkey,
  toOriginFingerprint,
} from "@event-anchoring/protocol";
import type { OriginFingerprint, Vkey } from "@event-anchoring/protocol";

const HEADER = "event-anchoring/v4.2/node-card";
const CARD_LENGTH_MAX = 4096;

/** Public keys of one node. A card carries no signature: compare its hash with the node's operator before it counts. */
export interface NodeCard {
  readonly clusterName: string;
  /** 32 bytes. */
  readonly clusterId: Uint8Array;
  readonly nodeId: string;
  /** The origin the node writes to; it stays when its keys change. */
  readonly originFingerprint: OriginFingerprint;
  readonly logVkey: Vkey;
  readonly cosignerVkey: Vkey;
  /** 32 bytes. */
  readonly authPublicKey: Uint8Array;
}

/** The text is no card, or contradicts itself. */
export class NodeCardError extends Error {
  override readonly name = "NodeCardError";
}

/**
 * Four lines, each with its newline: header, `cluster <name> <id>`, `origin <fingerprint> <log vkey>` and
 * `node <id> <cosigner vkey> <auth public key>`, as they stand in a trust root but for the statuses.
 */
export function formatNodeCard(card: NodeCard): string {
  return [
    HEADER,
    `cluster ${card.clusterName} ${bytesToHex(card.clusterId)}`,
    `origin ${bytesToHex(card.originFingerprint)} ${formatVkey(card.logVkey)}`,
    `node ${card.nodeId} ${formatVkey(card.cosignerVkey)} ${bytesToHex(card.authPublicKey)}`,
    "",
  ].join("\n");
}

/** Reads a card, which may be attacker-controlled. Whose it is, a person must know. @throws NodeCardError */
export function parseNodeCard(text: string): NodeCard {
  if (text.length > CARD_LENGTH_MAX) throw new NodeCardError("too long for a node card");
  const lines = text.split("\n").map((line) => line.split(" "));
  const [[header], [clusterWord, clusterName = "", clusterId = ""] = [], origin = [], node = []] = [
    lines[0] ?? [],
    lines[1],
    lines[2],
    lines[3],
  ];
  const words = [header, clusterWord, origin[0], node[0]];
  if (words.join(" ") !== `${HEADER} cluster origin node`) throw new NodeCardError("not a node card");
  const card = attempt(() => ({
    clusterName,
    clusterId: hexToBytes(clusterId, 32),
    nodeId: node[1] ?? "",
    originFingerprint: toOriginFingerprint(hexToBytes(origin[1] ?? "", 32)),
    logVkey: parseVkey(origin[2] ?? "", nodeCrypto.sha256),
    cosignerVkey: parseVkey(node[2] ?? "", nodeCrypto.sha256),
    authPublicKey: hexToBytes(node[3] ?? "", 32),
  }));
  if (formatNodeCard(card) !== text) throw new NodeCardError("the card does not print back to the same text");
  assertNames(card);
  return card;
}

/** Whatever a decoder says of a field, the card is not readable. */
function attempt(read: () => NodeCard): NodeCard {
  try {
    return read();
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw new NodeCardError(`a field of the card cannot be read: ${reason}`, { cause });
  }
}

function assertNames({ clusterName, nodeId, originFingerprint, logVkey, cosignerVkey }: NodeCard): void {
  if (!isClusterName(clusterName) || !isNodeId(nodeId)) throw new NodeCardError("cluster name or node id is not legal");
  const isCosigner = cosignerVkey.type === VKEY_TYPE.cosignature;
  if (!isCosigner || cosignerVkey.name !== cosignerName(clusterName, nodeId)) {
    throw new NodeCardError(`${cosignerVkey.name} is not the cosigner key of ${nodeId}`);
  }
  const isLog = logVkey.type === VKEY_TYPE.ed25519;
  if (!isLog || logVkey.name !== checkpointOrigin(clusterName, originFingerprint)) {
    throw new NodeCardError(`${logVkey.name} is not the log key of this origin`);
  }
}
