import config from "../../jest.config.js";
import { CLUSTERS, FIRST_LOOK, LONG, SLOW, those, without } from "./suites.js";

/** npm run test:clusters: real clusters, and what else is too slow for `npm test`. */
export default {
  ...config,
  rootDir: "../..",
  testMatch: [...those([...CLUSTERS, ...SLOW]), ...without([...LONG, ...FIRST_LOOK])],
};
