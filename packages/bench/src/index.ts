export { benchCommand } from "./run/bench.ts";
export { profileCommand } from "./profile/profile-command.ts";
export { mergedReport, parseReport, reportAsMarkdown, withFigures } from "./report/figures-document.ts";
