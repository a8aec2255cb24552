import type { Crypto } from "@event-anchoring/protocol";
import { bytesToHex } from "@event-anchoring/protocol";

const VERDICTS_MAX = 16_384;

/**
 * Remembers Ed25519 verdicts, so that a signature seen on arrival, when counted and again when its entry is decided
 * costs one verification. A verdict is a pure function of key, message and signature: forgetting one is harmless.
 */
export function memoizeVerdicts(crypto: Crypto): Crypto {
  const verdicts = new Map<string, boolean>();
  return {
    sha256: crypto.sha256,
    ed25519Verify(publicKey, message, signature) {
      const key = bytesToHex(publicKey) + bytesToHex(signature) + bytesToHex(crypto.sha256(message));
      const known = verdicts.get(key);
      if (known !== undefined) return known;
      const verdict = crypto.ed25519Verify(publicKey, message, signature);
      if (verdicts.size >= VERDICTS_MAX) {
        const oldest = verdicts.keys().next().value;
        if (oldest !== undefined) verdicts.delete(oldest);
      }
      verdicts.set(key, verdict);
      return verdict;
    },
  };
}
