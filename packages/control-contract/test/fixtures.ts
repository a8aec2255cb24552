/** One of each message, and a seeded source of damage. */
import { createHash } from "node:crypto";
import { encodeCommand } from "@event-anchoring/ledger";
import type { Command } from "@event-anchoring/ledger";
import { nobleCrypto, toAnchorId, toOriginFingerprint } from "@event-anchoring/protocol";
import type {
  CallerKey,
  LatestAnchor,
  ShownCertificate,
  Hello,
  OwnWord,
  SignedProgress,
  LocalRequest,
  LocalResponse,
  NodeStatus,
  PeerFrame,
  TraceContext,
} from "../src/index.ts";

export const { sha256 } = nobleCrypto;

/** 32 bytes that differ by name. */
export function hash(name: string): Uint8Array {
  return Uint8Array.from(createHash("sha256").update(name).digest());
}

const origin = toOriginFingerprint(hash("origin"));
const anchorId = toAnchorId(hash("anchor"));
const zeros = new Uint8Array(32);

export const certificate: ShownCertificate = {
  originFingerprint: origin,
  treeSize: 12,
  rootHash: hash("root"),
  certifiedAtS: 1_790_000_000,
  checkpoint: "local/origin/ab\n12\nroot\n\n— local/node/a c2ln\n",
  trustRootVersion: 3,
};

export const otherCertificate: ShownCertificate = {
  ...certificate,
  originFingerprint: toOriginFingerprint(hash("other")),
  treeSize: 7,
};

export const latest: LatestAnchor = {
  certificate,
  path: [hash("p"), hash("q")],
  leaf: new Uint8Array(371).fill(7),
  anchorId,
  clientEvent: { apiClientId: new Uint8Array(16).fill(1), clientEventId: "order-7é", salt: hash("s") },
};

export function callerKey(seed: number): CallerKey {
  const keyHash = hash(`key ${seed}`);
  return {
    keyId: keyHash.slice(0, 16),
    keyHash,
    apiClientId: new Uint8Array(16).fill(seed),
    scopes: seed % 2 === 0 ? ["read"] : ["read", "write", "revoke", "admin"],
    expiresMs: seed * 1000,
    revokedMs: seed % 3,
    requestsPerSecond: seed,
  };
}

export const callerKeys: readonly CallerKey[] = [1, 2, 3].map(callerKey);

export const status: NodeStatus = {
  nodeId: "a",
  clusterId: "ab".repeat(32),
  originFingerprint: "cd".repeat(32),
  raft: { role: "leader", term: 4, leader: "a", commitIndex: 9, appliedIndex: 9, lastIndex: 10 },
  serving: { state: "unavailable", failing: [{ check: "leader", detail: "none for 4200 ms" }] },
  primeRootThk: {
    role: "prime",
    version: 1,
    rootThk: "ef".repeat(32),
    primeVersion: null,
    inSync: false,
    lastSuccessAtMs: null,
    ageSeconds: 1.5,
    expiresAtS: 2_000_000_000,
    lastError: "no leader",
  },
  origins: [{ originFingerprint: "cd".repeat(32), treeSize: 3, certifiedSize: 2, status: "active" }],
  contradictions: {
    named: ["b"],
    origins: ["cd".repeat(32)],
    withheld: [{ originFingerprint: "cd".repeat(32), treeSize: 3 }],
    differing: ["c"],
    evidence: ["cdcdcdcdcdcdcdcd-3-0000000000000000-1111111111111111.notes"],
    evidenceFiles: 1,
  },
  peersCutOff: [{ nodeId: "b", remainingMs: 1500, offences: { impossible_message: 2 } }],
  incarnation: 7,
  versions: { service: "4.2.0" },
};

const semanticAnchor = {
  irisRef: zeros,
  scrollRef: hash("scroll"),
  grantRef: zeros,
  bondRef: zeros,
  yieldRef: zeros,
  eventDataHash: hash("event"),
};

const credential = { apiClientId: new Uint8Array(16).fill(1), keyId: new Uint8Array(16).fill(2) };

function signature(seed: number): Uint8Array {
  return new Uint8Array(64).fill(seed);
}

