import { X509Certificate } from "node:crypto";
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, dirname, join } from "node:path";
import { createCluster, issueCertificate, loadCertificateAuthority } from "@event-anchoring/provision";
import type { ProvisionedCluster } from "@event-anchoring/provision";
import { hexToBytes } from "@event-anchoring/protocol";
import type { Connecting, FileState, Host, HttpAnswer, ListenerAddress } from "../src/doctor/host.ts";

/** When everything is well. */
export const NOW_MS = Date.parse("2026-11-23T12:00:00Z");
/** All files belong to it, if nothing else is said. */
const ACCOUNT = 104;
const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

interface FakeFile {
  bytes: Uint8Array;
  mode: number;
  owner?: number;
  changedMs: number;
}

/** A host whose files, disks, clock and network are what a test says: one mistake at a time. */
export class FakeHost implements Host {
  environment: Record<string, string | undefined> = {};
  nodeVersion = "24.21.0";
  clockMs = NOW_MS;
  isKept: boolean | null = true;
  readonly files = new Map<string, FakeFile>();
  readonly folders = new Set<string>();
  /** By folder; files have that of the nearest one above. */
  readonly devices = new Map<string, number>([["/", 1]]);
  readonly free = new Map<string, number>();
  /** What is not open, by `host:port` or socket; `TLS of host:port` for what is, and then says nothing. */
  readonly closed = new Map<string, Connecting>();
  /** What TLS listeners show, by `host:port`. */
  readonly certificates = new Map<string, string>();
  readonly answers = new Map<string, HttpAnswer>();

  nowMs(): number {
    return this.clockMs;
  }

  fileState(path: string): FileState | null {
    const file = this.files.get(path);
    const isFolder = this.folders.has(path);
    if (file === undefined && !isFolder) return null;
    const { mode = 0o700, owner = ACCOUNT, changedMs = NOW_MS, bytes = new Uint8Array(0) } = file ?? {};
    return { isFolder, mode, owner, device: this.#deviceOf(path), changedMs, bytes: bytes.length };
  }

  #deviceOf(path: string): number {
    return this.devices.get(path) ?? this.#deviceOf(dirname(path));
  }

  read(path: string): Uint8Array {
    const file = this.files.get(path);
    if (file === undefined) throw Object.assign(new Error("no such file"), { code: "ENOENT" });
    return file.bytes;
  }

  names(folder: string): readonly string[] {
    return [...this.files.keys()].filter((path) => dirname(path) === folder).map((path) => basename(path));
  }

  freeShare(path: string): number | null {
    return this.free.get(path) ?? 0.5;
  }

  async connect(to: ListenerAddress): Promise<Connecting> {
    return this.closed.get("socket" in to ? to.socket : `${to.host}:${to.port}`) ?? "open";
  }

  async certificateOf(host: string, port: number): Promise<X509Certificate | "none" | "silent"> {
    const pem = this.certificates.get(`${host}:${port}`);
    if (this.closed.get(`TLS of ${host}:${port}`) === "silent") return "silent";
    return pem === undefined ? "none" : new X509Certificate(pem);
  }

  async get(url: string): Promise<HttpAnswer | null> {
    return this.answers.get(url) ?? null;
  }

  async isClockKept(): Promise<boolean | null> {
    return this.isKept;
  }

  /** A file of the good host, with other content. */
  write(path: string, content: string | Uint8Array, mode = 0o600): void {
    this.files.set(path, { bytes: Buffer.from(content), mode, changedMs: NOW_MS });
  }

  text(path: string): string {
    return Buffer.from(this.read(path)).toString("utf8");
  }

  change(path: string, changes: Partial<FakeFile>): void {
    const file = this.files.get(path);
    if (file === undefined) throw new Error(`there is no ${path}`);
    this.files.set(path, { ...file, ...changes });
  }

  open(path: string): void {
    this.change(path, { mode: 0o644 });
  }

  /** Settings with some of them changed; undefined removes one. */
  edit(path: string, changes: Readonly<Record<string, unknown>>): void {
    this.write(path, JSON.stringify({ ...(JSON.parse(this.text(path)) as object), ...changes }));
  }
}

/** Where the good host has what. */
export interface NodePaths {
  readonly root: string;
  readonly controlPlaneFile: string;
  readonly apiFile: string;
  readonly identityDir: string;
  readonly promiseFile: string;
  readonly databaseDir: string;
  readonly backupDir: string;
}

/** The files of n1 of a new cluster of three, on disk. */
export interface NodeOnDisk {
  readonly cluster: ProvisionedCluster;
  readonly paths: NodePaths;
  remove(): void;
}

