/** One origin of a log, from a node to files. */
import { nodeCrypto } from "@event-anchoring/node-crypto";
import {
  TILE_WIDTH,
  anchorIdOf,
  bytesToHex,
  entriesPath,
  equalBytes,
  proveInclusion,
  receiptToJson,
  subtreeHashInTile,
  tileOf,
  tilePath,
  tileWidthAt,
} from "@event-anchoring/protocol";
import type { TrustRootChain } from "@event-anchoring/protocol";
import { UnexpectedAnswer, VerificationError, leavesOfBundle, verifyCheckpoint } from "@event-anchoring/sdk";
import type { VerifiedCheckpoint } from "@event-anchoring/sdk";
import { CliError, EXIT } from "../terminal/cli-error.ts";
import { GrowingTiles } from "./growing-tiles.ts";
import type { HashTile } from "./growing-tiles.ts";
import type { LogFolder } from "./log-folder.ts";
import type { PublicLog } from "./public-log.ts";

const { sha256 } = nodeCrypto;

export interface OriginExport {
  readonly log: PublicLog;
  readonly folder: LogFolder;
  readonly chain: TrustRootChain;
  readonly originFingerprint: string;
  /** Whether each new leaf gets a file with its receipt. */
  readonly withReceipts: boolean;
  /** Told the number of leaves that are there. */
  readonly onProgress: (size: number, of: number) => void;
}

export interface ExportedOrigin {
  readonly originFingerprint: string;
  readonly treeSize: number;
  readonly previousTreeSize: number;
}

/**
 * Brings the files of an origin to the newest checkpoint. Every leaf is hashed, and the root of all of them has to be
 * that of the checkpoint before any of the new files gets its name; the checkpoint is the last.
 * @returns null if the origin has no certified tree yet
 * @throws CliError `invalid` for a log that does not continue the files, or that its checkpoint does not cover
 */
export async function exportOrigin(task: OriginExport): Promise<ExportedOrigin | null> {
  const { log, folder, chain, originFingerprint } = task;
  const note = await log.checkpoint(originFingerprint);
  if (note === null) return null;
  const to = verified(note, chain, originFingerprint);
  const base = `v1/origins/${originFingerprint}`;
  const held = folder.read(`${base}/checkpoint`);
  const from = held === null ? null : verified(Buffer.from(held).toString("utf8"), chain, originFingerprint);
  const fromSize = from?.treeSize ?? 0;
  if (to.treeSize < fromSize) {
    throw contradiction(
      "rollback",
      `${originFingerprint}: ${fromSize} leaves were exported, the log has ${to.treeSize}`,
    );
  }
  const tiles = openTiles(folder, base, fromSize);
  if (from !== null && bytesToHex(tiles.root()) !== from.rootHash) {
    const message = `the files of ${originFingerprint} are damaged: their root is not that of their checkpoint`;
    throw new CliError(EXIT.invalid, "export_damaged", `${message}. Remove ${base} and export again`);
  }
  const added = await stageLeaves(task, base, tiles, to.treeSize);
  if (bytesToHex(tiles.root()) !== to.rootHash) {
    folder.discard();
    const message = `the leaves of ${originFingerprint} are not those of its checkpoint, or do not continue the files`;
    throw contradiction("root_differs", message);
  }
  for (const tile of tiles.partial()) folder.stage(`${base}/${pathOf(tile)}`, tile.bytes);
  folder.publish();
  if (task.withReceipts) writeReceipts(task, base, added, { note, treeSize: to.treeSize });
  if (to.treeSize > fromSize) folder.replace(`${base}/checkpoint`, note);
  removePartial(folder, base, fromSize, to.treeSize);
  return { originFingerprint, treeSize: to.treeSize, previousTreeSize: fromSize };
}

function contradiction(code: string, message: string): CliError {
  return new CliError(EXIT.invalid, code, `${message}. Nothing was published; anchorctl monitor keeps evidence`);
}

/** @throws CliError `invalid` */
function verified(note: string, chain: TrustRootChain, originFingerprint: string): VerifiedCheckpoint {
  try {
    const checkpoint = verifyCheckpoint(note, chain);
    if (checkpoint.originFingerprint === originFingerprint) return checkpoint;
    throw contradiction("origin_differs", `a checkpoint of ${originFingerprint} is of another origin`);
  } catch (error) {
    if (error instanceof VerificationError) throw contradiction(error.code, error.message);
    throw error;
  }
}

function pathOf({ level, index, width }: Omit<HashTile, "bytes">): string {
  return tilePath(level, index, width);
}

