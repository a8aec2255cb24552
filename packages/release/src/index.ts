export { releaseCommand } from "./command/release-command.ts";
