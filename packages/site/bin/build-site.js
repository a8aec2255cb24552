#!/usr/bin/env node
/**
 * Builds the site of the documentation, from the build of this checkout.
 *
 * Usage: build-site.js [folder]   default: dist/site of this package
 */
import { fileURLToPath } from "node:url";
import { buildSite } from "../dist/index.js";

await buildSite(process.argv[2] ?? fileURLToPath(new URL("../dist/site", import.meta.url)));
