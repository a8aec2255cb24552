import { nodeCrypto } from "@event-anchoring/node-crypto";
import { type TrustRootWitness, VKEY_TYPE, makeVkey } from "@event-anchoring/protocol";
import { simulatedSigner } from "./simulated-crypto.ts";

/** The line of a witness in a trust root. */
export function simulatedWitnessLine(name: string): TrustRootWitness {
  const { publicKey } = simulatedSigner(`witness ${name}`);
  const vkey = makeVkey(`witness.example/${name}`, VKEY_TYPE.cosignature, publicKey, nodeCrypto.sha256);
  return { name, vkey, url: `https://${name}.witness.example` };
}