/** What records a claim, a grant and revocations of either, and what erases a client event id. */
const recordCommands: readonly Command[] = [
  {
    kind: "record_claim",
    credential,
    claim: {
      originFingerprint: origin,
      entityFingerprint: hash("entity"),
      attributeType: 0xffff_ffff,
      attributeHash: hash("attribute"),
      issuedAt: 1,
      expiresAt: 2 ** 53 - 1,
      subjectPublicKey: hash("subject"),
      subjectSignature: signature(2),
      issuerPublicKey: hash("issuer"),
      issuerSignature: signature(3),
    },
  },
  {
    kind: "record_grant",
    credential,
    grant: {
      originFingerprint: origin,
      grantorClaimRef: anchorId,
      granteeClaimRef: toAnchorId(hash("grantee")),
      parentGrantRef: toAnchorId(zeros),
      scopeHash: hash("scope"),
      delegationDepth: 3,
      issuedAt: 0,
      notBefore: 5,
      expiresAt: 6,
      grantorPublicKey: hash("grantor"),
      grantorSignature: signature(4),
      witnessPublicKey: hash("witness"),
      witnessSignature: signature(5),
    },
  },
  {
    kind: "record_revocation",
    credential,
    revocation: {
      targetAnchorId: anchorId,
      targetKind: "claim",
      targetOriginFingerprint: origin,
      originFingerprint: null,
      reason: 0,
      suspectSince: 0,
      issuedAt: 0,
      signer: null,
    },
  },
  {
    kind: "record_revocation",
    credential,
    revocation: {
      targetAnchorId: anchorId,
      targetKind: "grant",
      targetOriginFingerprint: origin,
      originFingerprint: toOriginFingerprint(hash("other")),
      reason: 5,
      suspectSince: 7,
      issuedAt: 8,
      signer: { publicKey: hash("revoker"), signature: signature(6) },
    },
  },
  { kind: "erase_client_event", credential, anchorId },
];

export const TRACE: TraceContext = { traceId: "0af7651916cd43dd8448eb211c80319c", spanId: "b7ad6b7169203331" };

export const requests: readonly LocalRequest[] = [
  ...recordCommands.map((command, at): LocalRequest => {
    return {
      type: "submit",
      requestId: 100 + at,
      remainingMs: 5000,
      answer: "certified",
      command: encodeCommand(command),
      call: null,
    };
  }),
  {
    type: "submit",
    requestId: 1,
    remainingMs: 4999,
    answer: "certified",
    command: encodeCommand({
      kind: "record_events",
      credential,
      atomic: true,
      events: [
        {
          originFingerprint: origin,
          eventHash: hash("e"),
          semanticAnchor,
          clientEventId: "x",
          clientEventSalt: hash("s"),
          actor: { publicKey: hash("actor"), signature: signature(1) },
        },
        {
          originFingerprint: origin,
          eventHash: hash("f"),
          semanticAnchor,
          clientEventId: null,
          clientEventSalt: null,
          actor: null,
        },
      ],
    }),
    call: null,
  },
  {
    type: "submit",
    requestId: 0xffff_ffff,
    remainingMs: 0,
    answer: "committed",
    command: encodeCommand({ kind: "mark_certify_point" }),
    call: null,
  },
  {
    type: "submit",
    requestId: 3,
    remainingMs: 5000,
    answer: "certified",
    command: encodeCommand({ kind: "erase_client_event", credential, anchorId }),
    call: { requestId: "a.B_9-", trace: null },
  },
  {
    type: "submit",
    requestId: 4,
    remainingMs: 5000,
    answer: "certified",
    command: encodeCommand({ kind: "erase_client_event", credential, anchorId }),
    call: { requestId: "r".repeat(64), trace: TRACE },
  },
  { type: "read", requestId: 2, remainingMs: 10, origins: "all" },
  { type: "read", requestId: 3, remainingMs: 10, origins: "none" },
  { type: "read", requestId: 4, remainingMs: 10, origins: [origin, toOriginFingerprint(hash("other"))] },
  { type: "read", requestId: 5, remainingMs: 10, origins: [] },
  { type: "read_latest", requestId: 5, remainingMs: 10, origin },
  { type: "await_head", requestId: 5, remainingMs: 2000, origin, afterSize: 2 ** 40, isWitnessed: true },
  { type: "status", requestId: 6 },
  { type: "metrics", requestId: 7 },
  { type: "api_keys", requestId: 9, remainingMs: 1000 },
  { type: "hold_state", requestId: 8, remainingMs: 15_000, purpose: "backup" },
  { type: "hold_state", requestId: 9, remainingMs: 4_000, purpose: "proof" },
  { type: "add_checkpoint", requestId: 10, remainingMs: 5000, body: new Uint8Array(40).fill(0x6f) },
  { type: "cosigned_checkpoint", requestId: 11, originHash: new Uint8Array(32).fill(0x70) },
];

