import { NODE_FLAGS } from "@event-anchoring/dev-cluster";
import type { ClusterFileNode, NodeFlags } from "@event-anchoring/dev-cluster";
import { until } from "@event-anchoring/testkit";
import { scrapeOf } from "@event-anchoring/testkit/clients";
import { toldOf } from "./process-told.ts";
import type { ProcessTold } from "./process-told.ts";

/** A process that was started for it answers with a full collection. */
export const SIGNAL = "SIGUSR2";
/**
 * V8 drops what nobody holds, and then compiled code too, moves the rest together, and gives free pages back. With an
 * argument, `gc` of Node 20 collects the young generation alone: the call without one is for that.
 */
const COLLECT = `process.on("${SIGNAL}", () => { gc(); gc({ type: "major", flavor: "last-resort" }); })`;
const WHEN_ASKED = ["--expose-gc", `--import=data:text/javascript,${encodeURIComponent(COLLECT)}`];

/** How Node is started for `collectAll`. */
export const COLLECTED_WHEN_ASKED: NodeFlags = {
  api: [...NODE_FLAGS.api, ...WHEN_ASKED],
  "control-plane": [...NODE_FLAGS["control-plane"], ...WHEN_ASKED],
};

/**
 * Asks all processes of nodes for a full collection of their main threads, and waits for it. A process that is down
 * holds nothing.
 * @throws if one does not do it
 */
export async function collectAll(nodes: readonly ClusterFileNode[]): Promise<void> {
  await Promise.all(
    nodes.flatMap((node) => [
      collect(node, "api", node.pids.api),
      collect(node, "control-plane", node.pids.control_plane),
    ]),
  );
}

async function collect(node: ClusterFileNode, name: keyof NodeFlags, pid: number | null): Promise<void> {
  if (pid === null) return;
  const told = async (): Promise<ProcessTold | null> => toldOf(await scrapeOf(node.metrics_url), name);
  const before = await until(`the ${name} of ${node.id} tells its collections`, told);
  process.kill(pid, SIGNAL);
  await until(`the ${name} of ${node.id} has collected its garbage`, async () => {
    const now = await told();
    return now !== null && now.majorCollections > before.majorCollections;
  });
}
