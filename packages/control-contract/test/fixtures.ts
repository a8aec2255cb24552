/** One of each message, and a seeded source of damage. */
import { createHash } from "node:crypto";
import { nobleCrypto, toAnchorId, toOriginFingerprint } from "@event-anchoring/protocol";
import type { HeldCertificate, Hello, LocalRequest, LocalResponse, NodeStatus, PeerFrame } from "../src/index.ts";

export const { sha256 } = nobleCrypto;

/** 32 bytes that differ by name. */
export function hash(name: string): Uint8Array {
  return Uint8Array.from(createHash("sha256").update(name).digest());
}

const origin = toOriginFingerprint(hash("origin"));
const anchorId = toAnchorId(hash("anchor"));
const zeros = new Uint8Array(32);

export const certificate: HeldCertificate = {
  originFingerprint: origin,
  treeSize: 12,
  rootHash: hash("root"),
  certifiedAtS: 1_790_000_000,
  checkpoint: "local/origin/ab\n12\nroot\n\n— local/node/a c2ln\n",
  trustRootVersion: 3,
  recorded: true,
};

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
  origins: [{ originFingerprint: "cd".repeat(32), treeSize: 3, certifiedSize: 2 }],
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

export const requests: readonly LocalRequest[] = [
  {
    type: "submit",
    requestId: 1,
    remainingMs: 4999,
    answer: "certified",
    commands: [
      {
        kind: "record_events",
        credential: { apiClientId: new Uint8Array(16).fill(1), keyId: new Uint8Array(16).fill(2) },
        atomic: true,
        events: [
          {
            originFingerprint: origin,
            eventHash: hash("e"),
            semanticAnchor,
            clientEventId: "x",
            clientEventSalt: hash("s"),
          },
          {
            originFingerprint: origin,
            eventHash: hash("f"),
            semanticAnchor,
            clientEventId: null,
            clientEventSalt: null,
          },
        ],
      },
    ],
  },
  {
    type: "submit",
    requestId: 0xffff_ffff,
    remainingMs: 0,
    answer: "committed",
    commands: [{ kind: "mark_certify_point" }],
  },
  { type: "read", requestId: 2, remainingMs: 10, origins: "all" },
  { type: "read", requestId: 3, remainingMs: 10, origins: "none" },
  { type: "read", requestId: 4, remainingMs: 10, origins: [origin, toOriginFingerprint(hash("other"))] },
  { type: "read", requestId: 5, remainingMs: 10, origins: [] },
  { type: "status", requestId: 6 },
  { type: "metrics", requestId: 7 },
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
          path: [hash("p")],
          clientEventSalt: hash("s"),
          certified: true,
        },
        {
          status: "accepted",
          leaf: new Uint8Array(371),
          anchorId,
          path: null,
          clientEventSalt: null,
          certified: false,
        },
        { status: "replayed", anchorId, originFingerprint: origin, sequence: 2 ** 53 - 1 },
        { status: "rejected", rejection: { code: "origin_closed", detail: "closed" } },
        {
          status: "rejected",
          rejection: { code: "reference_not_found", pointer: "/semantic_anchor/iris_ref", detail: "é" },
        },
      ],
      checkpoints: [certificate],
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
  { type: "ready_to_read", requestId: 5, readIndex: 99, certificates: [certificate], trustRootVersion: 3 },
  { type: "status", requestId: 6, status },
  { type: "metrics", requestId: 7, text: "# HELP x ü\nx 1\n" },
  { type: "refused", requestId: 8, code: "too_large", detail: "2 MiB", retryAfterMs: null },
  { type: "refused", requestId: 9, code: "no_leader", detail: "", retryAfterMs: 250 },
];

export const peerFrames: readonly PeerFrame[] = [
  { type: "raft", message: Uint8Array.of(1, 2, 3) },
  {
    type: "cosignatures",
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
  { type: "cosignatures", items: [] },
  { type: "proposals", groups: [Uint8Array.of(1), new Uint8Array(0)], remainingMs: 3000 },
  {
    type: "proposals_refused",
    ids: [{ node: 0xffff_ffff_ffff_ffffn, incarnation: 3, counter: 2 ** 40 }],
    code: "clock_unsafe",
    detail: "6 s ahead",
  },
  { type: "clock", wallMs: 1_790_000_000_000, appliedIndex: 12, monotonicMs: 5 },
];

export const hello: Hello = {
  nodeId: "node-1",
  clusterId: hash("cluster"),
  incarnation: 6,
  lastIndex: 100,
  lastTerm: 7,
  signed: [{ originFingerprint: origin, treeSize: 8, rootHash: hash("root") }],
  trustRootVersion: 2,
  rulesMax: 1,
  lifeId: new Uint8Array(16).fill(4),
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
