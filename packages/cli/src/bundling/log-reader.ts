/** One origin's log, read by tiles as far as one checkpoint reaches. docs/PROTOCOL.md, "Tiles". */
import { nodeCrypto } from "@event-anchoring/node-crypto";
import {
  CheckpointError,
  DecodeError,
  NoteError,
  TILE_WIDTH,
  concatBytes,
  decodeLeaf,
  parseCheckpoint,
  parseNote,
  subtreeHashInTile,
  tileOf,
  tileWidthAt,
} from "@event-anchoring/protocol";
import type { HashAt, Subtree } from "@event-anchoring/protocol";
import type { Client } from "@event-anchoring/sdk";
import { CliError, EXIT } from "../terminal/cli-error.ts";
import type { Service } from "../service/service.ts";

/** Nothing that is read here is believed: the bundle that comes of it is verified as a whole. */
export class LogReader {
  /** 64 hex digits. */
  readonly originFingerprint: string;
  /** The whole signed note. */
  readonly checkpoint: string;
  readonly treeSize: number;
  readonly #service: Service;
  readonly #entries = new Map<number, readonly Uint8Array[]>();
  readonly #tiles = new Map<string, Uint8Array>();

  private constructor(service: Service, originFingerprint: string, checkpoint: string, treeSize: number) {
    this.#service = service;
    this.originFingerprint = originFingerprint;
    this.checkpoint = checkpoint;
    this.treeSize = treeSize;
  }

  /** Null for an origin that has nothing certified yet. @throws CliError */
  static async open(service: Service, originFingerprint: string): Promise<LogReader | null> {
    try {
      const checkpoint = await service.call((client) => client.getCheckpoint(originFingerprint));
      return new LogReader(service, originFingerprint, checkpoint, treeSizeOf(checkpoint));
    } catch (error) {
      if (error instanceof CliError && error.code === "no_anchor_yet") return null;
      throw error;
    }
  }

  /** The same log, as far as another head of it reaches. */
  at(checkpoint: string): LogReader {
    return new LogReader(this.#service, this.originFingerprint, checkpoint, treeSizeOf(checkpoint));
  }

  async leafAt(depth: number): Promise<Uint8Array> {
    const tile = Math.floor(depth / TILE_WIDTH);
    const leaf = (await this.#entriesOf(tile))[depth % TILE_WIDTH];
    if (leaf === undefined) throw malformed("tile of entries", null);
    return leaf;
  }

  /** @param say called with how many have been read */
  async leavesFrom(depth: number, say: (count: number) => void): Promise<readonly Uint8Array[]> {
    const leaves: Uint8Array[] = [];
    for (let at = depth; at < this.treeSize; at++) {
      leaves.push(await this.leafAt(at));
      if (at % TILE_WIDTH === 0) say(leaves.length);
    }
    return leaves;
  }

  /** The first depth whose leaf has a higher sequence; the tree size if none has. Sequences ascend with depth. */
  async firstDepthAfter(sequence: number): Promise<number> {
    let low = 0;
    let high = this.treeSize;
    while (low < high) {
      const middle = Math.floor((low + high) / 2);
      if (sequenceOf(await this.leafAt(middle)) > sequence) high = middle;
      else low = middle + 1;
    }
    return low;
  }

  /** Fetches what the subtrees need; the answer looks their hashes up. */
  async hashesOf(subtrees: readonly Subtree[]): Promise<HashAt> {
    for (const { level, index } of subtrees) {
      const { tileLevel, tileIndex } = tileOf(level, index);
      await this.#tileOf(tileLevel, tileIndex);
    }
    return (level, index) => {
      const { tileLevel, tileIndex, start, end } = tileOf(level, index);
      const tile = this.#tiles.get(`${tileLevel}/${tileIndex}`) ?? new Uint8Array(0);
      return subtreeHashInTile(tile, start, end, nodeCrypto.sha256);
    };
  }

  async #tileOf(level: number, index: number): Promise<void> {
    const key = `${level}/${index}`;
    if (this.#tiles.has(key)) return;
    const hashes = await this.#fetch(tileWidthAt(level, index, this.treeSize), (client, width) =>
      client.getTile(this.originFingerprint, { level, index, width }),
    );
    this.#tiles.set(key, concatBytes(...hashes));
  }

  async #entriesOf(index: number): Promise<readonly Uint8Array[]> {
    const known = this.#entries.get(index);
    if (known !== undefined) return known;
    const entries = await this.#fetch(tileWidthAt(0, index, this.treeSize), (client, width) =>
      client.getEntries(this.originFingerprint, { index, width }),
    );
    this.#entries.set(index, entries);
    return entries;
  }

  /** A partial tile may be gone once it is full: the full one begins with it. */
  async #fetch<Value>(width: number, ask: (client: Client, width: number) => Promise<Value>): Promise<Value> {
    try {
      return await this.#service.call((client) => ask(client, width));
    } catch (error) {
      if (!(error instanceof CliError) || error.exitCode !== EXIT.refused || width === TILE_WIDTH) throw error;
      return this.#service.call((client) => ask(client, TILE_WIDTH));
    }
  }
}

function malformed(what: string, cause: unknown): CliError {
  return new CliError(EXIT.unavailable, "answer_malformed", `the service sent no proper ${what}`, cause);
}

function treeSizeOf(checkpoint: string): number {
  try {
    return parseCheckpoint(parseNote(checkpoint).text).treeSize;
  } catch (error) {
    if (error instanceof NoteError || error instanceof CheckpointError) throw malformed("checkpoint", error);
    throw error;
  }
}

function sequenceOf(leaf: Uint8Array): number {
  try {
    return decodeLeaf(leaf).sequence;
  } catch (error) {
    if (error instanceof DecodeError) throw malformed("leaf", error);
    throw error;
  }
}
