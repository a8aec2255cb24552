/** What a runner of GitHub Actions starts. */
import { runAction } from "./run-action.ts";

process.exitCode = await runAction(process.env);
