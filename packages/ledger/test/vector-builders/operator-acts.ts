/** What operators sign, and what the log holds of it. */
import { bytesToHex, operatorRevoker, toAnchorId, toOriginFingerprint } from "@event-anchoring/protocol";
import { encodeCommand, operatorActMessage } from "../../src/index.ts";
import type { OperatorCommand } from "../../src/index.ts";
import type { Json } from "../../../../test/vector-builders/json.ts";
import { fill, fixedKey, sha256 } from "../../../../test/vector-builders/keys.ts";

const ALICE = fixedKey(0x41);
const CLUSTER_ID = fill(0xc1);
const KEY_HASH = fill(0x11);
const NEW_KEY_HASH = fill(0x12);
const API_CLIENT = fill(0xac, 16);
const TARGET = fill(0x21);
const ORIGIN = fill(0x31);
const ACTIVE_ORIGIN = fill(0x32);
const NOW_MS = 1_767_225_600_000;

interface Case {
  readonly name: string;
  readonly epoch: number;
  readonly counter: number;
  /** The fields of the command, in the names of the protocol. */
  readonly fields: Json;
  readonly command: OperatorCommand;
}

const REVOCATION = {
  targetAnchorId: toAnchorId(TARGET),
  targetOriginFingerprint: toOriginFingerprint(ORIGIN),
  reason: 1,
  suspectSince: NOW_MS - 1000,
  issuedAt: NOW_MS,
  signer: null,
};

const REVOCATION_FIELDS = {
  target_anchor_id: bytesToHex(TARGET),
  target_origin_fingerprint: bytesToHex(ORIGIN),
  reason: "key_compromise",
  suspect_since: REVOCATION.suspectSince,
  issued_at: REVOCATION.issuedAt,
};

const CASES: readonly Case[] = [
  {
    name: "a new API key",
    epoch: 0,
    counter: 1,
    fields: {
      kind: "create_api_key",
      key_hash: bytesToHex(KEY_HASH),
      api_client_id: bytesToHex(API_CLIENT),
      label: "build farm",
      scopes: ["read", "write", "revoke"],
      expires_ms: NOW_MS,
      requests_per_second: 50,
    },
    command: {
      kind: "create_api_key",
      key: {
        keyHash: KEY_HASH,
        apiClientId: API_CLIENT,
        label: "build farm",
        scopes: ["read", "write", "revoke"],
        expiresMs: NOW_MS,
        requestsPerSecond: 50,
      },
    },
  },
  {
    name: "a revoked API key, after a restore",
    epoch: 3,
    counter: NOW_MS,
    fields: { kind: "revoke_api_key", key_id: bytesToHex(KEY_HASH.slice(0, 16)) },
    command: { kind: "revoke_api_key", keyId: KEY_HASH.slice(0, 16) },
  },
  {
    name: "a rotated API key",
    epoch: 0,
    counter: NOW_MS + 1,
    fields: {
      kind: "rotate_api_key",
      key_id: bytesToHex(KEY_HASH.slice(0, 16)),
      key_hash: bytesToHex(NEW_KEY_HASH),
      overlap_ms: 86_400_000,
      expires_ms: 0,
    },
    command: {
      kind: "rotate_api_key",
      keyId: KEY_HASH.slice(0, 16),
      keyHash: NEW_KEY_HASH,
      overlapMs: 86_400_000,
      expiresMs: 0,
    },
  },
  {
    name: "the revocation of a claim",
    epoch: 0,
    counter: NOW_MS + 2,
    fields: { kind: "record_revocation", target_kind: "claim", origin_fingerprint: null, ...REVOCATION_FIELDS },
    command: {
      kind: "record_revocation",
      credential: null,
      revocation: { ...REVOCATION, targetKind: "claim", originFingerprint: null },
    },
  },
  {
    name: "the revocation of a grant in a lost origin",
    epoch: 1,
    counter: Number.MAX_SAFE_INTEGER,
    fields: {
      kind: "record_revocation",
      target_kind: "grant",
      origin_fingerprint: bytesToHex(ACTIVE_ORIGIN),
      ...REVOCATION_FIELDS,
    },
    command: {
      kind: "record_revocation",
      credential: null,
      revocation: { ...REVOCATION, targetKind: "grant", originFingerprint: toOriginFingerprint(ACTIVE_ORIGIN) },
    },
  },
  {
    name: "the erasure of a client event id",
    epoch: 0,
    counter: NOW_MS + 3,
    fields: { kind: "erase_client_event", anchor_id: bytesToHex(TARGET) },
    command: { kind: "erase_client_event", credential: null, anchorId: toAnchorId(TARGET) },
  },
];

function caseJson({ name, epoch, counter, fields, command }: Case): Json {
  const act = { operator: "alice", counter };
  const message = operatorActMessage({ clusterId: CLUSTER_ID, epoch }, act, command);
  const signature = ALICE.sign(message);
  return {
    name,
    epoch,
    counter,
    command: fields,
    message: bytesToHex(message),
    signature: bytesToHex(signature),
    act: bytesToHex(encodeCommand({ kind: "operator_act", ...act, signature, command })),
  };
}

export function operatorActVectors(): Json {
  return {
    about: 'What an operator signs (message), and what the log holds (act): docs/PROTOCOL.md, "Operators\' acts".',
    cluster_id: bytesToHex(CLUSTER_ID),
    operator: "alice",
    seed: bytesToHex(ALICE.seed),
    public_key: bytesToHex(ALICE.publicKey),
    revoker: bytesToHex(operatorRevoker(ALICE.publicKey, sha256)),
    acts: CASES.map(caseJson),
  };
}
