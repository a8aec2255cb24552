/** Writes docs/openapi.json from the build: `npx tsc -b packages/api-contract && node packages/api-contract/scripts/write-openapi.js`. */
import { writeFileSync } from "node:fs";
import { openApiDocument } from "../dist/index.js";

const target = new URL("../../../docs/openapi.json", import.meta.url);
writeFileSync(target, `${JSON.stringify(openApiDocument(), null, 2)}\n`);
