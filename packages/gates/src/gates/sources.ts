/** What decides, orders, certifies and stores. */
export const CONSENSUS_SOURCES: readonly string[] = [
  "packages/protocol/src",
  "packages/records/src",
  "packages/ledger/src",
  "packages/raft-ts/src",
  "packages/raft-ts/engine/raft.wasm",
  "packages/node-crypto/src",
  "packages/control-contract/src",
  "packages/store/src",
  "packages/control-plane/src",
];

/** And what answers clients. */
export const SERVICE_SOURCES: readonly string[] = [
  ...CONSENSUS_SOURCES,
  "packages/api-contract/src",
  "packages/api/src",
];
