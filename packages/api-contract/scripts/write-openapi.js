/** Writes docs/openapi.json, which the api process serves, from what `npx tsc -b packages/api-contract` has built. */
import { writeFileSync } from "node:fs";
import { openApiDocument } from "../dist/openapi/document.js";

const target = new URL("../../../docs/openapi.json", import.meta.url);
writeFileSync(target, `${JSON.stringify(openApiDocument(), null, 2)}\n`);
