/** A new cluster's name and id, on a card for those who make its keys apart. Nothing of it is secret. */
import { randomBytes } from "node:crypto";
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { bytesToHex, hexToBytes, isClusterName } from "@event-anchoring/protocol";
import { PrivateFileError, fileExists, writePrivateFile, writeSeed } from "./files.ts";

const HEADER = "event-anchoring/v4.2/cluster-card";
const CARD = /^event-anchoring\/v4\.2\/cluster-card\ncluster (\S{1,128}) ([0-9a-f]{64})\n$/u;

/** Drawn once, and the same for the cluster's whole life. */
export interface ClusterCard {
  readonly clusterName: string;
  /** 32 bytes. */
  readonly clusterId: Uint8Array;
}

/** Two lines, each with its newline: header, and `cluster <name> <id>`. */
function formatClusterCard({ clusterName, clusterId }: ClusterCard): string {
  return `${HEADER}\ncluster ${clusterName} ${bytesToHex(clusterId)}\n`;
}

/** @throws RangeError for what is no cluster card */
export function parseClusterCard(text: string): ClusterCard {
  const [, clusterName = "", clusterId = ""] = CARD.exec(text) ?? [];
  if (!isClusterName(clusterName)) throw new RangeError("not a cluster card");
  return { clusterName, clusterId: hexToBytes(clusterId, 32) };
}

/**
 * Draws what comes before all keys of a new cluster: its id, on `cluster.card`, and `log.seed`, the one secret that all
 * its nodes share.
 * @throws RangeError for a name that no cluster may have; PrivateFileError `exists`: nothing is overwritten
 */
export async function beginCluster(folder: string, clusterName: string): Promise<ClusterCard> {
  if (!isClusterName(clusterName)) {
    throw new RangeError(`a cluster name is a host name in lower case, perhaps with a path, not: ${clusterName}`);
  }
  const [cardFile, seedFile] = [join(folder, "cluster.card"), join(folder, "log.seed")];
  for (const path of [cardFile, seedFile]) {
    if (await fileExists(path)) throw new PrivateFileError("exists", path, "a cluster was begun there already");
  }
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const card = { clusterName, clusterId: Uint8Array.from(randomBytes(32)) };
  await writeSeed(seedFile, Uint8Array.from(randomBytes(32)));
  await writePrivateFile(cardFile, formatClusterCard(card));
  return card;
}
