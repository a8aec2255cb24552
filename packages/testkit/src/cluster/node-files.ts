import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { EmbeddedCluster } from "@event-anchoring/dev-cluster";

/** Where one node of an embedded cluster keeps what a test takes away, damages or gives back. */
export interface NodeFiles {
  readonly identityDir: string;
  readonly promiseFile: string;
  /** The files of its Postgres server. */
  readonly databaseDir: string;
  /** As the owner of its tables. */
  readonly databaseUrl: string;
  readonly controlPlaneLog: string;
  /** What its Postgres server has said. */
  readonly postgresLog: string;
  readonly controlPlaneConfig: Readonly<Record<string, unknown>>;
  /** The reason its control plane left when it stopped for good; null: it has not. */
  stopped(): Stopped | null;
}

export interface Stopped {
  /** The exit code. */
  readonly code: number;
  readonly reason: string;
  readonly check: string;
  readonly detail: string;
}

export function nodeFiles(cluster: EmbeddedCluster, id: string): NodeFiles {
  const dir = join(cluster.root, "nodes", id);
  const config = JSON.parse(readFileSync(join(dir, "control-plane.json"), "utf8")) as Record<string, unknown>;
  const stoppedFile = join(textOf(config, "run_dir"), "stopped.json");
  return {
    identityDir: textOf(config, "identity_dir"),
    promiseFile: textOf(config, "promise_file"),
    databaseDir: join(cluster.file.postgres_dir, id),
    databaseUrl: textOf(config, "database_url"),
    controlPlaneLog: join(dir, "logs", "control-plane.log"),
    postgresLog: join(dir, "logs", "postgres.log"),
    controlPlaneConfig: config,
    stopped: () => (existsSync(stoppedFile) ? (JSON.parse(readFileSync(stoppedFile, "utf8")) as Stopped) : null),
  };
}

function textOf(config: Readonly<Record<string, unknown>>, name: string): string {
  const value = config[name];
  if (typeof value !== "string") throw new Error(`the settings of the control plane have no ${name}`);
  return value;
}
