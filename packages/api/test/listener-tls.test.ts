import { spawnSync } from "node:child_process";
import { X509Certificate } from "node:crypto";
import { once } from "node:events";
import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { request } from "node:https";
import { connect } from "node:net";
import type { Socket } from "node:net";
import { networkInterfaces, tmpdir } from "node:os";
import { join } from "node:path";
import { connect as connectTls } from "node:tls";
import type { TLSSocket } from "node:tls";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { loadTls } from "@event-anchoring/api";
import type { TlsFiles } from "@event-anchoring/api";
import { until } from "@event-anchoring/testkit";
import { startHarness } from "./api-harness.ts";
import type { Harness } from "./api-harness.ts";

// The public listener over TLS: the same app behind the same limits, and certificates that change under it.

const GONE_MS_MAX = 30_000;
let folder: string;
let files: TlsFiles;
let harness: Harness;

/** A self-signed certificate, as openssl makes it: the test trusts that one alone. */
function draw(name: string): TlsFiles {
  const made = { certificate: join(folder, `${name}.crt`), key: join(folder, `${name}.key`) };
  const subject = ["-subj", `/CN=${name}`, "-addext", "subjectAltName=DNS:api.internal", "-days", "2"];
  const key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-keyout", made.key];
  const { status, stderr } = spawnSync("openssl", ["req", "-x509", ...key, "-out", made.certificate, ...subject]);
  if (status !== 0) throw new Error(String(stderr));
  chmodSync(made.key, 0o600);
  return made;
}

const copy = (from: TlsFiles, to: TlsFiles): void => {
  writeFileSync(to.key, readFileSync(from.key), { mode: 0o600 });
  writeFileSync(to.certificate, readFileSync(from.certificate));
};

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "anchoring-tls-"));
  files = draw("first");
  harness = await startHarness({ tls: files });
});

afterAll(async () => {
  await harness.close();
  rmSync(folder, { recursive: true, force: true });
});

interface Answered {
  readonly status: number;
  readonly body: string;
  readonly fingerprint: string;
}

function ask(ca: string, path = "/healthz", headers: Record<string, string> = {}): Promise<Answered> {
  return new Promise((resolve, reject) => {
    const options = {
      host: "127.0.0.1",
      port: harness.port,
      servername: "api.internal",
      ca,
      agent: false,
      path,
      headers,
    };
    request(options, (response) => {
      const fingerprint = (response.socket as TLSSocket).getPeerX509Certificate()?.fingerprint256 ?? "";
      let body = "";
      response.setEncoding("utf8").on("data", (chunk: string) => void (body += chunk));
      response.once("end", () => resolve({ status: response.statusCode ?? 0, body, fingerprint }));
    })
      .once("error", reject)
      .end();
  });
}

const pem = ({ certificate }: TlsFiles): string => readFileSync(certificate, "utf8");

/** Connects, sends that, and keeps its half open for ever. */
function held(bytes: Buffer | string): Promise<Socket> {
  const socket = connect({ host: "127.0.0.1", port: harness.port, allowHalfOpen: true });
  socket.on("error", () => undefined);
  socket.resume();
  return once(socket, "connect").then(() => {
    if (bytes !== "") socket.write(bytes);
    return socket;
  });
}

describe("the listener over TLS", () => {
  test("serves the same routes to whoever trusts its certificate, and nobody else is told anything", async () => {
    expect((await ask(pem(files))).status).toBe(200);
    const key = { authorization: `Bearer ${harness.key}` };
    expect((await ask(pem(files), "/v1/limits", key)).status).toBe(200);
    expect((await ask(pem(files), "/v1/event-anchors?client_event_id=x")).status).toBe(401);
    await expect(ask(pem(draw("stranger")))).rejects.toThrow(/self-signed|unable to verify/u);
  });

  test("speaks no plain HTTP, and no TLS below 1.2", async () => {
    const plain = await held("GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n");
    let said = "";
    plain.on("data", (chunk: Buffer) => void (said += chunk.toString("latin1")));
    await once(plain, "end");
    plain.destroy();
    expect(said).not.toContain("HTTP/1.1");
    const old = connectTls({
      host: "127.0.0.1",
      port: harness.port,
      ca: pem(files),
      servername: "api.internal",
      maxVersion: "TLSv1.1",
      minVersion: "TLSv1",
      ciphers: "DEFAULT@SECLEVEL=0",
    });
    await expect(once(old, "secureConnect")).rejects.toThrow();
  });

  test(
    "holds no connection that stops before, in or after the handshake",
    async () => {
      const hello = Buffer.from("16030100ff010000fb0303", "hex");
      const silent = await Promise.all(["", "", hello, hello.subarray(0, 3)].map(held));
      const shaken = connectTls({ host: "127.0.0.1", port: harness.port, ca: pem(files), servername: "api.internal" });
      shaken.on("error", () => undefined);
      await once(shaken, "secureConnect");
      shaken.write("GET /heal");
      const atMs = performance.now();
      await until("the node has let go of all", async () => (await harness.openConnections()) === 0, GONE_MS_MAX);
      expect(performance.now() - atMs).toBeLessThan(GONE_MS_MAX);
      for (const socket of [...silent, shaken]) socket.destroy();
    },
    GONE_MS_MAX + 15_000,
  );
});

