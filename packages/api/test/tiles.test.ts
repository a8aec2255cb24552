import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { nodeCrypto } from "@event-anchoring/node-crypto";
import {
  anchorIdOf,
  bytesToHex,
  decodeLeaf,
  entriesPath,
  frontierRoot,
  parseCheckpoint,
  parseNote,
  subtreeHashInTile,
  subtreesOfSize,
  tileOf,
  tilePath,
  tileWidthAt,
} from "@event-anchoring/protocol";
import { StoreError } from "@event-anchoring/store";
import { RefusedError } from "@event-anchoring/api";
import { startHarness } from "./api-harness.ts";
import type { Answer, Harness } from "./api-harness.ts";
import { hex } from "./records.ts";

/** Two full tiles and a partial one. */
const SIZE = 600;
const IMMUTABLE = "private, max-age=31536000, immutable";

let harness: Harness;
beforeAll(async () => {
  harness = await startHarness();
  const events = Array.from({ length: SIZE - 1 }, (_, index) => ({ event_hash: hex(index % 200) }));
  const body = { origin_fingerprint: harness.origin, events };
  const { status, text } = await harness.send("POST", "/v1/event-anchors/batch", body);
  if (status !== 200) throw new Error(text);
});
afterAll(() => harness.close());

const get = (tail: string, origin = harness.origin): Promise<Answer> =>
  harness.send("GET", `/v1/origins/${origin}/${tail}`);

async function bytesOf(tail: string): Promise<Uint8Array> {
  const { status, headers, bytes } = await get(tail);
  expect([tail, status, headers["content-type"]]).toEqual([tail, 200, "application/octet-stream"]);
  return bytes;
}

/** As a reader who trusts nothing takes them apart. */
function leavesIn(bytes: Uint8Array): Uint8Array[] {
  const leaves: Uint8Array[] = [];
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  for (let at = 0; at < bytes.length; at += 2 + view.getUint16(at)) {
    leaves.push(bytes.slice(at + 2, at + 2 + view.getUint16(at)));
  }
  return leaves;
}

describe("a checkpoint", () => {
  test("is the newest certified one, as text", async () => {
    const { status, headers, text } = await get("checkpoint");
    expect([status, headers["content-type"], headers["cache-control"]]).toEqual([
      200,
      "text/plain; charset=utf-8",
      "no-store",
    ]);
    expect(text).toBe(harness.node.certificateOf(harness.node.origin).checkpoint);
    expect(parseCheckpoint(parseNote(text).text).treeSize).toBe(SIZE);
  });

  test("of an origin that has nothing but its genesis leaf", async () => {
    const { text } = await get("checkpoint", bytesToHex(harness.node.cluster.origins[1] ?? new Uint8Array()));
    expect(parseCheckpoint(parseNote(text).text).treeSize).toBe(1);
  });

  test("of an unknown origin, and of what is none", async () => {
    expect((await get("checkpoint", hex(7))).json.code).toBe("origin_unknown");
    for (const origin of ["x", hex(7).slice(1), `0x${hex(7).slice(2)}`, "%00"]) {
      const { status, json } = await get("checkpoint", origin);
      expect([origin, status, json.code]).toEqual([origin, 400, "invalid_request"]);
    }
  });

  test("waits for the certificate: a node without its peers says 503", async () => {
    harness.node.isCertifying = false;
    const { status, json } = await get("checkpoint");
    harness.node.isCertifying = true;
    expect([status, json.code]).toEqual([503, "certification_stalled"]);
  });
});

