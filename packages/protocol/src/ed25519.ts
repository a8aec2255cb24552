/** The one Ed25519 acceptance rule. docs/PROTOCOL.md, "Ed25519". */
import { asciiToBytes, hexToBytes } from "./bytes.ts";
import type { Ed25519Verify } from "./crypto.ts";

/** Group order L, little-endian (RFC 8032 section 5.1). */
const ORDER = hexToBytes("edd3f55c1a631258d69cf7a2def9de1400000000000000000000000000000010", 32);

/**
 * y coordinates of the eight points of small order without the sign bit:
 * 0, 1, p − 1 and the two of order 8. Other encodings of them are not canonical and fall to that check.
 */
const SMALL_ORDER_Y: readonly Uint8Array[] = [
  "0000000000000000000000000000000000000000000000000000000000000000",
  "0100000000000000000000000000000000000000000000000000000000000000",
  "ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
  "26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05",
  "c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a",
].map((hex) => hexToBytes(hex, 32));

/** True if the 32 bytes at `offset`, read little-endian, are below the group order. */
function isScalarBelowOrder(bytes: Uint8Array, offset: number): boolean {
  for (let index = 31; index >= 0; index--) {
    const difference = (bytes[offset + index] ?? 0) - (ORDER[index] ?? 0);
    if (difference !== 0) return difference < 0;
  }
  return false;
}

/** True if y, without the sign bit, is below p = 2^255 − 19. */
function isCanonicalY(bytes: Uint8Array, offset: number): boolean {
  if (((bytes[offset + 31] ?? 0) & 0x7f) !== 0x7f) return true;
  for (let index = 30; index >= 1; index--) if (bytes[offset + index] !== 0xff) return true;
  return (bytes[offset] ?? 0) < 0xed;
}

function isSmallOrder(bytes: Uint8Array, offset: number): boolean {
  return SMALL_ORDER_Y.some((y) => {
    for (let index = 0; index < 31; index++) if (bytes[offset + index] !== y[index]) return false;
    return ((bytes[offset + 31] ?? 0) & 0x7f) === y[31];
  });
}

/**
 * The part of the rule that needs no curve arithmetic: lengths, canonical and not small-order A and R, S below L.
 * What it accepts is accepted by the rule if and only if a cofactorless verifier accepts it.
 */
export function passesEd25519Prefilter(publicKey: Uint8Array, signature: Uint8Array): boolean {
  return (
    publicKey.length === 32 &&
    signature.length === 64 &&
    isScalarBelowOrder(signature, 32) &&
    isCanonicalY(publicKey, 0) &&
    isCanonicalY(signature, 0) &&
    !isSmallOrder(publicKey, 0) &&
    !isSmallOrder(signature, 0)
  );
}

/** The verifier at hand does not follow the rule, so none of its verdicts may be used. */
export class Ed25519CanaryError extends Error {
  readonly code = "ed25519_canary";
  constructor(message: string) {
    super(message);
    this.name = "Ed25519CanaryError";
  }
}

interface Canary {
  readonly name: string;
  readonly accepted: boolean;
  readonly publicKey: Uint8Array;
  readonly message: Uint8Array;
  readonly signature: Uint8Array;
}

function canary(name: string, accepted: boolean, key: string, message: Uint8Array, signature: string): Canary {
  return {
    name,
    accepted,
    publicKey: hexToBytes(key, 32),
    message,
    signature: hexToBytes(signature, 64),
  };
}

/** Cases 2, 3 and 4 of ed25519-speccheck ("Taming the many EdDSAs"), an ordinary signature and a moved one. */
const CANARIES: readonly Canary[] = [
  canary(
    "speccheck 2",
    false,
    "f7badec5b8abeaf699583992219b7b223f1df3fbbea919844e3f7c554a43dd43",
    hexToBytes("aebf3f2601a0c8c5d39cc7d8911642f740b78168218da8471772b35f9d35b9ab"),
    "c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac03fa" +
      "8c4bd45aecaca5b24fb97bc10ac27ac8751a7dfe1baff8b953ec9f5833ca260e",
  ),
  canary(
    "speccheck 3",
    true,
    "cdb267ce40c5cd45306fa5d2f29731459387dbf9eb933b7bd5aed9a765b88d4d",
    hexToBytes("9bd9f44f4dcc75bd531b56b2cd280b0bb38fc1cd6d1230e14861d861de092e79"),
    "9046a64750444938de19f227bb80485e92b83fdb4b6506c160484c016cc1852f" +
      "87909e14428a7a1d62e9f22f3d3ad7802db02eb2e688b6c52fcd6648a98bd009",
  ),
  canary(
    "speccheck 4",
    false,
    "cdb267ce40c5cd45306fa5d2f29731459387dbf9eb933b7bd5aed9a765b88d4d",
    hexToBytes("e47d62c63f830dc7a6851a0b1f33ae4bb2f507fb6cffec4011eaccd55b53f56c"),
    "160a1cb0dc9c0258cd0a7d23e94d8fa878bcb1925f2c64246b2dee1796bed512" +
      "5ec6bc982a269b723e0668e540911a9a6a58921d6925e434ab10aa7940551a09",
  ),
  canary(
    "RFC 8032 7.1 test 1",
    true,
    "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a",
    new Uint8Array(0),
    "e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e06522490155" +
      "5fb8821590a33bacc61e39701cf9b46bd25bf5f0595bbe24655141438e7a100b",
  ),
  canary(
    "RFC 8032 7.1 test 1 over another message",
    false,
    "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a",
    asciiToBytes("x"),
    "e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e06522490155" +
      "5fb8821590a33bacc61e39701cf9b46bd25bf5f0595bbe24655141438e7a100b",
  ),
];

/**
 * Shows the verifier signatures whose verdicts differ between libraries (small order, cofactor) and ordinary ones.
 * @throws Ed25519CanaryError if one verdict is not that of the rule
 */
export function assertEd25519Canaries(verify: Ed25519Verify): void {
  for (const { name, accepted, publicKey, message, signature } of CANARIES) {
    if (verify(publicKey, message, signature) !== accepted) {
      throw new Ed25519CanaryError(`this Ed25519 verifier ${accepted ? "refuses" : "accepts"} canary ${name}`);
    }
  }
}

/**
 * The rule on top of any cofactorless verifier: one that accepts exactly if encode([S]B − [k]A) equals the bytes of R.
 * The canaries run before the first verdict, and again before each later one if they fail.
 * @param rawVerify sees only keys and signatures of the right length that pass the prefilter
 */
export function createEd25519Verify(rawVerify: Ed25519Verify): Ed25519Verify {
  const verify: Ed25519Verify = (publicKey, message, signature) =>
    passesEd25519Prefilter(publicKey, signature) && rawVerify(publicKey, message, signature);
  let isChecked = false;
  return (publicKey, message, signature) => {
    if (!isChecked) {
      assertEd25519Canaries(verify);
      isChecked = true;
    }
    return verify(publicKey, message, signature);
  };
}
