export { generateSeed, createSigner, sign } from "./signing.ts";
export type { Signer } from "./signing.ts";
export { nodeCrypto, verifyAsync } from "./node-crypto.ts";
