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
  "packages/store/migrations",
  "packages/control-plane/src",
];

/** And what answers clients. */
export const SERVICE_SOURCES: readonly string[] = [
  ...CONSENSUS_SOURCES,
  "packages/api-contract/src",
  "packages/api/src",
  "packages/bundle/src",
  "packages/telemetry/src",
];

/** What runs the gates and judges. A change there begins no count anew, but each batch says which judge it had. */
export const JUDGE_SOURCES: readonly string[] = [
  "packages/gates/src",
  "packages/testkit/src",
  "packages/simulator/src",
  "packages/dev-cluster/src",
  "packages/provision/src",
  "packages/cli/bin",
  "packages/explorer/scripts",
  "packages/sdk-typescript/bin",
  "packages/sdk-rust/examples/crosscheck.rs",
  "test/linearizability",
  "test/vectors",
  "docs/openapi.json",
  "package-lock.json",
];
