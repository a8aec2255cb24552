/** Places in the log, as paths of C2SP tlog-tiles. One place has one spelling: every other one is refused. */
import { TILE_WIDTH } from "@event-anchoring/protocol";
import type { OriginFingerprint } from "@event-anchoring/protocol";
import { z } from "zod";
import { integerQueryField, optionalIntegerQueryField, originField } from "./fields.ts";

/** Tiles of a level that no tree has yet are not found; beyond 63 there is no level. */
const LEVEL = /^(?:[0-9]|[1-5][0-9]|6[0-3])$/;
/** Groups of three digits, all but the last with an `x` in front; the first of several is not zero. */
const NUMBER = "(?:x(?:[1-9][0-9]{2}|0[1-9][0-9]|00[1-9])/(?:x[0-9]{3}/){0,3})?[0-9]{3}";
/** Width of a partial tile: 1 to 255. */
const WIDTH = "(?:[1-9]|[1-9][0-9]|1[0-9]{2}|2[0-4][0-9]|25[0-5])";
const INDEX = new RegExp(`^${NUMBER}(?:\\.p/${WIDTH})?$`);
const PARTIAL = ".p/";

export interface TileIndex {
  readonly index: number;
  /** Entries of the tile that is asked for: 1 to 256, which is a full one. */
  readonly width: number;
}

function tileIndexOf(text: string): TileIndex {
  const [number = "", width] = text.split(PARTIAL);
  return {
    index: Number(number.replaceAll(/[x/]/g, "")),
    width: width === undefined ? TILE_WIDTH : Number(width),
  };
}

const tileIndexField = z
  .string()
  .regex(INDEX, "a tile's number as in x001/x234/067, and .p/ with 1 to 255 if it is partial, is expected")
  .transform(tileIndexOf)
  .describe(
    "The tile's number in groups of three digits, all but the last with an `x` in front: 1234067 is `x001/x234/067`. " +
      "For a partial tile, `.p/` and its width follow. The slashes are not encoded.",
  );

const levelField = z.string().regex(LEVEL, "digits from 0 to 63 are expected").transform(Number).meta({
  type: "integer",
  minimum: 0,
  maximum: 63,
  description: "0: leaf hashes; L: roots of the perfect subtrees of 256^L leaves.",
});

const logOrigin = originField.describe("The origin whose tree it is.");

export interface OriginPath {
  readonly originFingerprint: OriginFingerprint;
}

export const originPathSchema = z
  .strictObject({ origin_fingerprint: logOrigin })
  .transform((path): OriginPath => ({ originFingerprint: path.origin_fingerprint }));

/** The header `Last-Event-ID`: the size of the last head that was seen. */
export const lastEventIdSchema = integerQueryField(1);

export interface FeedQuery {
  /** null: the first event is the present head, without a proof. */
  readonly afterSize: number | null;
}

export const feedQuerySchema = z
  .strictObject({
    after_size: optionalIntegerQueryField(1).describe(
      "Size of the tree that you know: the first event is a larger one, and proves that yours is its beginning. " +
        "`Last-Event-ID` counts instead, if the request has it.",
    ),
  })
  .transform((query): FeedQuery => ({ afterSize: query.after_size }));

export interface EntriesPath extends OriginPath, TileIndex {}

export const entriesPathSchema = z
  .strictObject({ origin_fingerprint: logOrigin, index: tileIndexField })
  .transform((path): EntriesPath => ({ originFingerprint: path.origin_fingerprint, ...path.index }));

export interface TilePath extends EntriesPath {
  readonly level: number;
}

export const tilePathSchema = z
  .strictObject({ origin_fingerprint: logOrigin, level: levelField, index: tileIndexField })
  .transform((path): TilePath => ({
    originFingerprint: path.origin_fingerprint,
    level: path.level,
    ...path.index,
  }));
