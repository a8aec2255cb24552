import { createSigner, generateSeed } from "@event-anchoring/node-crypto";
import type { Signer } from "@event-anchoring/node-crypto";

/** Who takes part. Their keys exist in this process's memory only, and end with it. */
export interface Parties {
  /** Vouches that a key belongs to an entity. */
  readonly issuer: Signer;
  /** Delegates. */
  readonly deployer: Signer;
  /** Acts. */
  readonly agent: Signer;
  /** Sees the delegation, and signs that it has. */
  readonly witness: Signer;
}

export function drawParties(): Parties {
  return { issuer: drawSigner(), deployer: drawSigner(), agent: drawSigner(), witness: drawSigner() };
}

function drawSigner(): Signer {
  const seed = generateSeed();
  try {
    return createSigner(seed);
  } finally {
    seed.fill(0);
  }
}
