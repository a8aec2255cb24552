/** Two optional fields of a request that belong together: a public key, and what its holder has signed. */
import type { z } from "zod";

/** A public key and a signature that is said to be its holder's. */
export interface Signer {
  /** 32 bytes. */
  readonly publicKey: Uint8Array;
  /** 64 bytes. */
  readonly signature: Uint8Array;
}

type MaybeBytes = Uint8Array | null | undefined;

/** null unless both are there. */
export function signerOf(publicKey: MaybeBytes, signature: MaybeBytes): Signer | null {
  const isGiven = publicKey !== null && publicKey !== undefined && signature !== null && signature !== undefined;
  return isGiven ? { publicKey, signature } : null;
}

/** Whether both are there, or neither. */
export function isPair(publicKey: MaybeBytes, signature: MaybeBytes): boolean {
  return ((publicKey ?? null) === null) === ((signature ?? null) === null);
}

/** Both or neither: the check, and the same as JSON Schema for what an object schema is annotated with. */
export function pairOf(first: string, second: string) {
  const alone = (given: string, missing: string) => ({
    properties: { [given]: { type: "string" }, [missing]: { type: "null" } },
    required: [given],
  });
  return {
    meta: { not: { anyOf: [alone(first, second), alone(second, first)] } },
    check: (context: z.core.ParsePayload<Readonly<Record<string, unknown>>>): void => {
      const isMissing = (name: string): boolean => (context.value[name] ?? null) === null;
      const [isFirstMissing, isSecondMissing] = [isMissing(first), isMissing(second)];
      if (isFirstMissing === isSecondMissing) return;
      const [missing, given] = isFirstMissing ? [first, second] : [second, first];
      context.issues.push({
        code: "custom",
        message: `goes with ${given}, which is given`,
        path: [missing],
        input: context.value,
      });
    },
  };
}
