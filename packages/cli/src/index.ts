export { anchorctl } from "./anchorctl.ts";
export type { Surroundings } from "./anchorctl.ts";
export { EXIT } from "./cli-error.ts";
export type { ExitCode } from "./cli-error.ts";
export type { Output } from "./printer.ts";