describe("tiles", () => {
  test("fold to the root of the checkpoint", async () => {
    const { rootHash } = parseCheckpoint(parseNote((await get("checkpoint")).text).text);
    const hashes: Uint8Array[] = [];
    for (const { level, index } of subtreesOfSize(SIZE)) {
      const { tileLevel, tileIndex, start, end } = tileOf(level, index);
      const tile = await bytesOf(tilePath(tileLevel, tileIndex, tileWidthAt(tileLevel, tileIndex, SIZE)));
      hashes.push(subtreeHashInTile(tile, start, end, nodeCrypto.sha256));
    }
    expect(frontierRoot({ size: SIZE, hashes }, nodeCrypto.sha256)).toEqual(rootHash);
  });

  test("and entry bundles hold the same leaves, in order", async () => {
    for (const index of [0, 1, 2]) {
      const width = tileWidthAt(0, index, SIZE);
      const leaves = leavesIn(await bytesOf(entriesPath(index, width)));
      expect(leaves.map((leaf) => decodeLeaf(leaf).depth)).toEqual(leaves.map((_, at) => index * 256 + at));
      const ids = Buffer.concat(leaves.map((leaf) => anchorIdOf(leaf, nodeCrypto.sha256)));
      expect(Buffer.from(await bytesOf(tilePath(0, index, width)))).toEqual(ids);
      expect(leaves).toHaveLength(width);
    }
  });

  test("are served in any width that is certified, the full ones to be kept", async () => {
    const full = await get("tile/0/001");
    expect([full.bytes.length, full.headers["cache-control"]]).toEqual([8192, IMMUTABLE]);
    expect((await get("tile/entries/001")).headers["cache-control"]).toBe(IMMUTABLE);
    for (const width of [1, 88, 255]) {
      const partial = await get(`tile/0/001.p/${width}`);
      expect([partial.status, partial.headers["cache-control"]]).toEqual([200, "no-store"]);
      expect(partial.bytes).toEqual(full.bytes.subarray(0, width * 32));
    }
    expect(leavesIn(await bytesOf("tile/entries/001.p/3"))).toHaveLength(3);
    expect(await bytesOf("tile/1/000.p/2")).toHaveLength(64);
  });

  test("are answered to HEAD without a body", async () => {
    const { status, headers, bytes } = await harness.send("HEAD", `/v1/origins/${harness.origin}/tile/0/000`);
    expect([status, headers["content-length"], bytes.length]).toEqual([200, "8192", 0]);
  });

  test.each([
    "tile/0/002",
    "tile/0/002.p/89",
    "tile/0/003",
    "tile/0/x001/x234/067",
    "tile/0/x999/x999/x999/x999/999",
    "tile/1/000",
    "tile/1/000.p/3",
    "tile/2/000.p/1",
    "tile/63/000.p/1",
    "tile/63/x999/x999/x999/x999/999.p/255",
    "tile/entries/002",
    "tile/entries/002.p/89",
    "tile/entries/x001/000",
  ])("%s is beyond the certified size", async (tail) => {
    const { status, json } = await get(tail);
    expect([status, json.code]).toEqual([404, "tile_not_found"]);
  });

  const spellings = [
    "0",
    "00",
    "0000",
    "-01",
    "+01",
    "0x0",
    "00a",
    "000.p",
    "000.p/",
    "000.p/0",
    "000.p/01",
    "000.p/256",
    "000.p/1000",
    "000.p/-1",
    "000.p/1/",
    "000.p/1/1",
    "000p/1",
    "000.P/1",
    "000%2ep%2f1",
    "000.p%2F1",
    "x000/001",
    "X001/001",
    "001/001",
    "x001",
    "x001/",
    "x1/001",
    "x001/x001",
    "x001//001",
    "x001%2f001",
    "x001/x001/x001/x001/x001/001",
    "000/",
    "000%00",
    "000%0a",
    "%20000",
    "٠٠٠",
    "..",
    "000;a=1",
  ];

  test.each(spellings.map((index) => [index]))("no index is spelled %s", async (index) => {
    for (const place of ["0", "entries"]) {
      const { status, json } = await get(`tile/${place}/${encodeURI(index).replaceAll("%25", "%")}`);
      expect([status, json.code, json.errors[0]]).toMatchObject([400, "invalid_request", { parameter: "index" }]);
    }
  });

  test.each(["64", "-1", "00", "01", "0x0", "1e0", "Entries", "entries%00", "a"])("no level is %s", async (level) => {
    const { status, json } = await get(`tile/${level}/000`);
    expect([status, json.code, json.errors[0]]).toMatchObject([400, "invalid_request", { parameter: "level" }]);
  });

  test.each(["tile", "tile/", "tile/0", "tile/0/", "tile/entries", "tile/entries/", "tiles/0/000", "checkpoint/", ""])(
    "%s is no path",
    async (tail) => {
      const { status, json } = await get(tail);
      expect([status, json.code]).toEqual([404, "route_not_found"]);
    },
  );

  test("of an unknown origin", async () => {
    for (const tail of ["tile/0/000", "tile/entries/000", "tile/0/000.p/1"]) {
      const { status, json } = await get(tail, hex(7));
      expect([status, json.code]).toEqual([409, "origin_unknown"]);
    }
  });
});

describe("what a tile is read from", () => {
  test("what a recorded certificate covers needs no peers; what lies beyond does", async () => {
    const { node } = harness;
    const { rootHash, ...certificate } = node.certificateOf(node.origin, 256);
    node.tables.recordCertificate({ ...certificate, rootHash, cosignatures: [] });
    node.refusal = new RefusedError("no_leader", "nobody leads");
    const covered = [await get("tile/0/000"), await get("tile/entries/000.p/255"), await get("tile/1/000.p/1")];
    const beyond = [await get("tile/0/001"), await get("tile/entries/001.p/1"), await get("tile/1/000.p/2")];
    node.refusal = null;
    expect(covered.map(({ status }) => status)).toEqual([200, 200, 200]);
    expect(beyond.map(({ json }) => json.code)).toEqual(["no_leader", "no_leader", "no_leader"]);
  });

  test("tables that are damaged, or lack leaves, have nothing to hand out", async () => {
    const { node } = harness;
    for (const code of ["corrupt", "unavailable", "out_of_order"] as const) {
      node.storeFailure = new StoreError(code, "detail that stays inside");
      const answers = [await get("tile/0/000"), await get("tile/entries/000")];
      node.storeFailure = null;
      for (const { status, json, text, headers } of answers) {
        expect([code, status, json.code, headers["cache-control"]]).toEqual([code, 503, "unavailable", "no-store"]);
        expect(text).not.toContain("stays inside");
      }
    }
  });
});
