/** The log of an origin as C2SP tlog-tiles, up to its certified size. What is below it never changes. */
import { entriesPathSchema, originPathSchema, parsePath, tilePathSchema } from "@event-anchoring/api-contract";
import type { TilePath } from "@event-anchoring/api-contract";
import { TILE_WIDTH, equalBytes } from "@event-anchoring/protocol";
import type { OriginFingerprint } from "@event-anchoring/protocol";
import type { StoredAnchor } from "@event-anchoring/store";
import { RefusedError } from "../control-plane/control-plane.ts";
import { ConsistentRead } from "../reading/consistent-read.ts";
import type { Deadline } from "../request/deadline.ts";
import { parsed, ProblemError, problemError } from "../request/problem-error.ts";
import { cacheHeaders } from "./cache-rules.ts";
import type { Handler, HandlerAnswer, HandlerDependencies, HandlerRequest } from "./handler.ts";

const LENGTH_BYTES = 2;

/** @throws ProblemError `origin_unknown` */
async function assertOrigin(read: ConsistentRead, origin: OriginFingerprint): Promise<void> {
  const origins = await read.origins();
  if (!origins.some(({ originFingerprint }) => equalBytes(originFingerprint, origin))) {
    throw problemError("origin_unknown");
  }
}

/** GET /v1/origins/{origin_fingerprint}/checkpoint */
export const getCheckpoint: Handler = async (request, dependencies) => {
  const { originFingerprint } = parsed(parsePath(originPathSchema, request.pathParameters));
  const read = await ConsistentRead.begin(dependencies, [originFingerprint], request.deadline);
  await assertOrigin(read, originFingerprint);
  const certificate = read.certificateOf(originFingerprint);
  if (certificate === null) {
    throw new ProblemError({ code: "no_anchor_yet", detail: "Nothing of this origin is certified yet." });
  }
  return { status: 200, text: certificate.checkpoint, headers: cacheHeaders("checkpoint", request) };
};

/** The tree size that contains the whole tile. */
function leavesBelow({ level, index, width }: TilePath): number {
  return (index * TILE_WIDTH + width) * TILE_WIDTH ** level;
}

/**
 * Returns once the tables hold a tile that is certified. A recorded certificate is there for good, and so are the
 * leaves it covers: the cluster is asked only beyond them.
 * @throws ProblemError `origin_unknown`, `tile_not_found`; RefusedError, StoreError
 */
async function assertCertified(tile: TilePath, deadline: Deadline, dependencies: HandlerDependencies): Promise<void> {
  const { originFingerprint } = tile;
  const needed = leavesBelow(tile);
  const tables = await dependencies.reads.opened();
  const { certificate: recorded } = await tables.latestCertificate(originFingerprint);
  if (recorded !== null && recorded.treeSize >= needed) return;
  const read = await ConsistentRead.begin(dependencies, [originFingerprint], deadline);
  await assertOrigin(read, originFingerprint);
  const treeSize = read.certificateOf(originFingerprint)?.treeSize ?? 0;
  if (treeSize >= needed) return;
  const detail = `The certified tree has the size ${treeSize}; the tile needs ${needed}.`;
  throw new ProblemError({ code: "tile_not_found", detail });
}

function tileAnswer(request: HandlerRequest, { width }: TilePath, bytes: Uint8Array): HandlerAnswer {
  const headers = cacheHeaders(width === TILE_WIDTH ? "fullTile" : "partialTile", request);
  return { status: 200, bytes, mediaType: "application/octet-stream", headers };
}

/** GET /v1/origins/{origin_fingerprint}/tile/{level}/{index} */
export const getTile: Handler = async (request, dependencies) => {
  const tile = parsed(parsePath(tilePathSchema, request.pathParameters));
  await assertCertified(tile, request.deadline, dependencies);
  const tables = await dependencies.reads.opened();
  const { hashes } = await tables.tileHashes(tile.originFingerprint, tile);
  return tileAnswer(request, tile, hashes);
};

/** Each leaf after its length as u16, big-endian. */
function entryBundle(anchors: readonly StoredAnchor[]): Uint8Array {
  const parts = anchors.flatMap(({ bytes }) => {
    const length = Buffer.alloc(LENGTH_BYTES);
    length.writeUInt16BE(bytes.length);
    return [length, bytes];
  });
  return Buffer.concat(parts);
}

/** GET /v1/origins/{origin_fingerprint}/tile/entries/{index} */
export const getEntries: Handler = async (request, dependencies) => {
  const tile = { level: 0, ...parsed(parsePath(entriesPathSchema, request.pathParameters)) };
  await assertCertified(tile, request.deadline, dependencies);
  const first = tile.index * TILE_WIDTH;
  const tables = await dependencies.reads.opened();
  const { anchors } = await tables.anchorsOfOrigin(tile.originFingerprint, first, tile.width, "ascending");
  const isWhole = anchors.length === tile.width && anchors.every(({ depth }, at) => depth === first + at);
  if (!isWhole) throw new RefusedError("unavailable", `leaves ${first} to ${first + tile.width} are not in the tables`);
  return tileAnswer(request, tile, entryBundle(anchors));
};
