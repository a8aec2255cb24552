/** What a draft's fields may be, in the wire form of docs/API.md. Refused before anything is signed or sent. */
import { REVOCATION_REASONS } from "@event-anchoring/protocol";
import type { Fields } from "../answer-fields.ts";
import { CliError, EXIT } from "../cli-error.ts";
import { isRecord } from "../nearest-cluster.ts";

export const DRAFT_KINDS = ["claim", "grant", "event", "revocation"] as const;
export type DraftKind = (typeof DRAFT_KINDS)[number];

type Read = (value: unknown, name: string) => unknown;

const HEX_32 = /^[0-9a-fA-F]{64}(?![\s\S])/u;
const HEX_64 = /^[0-9a-fA-F]{128}(?![\s\S])/u;
const HEX_U32 = /^0x[0-9a-fA-F]{1,8}(?![\s\S])/u;
const ZEROS = "0".repeat(64);
const U32_MAX = 0xffff_ffff;
const CLIENT_EVENT_ID = /^[\x20-\x7e]{1,128}(?![\s\S])/u;

function invalid(name: string, wanted: string): CliError {
  return new CliError(EXIT.usage, "invalid_input", `${name} ${wanted}`);
}

const isAbsent = (value: unknown): boolean => value === undefined || value === null;

const hash: Read = (value, name) => {
  if (typeof value === "string" && HEX_32.test(value)) return value.toLowerCase();
  throw invalid(name, "must be 64 hex digits");
};

const optionalHash: Read = (value, name) => (isAbsent(value) ? undefined : hash(value, name));

/** Absent, null, "" and 64 zeros are an empty reference. */
const reference: Read = (value, name) => {
  if (isAbsent(value) || value === "") return undefined;
  const hex = hash(value, name);
  return hex === ZEROS ? undefined : hex;
};

const signature: Read = (value, name) => {
  if (isAbsent(value)) return undefined;
  if (typeof value === "string" && HEX_64.test(value)) return value.toLowerCase();
  throw invalid(name, "must be 128 hex digits");
};

const integerUpTo =
  (max: number): Read =>
  (value, name) => {
    if (typeof value === "number" && Number.isSafeInteger(value) && value >= 0 && value <= max) return value;
    throw invalid(name, `must be a whole number from 0 to ${max}`);
  };

const u32 = integerUpTo(U32_MAX);
const u64 = integerUpTo(Number.MAX_SAFE_INTEGER);

const attributeType: Read = (value, name) => {
  if (typeof value === "string" && HEX_U32.test(value)) return Number(value);
  return u32(value, name);
};

/** Unix milliseconds; 0 is none. */
const time: Read = (value, name) => (isAbsent(value) ? undefined : u64(value, name) === 0 ? undefined : value);

const reason: Read = (value, name) => {
  if (isAbsent(value)) return undefined;
  const found = REVOCATION_REASONS.find((word) => word === value);
  if (found === undefined) throw invalid(name, `must be one of ${REVOCATION_REASONS.join(", ")}`);
  return found === "unspecified" ? undefined : found;
};

const clientEventId: Read = (value, name) => {
  if (isAbsent(value)) return undefined;
  if (typeof value === "string" && CLIENT_EVENT_ID.test(value)) return value;
  throw invalid(name, "must be 1 to 128 printable ASCII characters");
};

const targetKind: Read = (value, name) => {
  if (value === "claim" || value === "grant") return value;
  throw invalid(name, "must be claim or grant");
};

const REFERENCES = ["iris_ref", "scroll_ref", "grant_ref", "bond_ref", "yield_ref", "event_data_hash"] as const;

const semanticAnchor: Read = (value, name) => {
  if (isAbsent(value)) return undefined;
  if (!isRecord(value)) throw invalid(name, "must be an object");
  assertKnown(value, REFERENCES, `${name}.`);
  const anchor = present(REFERENCES.map((field) => [field, reference(value[field], `${name}.${field}`)]));
  return Object.keys(anchor).length === 0 ? undefined : anchor;
};

const FIELDS: Readonly<Record<DraftKind, Readonly<Record<string, Read>>>> = {
  claim: {
    origin_fingerprint: hash,
    entity_fingerprint: hash,
    attribute_type: attributeType,
    attribute_hash: hash,
    issued_at: time,
    expires_at: time,
    subject_public_key: hash,
    subject_signature: signature,
    issuer_public_key: hash,
    issuer_signature: signature,
  },
  grant: {
    origin_fingerprint: hash,
    grantor_claim_ref: hash,
    grantee_claim_ref: hash,
    parent_grant_ref: reference,
    scope_hash: hash,
    delegation_depth: u32,
    issued_at: time,
    not_before: time,
    expires_at: time,
    grantor_public_key: hash,
    grantor_signature: signature,
    witness_public_key: hash,
    witness_signature: signature,
  },
  event: {
    origin_fingerprint: hash,
    event_hash: hash,
    semantic_anchor: semanticAnchor,
    client_event_id: clientEventId,
    actor_public_key: optionalHash,
    actor_signature: signature,
  },
  revocation: {
    target_kind: targetKind,
    target_origin_fingerprint: hash,
    target_anchor_id: hash,
    origin_fingerprint: optionalHash,
    reason,
    suspect_since: time,
    issued_at: time,
    revoker_public_key: optionalHash,
    revoker_signature: signature,
  },
};

function present(entries: readonly (readonly [string, unknown])[]): Fields {
  return Object.fromEntries(entries.filter(([, value]) => value !== undefined));
}

function assertKnown(value: Fields, names: readonly string[], prefix = ""): void {
  const unknown = Object.keys(value).find((name) => !names.includes(name));
  if (unknown !== undefined) throw invalid(`${prefix}${unknown}`, "is no field of this request");
}

/** Lower case, numbers for attribute types, empty optionals left out. @throws CliError `invalid_input` */
export function readDraftFields(kind: DraftKind, value: Fields): Fields {
  const readers = FIELDS[kind];
  assertKnown(value, Object.keys(readers));
  return present(Object.entries(readers).map(([name, read]) => [name, read(value[name], name)]));
}
