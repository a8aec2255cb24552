import { mkdtempSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { EmbeddedCluster } from "@event-anchoring/dev-cluster";
import type { EmbeddedClusterOptions } from "@event-anchoring/dev-cluster";
import { MeasuredCluster } from "./measured-cluster.ts";
import { readRemoteCluster } from "./remote-cluster.ts";
import type { Progress } from "../report/progress.ts";

/** A cluster that runs already: of a folder on this machine, or of a file that says how it is reached. */
function runningCluster(path: string): MeasuredCluster {
  const isFile = statSync(path, { throwIfNoEntry: false })?.isFile() === true;
  return isFile ? MeasuredCluster.remote(readRemoteCluster(path)) : MeasuredCluster.running(path);
}

export interface OwnCluster<Result> {
  readonly progress: Progress;
  /** Ends a start early. */
  readonly signal: AbortSignal | null;
  readonly faultHooks?: EmbeddedClusterOptions["faultHooks"];
  readonly use: (cluster: MeasuredCluster) => Promise<Result>;
}

/** A cluster that is started for `use` and erased afterwards. */
export async function withOwnCluster<Result>(order: OwnCluster<Result>): Promise<Result> {
  const { progress, signal, faultHooks = {}, use } = order;
  const { reporter } = progress;
  const folder = mkdtempSync(join(tmpdir(), "anchoring-bench-"));
  const own = await EmbeddedCluster.start({ folder, reporter, faultHooks }, signal ?? undefined);
  try {
    return await use(MeasuredCluster.ofOwn(own));
  } finally {
    await reporter.step("stopping the cluster", () => own.erase());
  }
}

/** The running cluster of a path, or one of its own. */
export function withCluster<Result>(path: string | null, order: OwnCluster<Result>): Promise<Result> {
  return path === null ? withOwnCluster(order) : order.use(runningCluster(path));
}
