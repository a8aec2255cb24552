import { isLiveApiKey } from "@event-anchoring/ledger";
import type { ApiKey } from "@event-anchoring/ledger";
import { bytesToHex } from "@event-anchoring/protocol";
import type { TrustRootChain } from "@event-anchoring/protocol";
import { makeNamedDirectory, writeTrustRoots } from "@event-anchoring/provision";
import { BackupFile, describeDifference, fsckRecords, scanBackup, writeBackup } from "@event-anchoring/store";
import type { AskedHead, BackupManifest, FsckReport, ScannedBackup } from "@event-anchoring/store";
import { CliError, EXIT } from "../terminal/cli-error.ts";
import type { ExitCode } from "../terminal/cli-error.ts";
import type { NodeDatabase } from "../files/node-database.ts";
import type { Printer } from "../terminal/printer.ts";
import type { Progress } from "../terminal/progress.ts";
import { asCliError } from "../files/read-input.ts";
import { holdSignedState } from "../service/state-point.ts";
import { withStoreFaults } from "./store-faults.ts";
import { alignColumns } from "../terminal/table.ts";

export interface CreateBackupOptions {
  readonly database: NodeDatabase;
  /** The socket of the node's control plane, which has the cluster sign the state; null: it is made unsigned. */
  readonly controlSocket: string | null;
  readonly out: string;
  readonly isJson: boolean;
}

type StatePoint = Pick<Parameters<typeof writeBackup>[0], "point" | "onPointOpened">;

/**
 * Has the cluster sign the state, and holds it until it is being read.
 * @param controlSocket null: nobody is asked, and what is made is unsigned
 * @throws CliError `state_not_signed`, and what the database says
 */
export async function withStatePoint<Result>(
  controlSocket: string | null,
  progress: Progress,
  work: (point: StatePoint) => Promise<Result>,
): Promise<Result> {
  if (controlSocket !== null) progress.say("the cluster signs its state");
  const held = controlSocket === null ? null : await holdSignedState(controlSocket);
  const point = { point: held?.point ?? null, onPointOpened: () => held?.release() };
  return withStoreFaults(() => work(point)).finally(() => held?.release());
}

/** `anchorctl backup create`: the state of one node, which every node has alike, as of one log entry. */
export async function createBackupCommand(
  { database, controlSocket, out, isJson }: CreateBackupOptions,
  printer: Printer,
  progress: Progress,
): Promise<ExitCode> {
  const written = await withStatePoint(controlSocket, progress, (point) =>
    writeBackup({
      ...point,
      ...database,
      path: out,
      nowMs: Date.now(),
      onProgress: (leaves, ofLeaves) => progress.say(`${leaves} of ${ofLeaves} leaves`),
    }).catch((error: unknown) => {
      throw asCliError(out, "write", error);
    }),
  );
  progress.end();
  const { manifest, bytes, sha256 } = written;
  if (isJson) printer.json({ file: out, bytes, sha256: bytesToHex(sha256), ...manifestJson(manifest) });
  else {
    printer.check("pass", "backup", `${out}, ${bytes} bytes`);
    describe(manifest, sha256, "pass", printer);
  }
  return EXIT.ok;
}

/** `anchorctl backup show`: what the file says of itself; nothing but its two ends is read. */
export async function showBackupCommand(path: string, isJson: boolean, printer: Printer): Promise<ExitCode> {
  const { manifest, sha256, bytes } = await withBackup(path, async (file) => file);
  if (isJson) printer.json({ file: path, bytes, sha256: bytesToHex(sha256), ...manifestJson(manifest) });
  else {
    printer.heading(`${path}, ${bytes} bytes`);
    describe(manifest, sha256, "skip", printer);
    const verify = printer.next("backup", "verify", path);
    printer.check("skip", "verified", `nothing: this is what the file says. ${verify}`);
  }
  return EXIT.ok;
}

export interface VerifyBackupOptions {
  readonly path: string;
  /** Trust roots of the cluster, from its pin; null: there are none at hand. */
  readonly held: TrustRootChain | null;
  /** Folder that gets the trust roots which the backup holds; null: none. */
  readonly trustRootsOut: string | null;
  readonly isJson: boolean;
}

/**
 * `anchorctl backup verify`: hashes every leaf again, rebuilds every tree, verifies every signature, and holds all that
 * leaves do not prove against what a quorum has signed.
 */
