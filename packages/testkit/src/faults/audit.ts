import { nodeCrypto } from "@event-anchoring/node-crypto";
import {
  checkpointOrigin,
  formatCheckpoint,
  hexToBytes,
  receiptFromJson,
  toOriginFingerprint,
  verifyCosignature,
  verifyReceipt,
} from "@event-anchoring/protocol";
import type { Crypto, TrustRootChain } from "@event-anchoring/protocol";
import { rememberVerdicts } from "@event-anchoring/records";
import { headsAt } from "../cluster/acknowledged.ts";
import { trustRootsOf } from "../cluster/trust-roots.ts";
import { nodeFiles } from "../cluster/node-files.ts";
import type { TestCluster } from "../cluster/test-cluster.ts";
import { until } from "../until.ts";
import { brokenPromises } from "./checks.ts";
import { brokenByLog } from "./log-checks.ts";
import { type AnchoredRecord, type Recorder, type SeenCosignature, receiptJson } from "./recorder.ts";
import { storedLog } from "./stored-log.ts";
import type { StoredLeaf } from "./stored-log.ts";

/** What an audit has checked, so that an empty one is not taken for a good one. */
export interface Audit {
  /** A line for every promise that was not kept. */
  readonly broken: readonly string[];
  readonly anchored: number;
  readonly leaves: number;
  readonly cosignatures: number;
  readonly heads: number;
}

const CAUGHT_UP_TIMEOUT_MS = 120_000;

/**
 * Compares everything that clients and nodes were told with what every node has in the end: nothing lost, nothing
 * twice, nothing changed, nothing signed that does not exist. Call it when the cluster is ready and all writers have
 * stopped.
 * @param trustRoots every version there has been. Default: the first one, which nobody has replaced
 */
export async function audit(
  setup: TestCluster,
  recorder: Recorder,
  trustRoots: TrustRootChain = trustRootsOf(setup.cluster.file.trust_root),
): Promise<Audit> {
  const { nodes } = setup.cluster.file;
  const logs = await equalLogs(setup);
  const [first = []] = logs;
  const { cosignatures, heads, anchored } = recorder;
  const crypto = cryptoOf(recorder);
  const tips = await Promise.all(nodes.map(({ id }) => certainHeadsAt(setup, id)));
  const broken = [
    ...brokenPromises(recorder),
    ...logs.flatMap((log, at) => differentLeaves(nodes[at]?.id ?? "", first, log)),
    ...tips.flatMap((tip, at) => (tip.join() === tips[0]?.join() ? [] : [`${nodes[at]?.id}: ${tip.join()}`])),
    ...brokenByLog(first, recorder, Date.now()),
    ...badCosignatures(cosignatures, trustRoots, crypto),
    ...badReceipts(anchored, trustRoots, crypto),
  ];
  return {
    broken,
    anchored: anchored.length,
    leaves: first.length,
    cosignatures: cosignatures.length,
    heads: heads.length,
  };
}

/** Tables are written after an answer is given: a node may take a moment to have them all. */
async function equalLogs(setup: TestCluster): Promise<readonly (readonly StoredLeaf[])[]> {
  const urls = setup.cluster.file.nodes.map(({ id }) => nodeFiles(setup.cluster, id).databaseUrl);
  return until(
    "all nodes hold equally many leaves",
    async () => {
      const logs = await Promise.all(urls.map(storedLog));
      return logs.every(({ length }) => length === logs[0]?.length) ? logs : null;
    },
    CAUGHT_UP_TIMEOUT_MS,
  );
}

/** A node that is not sure yet is asked again. */
async function certainHeadsAt(setup: TestCluster, nodeId: string): Promise<readonly string[]> {
  return until(
    `${nodeId} is sure of its heads`,
    async () => {
      const heads = await headsAt(setup, nodeId);
      return heads.every((head) => /^\d+ [0-9a-f]{64}$/.test(head)) ? heads : null;
    },
    CAUGHT_UP_TIMEOUT_MS,
  );
}

function differentLeaves(nodeId: string, first: readonly StoredLeaf[], own: readonly StoredLeaf[]): readonly string[] {
  const at = own.findIndex(({ anchorId }, place) => anchorId !== first[place]?.anchorId);
  return at < 0 ? [] : [`${nodeId} holds another leaf at sequence ${at} than the first node`];
}

function badCosignatures(
  cosignatures: readonly SeenCosignature[],
  chain: TrustRootChain,
  crypto: Crypto,
): readonly string[] {
  const { clusterName, nodes } = chain.newest.trustRoot;
  const keys = new Map(nodes.map(({ nodeId, cosignerVkey }) => [nodeId, cosignerVkey.publicKey]));
  return cosignatures.flatMap(({ nodeId, originFingerprint, treeSize, rootHash, timeS, signature }) => {
    const publicKey = keys.get(nodeId);
    const origin = checkpointOrigin(clusterName, toOriginFingerprint(hexToBytes(originFingerprint, 32)));
    const checkpointText = formatCheckpoint({ origin, treeSize, rootHash: hexToBytes(rootHash, 32) });
    const isGood =
      publicKey !== undefined &&
      verifyCosignature({ timeS, signature, publicKey, checkpointText }, crypto.ed25519Verify);
    return isGood ? [] : [`${nodeId} sent a bad signature over ${originFingerprint} at size ${treeSize}`];
  });
}

function badReceipts(
  anchored: readonly AnchoredRecord[],
  trustRoots: TrustRootChain,
  crypto: Crypto,
): readonly string[] {
  return anchored.flatMap((record) => {
    const { anchorId, kind, content } = record;
    const { receipt } = receiptFromJson(receiptJson(record));
    const event = kind === "event" || kind === "signed_event" ? { eventHash: hexToBytes(content, 32) } : {};
    const expect = { anchorId: hexToBytes(anchorId, 32), ...event };
    const { failure } = verifyReceipt({ receipt, trustRoots, expect }, crypto);
    return failure === null ? [] : [`receipt of ${anchorId}: ${failure.step} ${failure.code}`];
  });
}

const CRYPTOS = new WeakMap<Recorder, Crypto>();
/** More than the cosignatures of all that one recorder was shown. */
const VERDICTS_MAX = 1_000_000;

/** A cluster is audited often, and receipts of one batch carry one checkpoint: each signature is verified once. */
function cryptoOf(recorder: Recorder): Crypto {
  const known = CRYPTOS.get(recorder);
  if (known !== undefined) return known;
  const crypto = rememberVerdicts(nodeCrypto, VERDICTS_MAX);
  CRYPTOS.set(recorder, crypto);
  return crypto;
}
