import { bundleVectors } from "./bundles.ts";
import type { Json } from "./json.ts";
import { prepareVectors } from "./prepare.ts";

/** Vector files of the ledger, by their names in test/vectors. */
export const VECTOR_FILES: Readonly<Record<string, () => Json>> = {
  "prepare.json": prepareVectors,
  "bundle.json": bundleVectors,
};
