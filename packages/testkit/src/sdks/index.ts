export {
  ANCHORCTL,
  CrosscheckProcess,
  PROOF_PAGE,
  TYPESCRIPT,
  availableSdks,
  findPythonWith,
  findRustProgram,
  shippedPage,
} from "./crosscheck-process.ts";
export type { CrosscheckAnswer, SdkCommand } from "./crosscheck-process.ts";
export { findChromium } from "./find-chromium.ts";
export { proofTextOf } from "./proof-text.ts";
