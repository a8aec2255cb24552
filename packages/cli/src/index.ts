export { anchorctl } from "./anchorctl.ts";
export type { Surroundings } from "./command-lines/context.ts";
export { EXIT } from "./cli-error.ts";
export type { ExitCode } from "./cli-error.ts";
export type { Output } from "./printer.ts";
