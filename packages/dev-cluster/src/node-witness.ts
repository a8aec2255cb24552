/** The nodes of an embedded cluster as witnesses of other logs: docs/operating/witness.md. */
import { existsSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { WitnessedLogsError, parseWitnessPromises, parseWitnessedLogs } from "@event-anchoring/control-contract";
import { nodeCrypto } from "@event-anchoring/node-crypto";
import { formatVkey } from "@event-anchoring/protocol";
import { prepareWitness } from "@event-anchoring/provision";
import type { ProvisionedCluster, ProvisionedNode } from "@event-anchoring/provision";

/** What makes a node a witness. */
export interface NodeWitness {
  /** The list of the logs that it witnesses, as an absolute path. */
  readonly logs: string;
  readonly promiseFile: string;
  /** Its verifier key. */
  readonly vkey: string;
}

/**
 * What each node needs to witness the logs of a list, by node id. A node keeps its key; one without gets a new one.
 * @param logs path of the list; null: no node is a witness
 * @throws Error for a list that no node would start with
 */
export async function openNodeWitnesses(
  { clusterName, nodes }: ProvisionedCluster,
  logs: string | null,
): Promise<ReadonlyMap<string, NodeWitness>> {
  if (logs === null) return new Map();
  assertLogs(logs);
  const opened = await Promise.all(
    nodes.map(async (node) => {
      const promiseFile = join(dirname(node.promiseFile), "witness.promises");
      const vkey = await vkeyOf(node, `${clusterName}/witness/${node.nodeId}`, promiseFile);
      return [node.nodeId, { logs, promiseFile, vkey }] as const;
    }),
  );
  return new Map(opened);
}

async function vkeyOf({ identityDir }: ProvisionedNode, name: string, promiseFile: string): Promise<string> {
  const isKnown = existsSync(join(identityDir, "witness.key"));
  const vkey = isKnown
    ? parseWitnessPromises(readFileSync(promiseFile, "utf8"), nodeCrypto).vkey
    : await prepareWitness({ identityDir, name, promiseFile });
  return formatVkey(vkey);
}

function assertLogs(path: string): void {
  try {
    parseWitnessedLogs(readFileSync(path, "utf8"), nodeCrypto.sha256);
  } catch (cause) {
    const reason = cause instanceof WitnessedLogsError ? cause.message : "it cannot be read";
    throw new Error(`the list of witnessed logs ${path}: ${reason}`, { cause });
  }
}