export async function verifyBackupCommand(
  options: VerifyBackupOptions,
  printer: Printer,
  progress: Progress,
): Promise<ExitCode> {
  const { path, held, trustRootsOut, isJson } = options;
  return withBackup(path, async (file) => {
    const { scanned, report } = await judgeBackup(file, held, progress);
    if (trustRootsOut !== null) {
      await makeNamedDirectory(trustRootsOut);
      await writeTrustRoots(trustRootsOut, scanned.chain);
    }
    const judged = { file, scanned, checked: report.checked, isPinned: held !== null };
    if (isJson) printer.json(judgedJson(judged));
    else describeJudged(judged, printer);
    if (scanned.stateHead === null) return EXIT.asStated;
    return held === null ? EXIT.notPinned : EXIT.ok;
  });
}

/**
 * All that can be said of a backup without a database.
 * @throws CliError `backup_differs`, `other_cluster`, `fork`; StoreError, BackupError
 */
export async function judgeBackup(
  file: BackupFile,
  held: TrustRootChain | null,
  progress: Progress,
): Promise<{ readonly scanned: ScannedBackup; readonly report: FsckReport }> {
  const scanned = await goThrough(file, progress);
  if (held !== null) assertOwnCluster(held, scanned.chain);
  const report = await fsckRecords(file.records(), {
    pinnedRootThk: null,
    onProgress: ({ phase, done }) => progress.say(`${done} ${phase} verified`),
  });
  progress.end();
  const [first] = report.differences;
  if (first !== undefined) {
    throw new CliError(EXIT.invalid, "backup_differs", `the backup is not sound: ${describeDifference(first)}`);
  }
  return { scanned, report };
}

/** A backup in which nothing is wrong. */
interface JudgedBackup {
  readonly file: BackupFile;
  readonly scanned: ScannedBackup;
  readonly checked: FsckReport["checked"];
  readonly isPinned: boolean;
}

function judgedJson({ file, scanned, checked, isPinned }: JudgedBackup): object {
  const { leaves, signatures, certificates } = checked;
  return {
    valid: true,
    pinned: isPinned,
    leaves,
    signatures,
    certificates,
    ...manifestJson(file.manifest),
    state_signers: scanned.stateHead?.signers ?? [],
    live_api_keys: liveKeys(scanned, file).map(apiKeyJson),
  };
}

function describeJudged({ file, scanned, checked, isPinned }: JudgedBackup, printer: Printer): void {
  const { leaves, signatures, certificates } = checked;
  printer.check("pass", "file", `is as it was written, SHA-256 ${bytesToHex(file.sha256)}`);
  printer.check("pass", "leaves", `${leaves}, each in its place; the trees have the roots that were certified`);
  printer.check("pass", "signatures", `${signatures} of records, and those of ${certificates} certificates`);
  const { version } = scanned.chain.newest.trustRoot;
  if (isPinned) printer.check("pass", "trust root", `up to version ${version}, from your pin`);
  else printer.check("warn", "trust root", `its own, up to version ${version}: there is no pin to check it`);
  if (scanned.stateHead === null) {
    describeKeys(liveKeys(scanned, file), printer);
    printer.verdict(
      "warn",
      `NOT SIGNED: the leaves are sound. ${UNSIGNED}: somebody who can write the file may have chosen them.`,
    );
    return;
  }
  const by = scanned.stateHead.signers.join(", ");
  printer.check("pass", "state", `API keys, members, endings, erasures and group ids as ${by} have signed them`);
  if (isPinned) printer.verdict("pass", "Sound.");
  else {
    const how = "give --trust-root, --root-thk or --cluster";
    printer.verdict("warn", `NOT PINNED: it is sound in itself, and may be of any cluster: ${how}.`);
  }
}

/** Opens a backup, and closes it whatever happens. @throws CliError */
export async function withBackup<Result>(path: string, work: (file: BackupFile) => Promise<Result>): Promise<Result> {
  return withStoreFaults(async () => {
    const file = await BackupFile.open(path).catch((error: unknown) => {
      throw asCliError(path, "read", error);
    });
    try {
      return await work(file);
    } finally {
      await file.close();
    }
  });
}

/** The file as a whole, then what it holds. @throws StoreError, BackupError */
export async function goThrough(
  file: BackupFile,
  progress: Progress,
  heads: readonly AskedHead[] = [],
): Promise<ScannedBackup> {
  await file.assertIntact((bytes, ofBytes) => progress.say(`${bytes} of ${ofBytes} bytes read`));
  const scanned = await scanBackup(file, {
    heads,
    onProgress: (leaves, ofLeaves) => progress.say(`${leaves} of ${ofLeaves} leaves hashed`),
  });
  progress.end();
  return scanned;
}

/**
 * Both chains must have the same document wherever both have one, and have one in common.
 * @throws CliError `other_cluster`, `fork`
 */
