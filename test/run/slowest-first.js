import { readFileSync, statSync } from "node:fs";

/**
 * What suites name, the slowest kind first: simulated lives, which compute all the time, beside real clusters, which
 * wait more than they work; then databases. Another one ends within seconds.
 */
const KINDS = [
  /\b(?:livesOf|liveBesideALiar)\b/,
  /\b(?:start\w*Cluster|\w+Cluster\.start|shared-cluster)\b|bin\/start/,
  /\bstartTestPostgres\b/,
];
const WEIGHT = 1_000_000;

/**
 * The slowest kind before all others, the largest first: with two workers, a run is not to end with one of them
 * at work on a suite of a minute. (Jest's own order knows the times of earlier runs, which a fresh checkout has not.)
 */
export default class SlowestFirst {
  sort(tests) {
    const weighed = [...tests].map((test) => {
      const text = readFileSync(test.path, "utf8");
      const kind = KINDS.findIndex((names) => names.test(text));
      return { test, weight: (kind < 0 ? 0 : KINDS.length - kind) * WEIGHT + statSync(test.path).size };
    });
    return weighed.sort((a, b) => b.weight - a.weight).map(({ test }) => test);
  }

  shard(tests, { shardIndex, shardCount }) {
    return [...tests].sort((a, b) => (a.path < b.path ? -1 : 1)).filter((_, at) => at % shardCount === shardIndex - 1);
  }

  /** Nothing is remembered of earlier runs. */
  allFailedTests(tests) {
    return tests;
  }

  cacheResults() {}
}
