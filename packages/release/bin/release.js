#!/usr/bin/env node
// `npm run release`: makes what is released, from the build of this checkout.
import { releaseCommand } from "../dist/index.js";

process.exitCode = await releaseCommand(process.argv.slice(2), process.stdout, process.stderr);
