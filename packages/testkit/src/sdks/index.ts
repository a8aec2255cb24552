export {
  ANCHORCTL,
  CrosscheckProcess,
  PROOF_PAGE,
  SERVER,
  TYPESCRIPT,
  availableSdks,
  findPythonWith,
  findRustProgram,
  shippedPage,
} from "./crosscheck-process.ts";
export type { CrosscheckAnswer, SdkCommand } from "./crosscheck-process.ts";
export { findChromium } from "./find-chromium.ts";
export { proofTextOf, receiptOfProof } from "./proof-text.ts";
export { VectorKeys } from "./vector-keys.ts";
