/** Suites that take minutes each; they need more time than another suite's test may take. */
export const LONG = [
  "test/long/**/*.test.ts",
  "packages/gates/test/{bit-flips,power-cuts,short-day}.test.ts",
  "test/simulation/planted-bugs.test.ts",
  "test/deploy/{doctor-mistakes,three-machines}.test.ts",
  "test/cluster/{membership,trust-root,alerts,rolling-upgrade}.test.ts",
];

/** Real clusters under faults, and what real ones and simulated ones come to after many operations. */
export const CLUSTERS = [
  "test/cluster/*.test.ts",
  "test/deploy/cluster.test.ts",
  "test/responsibility/cluster-history.test.ts",
  "test/simulation/{lives,liar}.test.ts",
];

/** These take more than ten seconds each; without them `npm test` takes less than six minutes on 2 vCPU. */
export const SLOW = [
  "packages/adapters/test/cluster.test.ts",
  "packages/api/test/{process,overload,hostile-clients,hostile-bodies,listener-tls,feed}.test.ts",
  "packages/bench/test/smoke.test.ts",
  "packages/bundle/test/bundle-lives.test.ts",
  "packages/cli/test/{cluster,kept-backups,operator-acts,next-command}.test.ts",
  "packages/control-plane/test/{cluster-faults,erasure-process,growth,records-cluster}.test.ts",
  "packages/dev-cluster/test/embedded-postgres.test.ts",
  "packages/explorer/test/browser/*.test.ts",
  "packages/gates/test/{day-slices,days,key-turn,mutate,requests,server-words,shipped-page}.test.ts",
  "packages/provision/test/certs.test.ts",
  "packages/release/test/{debian-packages,npm-adapters,npm-programs,npm-sdk,spdx}.test.ts",
  "packages/records/test/record-book.test.ts",
  "packages/simulator/test/{lives,sim-replays}.test.ts",
  "packages/site/test/built/*.test.ts",
  "packages/store/test/snapshot/{snapshot-refusals,snapshot-state,snapshot-records}.test.ts",
  "packages/store/test/{backup/backup-state,log/raft-log,postgres/migrate}.test.ts",
  "packages/store/test/fsck/{fsck,fsck-state,scrub-walk}.test.ts",
  "packages/store/test/ledger/{ledger-store,deep-chain,record-facts}.test.ts",
  "packages/store/test/reads/{record-reads,event-lists}.test.ts",
  "test/auditing/walk.test.ts",
  "test/contract/{agreement,contract}.test.ts",
  "test/deploy/{ceremony,chart,gateway,kept-backups,monitoring}.test.ts",
  "test/hostile/*.test.ts",
  "test/interop/*.test.ts",
  "test/linearizability/*.test.ts",
  "test/programs.test.ts",
  "test/responsibility/ledger-history.test.ts",
  "test/sdk/{sdks,verifiers}.test.ts",
  "test/simulation/databases.test.ts",
];

/** A real cluster that runs in `npm test` as well: a newcomer's first command. */
export const FIRST_LOOK = ["test/cluster/start-command.test.ts"];

/** @param {readonly string[]} suites as patterns for `testMatch` that take them */
export const those = (suites) => suites.map((suite) => `<rootDir>/${suite}`);

/** @param {readonly string[]} suites as patterns for `testMatch` that leave them out, if earlier ones took them */
export const without = (suites) => suites.map((suite) => `!**/${suite}`);
