/** RFC 6962 trees, tiles, and the hashes derived under tags. */
import {
  EMPTY_ROOT,
  anchorIdOf,
  apiKeyHash,
  appendToFrontier,
  bytesToHex,
  clientEventCommit,
  emptyFrontier,
  entriesPath,
  frontierRoot,
  hexToBytes,
  interiorHash,
  logKeySeed,
  clientRevoker,
  operatorRevoker,
  originFingerprintOf,
  proveConsistency,
  proveInclusion,
  raftIdOf,
  tag,
  tileOf,
  tilePath,
} from "@event-anchoring/protocol";
import { clusterId, fill, logSeed, nodeA, sha256 } from "./fixtures.ts";
import { leafBytes } from "./leaves.ts";
import type { Json } from "../../../../test/vector-builders/json.ts";

/** The leaves of the classic Certificate Transparency tests. */
const CT_LEAVES: readonly string[] = [
  "",
  "00",
  "10",
  "2021",
  "3031",
  "40414243",
  "5051525354555657",
  "606162636465666768696a6b6c6d6e6f",
];

export function treeOf(entries: readonly Uint8Array[]): {
  rootAt: (size: number) => Uint8Array;
  hashAt: (level: number, index: number) => Uint8Array;
} {
  const leafHashes = entries.map((entry) => anchorIdOf(entry, sha256));
  const hashAt = (level: number, index: number): Uint8Array => {
    if (level === 0) return leafHashes[index] ?? fill(0);
    return interiorHash(hashAt(level - 1, index * 2), hashAt(level - 1, index * 2 + 1), sha256);
  };
  const rootAt = (size: number): Uint8Array => {
    let frontier = emptyFrontier();
    for (const hash of leafHashes.slice(0, size)) frontier = appendToFrontier(frontier, hash, sha256);
    return frontierRoot(frontier, sha256);
  };
  return { rootAt, hashAt };
}

function flipped(hash: Uint8Array): Uint8Array {
  const copy = Uint8Array.from(hash);
  copy[0] = (copy[0] ?? 0) ^ 1;
  return copy;
}

interface Inclusion {
  readonly name: string;
  readonly index: number;
  readonly size: number;
  readonly leafHash: Uint8Array;
  readonly rootHash: Uint8Array;
  readonly path: readonly Uint8Array[];
}

interface Consistency {
  readonly name: string;
  readonly oldSize: number;
  readonly size: number;
  readonly oldRoot: Uint8Array;
  readonly root: Uint8Array;
  readonly path: readonly Uint8Array[];
}

function badInclusions(good: Inclusion): Inclusion[] {
  const { name, index, size, leafHash, rootHash, path } = good;
  const bad: Inclusion[] = [
    { ...good, name: `${name}, leaf hash flipped`, leafHash: flipped(leafHash) },
    { ...good, name: `${name}, root hash flipped`, rootHash: flipped(rootHash) },
    { ...good, name: `${name}, one index up`, index: index + 1 },
    { ...good, name: `${name}, index = size`, index: size },
    { ...good, name: `${name}, one hash too many`, path: [...path, fill(0)] },
    { ...good, name: `${name}, one hash too many in front`, path: [leafHash, ...path] },
  ];
  path.forEach((hash, position) => {
    const changed = path.map((other, at) => (at === position ? flipped(hash) : other));
    bad.push({ ...good, name: `${name}, hash ${position} flipped`, path: changed });
  });
  if (path.length > 0) bad.push({ ...good, name: `${name}, last hash missing`, path: path.slice(0, -1) });
  if (path.length > 1) bad.push({ ...good, name: `${name}, path reversed`, path: [...path].reverse() });
  return bad;
}

function badConsistencies(good: Consistency): Consistency[] {
  const { name, oldSize, size, oldRoot, root, path } = good;
  const bad: Consistency[] = [
    { ...good, name: `${name}, old root flipped`, oldRoot: flipped(oldRoot) },
    { ...good, name: `${name}, one hash too many`, path: [...path, fill(0)] },
  ];
  // Whatever the root, the empty tree is a prefix.
  if (oldSize > 0) bad.push({ ...good, name: `${name}, root flipped`, root: flipped(root) });
  if (oldSize < size) {
    bad.push({ ...good, name: `${name}, sizes swapped`, oldSize: size, size: oldSize, oldRoot: root, root: oldRoot });
  }
  if (path.length > 0) bad.push({ ...good, name: `${name}, first hash missing`, path: path.slice(1) });
  if (path.length > 1) bad.push({ ...good, name: `${name}, path reversed`, path: [...path].reverse() });
  return bad;
}

function inclusionJson({ name, index, size, leafHash, rootHash, path }: Inclusion): Json {
  const [leaf_hash, root_hash] = [bytesToHex(leafHash), bytesToHex(rootHash)];
  return { name, index, size, leaf_hash, root_hash, path: path.map(bytesToHex) };
}

function consistencyJson({ name, oldSize, size, oldRoot, root, path }: Consistency): Json {
  const [old_root, new_root] = [bytesToHex(oldRoot), bytesToHex(root)];
  return { name, old_size: oldSize, size, old_root, root: new_root, path: path.map(bytesToHex) };
}

