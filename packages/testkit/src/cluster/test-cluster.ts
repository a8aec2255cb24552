import { chmodSync, mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { EmbeddedCluster, openPostgresInstallation, postgresUser } from "@event-anchoring/dev-cluster";
import type { ClusterFileNode, EmbeddedClusterOptions } from "@event-anchoring/dev-cluster";
import { TEMPLATE_NAMES, fillFromTemplate } from "../postgres/postgres-templates.ts";
import { until } from "../until.ts";

export interface TestCluster {
  readonly cluster: EmbeddedCluster;
  readonly apiKey: string;
  /** The supervisor's notices about processes that ended. */
  readonly notices: readonly string[];
  /** A node as cluster.json describes it now. */
  entry(id: string): ClusterFileNode;
  /** Waits until some node says that it leads. */
  leader(): Promise<ClusterFileNode>;
  /** Ends the cluster in no particular order, and deletes it. */
  erase(): Promise<void>;
}

/** A real cluster in a folder of its own, with its processes run from the build. Call `erase()` in the end. */
export async function startTestCluster(
  options: Pick<EmbeddedClusterOptions, "logEntriesKept" | "postgresSettings" | "nodeFlags" | "faultHooks"> = {},
): Promise<TestCluster> {
  const notices: string[] = [];
  const reporter = {
    step: <Result>(_title: string, run: () => Promise<Result>): Promise<Result> => run(),
    notice: (message: string): void => {
      notices.push(message);
    },
  };
  const folder = mkdtempSync(join(tmpdir(), "anchoring-cluster-"));
  const cluster = await startIn(folder, { ...options, reporter, firstPort: ownPorts() });
  const erase = async (): Promise<void> => {
    // Their last writes do not matter any more.
    await Promise.all(cluster.file.nodes.map(({ id }) => cluster.node(id).killProcesses()));
    await cluster.erase();
  };
  const { api_key: apiKey } = cluster.file;
  if (apiKey === null) throw new Error("a running cluster has an API key");
  const leader = (): Promise<ClusterFileNode> =>
    until("a node says that it leads", async () => {
      const answers = await Promise.all(
        cluster.file.nodes.map(async (node) =>
          (await roleOf(node.api_url, cluster.file.api_key ?? "")) === "leader" ? [node] : [],
        ),
      );
      return answers.flat()[0] ?? null;
    });
  return { cluster, apiKey, notices, entry: (id) => cluster.node(id).entry, leader, erase };
}

/** A cluster that does not come up leaves nothing behind. */
async function startIn(folder: string, options: Omit<EmbeddedClusterOptions, "folder">): Promise<EmbeddedCluster> {
  try {
    await fillDatabases(folder);
    return await EmbeddedCluster.start({ ...options, folder });
  } catch (error) {
    rmSync(folder, { recursive: true, force: true });
    throw error;
  }
}

/** Where an embedded cluster keeps its databases, unless the account of Postgres cannot reach them there. */
async function fillDatabases(folder: string): Promise<void> {
  const user = postgresUser();
  // Others pass through and see nothing, as the cluster itself has it.
  if (user !== null) chmodSync(folder, 0o711);
  const databases = join(folder, "postgres");
  mkdirSync(databases, { mode: user === null ? 0o700 : 0o711 });
  const installation = openPostgresInstallation({ cacheDir: databases, user });
  const use = { installation, user };
  await Promise.all(TEMPLATE_NAMES.map((name) => fillFromTemplate(name, join(databases, name), use)));
}

/** The ports of a cluster lie in three rows of ten, a hundred apart. */
const PLACES_PER_ROW = 10;
const ROWS = 70;
const FIRST_ROW = 10_000;

/**
 * Another place for each test process, below the ports that systems give out by themselves: a node that is down keeps
 * its ports only as long as no other process takes them.
 */
function ownPorts(): number {
  const place = process.pid % (PLACES_PER_ROW * ROWS);
  return FIRST_ROW + Math.floor(place / PLACES_PER_ROW) * 300 + (place % PLACES_PER_ROW) * 10;
}

/** Null when the node does not answer. */
async function roleOf(apiUrl: string, apiKey: string): Promise<unknown> {
  try {
    const headers = { authorization: `Bearer ${apiKey}` };
    const response = await fetch(`${apiUrl}/healthz`, { headers, signal: AbortSignal.timeout(2000) });
    const health: unknown = await response.json();
    if (typeof health !== "object" || health === null || !("raft" in health)) return null;
    const { raft } = health;
    return typeof raft === "object" && raft !== null && "role" in raft ? raft.role : null;
  } catch {
    // A node that is down has no role; the caller asks the others, and asks again.
    return null;
  }
}
