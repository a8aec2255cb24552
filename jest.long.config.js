import config from "./jest.config.js";

/** The suites that run for minutes, and those of npm test that can run for longer. */
export default {
  ...config,
  testMatch: [
    "<rootDir>/test/long/**/*.test.ts",
    "<rootDir>/test/cluster/{hard-times,races}.test.ts",
    "<rootDir>/test/cluster/{membership,trust-root,alerts,rolling-upgrade}.test.ts",
    "<rootDir>/test/responsibility/**/*.test.ts",
    "<rootDir>/test/simulation/**/*.test.ts",
  ],
  testPathIgnorePatterns: ["/node_modules/"],
  testTimeout: 600_000,
  reporters: ["default", "<rootDir>/test/run/summary.js"],
  maxWorkers: 1,
};
