import { holdVectorFiles } from "../../../test/vector-builders/hold-vector-files.ts";
import { bundleVectors } from "./vector-builders/bundles.ts";
import { scopeVectors } from "./vector-builders/scopes.ts";
import { stateBundleVectors } from "./vector-builders/state-bundles.ts";

holdVectorFiles({
  "bundle.json": bundleVectors,
  "bundle-state.json": stateBundleVectors,
  "scope.json": scopeVectors,
});
