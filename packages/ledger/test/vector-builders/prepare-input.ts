/** What is given to whoever prepares a record, and every way in which a field of it can be wrong. */
import type { Json } from "../../../../test/vector-builders/json.ts";

export type Input = { readonly [name: string]: Json };

/** A field with a value that is refused. */
export interface BadField {
  readonly name: string;
  /** As the error names it: for a member of an object, `semantic_anchor.iris_ref`. */
  readonly field: string;
  readonly input: Input;
}

/** 64 digits that are good, to be spoiled. */
const DIGITS = "00112233445566778899aabbccddeeff0123456789abcdeffedcba9876543210";

/** Texts that some reader of hex takes for 32 bytes, and that are none. */
const NO_HEX: readonly (readonly [name: string, value: Json])[] = [
  ["63 digits", DIGITS.slice(1)],
  ["65 digits", `${DIGITS}0`],
  ["62 digits", DIGITS.slice(2)],
  ["66 digits", `${DIGITS}00`],
  ["0x and 62 digits", `0x${DIGITS.slice(2)}`],
  ["0x and 64 digits", `0x${DIGITS}`],
  ["a letter beyond f", `g${DIGITS.slice(1)}`],
  ["a space among 64 characters", `00 ${DIGITS.slice(3)}`],
  ["spaces between bytes", `00 11 ${DIGITS.slice(4)}`],
  ["a leading space", ` ${DIGITS}`],
  ["a final newline", `${DIGITS}\n`],
  ["a newline as the 64th character", `${DIGITS.slice(1)}\n`],
  ["an underscore", `00_${DIGITS.slice(3)}`],
  ["a sign", `-${DIGITS.slice(1)}`],
  ["a full-width digit", `\uff10${DIGITS.slice(1)}`],
  ["an Arabic-Indic digit", `\u0660${DIGITS.slice(1)}`],
  ["a NUL", `\u0000${DIGITS.slice(1)}`],
  ["base64 of 32 bytes", "ABEiM0RVZneImaq7zN3u/wEjRWeJq83v/ty6mHZUMhA="],
  ["a number", 7],
  ["a list of digits", DIGITS.split("")],
  ["true", true],
];

const NO_TIME: readonly (readonly [name: string, value: Json])[] = [
  ["2^53", 2 ** 53],
  ["2^63", 2 ** 63],
  ["negative", -1],
  ["a fraction", 1.5],
  ["digits as text", "1767225600000"],
  ["a date", "2026-01-01T00:00:00Z"],
  ["true", true],
  ["an empty text", ""],
];

const NO_U32: readonly (readonly [name: string, value: Json])[] = [
  ["2^32", 2 ** 32],
  ["negative", -1],
  ["a fraction", 0.5],
  ["2^53", 2 ** 53],
  ["true", true],
  ["null", null],
];

const NO_U32_TEXT: readonly (readonly [name: string, value: Json])[] = [
  ["decimal digits as text", "1"],
  ["0x alone", "0x"],
  ["9 hex digits", "0x100000000"],
  ["9 hex digits, the first a zero", "0x000000001"],
  ["a capital X", "0X1"],
  ["no hex", "0xg"],
  ["hex without 0x", "ff"],
  ["a sign", "-0x1"],
  ["a leading space", " 0x1"],
  ["a final newline", "0x1\n"],
  ["an underscore", "0x_1"],
  ["a hex fraction", "0x1.0"],
  ["a full-width digit", "0x\uff11"],
  ["empty", ""],
];

const NO_CLIENT_EVENT_ID: readonly (readonly [name: string, value: Json])[] = [
  ["empty", ""],
  ["129 characters", "x".repeat(129)],
  ["a tab", "order\t42"],
  ["a newline at its end", "order-42\n"],
  ["a NUL", "order\u000042"],
  ["DEL", "order\u007f42"],
  ["a letter that is not ASCII", "ordér-42"],
  ["a number", 42],
];

