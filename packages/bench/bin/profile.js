#!/usr/bin/env node
// `npm run profile`: makes the build if it is missing or old, then profiles.
import { makeBuild } from "./build.js";

makeBuild();
const { profileCommand } = await import("../dist/index.js");
process.exitCode = await profileCommand(process.argv.slice(2), process.stdout, process.stderr);