export const responses: readonly LocalResponse[] = [
  {
    type: "submitted",
    requestId: 1,
    finality: "certified",
    outcome: {
      kind: "records",
      refused: false,
      records: [
        {
          status: "accepted",
          leaf: new Uint8Array(371).fill(3),
          anchorId,
          inclusion: { certificate, path: [hash("p")] },
          clientEventSalt: hash("s"),
        },
        {
          status: "accepted",
          leaf: new Uint8Array(371),
          anchorId,
          inclusion: null,
          clientEventSalt: null,
        },
        { status: "replayed", anchorId, originFingerprint: origin, sequence: 2 ** 53 - 1 },
        { status: "rejected", rejection: { code: "origin_closed", detail: "closed" } },
        {
          status: "rejected",
          rejection: { code: "reference_not_found", pointer: "/semantic_anchor/iris_ref", detail: "é" },
        },
      ],
    },
  },
  ...[391, 463, 261].map((leafBytes, at): LocalResponse => {
    const leaf = new Uint8Array(leafBytes).fill(at);
    const inclusion = { certificate, path: [hash("p"), hash("q")] };
    const record = { status: "accepted", leaf, anchorId, inclusion, clientEventSalt: null } as const;
    const outcome = { kind: "records", refused: false, records: [record] } as const;
    return { type: "submitted", requestId: 200 + at, finality: "certified", outcome };
  }),
  {
    type: "submitted",
    requestId: 203,
    finality: "certified",
    outcome: {
      kind: "records",
      refused: false,
      records: [{ status: "replayed", anchorId, originFingerprint: origin, sequence: 7 }],
    },
  },
  {
    type: "submitted",
    requestId: 204,
    finality: "committed",
    outcome: {
      kind: "records",
      refused: false,
      records: [
        {
          status: "rejected",
          rejection: { code: "signature_invalid", pointer: "/issuer_signature", detail: "the signature is not good" },
        },
      ],
    },
  },
  { type: "submitted", requestId: 2, finality: "committed", outcome: { kind: "applied" } },
  { type: "submitted", requestId: 3, finality: "committed", outcome: { kind: "unchanged" } },
  {
    type: "submitted",
    requestId: 4,
    finality: "committed",
    outcome: { kind: "rejected", rejection: { code: "api_key_conflict", detail: "" } },
  },
  {
    type: "ready_to_read",
    requestId: 5,
    readIndex: 99,
    certificates: [certificate, otherCertificate],
    trustRootVersion: 3,
    latest: null,
  },
  { type: "ready_to_read", requestId: 6, readIndex: 99, certificates: [certificate], trustRootVersion: 3, latest },
  { type: "api_keys", requestId: 7, keys: callerKeys },
  { type: "checkpoint_added", requestId: 10, answer: { kind: "cosigned", lines: "\u2014 w AAAA\n" } },
  { type: "checkpoint_added", requestId: 10, answer: { kind: "size_differs", treeSize: 2 ** 50 } },
  { type: "checkpoint_added", requestId: 10, answer: { kind: "inconsistent" } },
  { type: "checkpoint_added", requestId: 10, answer: { kind: "limited", retryAfterMs: 900 } },
  { type: "cosigned_checkpoint", requestId: 11, checkpoint: "log ü\n" },
  { type: "cosigned_checkpoint", requestId: 11, checkpoint: null },
  { type: "status", requestId: 6, status },
  { type: "metrics", requestId: 7, text: "# HELP x ü\nx 1\n" },
  { type: "state_held", requestId: 8, raftIndex: 12, databaseSnapshot: "0000000A-1-1", stateHead: "note ü\n" },
  { type: "refused", requestId: 8, code: "too_large", detail: "2 MiB", retryAfterMs: null },
  { type: "refused", requestId: 9, code: "no_leader", detail: "", retryAfterMs: 250 },
];