export async function makeNodeOnDisk(): Promise<NodeOnDisk> {
  const root = mkdtempSync(join(tmpdir(), "anchoring-doctor-"));
  const outDir = join(root, "cluster");
  const nodes = ["n1", "n2", "n3"].map((nodeId) => ({ nodeId, controlHost: `${nodeId}.control`, controlPort: 7400 }));
  const cluster = await createCluster({ clusterName: "doctor.test", nodes, quorum: 2, outDir, nowMs: NOW_MS - DAY_MS });
  const [own] = cluster.nodes;
  if (own === undefined) throw new Error("a cluster has nodes");
  const paths = {
    root,
    controlPlaneFile: join(root, "control-plane.json"),
    apiFile: join(root, "api", "api.json"),
    identityDir: own.identityDir,
    promiseFile: join(root, "promise", "promise.bin"),
    databaseDir: join(root, "database"),
    backupDir: join(root, "backups"),
  };
  for (const folder of ["api", "promise", "database", "backups"]) mkdirSync(join(root, folder), { mode: 0o700 });
  writeSettings(cluster, own, paths);
  const authority = await loadCertificateAuthority(outDir);
  const identity = { role: "api", clusterId: hexToBytes(cluster.clusterId, 32), id: "n1" } as const;
  const tls = await issueCertificate(authority, identity, 90 * DAY_MS, NOW_MS);
  writePrivate(join(root, "api", "tls.crt"), tls.certificatePem);
  writePrivate(join(root, "api", "tls.key"), tls.privateKeyPem);
  writePrivate(join(root, "api", "root-thk.txt"), `${cluster.rootThk}\n`);
  writePrivate(join(paths.backupDir, "today.backup"), "a backup");
  return { cluster, paths, remove: () => rmSync(root, { recursive: true }) };
}

function writePrivate(path: string, content: string): void {
  writeFileSync(path, content, { mode: 0o600 });
  chmodSync(path, 0o600);
}

function writeSettings(cluster: ProvisionedCluster, own: ProvisionedCluster["nodes"][number], paths: NodePaths): void {
  const common = { node_id: "n1", cluster_id: cluster.clusterId };
  const socket = join(paths.root, "control.sock");
  const controlPlane = {
    ...common,
    identity_dir: paths.identityDir,
    promise_file: paths.promiseFile,
    run_dir: join(paths.root, "run"),
    database_url: "postgresql://owner:correct-horse@localhost/anchoring?host=%2Frun%2Fpg",
    listen: { host: "n1.control", port: 7400 },
    peers: ["n2", "n3"].map((nodeId) => ({ node_id: nodeId, host: `${nodeId}.control`, port: 7400 })),
    api_socket: socket,
  };
  const api = {
    ...common,
    origin_fingerprint: own.originFingerprint,
    identity_dir: join(paths.root, "api"),
    database_url: "postgresql://reader:correct-horse@localhost/anchoring?host=%2Frun%2Fpg",
    control_socket: socket,
    listen: { host: "n1.api", port: 8080 },
    tls: { certificate: join(paths.root, "api", "tls.crt"), key: join(paths.root, "api", "tls.key") },
    metrics: { host: "127.0.0.1", port: 9100 },
  };
  writePrivate(paths.controlPlaneFile, JSON.stringify(controlPlane));
  writePrivate(paths.apiFile, JSON.stringify(api));
}

const answer = (body: object, dateMs = NOW_MS): HttpAnswer => ({ status: 200, body: JSON.stringify(body), dateMs });

/** The same node as a host on which nothing is wrong. */
export function goodHost({ cluster, paths }: NodeOnDisk): FakeHost {
  const host = new FakeHost();
  for (const entry of readdirSync(paths.root, { recursive: true, withFileTypes: true })) {
    const path = join(entry.parentPath, entry.name);
    if (entry.isDirectory()) host.folders.add(path);
    else host.write(path, readFileSync(path), statSync(path).mode & 0o777);
  }
  host.folders.add(paths.root);
  host.devices.set(dirname(paths.promiseFile), 2).set(paths.backupDir, 3);
  for (const { nodeId, identityDir } of cluster.nodes) {
    host.certificates.set(`${nodeId}.control:7400`, host.text(join(identityDir, "tls.crt")));
  }
  host.answers.set("https://n1.api:8080/readyz", answer({ ready: true, checks: [] }));
  for (const nodeId of ["n1", "n2"]) {
    host.answers.set(`https://${nodeId}.api:8080/healthz`, answer({ versions: { service: "4.2.0" } }));
  }
  return host;
}

export const healthOf = (release: string, dateMs: number): HttpAnswer =>
  answer({ versions: { service: release } }, dateMs);

export const notReady = (check: string, detail: string): HttpAnswer => ({
  ...answer({ ready: false, checks: [{ check, result: "fail", detail }] }),
  status: 503,
});
