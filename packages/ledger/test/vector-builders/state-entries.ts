/** Keys and values of the state tree, and a tree of them. */
import { bytesToHex, toAnchorId, toOriginFingerprint } from "@event-anchoring/protocol";
import {
  apiKeyEntry,
  claimEntry,
  erasureEntry,
  grantEntry,
  lineageEntry,
  operatorEntry,
  stateLeafOf,
  updateStateTree,
  StatePage,
} from "../../src/index.ts";
import type { ApiKey, StateEntry } from "../../src/index.ts";
import type { ClaimRecord, GrantRecord } from "@event-anchoring/records";
import type { Json } from "../../../../test/vector-builders/json.ts";
import { fill, sha256 } from "../../../../test/vector-builders/keys.ts";

const API_CLIENT = fill(0xac, 16);
const NOW_MS = 1_767_225_600_000;

const CLAIM: ClaimRecord = {
  anchorId: toAnchorId(fill(0x21)),
  recordedBy: API_CLIENT,
  originFingerprint: toOriginFingerprint(fill(0x31)),
  sequence: 12,
  entityFingerprint: fill(0x41),
  attributeType: 1,
  subjectPublicKey: fill(0x51),
  issuerPublicKey: fill(0x52),
  expiresAt: 0,
  lineage: 7,
  supersededAt: 15,
  revokedAt: null,
};

const GRANT: GrantRecord = {
  anchorId: toAnchorId(fill(0x22)),
  recordedBy: API_CLIENT,
  originFingerprint: toOriginFingerprint(fill(0x31)),
  sequence: 14,
  grantorClaim: 7,
  granteeClaim: 9,
  grantorLineage: 7,
  granteeLineage: 9,
  grantorFingerprint: fill(0x41),
  granteeFingerprint: fill(0x42),
  parent: 13,
  links: 2,
  delegationDepth: 1,
  notBefore: 0,
  expiresAt: NOW_MS,
  grantorPublicKey: fill(0x51),
  witnessPublicKey: fill(0x53),
  supersededAt: null,
  revokedAt: 16,
};

const KEY: ApiKey = {
  keyId: fill(0x11, 16),
  keyHash: fill(0x11),
  apiClientId: API_CLIENT,
  label: "build farm",
  scopes: ["read", "write", "revoke"],
  expiresMs: NOW_MS,
  requestsPerSecond: 50,
  createdMs: NOW_MS - 1000,
  revokedMs: 0,
  createdBy: { operator: "alice", counter: 5 },
  endedBy: null,
};

const ENTRIES: readonly (readonly [string, StateEntry])[] = [
  ["a claim that was superseded", claimEntry(CLAIM)],
  ["its lineage", lineageEntry({ ...CLAIM, anchorId: toAnchorId(fill(0x23)), sequence: 15 })],
  ["a grant that was revoked", grantEntry(GRANT)],
  ["an API key", apiKeyEntry(KEY)],
  ["an API key that an operator has ended", apiKeyEntry({ ...KEY, ...ended(), keyId: fill(0x12, 16) })],
  ["an operator", operatorEntry({ operator: "alice", counter: 6 })],
  ["a client event id that was erased", erasureEntry(17)],
];

function ended(): Pick<ApiKey, "keyHash" | "revokedMs" | "endedBy"> {
  return { keyHash: fill(0x12), revokedMs: NOW_MS, endedBy: { operator: "alice", counter: 6 } };
}

export function stateTreeVectors(): Json {
  const leaves = ENTRIES.map(([, entry]) => stateLeafOf(entry, sha256));
  const { rootHash } = updateStateTree(new Map([["", StatePage.empty]]), leaves, sha256);
  return {
    about: 'Entries of the state tree, and the root of the tree that has them all: docs/PROTOCOL.md, "State tree".',
    entries: ENTRIES.map(([name, entry]) => ({
      name,
      kind: entry.kind,
      id: bytesToHex(entry.id),
      value: bytesToHex(entry.value),
      key: bytesToHex(stateLeafOf(entry, sha256).key),
    })),
    root: bytesToHex(rootHash),
  };
}
