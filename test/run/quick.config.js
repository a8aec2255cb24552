import config from "../../jest.config.js";
import { CLUSTERS, FIRST_LOOK, LONG, those, without } from "./suites.js";

/** npm test: everything that is neither long nor a real cluster under faults. */
export default {
  ...config,
  rootDir: "../..",
  testMatch: [...config.testMatch, ...without(CLUSTERS), ...those(FIRST_LOOK), ...without(LONG)],
};
