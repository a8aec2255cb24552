import { dirname } from "node:path";
import { newestSlot } from "@event-anchoring/control-contract";
import type { ControlPlaneSettings, Promises } from "@event-anchoring/control-contract";
import { equalBytes, hexToBytes } from "@event-anchoring/protocol";
import type { TrustRoot } from "@event-anchoring/protocol";
import type { Host } from "./host.ts";
import { finding } from "./mistakes.ts";
import type { Finding } from "./mistakes.ts";
import { nearestFolder } from "./node-files.ts";

const OTHERS_MAY_READ = 0o077;
const FREE_SHARE_MIN = 0.15;

/** Folders that doctor was told of, or has found; null: not known. */
export interface Folders {
  readonly database: string | null;
  readonly backups: string | null;
}

/** Whether database, promise file and backups can be lost one by one only, and have room. */
export function checkDisks(
  host: Host,
  { promise_file: promiseFile }: ControlPlaneSettings,
  folders: Folders,
): Finding[] {
  const found: Finding[] = [];
  const promiseDir = dirname(promiseFile);
  const promiseDevice = host.fileState(promiseDir)?.device ?? null;
  const deviceOf = (folder: string | null): number | null =>
    folder === null ? null : (host.fileState(folder)?.device ?? null);
  const databaseDevice = deviceOf(folders.database);
  const isWith = (a: number | null, b: number | null): boolean => a !== null && a === b;
  if (promiseDevice === null) {
    found.push(finding("promise_folder_missing", `there is no folder ${promiseDir} for the promise file`));
  } else if (isWith(promiseDevice, databaseDevice)) {
    const text = `${promiseFile} is on the disk of the database (${folders.database ?? ""}): both go back at once`;
    found.push(finding("promise_with_database", text));
  }
  if (isWith(deviceOf(folders.backups), databaseDevice)) {
    const text = `${folders.backups ?? ""} is on the disk of the database: what destroys one destroys the other`;
    found.push(finding("backup_with_database", text));
  }
  for (const folder of new Set([nearestFolder(host, promiseFile), folders.database, folders.backups])) {
    const free = folder === null ? null : host.freeShare(folder);
    if (folder === null || free === null || free >= FREE_SHARE_MIN) continue;
    found.push(finding("disk_full", `the disk of ${folder} is ${Math.floor(100 * (1 - free))} % full`));
  }
  return found;
}

/** What the promise file says, if there is one: a new node makes it at its first start. */
export function checkPromises(host: Host, settings: ControlPlaneSettings, trustRoot: TrustRoot | null): Finding[] {
  const { promise_file: path, node_id: nodeId } = settings;
  const clusterId = trustRoot?.clusterId ?? hexToBytes(settings.cluster_id, 32);
  const state = host.fileState(path);
  if (state === null) return [];
  const found: Finding[] = [];
  if ((state.mode & OTHERS_MAY_READ) !== 0)
    found.push(finding("promise_open", `others can read ${path}: chmod 600 it`));
  const promises = promisesAt(host, path);
  if (typeof promises === "string") found.push(finding("promise_damaged", `${path}: ${promises}`));
  else if (promises.nodeId !== nodeId) {
    found.push(finding("promise_of_another", `${path} is the promise file of ${promises.nodeId}, not of ${nodeId}`));
  } else if (!equalBytes(promises.clusterId, clusterId)) {
    found.push(finding("promise_of_another", `${path} is the promise file of ${nodeId} of another cluster`));
  }
  return found;
}

/** A text says why they cannot be relied on. */
function promisesAt(host: Host, path: string): Promises | string {
  let bytes: Uint8Array;
  try {
    bytes = host.read(path);
  } catch {
    // Its folder and mode were looked at; whoever may not read it is told to be root.
    return "this account may not read it; run doctor as root";
  }
  const newest = newestSlot(bytes);
  return newest.state === "good" ? newest.promises : newest.detail;
}
