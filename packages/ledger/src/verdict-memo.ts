import { bytesToHex } from "@event-anchoring/protocol";
import type { Crypto } from "@event-anchoring/protocol";

/**
 * The same cryptography, remembering the verdict of every signature it has checked: a thousand receipts of one
 * checkpoint cost its few signatures once. It grows with every new signature; keep it for one request.
 */
export function rememberVerdicts(crypto: Crypto): Crypto {
  const verdicts = new Map<string, boolean>();
  return {
    sha256: crypto.sha256,
    ed25519Verify(publicKey, message, signature) {
      const messageHash = crypto.sha256(message);
      const name = `${bytesToHex(publicKey)}.${bytesToHex(messageHash)}.${bytesToHex(signature)}`;
      let verdict = verdicts.get(name);
      if (verdict === undefined) {
        verdict = crypto.ed25519Verify(publicKey, message, signature);
        verdicts.set(name, verdict);
      }
      return verdict;
    },
  };
}