export function merkleVectors(): Json {
  const entries = CT_LEAVES.map((hex) => hexToBytes(hex));
  const { rootAt, hashAt } = treeOf(entries);
  const inclusions: Inclusion[] = [];
  for (const [index, size] of [
    [0, 1],
    [0, 2],
    [1, 2],
    [2, 3],
    [0, 5],
    [4, 5],
    [5, 7],
    [6, 7],
    [3, 8],
  ] as const) {
    const path = proveInclusion(index, size, hashAt, sha256);
    const name = `leaf ${index} of ${size}`;
    inclusions.push({ name, index, size, leafHash: hashAt(0, index), rootHash: rootAt(size), path });
  }
  const consistencies: Consistency[] = [];
  for (const [oldSize, size] of [
    [1, 1],
    [1, 8],
    [2, 5],
    [3, 7],
    [4, 7],
    [6, 8],
    [7, 8],
    [8, 8],
  ] as const) {
    const path = proveConsistency(oldSize, size, hashAt, sha256);
    const name = `${oldSize} to ${size}`;
    consistencies.push({ name, oldSize, size, oldRoot: rootAt(oldSize), root: rootAt(size), path });
  }
  const empty = { name: "0 to 5", oldSize: 0, size: 5, oldRoot: EMPTY_ROOT, root: rootAt(5), path: [] };
  consistencies.push(empty);
  return {
    about: "RFC 6962 trees over the first n of `leaves` (hex). roots[n] is the root of n leaves.",
    leaves: CT_LEAVES,
    roots: Array.from({ length: CT_LEAVES.length + 1 }, (_, size) => bytesToHex(rootAt(size))),
    inclusion: {
      good: inclusions.map(inclusionJson),
      bad: inclusions.flatMap(badInclusions).map(inclusionJson),
    },
    consistency: {
      good: consistencies.map(consistencyJson),
      bad: consistencies.flatMap(badConsistencies).map(consistencyJson),
    },
  };
}

export function tileVectors(): Json {
  const positions = [
    [0, 0],
    [0, 255],
    [0, 256],
    [3, 31],
    [7, 1],
    [8, 0],
    [9, 128],
    [16, 65_535],
    [0, 312_345_678],
  ] as const;
  const paths = [
    [0, 0, 256],
    [0, 999, 256],
    [0, 1000, 1],
    [1, 1_234_067, 112],
    [2, 1_000_000_000, 255],
  ] as const;
  return {
    about: "tlog-tiles: where the root of the perfect subtree (level, index) lies, and what tiles are called.",
    positions: positions.map(([level, index]) => {
      const { tileLevel, tileIndex, start, end } = tileOf(level, index);
      return { level, index, tile_level: tileLevel, tile_index: tileIndex, start, end };
    }),
    paths: paths.map(([level, index, width]) => ({
      level,
      index,
      width,
      tile: tilePath(level, index, width),
      entries: entriesPath(index, width),
    })),
    bad_widths: [0, 257, -1, 1.5],
  };
}

export function tagVectors(): Json {
  const first = nodeA.cosigner.publicKey;
  const names = ["leaf", "origin", "client-event-id", "api-key", "operator", "log-key", "raft-id"];
  const signed = ["claim", "claim-issuer", "grant", "grant-witness", "revocation", "event-actor"];
  return {
    about: "Tags and what is derived under them. Inputs are hex but for ids, which are ASCII.",
    tags: [...names, ...signed].map((name) => ({ name, bytes: bytesToHex(tag(name)) })),
    bad_tag_names: ["", "Leaf", "leaf ", "leaf\u0000", "-leaf", "leaf-", "a--b", "a/b"],
    origin_fingerprint: {
      cluster_id: bytesToHex(clusterId),
      cosigner_public_key: bytesToHex(first),
      result: bytesToHex(originFingerprintOf(clusterId, first, sha256)),
    },
    client_event_commit: {
      salt: bytesToHex(fill(0x5a)),
      client_event_id: "order-42",
      result: bytesToHex(clientEventCommit(fill(0x5a), "order-42", sha256)),
    },
    api_key_hash: { secret: bytesToHex(fill(0xa1)), result: bytesToHex(apiKeyHash(fill(0xa1), sha256)) },
    client_revoker: {
      api_client_id: bytesToHex(fill(0xac, 16)),
      result: bytesToHex(clientRevoker(fill(0xac, 16), sha256)),
    },
    operator_revoker: {
      public_key: bytesToHex(first),
      result: bytesToHex(operatorRevoker(first, sha256)),
    },
    log_key_seed: {
      log_seed: bytesToHex(logSeed),
      origin_fingerprint: bytesToHex(nodeA.originFingerprint),
      result: bytesToHex(logKeySeed(logSeed, nodeA.originFingerprint, sha256)),
      public_key: bytesToHex(nodeA.log.publicKey),
    },
    raft_id: {
      cluster_id: bytesToHex(clusterId),
      node_id: "a",
      result: raftIdOf(clusterId, "a", sha256).toString(),
    },
  };
}

/** The tree of all leaves of leaf.json. */
export const leafTree = treeOf(leafBytes);
