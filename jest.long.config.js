import config from "./jest.config.js";

/** The suites that run for minutes: faults on real processes, under load. */
export default {
  ...config,
  testMatch: ["<rootDir>/test/long/**/*.test.ts"],
  testPathIgnorePatterns: ["/node_modules/"],
  testTimeout: 600_000,
  maxWorkers: 1,
};
