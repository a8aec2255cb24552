import { spawn, spawnSync } from "node:child_process";
import type { ChildProcess } from "node:child_process";
import { closeSync, mkdtempSync, openSync, readFileSync, rmSync } from "node:fs";
import { createServer } from "node:net";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { until } from "@event-anchoring/testkit";
import { ownGroup } from "@event-anchoring/testkit/overload";
import type { ProcessGroup } from "@event-anchoring/testkit/overload";

const MEMBERS = 3;
const READY_TIMEOUT_MS = 30_000;
const STOP_GRACE_MS = 10_000;
/** etcd allows 128 by itself; a batch here is one transaction. */
const TXN_OPERATIONS_MAX = 1000;

/** The first line of `etcd --version`; null when there is no such program on the PATH. */
export function etcdVersion(): string | null {
  const { status, stdout } = spawnSync("etcd", ["--version"], { encoding: "utf8" });
  return status === 0 ? (stdout.split("\n")[0] ?? null) : null;
}

/**
 * Three members of etcd on this machine, each with a folder of its own on the disk that the temporary folder is on.
 * Settings are etcd's defaults, fsync included, except for the number of operations in a transaction.
 */
export class EtcdCluster {
  readonly #folder: string;
  readonly #members: readonly Member[];

  private constructor(folder: string, members: readonly Member[]) {
    this.#folder = folder;
    this.#members = members;
  }

  /** Resolves when the members have a leader. @throws when they do not get one, with what they last logged */
  static async start(): Promise<EtcdCluster> {
    const folder = mkdtempSync(join(tmpdir(), "anchoring-bench-etcd-"));
    const ports = await freePorts(MEMBERS * 2);
    const urls = ports.map((port) => `http://127.0.0.1:${port}`);
    const peers = urls.slice(MEMBERS);
    const initial = peers.map((url, at) => `m${at}=${url}`).join(",");
    const members = urls
      .slice(0, MEMBERS)
      .map((url, at) => ({ url, process: startMember(folder, `m${at}`, url, peers[at] ?? "", initial) }));
    const cluster = new EtcdCluster(folder, members);
    try {
      await until("etcd has a leader", () => cluster.#leader(), READY_TIMEOUT_MS);
      return cluster;
    } catch (error) {
      const said = readFileSync(join(folder, "m0.log"), "utf8").slice(-2000);
      await cluster.stop();
      throw new Error(`etcd did not start: ${said}`, { cause: error });
    }
  }

  get urls(): readonly string[] {
    return this.#members.map(({ url }) => url);
  }

  async leaderUrl(): Promise<string> {
    return until("etcd has a leader", () => this.#leader());
  }

  get groups(): readonly ProcessGroup[] {
    const pids = this.#members.flatMap(({ process: { pid } }) => (pid === undefined ? [] : [pid]));
    return [{ kind: "etcd", pids, hasChildren: false }, ownGroup()];
  }

  /** Stops the members and deletes all of them. */
  async stop(): Promise<void> {
    await Promise.all(this.#members.map(({ process: member }) => end(member)));
    rmSync(this.#folder, { recursive: true, force: true });
  }

  async #leader(): Promise<string | null> {
    for (const { url, process: member } of this.#members) {
      if (member.exitCode !== null) throw new Error(`a member of etcd ended with code ${member.exitCode}`);
      const status = await statusOf(url);
      if (status !== null && status.leader === status.header?.member_id) return url;
    }
    return null;
  }
}

interface Member {
  readonly url: string;
  readonly process: ChildProcess;
}

interface MemberStatus {
  readonly leader?: string;
  readonly header?: { readonly member_id?: string };
}

async function statusOf(url: string): Promise<MemberStatus | null> {
  try {
    const options = { method: "POST", body: "{}", signal: AbortSignal.timeout(2000) };
    const answer = await fetch(`${url}/v3/maintenance/status`, options);
    return answer.status === 200 ? ((await answer.json()) as MemberStatus) : null;
  } catch {
    // Not up yet: the caller retries.
    return null;
  }
}

function startMember(folder: string, name: string, url: string, peer: string, initial: string): ChildProcess {
  const settings = {
    name,
    "data-dir": join(folder, name),
    "listen-client-urls": url,
    "advertise-client-urls": url,
    "listen-peer-urls": peer,
    "initial-advertise-peer-urls": peer,
    "initial-cluster": initial,
    "max-txn-ops": String(TXN_OPERATIONS_MAX),
  };
  const log = openSync(join(folder, `${name}.log`), "a");
  try {
    const args = Object.entries(settings).flatMap(([option, value]) => [`--${option}`, value]);
    return spawn("etcd", args, { stdio: ["ignore", log, log] });
  } finally {
    closeSync(log);
  }
}

async function end(member: ChildProcess): Promise<void> {
  if (member.exitCode !== null || member.signalCode !== null) return;
  const ended = new Promise<void>((resolve) => {
    member.once("exit", () => resolve());
  });
  const insist = setTimeout(() => member.kill("SIGKILL"), STOP_GRACE_MS);
  member.kill("SIGTERM");
  await ended;
  clearTimeout(insist);
}

/** Held open together, so that no two are the same. */
async function freePorts(count: number): Promise<readonly number[]> {
  const servers = Array.from({ length: count }, () => createServer());
  const ports = await Promise.all(
    servers.map(
      (server) =>
        new Promise<number>((resolve, reject) => {
          server.once("error", reject);
          server.listen(0, "127.0.0.1", () => resolve((server.address() as AddressInfo).port));
        }),
    ),
  );
  await Promise.all(
    servers.map(
      (server) =>
        new Promise((resolve) => {
          server.close(resolve);
        }),
    ),
  );
  return ports;
}