const NO_REASON: readonly (readonly [name: string, value: Json])[] = [
  ["unknown", "because"],
  ["capitals", "Key_Compromise"],
  ["a hyphen", "key-compromise"],
  ["empty", ""],
  ["a number", 1],
  ["a final newline", "superseded\n"],
];

function spoil(input: Input, field: string, values: readonly (readonly [string, Json])[]): BadField[] {
  return values.map(([what, value]) => ({ name: `${field}: ${what}`, field, input: { ...input, [field]: value } }));
}

/** The whole list for one field; the others show that they are read by the same rule. */
function spoilHex(input: Input, [first, ...others]: readonly string[]): BadField[] {
  const few = NO_HEX.filter(([name]) => ["63 digits", "0x and 62 digits", "a final newline"].includes(name));
  return [
    ...(first === undefined ? [] : spoil(input, first, NO_HEX)),
    ...others.flatMap((field) => spoil(input, field, few)),
  ];
}

/** Fields that are needed, each left out and each null. */
function missing(input: Input, fields: readonly string[]): BadField[] {
  return fields.flatMap((field) => {
    const { [field]: _, ...without } = input;
    return [
      { name: `${field}: absent`, field, input: without },
      { name: `${field}: null`, field, input: { ...input, [field]: null } },
      { name: `${field}: an empty text`, field, input: { ...input, [field]: "" } },
    ];
  });
}

export function badClaims(input: Input): BadField[] {
  const needed = ["entity_fingerprint", "attribute_hash", "subject_public_key", "issuer_public_key"];
  return [
    ...spoilHex(input, [...needed, "origin_fingerprint"]),
    ...missing(input, needed),
    ...spoil(input, "attribute_type", [...NO_U32, ...NO_U32_TEXT]),
    ...spoil(input, "issued_at", NO_TIME),
    ...spoil(input, "expires_at", NO_TIME.slice(0, 3)),
  ];
}

export function badGrants(input: Input): BadField[] {
  const needed = ["grantor_claim_ref", "grantee_claim_ref", "scope_hash", "grantor_public_key", "witness_public_key"];
  return [
    ...spoilHex(input, [...needed, "origin_fingerprint", "parent_grant_ref"]),
    ...missing(input, needed),
    ...spoil(input, "delegation_depth", [...NO_U32, ["hex text", "0x1"], ["digits as text", "1"]]),
    ...spoil(input, "not_before", NO_TIME),
    ...["issued_at", "expires_at"].flatMap((field) => spoil(input, field, NO_TIME.slice(0, 3))),
  ];
}

export function badEvents(input: Input): BadField[] {
  const references = ["iris_ref", "scroll_ref", "grant_ref", "bond_ref", "yield_ref", "event_data_hash"];
  const inside = references.flatMap((name) =>
    [
      ["63 digits", DIGITS.slice(1)],
      ["a final newline", `${DIGITS}\n`],
      ["a space", " "],
      ["zeros, but 62 of them", "0".repeat(62)],
    ].map(([what = "", value = ""]) => {
      const field = `semantic_anchor.${name}`;
      return { name: `${field}: ${what}`, field, input: { ...input, semantic_anchor: { [name]: value } } };
    }),
  );
  return [
    ...spoilHex(input, ["event_hash", "origin_fingerprint", "actor_public_key"]),
    ...missing(input, ["event_hash"]),
    ...spoil(input, "actor_public_key", [["an empty text", ""]]),
    ...inside,
    ...spoil(input, "client_event_id", NO_CLIENT_EVENT_ID),
  ];
}

export function badRevocations(input: Input): BadField[] {
  const needed = ["target_anchor_id", "target_origin_fingerprint"];
  return [
    ...spoilHex(input, [...needed, "revoker_public_key"]),
    ...missing(input, needed),
    ...spoil(input, "revoker_public_key", [["an empty text", ""]]),
    ...spoil(input, "reason", NO_REASON),
    ...spoil(input, "suspect_since", NO_TIME),
    ...spoil(input, "issued_at", NO_TIME.slice(0, 3)),
  ];
}
