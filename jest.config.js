/** Tests run from TypeScript sources (the `source` export condition); processes they start run from the build. */
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
  testEnvironment: "node",
  testEnvironmentOptions: { customExportConditions: ["source", "node", "node-addons"] },
  // Suites that take minutes each: npm run test:long.
  testPathIgnorePatterns: [
    "/node_modules/",
    "<rootDir>/test/long/",
    "<rootDir>/test/simulation/planted-bugs",
    "<rootDir>/test/cluster/membership",
    "<rootDir>/test/cluster/trust-root",
    "<rootDir>/test/cluster/alerts.test",
  ],
  modulePathIgnorePatterns: ["<rootDir>/packages/[^/]+/dist/", "<rootDir>/\\.anchoring/"],
  testTimeout: 30000,
  // Clusters of real processes wait more than they work: two suites at a time use what one leaves idle.
  maxWorkers: 2,
};
