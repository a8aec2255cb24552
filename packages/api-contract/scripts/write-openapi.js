/** Writes docs/openapi.json from the build of this package, which `npx tsc -b packages/api-contract` makes. */
import { writeFileSync } from "node:fs";
import { openApiDocument } from "../dist/index.js";

const target = new URL("../../../docs/openapi.json", import.meta.url);
writeFileSync(target, `${JSON.stringify(openApiDocument(), null, 2)}\n`);
