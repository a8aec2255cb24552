export { anchorctl } from "./anchorctl.ts";
