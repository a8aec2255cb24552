export { generateSeed, createSigner, sign } from "./signing.ts";
export type { Signer } from "./signing.ts";
export { nodeCrypto, verifyAsync } from "./node-crypto.ts";
export { VerifierThread } from "./verifier-thread.ts";
export type { SignedMessage } from "./verification-job.ts";
