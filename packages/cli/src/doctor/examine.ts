/** All that doctor looks at on a node's host, in the order in which mistakes hide others. */
import { checkBackups } from "./check-backups.ts";
import { checkCertificates } from "./check-certificates.ts";
import { checkClock } from "./check-clock.ts";
import { checkDisks, checkPromises } from "./check-disks.ts";
import type { Folders } from "./check-disks.ts";
import { checkApiIdentity, checkIdentityFiles, checkKeys, checkTrustRootExpiry } from "./check-identity.ts";
import { checkPeers, checkProcesses, checkReleases } from "./check-network.ts";
import { checkOwners } from "./check-owners.ts";
import { checkControlPlaneSettings, compareProcesses } from "./check-settings.ts";
import type { Host } from "./host.ts";
import type { Checked, Finding } from "./mistakes.ts";
import { withNewerTrustRoots } from "./newer-trust-roots.ts";
import { checkNodeJs } from "./node-js.ts";
import { readApiSettings, readControlPlaneSettings, readTrustRoots } from "./node-files.ts";

export interface Examination {
  readonly controlPlaneFile: string;
  /** null: the api process's settings are not on this host. */
  readonly apiFile: string | null;
  readonly folders: Folders;
  readonly backupAgeMsMax: number;
  /** Base addresses of other nodes' api processes. */
  readonly others: readonly string[];
}

export async function examine(host: Host, examination: Examination): Promise<readonly Checked[]> {
  const { controlPlaneFile, apiFile, folders, backupAgeMsMax, others } = examination;
  const own = readControlPlaneSettings(host, controlPlaneFile);
  const its = apiFile === null ? { value: null, findings: [] } : readApiSettings(host, apiFile);
  const [settings, api] = [own.value, its.value];
  const node = checked("Node.js", checkNodeJs(host.nodeVersion), host.nodeVersion);
  if (settings === null) {
    const found = [...own.findings, ...its.findings];
    return [node, checked("settings", found, "", "everything else: it needs the settings of the control plane")];
  }
  const roots = readTrustRoots(host, settings.identity_dir);
  const chain = roots.value === null || api === null ? roots.value : await withNewerTrustRoots(host, api, roots.value);
  const trustRoot = chain?.newest.trustRoot ?? null;
  const settingsFound = [
    ...own.findings,
    ...its.findings,
    ...checkControlPlaneSettings(settings, trustRoot),
    ...(api === null ? [] : compareProcesses(settings, api, trustRoot)),
  ];
  const noApi = apiFile === null ? "the api process: give --api <settings file>" : null;
  const identityFound = [
    ...checkIdentityFiles(host, settings.identity_dir),
    ...checkOwners(host, { controlPlane: controlPlaneFile, api: apiFile }, settings, api),
    ...roots.findings,
    ...(trustRoot === null ? [] : checkKeys(host, settings, trustRoot)),
    ...(api === null ? [] : checkApiIdentity(host, api, settings, trustRoot)),
    ...(trustRoot === null ? [] : checkTrustRootExpiry(trustRoot, host.nowMs())),
  ];
  const version =
    trustRoot === null ? "" : `trust root ${trustRoot.version}, its pin and the keys of ${settings.node_id}`;
  const disksFound = [...checkDisks(host, settings, folders), ...checkPromises(host, settings, trustRoot)];
  const noDatabase = folders.database === null ? "the database's disk: give --database-dir <folder>" : null;
  return [
    node,
    checked("settings", settingsFound, "complete, and of one node", noApi),
    checked("identity", identityFound, version),
    checked("certificates", checkCertificates(host, settings, api, trustRoot), "this node's, by a pinned CA, in time"),
    checked("disks", disksFound, "apart, and with room", noDatabase),
    await clockChecked(host, others),
    checked("peers", await checkPeers(host, settings), "reached, each at its own address"),
    await processesChecked(host, examination, settings, api),
    folders.backups === null
      ? checked("backups", [], "", "backups: give --backups <folder>")
      : checked("backups", checkBackups(host, folders.backups, backupAgeMsMax), "young enough, whole and private"),
    checked("releases", api === null ? [] : await checkReleases(host, api, others), "no other one is seen"),
  ];
}

function checked(
  check: string,
  findings: readonly Finding[],
  good: string,
  notLookedAt: string | null = null,
): Checked {
  return { check, findings, good, notLookedAt };
}

async function clockChecked(host: Host, others: readonly string[]): Promise<Checked> {
  const isSaid = (await host.isClockKept()) !== null;
  const notLookedAt = isSaid ? null : "whether a time server keeps the clock: this system does not say";
  return checked("clock", await checkClock(host, others), "kept, and as others have it", notLookedAt);
}

async function processesChecked(
  host: Host,
  { apiFile }: Examination,
  settings: Parameters<typeof checkProcesses>[1],
  api: Parameters<typeof checkProcesses>[2],
): Promise<Checked> {
  const found = await checkProcesses(host, settings, api);
  return checked("processes", found, "all take connections", apiFile === null ? "whether the node is ready" : null);
}
