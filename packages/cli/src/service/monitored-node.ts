import { readers } from "@event-anchoring/sdk";
import type { Client, MonitoredService, RawRequest, Reader } from "@event-anchoring/sdk";

const { base64, count, hex32, listOf, optional, record, text } = readers;
const readTrustRoots = record({ chain: listOf(record({ document: text })) });
const readLatest = record({
  originFingerprint: hex32,
  checkpoint: text,
  consistency: optional(record({ fromSize: count, treeSize: count, proof: listOf(base64) })),
});
const readProof = record({ proof: listOf(base64) });

/** A node as the monitor asks it. Only the judged parts of an answer are read: the rest cannot break the monitor. */
export function monitoredNode(client: Client): MonitoredService {
  const read = async <Value>(path: string, query: RawRequest["query"], reader: Reader<Value>): Promise<Value> =>
    (await client.request({ path, query })).read(reader);
  return {
    trustRoot: () => read("/v1/trust-root", {}, readTrustRoots),
    latest: ({ originFingerprint, fromSize }) => {
      const query = { origin_fingerprint: originFingerprint, from_size: fromSize };
      return read("/v1/event-anchors/latest", query, readLatest);
    },
    consistency: ({ originFingerprint, fromSize, toSize }) => {
      const query = { origin_fingerprint: originFingerprint, from_size: fromSize, to_size: toSize };
      return read("/v1/event-anchors/consistency", query, readProof);
    },
    getCheckpoint: (originFingerprint) => client.getCheckpoint(originFingerprint),
  };
}
