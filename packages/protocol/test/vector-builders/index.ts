import type { Json } from "./json.ts";
import { leafVectors, payloadVectors } from "./leaves.ts";
import { receiptVectors } from "./receipts.ts";
import { bytesVectors, checkpointVectors, cosignatureVectors, ed25519Vectors, noteVectors } from "./texts.ts";
import { merkleVectors, tagVectors, tileVectors } from "./trees.ts";
import { trustRootVectors } from "./trust-roots.ts";

/** Every vector file, by its name in test/vectors. */
export const VECTOR_FILES: Readonly<Record<string, () => Json>> = {
  "bytes.json": bytesVectors,
  "tags.json": tagVectors,
  "leaf.json": leafVectors,
  "payloads.json": payloadVectors,
  "merkle.json": merkleVectors,
  "tiles.json": tileVectors,
  "ed25519.json": ed25519Vectors,
  "note.json": noteVectors,
  "checkpoint.json": checkpointVectors,
  "cosignature.json": cosignatureVectors,
  "trust-root.json": trustRootVectors,
  "receipt.json": receiptVectors,
};
