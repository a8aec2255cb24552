import { holdVectorFiles } from "../../../test/vector-builders/hold-vector-files.ts";
import { operatorActVectors } from "./vector-builders/operator-acts.ts";
import { prepareVectors } from "./vector-builders/prepare.ts";
import { stateTreeVectors } from "./vector-builders/state-entries.ts";

holdVectorFiles({
  "prepare.json": prepareVectors,
  "operator-act.json": operatorActVectors,
  "state-tree.json": stateTreeVectors,
});
