import config from "../../jest.config.js";
import { LONG, those } from "./suites.js";

/** npm run test:long: the long suites, and those that can run for longer. */
export default {
  ...config,
  rootDir: "../..",
  testMatch: [
    ...those(LONG),
    ...those([
      "test/cluster/{crash-recovery,races}.test.ts",
      "test/responsibility/*.test.ts",
      "test/simulation/*.test.ts",
    ]),
    ...those(["packages/api/test/{created-answer,overload}.test.ts"]),
    ...those(["packages/api-contract/test/plain-events.test.ts"]),
  ],
  testTimeout: 600_000,
  reporters: ["default", "<rootDir>/test/run/summary.js"],
  maxWorkers: 1,
};
