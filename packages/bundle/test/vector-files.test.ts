import { holdVectorFiles } from "../../../test/vector-builders/hold-vector-files.ts";
import { bundleVectors } from "./vector-builders/bundles.ts";
import { scopeBundleVectors } from "./vector-builders/bundle-scopes.ts";
import { envelopeVectors } from "./vector-builders/envelopes.ts";
import { namesVectors } from "./vector-builders/names.ts";
import { scopeVectors } from "./vector-builders/scopes.ts";
import { stateBundleVectors } from "./vector-builders/state-bundles.ts";

holdVectorFiles({
  "bundle.json": bundleVectors,
  "bundle-state.json": stateBundleVectors,
  "bundle-scope.json": scopeBundleVectors,
  "scope.json": scopeVectors,
  "envelope.json": envelopeVectors,
  "names.json": namesVectors,
});