/** An address of this machine beside loopback, which is exempt from what one address may hold. */
const ownAddress = Object.values(networkInterfaces())
  .flatMap((addresses) => addresses ?? [])
  .find(({ family, internal }) => family === "IPv4" && !internal)?.address;

const describeOwn = ownAddress === undefined ? describe.skip : describe;

describeOwn(`one address${ownAddress === undefined ? " (skipped: this machine has loopback alone)" : ""}`, () => {
  test("holds as many connections as without TLS, handshakes included", async () => {
    const own = await startHarness({ tls: files, host: "0.0.0.0", connections: { perAddressMax: 3, proxies: [] } });
    const sockets: Socket[] = [];
    const open = (): Promise<Socket> =>
      new Promise((resolve) => {
        const socket = connect({ host: ownAddress ?? "", port: own.port });
        sockets.push(socket);
        socket.on("error", () => undefined);
        socket.once("connect", () => resolve(socket));
      });
    try {
      // None of them says a word of its handshake.
      for (let at = 0; at < 3; at++) await open();
      const fourth = await open();
      const atMs = performance.now();
      if (!fourth.closed) await once(fourth, "close");
      expect(performance.now() - atMs).toBeLessThan(5000);
      expect(await own.openConnections()).toBe(3);
      sockets[0]?.destroy();
      await until("a place is free", async () => (await own.openConnections()) === 2);
      const shaken = connectTls({
        host: ownAddress ?? "",
        port: own.port,
        ca: pem(files),
        servername: "api.internal",
      });
      sockets.push(shaken);
      await once(shaken, "secureConnect");
    } finally {
      for (const socket of sockets) socket.destroy();
      await own.close();
    }
  });
});

describe("its certificate", () => {
  test("is changed under it: new connections show the new one, open ones go on", async () => {
    const next = draw("next");
    const open = connectTls({ host: "127.0.0.1", port: harness.port, ca: pem(files), servername: "api.internal" });
    await once(open, "secureConnect");
    const expected = new X509Certificate(pem(next)).fingerprint256;
    copy(next, files);
    harness.reloadTls();
    expect((await ask(pem(next))).fingerprint).toBe(expected);
    open.write("GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n");
    const [chunk] = (await once(open, "data")) as [Buffer];
    expect(chunk.toString("latin1")).toContain("HTTP/1.1 200");
    open.destroy();
  });

  test("stays what it is while its files do not belong together, and is taken up by itself when they do", async () => {
    const before = (await ask(pem(files))).fingerprint;
    const next = draw("third");
    const current = pem(files);
    writeFileSync(files.key, readFileSync(next.key), { mode: 0o600 });
    harness.reloadTls();
    harness.reloadTls();
    expect((await ask(current)).fingerprint).toBe(before);
    writeFileSync(files.certificate, pem(next));
    const expected = new X509Certificate(pem(next)).fingerprint256;
    const isTakenUp = async (): Promise<boolean> => {
      try {
        return (await ask(pem(next))).fingerprint === expected;
      } catch {
        // It shows the old one, which this client does not trust: asked again.
        return false;
      }
    };
    await until("it is taken up", isTakenUp, 10_000);
  }, 20_000);

  test("is refused at the start with a key of another one, or one that others can read", () => {
    const [one, other] = [draw("one"), draw("other")];
    expect(() => loadTls({ certificate: one.certificate, key: other.key })).toThrow("no certificate and its key");
    chmodSync(one.key, 0o640);
    expect(() => loadTls(one)).toThrow("readable by others");
    expect(() => loadTls({ certificate: join(folder, "none"), key: other.key })).toThrow("cannot read");
  });
});
