import { bundleVectors } from "./bundles.ts";
import type { Json } from "./json.ts";
import { operatorActVectors } from "./operator-acts.ts";
import { prepareVectors } from "./prepare.ts";
import { stateTreeVectors } from "./state-entries.ts";

/** Vector files of the ledger, by their names in test/vectors. */
export const VECTOR_FILES: Readonly<Record<string, () => Json>> = {
  "prepare.json": prepareVectors,
  "bundle.json": bundleVectors,
  "operator-act.json": operatorActVectors,
  "state-tree.json": stateTreeVectors,
};
