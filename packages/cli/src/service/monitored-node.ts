import { NotFound, proofFromTiles, readers } from "@event-anchoring/sdk";
import type { Client, MonitoredService, RawRequest, Reader } from "@event-anchoring/sdk";

const { base64, count, hex32, listOf, optional, record, text } = readers;
const readTrustRoots = record({ chain: listOf(record({ document: text })) });
const readLatest = record({
  originFingerprint: hex32,
  checkpoint: text,
  consistency: optional(record({ fromSize: count, treeSize: count, proof: listOf(base64) })),
});
const readProof = record({ proof: listOf(base64) });

const BYTES = "application/octet-stream";

async function read<Value>(client: Client, request: RawRequest, reader: Reader<Value>): Promise<Value> {
  return (await client.request(request)).read(reader);
}

/** A node as the monitor asks it. Only the judged parts of an answer are read: the rest cannot break the monitor. */
export function monitoredNode(client: Client): MonitoredService {
  return {
    trustRoot: () => read(client, { path: "/v1/trust-root" }, readTrustRoots),
    latest: ({ originFingerprint, fromSize }) => {
      const query = { origin_fingerprint: originFingerprint, from_size: fromSize };
      return read(client, { path: "/v1/event-anchors/latest", query }, readLatest);
    },
    consistency: ({ originFingerprint, fromSize, toSize }) => {
      const query = { origin_fingerprint: originFingerprint, from_size: fromSize, to_size: toSize };
      return read(client, { path: "/v1/event-anchors/consistency", query }, readProof);
    },
    getCheckpoint: (originFingerprint) => client.getCheckpoint(originFingerprint),
  };
}

/** A log that shows itself to everybody, as files or by a node: heads are checkpoints, and proofs are made of tiles. */
export function publicLog(client: Client): MonitoredService {
  const isAnswer = (status: number): boolean => status === 200 || status === 404;
  /** Null: there is no such file. */
  const fileOf = async (originFingerprint: string, path: string, accept: string): Promise<Uint8Array | null> => {
    const answer = await client.request({ path: `/v1/origins/${originFingerprint}/${path}`, accept, isAnswer });
    return answer.status === 404 ? null : answer.body;
  };
  const checkpoint = async (originFingerprint: string): Promise<string> => {
    const note = await fileOf(originFingerprint, "checkpoint", "text/plain");
    if (note !== null) return Buffer.from(note).toString("utf8");
    throw new NotFound("no_anchor_yet", "there is no checkpoint", { status: 404 });
  };
  return {
    trustRoot: () => read(client, { path: "/v1/trust-root" }, readTrustRoots),
    latest: async ({ originFingerprint }) => {
      const note = await checkpoint(originFingerprint);
      // As a node answers a key: the genesis leaf alone is no anchor, and a memory serves watches with and without one.
      if (note.split("\n")[1] === "1") throw new NotFound("no_anchor_yet", "only the genesis leaf", { status: 404 });
      return { originFingerprint, checkpoint: note, consistency: null };
    },
    consistency: async ({ originFingerprint, fromSize, toSize }) => {
      return { proof: await proofFromTiles(fromSize, toSize, (path) => fileOf(originFingerprint, path, BYTES)) };
    },
    getCheckpoint: checkpoint,
  };
}