function openTiles(folder: LogFolder, base: string, size: number): GrowingTiles {
  const readTile = (tile: Omit<HashTile, "bytes">): Uint8Array => {
    const bytes = folder.read(`${base}/${pathOf(tile)}`);
    if (bytes?.length === tile.width * 32) return bytes;
    throw new CliError(EXIT.invalid, "export_damaged", `${base}/${pathOf(tile)} is missing, or of another length`);
  };
  return GrowingTiles.open(size, readTile, sha256);
}

interface AddedLeaf {
  readonly leaf: Uint8Array;
  readonly index: number;
}

/** Fetches what is missing, bundle by bundle. @returns the new leaves, if they are needed */
async function stageLeaves(
  task: OriginExport,
  base: string,
  tiles: GrowingTiles,
  toSize: number,
): Promise<AddedLeaf[]> {
  const { folder, withReceipts, onProgress } = task;
  const added: AddedLeaf[] = [];
  while (tiles.size < toSize) {
    const bundle = Math.floor(tiles.size / TILE_WIDTH);
    const path = entriesPath(bundle, tileWidthAt(0, bundle, toSize));
    const bytes = folder.readStaged(`${base}/${path}`) ?? (await task.log.bytes(task.originFingerprint, path));
    const leaves = leavesOf(bytes, tileWidthAt(0, bundle, toSize), path);
    const known = tiles.size % TILE_WIDTH;
    assertContinues(tiles, leaves.slice(0, known));
    for (const leaf of leaves.slice(known)) {
      if (withReceipts) added.push({ leaf, index: tiles.size });
      for (const tile of tiles.append(anchorIdOf(leaf, sha256))) folder.stage(`${base}/${pathOf(tile)}`, tile.bytes);
    }
    folder.stage(`${base}/${path}`, bytes);
    onProgress(tiles.size, toSize);
  }
  return added;
}

function leavesOf(bytes: Uint8Array, width: number, path: string): readonly Uint8Array[] {
  try {
    return leavesOfBundle(bytes, width);
  } catch (error) {
    if (error instanceof UnexpectedAnswer) throw contradiction("entries_malformed", `${path}: ${error.message}`);
    throw error;
  }
}

/** The first leaves of a bundle are those that were exported before, when it was not full. */
function assertContinues(tiles: GrowingTiles, known: readonly Uint8Array[]): void {
  const lowest = tiles.partial().find(({ level }) => level === 0);
  const isSame = known.every((leaf, at) => {
    const hash = lowest?.bytes.slice(at * 32, at * 32 + 32) ?? new Uint8Array(0);
    return equalBytes(anchorIdOf(leaf, sha256), hash);
  });
  if (!isSame) throw contradiction("root_differs", "the log shows other leaves than those that were exported");
}

interface Head {
  readonly note: string;
  readonly treeSize: number;
}

/** Each under the newest checkpoint: a receipt stays good, so older ones are left as they are. */
function writeReceipts({ folder, chain }: OriginExport, base: string, added: readonly AddedLeaf[], head: Head): void {
  const { note: checkpoint, treeSize } = head;
  const cache = new Map<string, Uint8Array>();
  const hashAt = (level: number, index: number): Uint8Array => {
    const { tileLevel, tileIndex, start, end } = tileOf(level, index);
    const path = `${base}/${tilePath(tileLevel, tileIndex, tileWidthAt(tileLevel, tileIndex, treeSize))}`;
    const tile = cache.get(path) ?? folder.read(path);
    if (tile === null) throw new CliError(EXIT.invalid, "export_damaged", `${path} is missing`);
    cache.set(path, tile);
    return subtreeHashInTile(tile, start, end, sha256);
  };
  for (const { leaf, index } of added) {
    const path = proveInclusion(index, treeSize, hashAt, sha256);
    const receipt = receiptToJson({ leaf, index, treeSize, path, checkpoint }, chain.newest.trustRoot.version, sha256);
    folder.stage(`v1/event-anchors/${receipt.anchor_id}/receipt`, JSON.stringify(receipt));
  }
  folder.publish();
}

/** Who reads by an older checkpoint takes the full tile instead, as C2SP tlog-tiles has it. */
function removePartial(folder: LogFolder, base: string, fromSize: number, toSize: number): void {
  for (let level = 0; fromSize >= TILE_WIDTH ** level; level++) {
    const index = Math.floor(fromSize / TILE_WIDTH ** (level + 1));
    if (tileWidthAt(level, index, toSize) < TILE_WIDTH) continue;
    folder.remove(`${base}/${tilePath(level, index)}.p`);
    if (level === 0) folder.remove(`${base}/${entriesPath(index)}.p`);
  }
}
