import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { describe, expect, test } from "@jest/globals";
import { EngineLoadError, RaftEngine } from "../src/index.ts";
import { EMPTY_CONF, seededRandom } from "./support/cluster.ts";

const folder = new URL("../engine/", import.meta.url);
const wasm = readFileSync(new URL("raft.wasm", folder));

describe("the committed module", () => {
  test("is the one its checksum names", () => {
    const [checksum, name] = readFileSync(new URL("raft.wasm.sha256", folder), "utf8").trim().split(/\s+/);
    expect(name).toBe("raft.wasm");
    expect(createHash("sha256").update(wasm).digest("hex")).toBe(checksum);
  });

  test("asks the host for nothing but WASI and the log", async () => {
    const { wasmApi } = await import("../src/wasm-api.ts");
    const imports = wasmApi.Module.imports(await wasmApi.compile(wasm));
    expect(new Set(imports.map((wanted) => wanted.module))).toEqual(new Set(["wasi_snapshot_preview1", "raft_host"]));
  });

  test("ships with the licences of what is in it", () => {
    const notice = readFileSync(new URL("NOTICE", folder), "utf8");
    const licences = notice.match(/licenses\/\S+/g) ?? [];
    expect(licences).toHaveLength(3);
    for (const path of licences) expect(readFileSync(new URL(path, folder), "utf8")).toMatch(/Licen[sc]e|Copyright/);
    for (const [required] of readFileSync(new URL("go.mod", folder), "utf8").matchAll(/\S+ v\d\S+/g)) {
      expect(notice.replaceAll(/ +/g, " ")).toContain(required);
    }
  });
});

describe("load", () => {
  test("takes the bytes of a module", async () => {
    const engine = await RaftEngine.load({ wasm });
    expect(engine.memoryBytes).toBeGreaterThan(0);
  });

  test.each([
    ["bytes that are no module", Uint8Array.of(1, 2, 3)],
    ["a module of something else", Uint8Array.of(0, 0x61, 0x73, 0x6d, 1, 0, 0, 0)],
    ["a module cut short", wasm.subarray(0, 100_000)],
  ])("refuses %s", async (_name, bytes) => {
    await expect(RaftEngine.load({ wasm: bytes })).rejects.toThrow(EngineLoadError);
  });

  test("works under a clock that stands still, runs backwards, or leaps", async () => {
    let now = 1_000_000;
    for (const step of [0, -7, 1e9]) {
      const engine = await RaftEngine.load({ nowMs: () => (now += step) });
      const initial = {
        hardState: { term: 0, vote: 0n, commit: 0 },
        confState: { ...EMPTY_CONF, voters: [1n] },
        snapshot: null,
        entries: [],
        applied: 0,
      };
      // Enough garbage that the runtime collects it several times.
      for (let i = 0; i < 2_000; i += 1) {
        const node = engine.createNode({ id: 1n, initial, random: seededRandom(i) });
        node.campaign();
        expect(node.ready().softState).toEqual({ leader: 0n, role: "pre_candidate" });
        node.free();
      }
    }
  });
});
