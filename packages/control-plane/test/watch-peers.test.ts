import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "@jest/globals";
import { QuietTime } from "@event-anchoring/simulator";
import { type ControlPlaneConfig, loadConfig } from "../src/node/config.ts";
import { PeerWatch } from "../src/process/watch-peers.ts";
import type { PeerAddress } from "../src/transport/network-types.ts";

let folder: string;
let path: string;
let time: QuietTime;
let told: (readonly PeerAddress[])[];
let refusals: number;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "anchoring-peers-"));
  path = join(folder, "control-plane.json");
  [time, told, refusals] = [new QuietTime(), [], 0];
});

afterEach(() => {
  rmSync(folder, { recursive: true, force: true });
});

function settings(peers: readonly object[], more: object = {}): string {
  return JSON.stringify({
    node_id: "a",
    cluster_id: "00".repeat(32),
    identity_dir: "/nowhere",
    promise_file: "/nowhere/promise",
    run_dir: "/nowhere/run",
    database_url: "postgres://nowhere/anchoring",
    listen: { host: "127.0.0.1", port: 1 },
    peers,
    api_socket: "/nowhere/api.sock",
    api_socket_mode: "0600",
    ...more,
  });
}

const peer = (nodeId: string, port = 7): object => ({ node_id: nodeId, host: "127.0.0.1", port });

function write(text: string): void {
  writeFileSync(path, text, { mode: 0o600 });
}

function watch(): PeerWatch {
  const config: ControlPlaneConfig = loadConfig(path);
  const quiet = (): void => {};
  return new PeerWatch({
    environment: {
      clock: time.clock,
      logger: { debug: quiet, info: quiet, warn: quiet, error: () => (refusals += 1) },
    },
    loadConfig: () => loadConfig(path),
    configPath: path,
    config,
    onPeers: (peers) => told.push(peers),
  });
}

describe("the list of peers in the settings", () => {
  test("is followed within seconds, and at once when asked", async () => {
    write(settings([peer("b")]));
    const watched = watch();
    write(settings([peer("b"), peer("d", 9)]));
    await time.advance(6000);
    const both = [
      { nodeId: "b", host: "127.0.0.1", port: 7 },
      { nodeId: "d", host: "127.0.0.1", port: 9 },
    ];
    expect(told).toEqual([both]);
    write(settings([peer("b", 8)]));
    watched.look();
    expect(told).toEqual([both, [{ nodeId: "b", host: "127.0.0.1", port: 8 }]]);
  });

  test("counts alone: other settings wait for the next start", async () => {
    write(settings([peer("b")]));
    watch();
    write(settings([peer("b")], { log_level: "debug" }));
    await time.advance(20_000);
    expect([told, refusals]).toEqual([[], 0]);
  });

  test.each<[string, () => void]>([
    ["is no JSON", () => write("{")],
    ["names a peer without an address", () => write(settings([{ node_id: "b" }]))],
    ["has a setting that is none", () => write(settings([peer("b")], { colour: "red" }))],
    ["is gone", () => rmSync(path)],
  ])("is kept when the file %s, and said once", async (_what, spoil) => {
    write(settings([peer("b")]));
    watch();
    spoil();
    await time.advance(20_000);
    expect([told, refusals]).toEqual([[], 1]);
    write(settings([peer("b"), peer("c")]));
    await time.advance(6000);
    expect(told).toHaveLength(1);
  });
});
