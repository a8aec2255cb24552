/**
 * Every suite: what `npm run jest -- <path>` finds. Which of them `npm test`, `test:clusters` and `test:long` run is in
 * test/run. Tests run from TypeScript sources (the `source` export condition); processes they start run from the build.
 */
export default {
  testMatch: ["<rootDir>/packages/*/test/**/*.test.ts", "<rootDir>/test/**/*.test.ts"],
  extensionsToTreatAsEsm: [".ts"],
  transform: {
    "^.+\\.ts$": [
      "@swc/jest",
      {
        jsc: { parser: { syntax: "typescript" }, target: "es2022" },
        module: { type: "es6" },
        sourceMaps: "inline",
      },
    ],
  },
  globalSetup: "<rootDir>/test/run/set-up.js",
  testEnvironment: "node",
  testEnvironmentOptions: { customExportConditions: ["source", "node", "node-addons"] },
  modulePathIgnorePatterns: ["<rootDir>/packages/[^/]+/dist/", "<rootDir>/\\.anchoring/"],
  // No test takes so long on a machine that is its own.
  testTimeout: 120_000,
  testSequencer: "<rootDir>/test/run/slowest-first.js",
  // Clusters of real processes wait more than they work: two suites at a time use what one leaves idle.
  maxWorkers: 2,
  // Modules of a suite that has ended are freed late, or not at all; a worker that holds so much makes room for another.
  workerIdleMemoryLimit: "1GB",
};
