import { sha256Of } from "@event-anchoring/protocol";
import type { Crypto } from "@event-anchoring/protocol";
import type { SignatureToVerify } from "../book/signatures.ts";

/**
 * Verdicts remembered, unless the caller needs more: more than the signatures that can be under way at a time (a full
 * queue of 8,192 commands with two each, and two entries of 256 before it), so that none is forgotten before its use.
 */
const VERDICTS_MAX = 20_480;

const PUBLIC_KEY_BYTES = 32;
const SIGNATURE_BYTES = 64;

/** A signature with what it is over and the key it is by. */
export type SignedMessage = Pick<SignatureToVerify, "publicKey" | "message" | "signature">;

/**
 * The same cryptography with a memory. A verdict is a pure function of key, message and signature, and nothing else may
 * be put in: a caller of `remember` guarantees that it followed the rule of the Ed25519Verify below.
 */
export interface VerdictMemo extends Crypto {
  /** Names a verdict for the two calls below: one hash. Null for lengths that no signature has: these are false. */
  nameOf(signed: SignedMessage): string | null;
  has(name: string): boolean;
  /** Puts in a verdict that was computed elsewhere. */
  remember(name: string, isGood: boolean): void;
  /** How often ed25519Verify knew the verdict already, and how often it had to compute it. */
  readonly uses: { readonly remembered: number; readonly computed: number };
}

/**
 * Remembers verdicts: a thousand receipts of one checkpoint cost its few signatures once, a cosignature that was
 * counted is not verified again when its certificate is decided, and a signature that was verified on arrival is not
 * verified again when it is decided. The oldest are forgotten, which costs a verification and nothing else.
 * @param verdictsMax how many are remembered; about 100 bytes each
 */
export function rememberVerdicts(crypto: Crypto, verdictsMax: number = VERDICTS_MAX): VerdictMemo {
  const verdicts = new Map<string, boolean>();
  // The names again, the oldest at `place` once it is full: to find the oldest key of a Map, V8 walks over all that
  // were removed before it.
  const names: string[] = [];
  let place = 0;
  const uses = { remembered: 0, computed: 0 };

  function nameOf({ publicKey, message, signature }: SignedMessage): string | null {
    if (publicKey.length !== PUBLIC_KEY_BYTES || signature.length !== SIGNATURE_BYTES) return null;
    // A character for each byte of the hash: hex would cost more than the hash does.
    return String.fromCharCode(...sha256Of([publicKey, signature, message], crypto.sha256));
  }

  function remember(name: string, isGood: boolean): void {
    if (!verdicts.has(name)) {
      const oldest = names[place];
      if (oldest !== undefined) verdicts.delete(oldest);
      names[place] = name;
      place = (place + 1) % verdictsMax;
    }
    verdicts.set(name, isGood);
  }

  return {
    sha256: crypto.sha256,
    nameOf,
    has: (name) => verdicts.has(name),
    remember,
    uses,
    ed25519Verify(publicKey, message, signature) {
      const name = nameOf({ publicKey, message, signature });
      const known = name === null ? undefined : verdicts.get(name);
      if (known !== undefined) {
        uses.remembered += 1;
        return known;
      }
      uses.computed += 1;
      const isGood = crypto.ed25519Verify(publicKey, message, signature);
      if (name !== null) remember(name, isGood);
      return isGood;
    },
  };
}
