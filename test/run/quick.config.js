import config from "../../jest.config.js";
import { CLUSTERS, FIRST_LOOK, LONG, SLOW, those, without } from "./suites.js";

/** npm test: everything that is neither slow nor long nor a real cluster under faults. */
export default {
  ...config,
  rootDir: "../..",
  testMatch: [...config.testMatch, ...without([...CLUSTERS, ...SLOW]), ...those(FIRST_LOOK), ...without(LONG)],
};