export function assertOwnCluster(held: TrustRootChain, found: TrustRootChain): void {
  const hashes = new Map(held.versions.map(({ trustRoot, rootThk }) => [trustRoot.version, bytesToHex(rootThk)]));
  const common = found.versions.filter(({ trustRoot }) => hashes.has(trustRoot.version));
  const differing = common.find(({ trustRoot, rootThk }) => hashes.get(trustRoot.version) !== bytesToHex(rootThk));
  if (common.length > 0 && differing === undefined) return;
  const which = differing === undefined ? "no version in common" : `another version ${differing.trustRoot.version}`;
  const message = `the backup is of another cluster than the trust roots held here: they have ${which}`;
  throw new CliError(EXIT.invalid, "other_cluster", message);
}

/** Keys that a cluster restored from this backup would take. */
function liveKeys({ apiKeys }: ScannedBackup, { manifest }: BackupFile): readonly ApiKey[] {
  return apiKeys.filter((key) => isLiveApiKey(key, manifest.lastAcceptedMs));
}

const UNSIGNED = "No quorum has signed which API keys, members, endings and erasures it holds";

function describeKeys(keys: readonly ApiKey[], printer: Printer): void {
  printer.check("warn", "api keys", `${keys.length} would be live after a restore; do you know every one of them?`);
  const rows = keys.map(({ keyId, apiClientId, scopes, createdBy, label }) => [
    `key ${bytesToHex(keyId).slice(0, 16)}`,
    `client ${bytesToHex(apiClientId).slice(0, 16)}`,
    scopes.join(","),
    `by ${createdBy.operator}`,
    label,
  ]);
  for (const line of alignColumns(rows)) printer.line(`    ${line}`);
}

function apiKeyJson({ keyId, apiClientId, scopes, createdBy, label, expiresMs }: ApiKey): object {
  return {
    key_id: bytesToHex(keyId),
    api_client_id: bytesToHex(apiClientId),
    scopes,
    created_by: { operator: createdBy.operator, counter: createdBy.counter },
    label,
    expires_at: expiresMs === 0 ? null : new Date(expiresMs).toISOString(),
  };
}

/** @param signed what it says of signatures was verified, or not */
function describe(manifest: BackupManifest, sha256: Uint8Array, signed: "pass" | "skip", printer: Printer): void {
  const { clusterName, clusterId, nodeId, takenAtMs, raftIndex, raftTerm, nextSequence } = manifest;
  const from = nodeId === null ? "a node of" : `${nodeId} of`;
  printer.check("pass", "taken from", `${from} ${clusterName} (${bytesToHex(clusterId).slice(0, 16)})`);
  printer.check("pass", "taken at", new Date(takenAtMs).toISOString());
  printer.check("pass", "state", `${nextSequence} leaves, after log index ${raftIndex} of term ${raftTerm}`);
  if (manifest.isSigned) printer.check(signed, "signed", "by a quorum: API keys, members, endings and erasures, too");
  else printer.check("warn", "NOT SIGNED", UNSIGNED);
  const { trustRootVersion, epoch, rootThk } = manifest;
  printer.check("pass", "trust root", `version ${trustRootVersion}, epoch ${epoch}, RootTHK ${bytesToHex(rootThk)}`);
  const rows = manifest.origins.map(({ originFingerprint, status, treeSize, certifiedSize }) => [
    `origin ${bytesToHex(originFingerprint).slice(0, 16)}`,
    status,
    `${treeSize} leaves`,
    `certified up to ${certifiedSize}`,
  ]);
  for (const line of alignColumns(rows)) printer.line(`    ${line}`);
  printer.check("skip", "SHA-256", bytesToHex(sha256));
}

export function manifestJson(manifest: BackupManifest): object {
  return {
    cluster_name: manifest.clusterName,
    cluster_id: bytesToHex(manifest.clusterId),
    node_id: manifest.nodeId,
    taken_at: new Date(manifest.takenAtMs).toISOString(),
    raft_index: manifest.raftIndex,
    raft_term: manifest.raftTerm,
    effect: bytesToHex(manifest.effect),
    next_sequence: manifest.nextSequence,
    last_accepted_ms: manifest.lastAcceptedMs,
    state_signed: manifest.isSigned,
    trust_root_version: manifest.trustRootVersion,
    epoch: manifest.epoch,
    root_thk: bytesToHex(manifest.rootThk),
    origins: manifest.origins.map(({ originFingerprint, status, treeSize, rootHash, certifiedSize }) => ({
      origin_fingerprint: bytesToHex(originFingerprint),
      status,
      tree_size: treeSize,
      root_hash: bytesToHex(rootHash),
      certified_size: certifiedSize,
    })),
  };
}