export const progress: SignedProgress = {
  epoch: 1,
  incarnation: 6,
  lifeId: new Uint8Array(16).fill(4),
  term: 7,
  index: 100,
  signature: new Uint8Array(64).fill(5),
};

export const peerFrames: readonly PeerFrame[] = [
  { type: "raft", message: Uint8Array.of(1, 2, 3) },
  {
    type: "cosignatures",
    asks: false,
    items: [
      {
        originFingerprint: origin,
        treeSize: 5,
        rootHash: hash("root"),
        timeS: 1_790_000_000,
        signature: new Uint8Array(64).fill(9),
        raftIndex: 44,
        effect: hash("effect"),
      },
    ],
  },
  { type: "cosignatures", items: [], asks: true },
  { type: "progress", progress },
  {
    type: "witnessed",
    heads: [
      {
        originFingerprint: origin,
        treeSize: 5,
        rootHash: hash("root"),
        cosignatures: [{ nodeId: "a", timeS: 1_790_000_000, signature: new Uint8Array(64).fill(9) }],
        lines: [{ witness: "w-1", timeS: 1_790_000_001, signature: new Uint8Array(64).fill(8) }],
      },
    ],
  },
  { type: "proposals", groups: [Uint8Array.of(1), new Uint8Array(0)], remainingMs: 3000, traces: [] },
  {
    type: "proposals",
    groups: [Uint8Array.of(1), Uint8Array.of(2)],
    remainingMs: 3000,
    traces: [
      { group: 1, context: TRACE },
      { group: 0, context: { ...TRACE, spanId: "00f067aa0ba902b7" } },
    ],
  },
  { type: "entry_trace", index: 2 ** 40, term: 7, context: TRACE },
  {
    type: "lines",
    items: [
      {
        nodeId: "a",
        originFingerprint: toOriginFingerprint(new Uint8Array(32).fill(1)),
        treeSize: 9,
        rootHash: new Uint8Array(32).fill(2),
        timeS: 1_700_000_000,
        signature: new Uint8Array(64).fill(3),
      },
    ],
  },
  {
    type: "proposals_refused",
    ids: [{ node: 0xffff_ffff_ffff_ffffn, incarnation: 3, counter: 2 ** 40 }],
    code: "clock_unsafe",
    detail: "6 s ahead",
  },
  { type: "clock", wallMs: 1_790_000_000_000, appliedIndex: 12, monotonicMs: 5 },
];

/** What a refusal may show of the refused node's own. */
export const ownWords: readonly OwnWord[] = [
  { kind: "progress", progress },
  {
    kind: "cosignature",
    originFingerprint: origin,
    treeSize: 9,
    rootHash: hash("root"),
    timeS: 1_790_000_000,
    signature: new Uint8Array(64).fill(7),
    raftIndex: 0,
  },
];

export const hello: Hello = {
  nodeId: "node-1",
  clusterId: hash("cluster"),
  progress,
  signed: [{ originFingerprint: origin, treeSize: 8, rootHash: hash("root") }],
  trustRootVersion: 2,
  rulesMax: 1,
};

/** A seeded stream of integers below a bound (mulberry32). */
export function seeded(seed: number): (bound: number) => number {
  let state = seed;
  return (bound) => {
    state = (state + 0x6d2b_79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) % bound;
  };
}

/** Cut, extended, overwritten or flipped. */
export function damaged(bytes: Uint8Array, draw: (bound: number) => number): Uint8Array {
  const copy = Uint8Array.from(bytes);
  const at = draw(Math.max(1, bytes.length));
  switch (draw(4)) {
    case 0:
      return copy.subarray(0, at);
    case 1:
      return Uint8Array.from([...copy, draw(256)]);
    case 2:
      copy.fill(0xff, at, at + 4);
      return copy;
    default:
      copy[at] = (copy[at] ?? 0) ^ (1 << draw(8));
      return copy;
  }
}
