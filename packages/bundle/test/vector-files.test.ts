import { holdVectorFiles } from "../../../test/vector-builders/hold-vector-files.ts";
import { bundleVectors } from "./vector-builders/bundles.ts";

holdVectorFiles({
  "bundle.json": bundleVectors,
});
