import { execFile } from "node:child_process";
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer as createHttpServer } from "node:http";
import { createServer as createHttpsServer } from "node:https";
import { createServer } from "node:net";
import type { AddressInfo, Server } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { createCertificateAuthority, issueCertificate } from "@event-anchoring/provision";

const SCRIPT = fileURLToPath(new URL("../../deploy/container/health.js", import.meta.url));
/** A port that nobody listens on: reserved (RFC 6335). */
const NOBODY = 1;
let folder: string;
const servers: Server[] = [];

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "anchoring-health-"));
});

afterAll(async () => {
  await Promise.all(servers.map((server) => new Promise((resolve) => server.close(resolve))));
  rmSync(folder, { recursive: true, force: true });
});

function settings(name: string, value: object): string {
  const path = join(folder, `${name}.json`);
  writeFileSync(path, JSON.stringify(value));
  chmodSync(path, 0o600);
  return path;
}

const shared = { node_id: "n1", cluster_id: "ab".repeat(32), database_url: "postgresql://localhost/x" };
const api = (port: number, more: object = {}): string =>
  settings("api", {
    ...shared,
    ...more,
    origin_fingerprint: "cd".repeat(32),
    control_socket: join(folder, "control.sock"),
    listen: { host: "127.0.0.1", port },
    metrics: { host: "127.0.0.1", port: 0 },
  });
const controlPlane = (socket: string): string =>
  settings("control-plane", {
    ...shared,
    identity_dir: folder,
    promise_file: join(folder, "promise.bin"),
    run_dir: folder,
    listen: { host: "127.0.0.1", port: 7400 },
    peers: [],
    api_socket: join(folder, socket),
  });

async function answering(status: number): Promise<number> {
  const server = createHttpServer((request, response) => response.writeHead(status).end(`asked for ${request.url}`));
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return (server.address() as AddressInfo).port;
}

interface Checked {
  readonly code: number;
  readonly reason: string;
}

function health(args: readonly string[], environment: Readonly<Record<string, string>> = {}): Promise<Checked> {
  return new Promise((resolve) => {
    execFile(process.execPath, [SCRIPT, ...args], { env: { ...process.env, ...environment } }, (error, stdout) => {
      resolve({ code: error === null ? 0 : Number(error.code), reason: stdout.trim() });
    });
  });
}

describe("the health check of a container", () => {
  test("asks an api process whether its node is ready", async () => {
    expect(await health(["api", api(await answering(200))])).toEqual({ code: 0, reason: "asked for /readyz" });
    expect(await health(["api", api(await answering(503))])).toEqual({ code: 1, reason: "asked for /readyz" });
    expect(await health(["api", api(NOBODY)])).toMatchObject({
      code: 1,
      reason: expect.stringContaining("ECONNREFUSED"),
    });
  });

  test("asks over TLS where the api process speaks that", async () => {
    const authority = await createCertificateAuthority("health.test", Date.now());
    const identity = { role: "api", clusterId: new Uint8Array(32), id: "n1" } as const;
    const tls = await issueCertificate(authority, identity, 60_000, Date.now());
    const server = createHttpsServer({ cert: tls.certificatePem, key: tls.privateKeyPem }, (request, response) =>
      response.writeHead(200).end(`asked for ${request.url}`),
    );
    servers.push(server);
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const { port } = server.address() as AddressInfo;
    const path = api(port, { tls: { certificate: "/config/tls.crt", key: "/config/tls.key" } });
    expect(await health(["api", path])).toEqual({ code: 0, reason: "asked for /readyz" });
    expect(await health(["api", api(port)])).toMatchObject({ code: 1 });
  });

  test("asks where the environment says, over the file", async () => {
    const port = String(await answering(200));
    const moved = { ANCHORING_API__LISTEN__PORT: port };
    expect(await health(["api", api(NOBODY)], moved)).toMatchObject({ code: 0 });
    const away = { ANCHORING_API__LISTEN__PORT: String(NOBODY) };
    expect(await health(["api", api(await answering(200))], away)).toMatchObject({ code: 1 });
  });

  test("asks a control plane whether it takes connections, where the environment says", async () => {
    const server = createServer((socket) => socket.end());
    servers.push(server);
    await new Promise<void>((resolve) => server.listen(join(folder, "there.sock"), resolve));
    expect(await health(["control-plane", controlPlane("there.sock")])).toMatchObject({ code: 0 });
    expect(await health(["control-plane", controlPlane("gone.sock")])).toMatchObject({ code: 1 });
    const moved = { ANCHORING_CONTROL_PLANE__API_SOCKET: join(folder, "there.sock") };
    expect(await health(["control-plane", controlPlane("gone.sock")], moved)).toMatchObject({ code: 0 });
  });

  test.each<[string, readonly string[], Readonly<Record<string, string>>, string]>([
    ["settings that nobody has", ["api", "/nowhere/api.json"], {}, "/nowhere/api.json"],
    ["nobody there", ["api"], { ANCHORING_API__LISTEN__HOST: "127.0.0.2" }, "ECONNREFUSED"],
    ["no process", [], {}, "usage"],
    ["another process", ["postgres"], {}, "usage"],
  ])("is unhealthy, and says why, with %s", async (_what, args, environment, reason) => {
    const given = args.length === 1 && args[0] === "api" ? [...args, api(NOBODY)] : args;
    const { code, reason: actual } = await health(given, environment);
    expect([code, actual]).toEqual([1, expect.stringContaining(reason)]);
  });
});
