/** Suites that take minutes each; they need more time than another suite's test may take. */
export const LONG = [
  "test/long/**/*.test.ts",
  "test/simulation/planted-bugs.test.ts",
  "test/cluster/{membership,trust-root,alerts,rolling-upgrade}.test.ts",
];

/** Real clusters under faults, and what real ones and simulated ones come to after many operations. */
export const CLUSTERS = [
  "test/cluster/*.test.ts",
  "test/deploy/cluster.test.ts",
  "test/responsibility/cluster-history.test.ts",
  "test/simulation/{lives,liar}.test.ts",
];

/** These run in `npm test` as well: a newcomer's first command, and some lives. */
export const FIRST_LOOK = ["test/cluster/start-command.test.ts", "test/simulation/lives.test.ts"];

/** @param {readonly string[]} suites as patterns for `testMatch` that take them */
export const those = (suites) => suites.map((suite) => `<rootDir>/${suite}`);

/** @param {readonly string[]} suites as patterns for `testMatch` that leave them out, if earlier ones took them */
export const without = (suites) => suites.map((suite) => `!**/${suite}`);
