import { appendFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { TLSSocket, connect, createServer } from "node:tls";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { createCluster } from "@event-anchoring/provision";
import { FaultNetwork } from "../src/faults/fault-network.ts";
import { Keylog } from "../src/faults/keylog.ts";
import { TlsReader } from "../src/faults/tls-reader.ts";
import { until } from "../src/until.ts";

const SUITES = ["TLS_AES_128_GCM_SHA256", "TLS_AES_256_GCM_SHA384", "TLS_CHACHA20_POLY1305_SHA256"];

let folder: string;
let identity: { readonly cert: string; readonly key: string };

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "anchoring-tap-"));
  const { nodes } = await createCluster({
    clusterName: "tap.test",
    nodes: [{ nodeId: "n1", controlHost: "127.0.0.1", controlPort: 1 }],
    quorum: 1,
    outDir: join(folder, "cluster"),
  });
  const dir = nodes[0]?.identityDir ?? "";
  identity = { cert: readFileSync(join(dir, "tls.crt"), "utf8"), key: readFileSync(join(dir, "tls.key"), "utf8") };
}, 30_000);

afterAll(() => {
  rmSync(folder, { recursive: true });
});

interface Overheard {
  readonly keylog: string;
  /** What each side has sent, in chunks as they came. */
  readonly client: readonly Uint8Array[];
  readonly server: readonly Uint8Array[];
}

/** A conversation of `words`, each answered, over one connection. */
async function overhear(ciphers: string, words: readonly string[]): Promise<Overheard> {
  const keylog = join(folder, `${ciphers}.keys`);
  writeFileSync(keylog, "");
  const [client, server]: [Uint8Array[], Uint8Array[]] = [[], []];
  const network = await FaultNetwork.between(["n1", "n2"], () => ({
    dialler: (chunk) => client.push(Uint8Array.from(chunk)),
    listener: (chunk) => server.push(Uint8Array.from(chunk)),
  }));
  const listener = createServer({ ...identity, ciphers, minVersion: "TLSv1.3" }, (socket) => socket.pipe(socket));
  await new Promise<void>((resolve) => listener.listen(0, "127.0.0.1", () => resolve()));
  const { port } = listener.address() as AddressInfo;
  const socket = connect({
    ...network.dialledAddress("n1", "n2", { host: "127.0.0.1", port }),
    rejectUnauthorized: false,
    ciphers,
  });
  socket.on("keylog", (line) => appendFileSync(keylog, line));
  let heard = "";
  socket.on("data", (chunk) => (heard += chunk.toString("utf8")));
  for (const word of words) {
    socket.write(word);
    await until("the echo is back", () => heard.endsWith(word));
  }
  expect(socket).toBeInstanceOf(TLSSocket);
  socket.destroy();
  await network.close();
  await new Promise<void>((resolve) => listener.close(() => resolve()));
  return { keylog, client, server };
}

function textOf(parts: readonly Uint8Array[]): string {
  return Buffer.concat(parts).toString("utf8");
}

describe("the reader of overheard connections", () => {
  const words = ["hello", "x".repeat(40_000), "bye"];

  test.each(SUITES)("reads what the dialler said over %s", async (suite) => {
    const { keylog, client, server } = await overhear(suite, words);
    const plain: Uint8Array[] = [];
    const secrets = new Keylog(keylog);
    const reader = new TlsReader(
      (label, random) => secrets.secretOf(label, random),
      (part) => plain.push(part),
    );
    for (const chunk of server) reader.pushServer(chunk);
    for (const chunk of client) reader.pushClient(chunk);
    expect(textOf(plain)).toBe(words.join(""));
    expect(reader.isBehind).toBe(false);
  });

  test("reads it byte by byte, and when the secret comes last", async () => {
    const { keylog, client, server } = await overhear("TLS_AES_128_GCM_SHA256", ["late"]);
    const plain: Uint8Array[] = [];
    const secrets = new Keylog(keylog);
    let isKnown = false;
    const reader = new TlsReader(
      (label, random) => (isKnown ? secrets.secretOf(label, random) : null),
      (part) => plain.push(part),
    );
    for (const byte of Buffer.concat(client)) reader.pushClient(Uint8Array.of(byte));
    for (const byte of Buffer.concat(server)) reader.pushServer(Uint8Array.of(byte));
    expect(plain).toEqual([]);
    isKnown = true;
    reader.read();
    expect(textOf(plain)).toBe("late");
  });

  test("says so when a record in the middle is not what was sent", async () => {
    const { keylog, client, server } = await overhear("TLS_AES_256_GCM_SHA384", words);
    const secrets = new Keylog(keylog);
    const reader = new TlsReader(
      (label, random) => secrets.secretOf(label, random),
      () => undefined,
    );
    for (const chunk of server) reader.pushServer(chunk);
    const all = Buffer.concat(client);
    all[all.length - 30_000] = (all[all.length - 30_000] ?? 0) ^ 1;
    expect(() => reader.pushClient(all)).toThrow(/does not open/);
  });

  test("is behind, and says so, when the secret never comes", async () => {
    const { client, server } = await overhear("TLS_AES_256_GCM_SHA384", [...words, ...words, ...words, ...words]);
    const reader = new TlsReader(
      () => null,
      () => expect(false).toBe(true),
    );
    for (const chunk of server) reader.pushServer(chunk);
    for (const chunk of client) reader.pushClient(chunk);
    expect(reader.isBehind).toBe(true);
  });

  test("takes no secret of another connection", async () => {
    const { client, server } = await overhear("TLS_AES_128_GCM_SHA256", words);
    const reader = new TlsReader(
      () => new Uint8Array(32).fill(7),
      () => expect(false).toBe(true),
    );
    for (const chunk of server) reader.pushServer(chunk);
    const long = Array.from({ length: 4 }, () => client.slice(1)).flat();
    expect(() => [...client, ...long].forEach((chunk) => reader.pushClient(chunk))).toThrow(/does not open/);
  });
});
