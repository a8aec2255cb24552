import { holdVectorFiles } from "../../../test/vector-builders/hold-vector-files.ts";
import { leafVectors, payloadVectors } from "./vector-builders/leaves.ts";
import { receiptVectors } from "./vector-builders/receipts.ts";
import {
  bytesVectors,
  checkpointVectors,
  cosignatureVectors,
  ed25519Vectors,
  noteVectors,
} from "./vector-builders/texts.ts";
import { merkleVectors, tagVectors, tileVectors } from "./vector-builders/trees.ts";
import { trustRootVectors } from "./vector-builders/trust-roots.ts";

holdVectorFiles({
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
});
