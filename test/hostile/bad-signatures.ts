/** Signatures that are no signatures: what each is called, and how it is made from a good one. RFC 8032. */
import { bytesToHex, hexToBytes } from "@event-anchoring/protocol";

/** Order of the base point. */
const L = 2n ** 252n + 27742317777372353535851937790883648493n;

/** Points of order 1, 2, 4 and 8, and other encodings of some of them. */
export const LOW_ORDER_KEYS: readonly string[] = [
  "0100000000000000000000000000000000000000000000000000000000000000",
  "ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
  "0000000000000000000000000000000000000000000000000000000000000000",
  "0000000000000000000000000000000000000000000000000000000000000080",
  "26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05",
  "26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc85",
  "c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a",
  "c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac03fa",
  "0100000000000000000000000000000000000000000000000000000000000080",
  "ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff",
  "edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
  "edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff",
  "eeffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
  "eeffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff",
];

/** R the neutral element, S zero: with a key of low order careless verifiers take it for any message. */
export const NEUTRAL_SIGNATURE = `01${"00".repeat(63)}`;

function littleEndian(bytes: Uint8Array): bigint {
  return BigInt(`0x${bytesToHex(bytes.toReversed())}`);
}

function toLittleEndian(value: bigint): string {
  return bytesToHex(hexToBytes(value.toString(16).padStart(64, "0"), 32).toReversed());
}

/** S and S + L are the same scalar; only the smaller one is a signature. */
function withLargeScalar(signature: string): string {
  const s = littleEndian(hexToBytes(signature.slice(64), 32));
  return signature.slice(0, 64) + toLittleEndian(s + L);
}

function flipped(signature: string, digit: number): string {
  const flip = (Number.parseInt(signature.charAt(digit), 16) ^ 1).toString(16);
  return signature.slice(0, digit) + flip + signature.slice(digit + 1);
}

export type Spoil = (signature: string) => string;

/** Each has the shape of a signature. */
export const SPOILED: readonly (readonly [title: string, spoil: Spoil])[] = [
  ["with the first bit of R changed", (signature) => flipped(signature, 1)],
  ["with a bit in the middle of R changed", (signature) => flipped(signature, 33)],
  ["with the first bit of S changed", (signature) => flipped(signature, 65)],
  ["with a bit in the middle of S changed", (signature) => flipped(signature, 100)],
  ["with S + L in the place of S", withLargeScalar],
  ["with S zero", (signature) => signature.slice(0, 64) + "00".repeat(32)],
  ["with S = L", (signature) => signature.slice(0, 64) + toLittleEndian(L)],
  ["with its two halves swapped", (signature) => signature.slice(64) + signature.slice(0, 64)],
  ["of zeros", () => "00".repeat(64)],
  ["of ones", () => "ff".repeat(64)],
  ["that is the neutral element", () => NEUTRAL_SIGNATURE],
  ...LOW_ORDER_KEYS.map((point): [string, Spoil] => [
    `with R = ${point.slice(0, 4)}…${point.slice(-4)}`,
    (signature) => point + signature.slice(64),
  ]),
];

/** Not even of the shape: refused before anything is verified. */
export const MISSHAPEN: readonly (readonly [title: string, spoil: (signature: string) => unknown])[] = [
  ["one byte short", (signature) => signature.slice(2)],
  ["one digit short", (signature) => signature.slice(1)],
  ["one byte long", (signature) => `${signature}00`],
  ["cut to half", (signature) => signature.slice(64)],
  ["empty", () => ""],
  ["null", () => null],
  ["a number", () => 0],
  ["in base64", (signature) => Buffer.from(signature, "hex").toString("base64")],
  ["after 0x", (signature) => `0x${signature}`],
  ["with a space in it", (signature) => ` ${signature.slice(1)}`],
  ["with a letter that is no digit", (signature) => `${signature.slice(1)}g`],
];
