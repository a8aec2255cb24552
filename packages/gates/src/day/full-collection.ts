import { NODE_FLAGS } from "@event-anchoring/dev-cluster";
import type { ClusterFileNode, NodeFlags } from "@event-anchoring/dev-cluster";
import { until } from "@event-anchoring/testkit";
import { scrapeOf } from "@event-anchoring/testkit/clients";
import type { Scrape } from "@event-anchoring/testkit/clients";

const SIGNAL = "SIGUSR2";
/** V8 drops what nobody holds, code too that did not run lately, moves the rest together, and gives its pages back. */
const COLLECT = `process.on("${SIGNAL}", () => gc({ type: "major", flavor: "last-resort" }))`;

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
  const collections = async (): Promise<number | null> => countOf(await scrapeOf(node.metrics_url), name);
  const before = await until(`the ${name} of ${node.id} tells its collections`, collections);
  process.kill(pid, SIGNAL);
  await until(
    `the ${name} of ${node.id} has collected its garbage`,
    async () => ((await collections()) ?? before) > before,
  );
}

/** @returns null: the process has told nothing */
function countOf(scrape: Scrape | null, name: keyof NodeFlags): number | null {
  const prefix = `anchoring_${name.replace("-", "_")}_`;
  if (scrape === null || scrape.sumOf(`${prefix}process_resident_memory_bytes`) === 0) return null;
  return scrape.sumOf(`${prefix}nodejs_gc_duration_seconds_count`, 'kind="major"');
}
