import config from "../../jest.config.js";
import { CLUSTERS, LONG, those, without } from "./suites.js";

/** npm run test:clusters */
export default {
  ...config,
  rootDir: "../..",
  testMatch: [...those(CLUSTERS), ...without(LONG), ...without(["test/cluster/start-command.test.ts"])],
};
