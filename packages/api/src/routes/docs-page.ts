/**
 * The reference: the OpenAPI document, docs/openapi.json of this release, and a page for people that shows it. The page
 * is Swagger UI as installed beside this program; it loads nothing from elsewhere.
 */
import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { docsAssetPathSchema, parsePath } from "@event-anchoring/api-contract";
import { parsed, problemError } from "../request/problem-error.ts";
import type { Handler, HandlerAnswer } from "./handler.ts";

/** Every reference is relative, so that the page also works where a gateway puts a path before it. */
const PAGE = `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8">
    <meta name="viewport" content="width=device-width, initial-scale=1">
    <title>Event Anchoring API 4.2</title>
    <link rel="icon" href="data:,">
    <link rel="stylesheet" href="docs/swagger-ui.css">
  </head>
  <body>
    <noscript>The same reference as JSON: <a href="openapi.json">openapi.json</a></noscript>
    <div id="swagger-ui"></div>
    <script src="docs/swagger-ui-bundle.js"></script>
    <script src="docs/start.js"></script>
  </body>
</html>
`;

const START = `SwaggerUIBundle({
  url: "openapi.json",
  dom_id: "#swagger-ui",
  presets: [SwaggerUIBundle.presets.apis],
  layout: "BaseLayout",
  deepLinking: true,
  validatorUrl: null,
});
`;

/** The page loads nothing from elsewhere, and runs only its own files. */
const PAGE_POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join("; ");

const ASSET_HEADERS = { "Cache-Control": "public, max-age=3600" };

interface Asset {
  readonly mediaType: string;
  readonly load: () => Promise<Uint8Array>;
}

/** Read on first use, and kept. A name never comes from a client. */
function installed(name: string): () => Promise<Uint8Array> {
  let bytes: Uint8Array | null = null;
  return async () => {
    bytes ??= await readFile(createRequire(import.meta.url).resolve(`swagger-ui-dist/${name}`));
    return bytes;
  };
}

const CSS = "text/css; charset=utf-8";
const JAVASCRIPT = "text/javascript; charset=utf-8";

const ASSETS: ReadonlyMap<string, Asset> = new Map([
  ["swagger-ui.css", { mediaType: CSS, load: installed("swagger-ui.css") }],
  ["swagger-ui-bundle.js", { mediaType: JAVASCRIPT, load: installed("swagger-ui-bundle.js") }],
  ["start.js", { mediaType: JAVASCRIPT, load: () => Promise.resolve(Buffer.from(START, "utf8")) }],
]);

/** The same path from the built file and from its source. */
const OPENAPI_FILE = new URL("../../../../docs/openapi.json", import.meta.url);

let openApiBytes: Uint8Array | null = null;

/** GET /openapi.json: read on first use, and kept, without insignificant white space. */
export const getOpenApi: Handler = async () => {
  openApiBytes ??= Buffer.from(JSON.stringify(JSON.parse(await readFile(OPENAPI_FILE, "utf8"))), "utf8");
  return { status: 200, bytes: openApiBytes, mediaType: "application/json; charset=utf-8" };
};

/** GET /docs */
export const getDocs: Handler = async (): Promise<HandlerAnswer> => ({
  status: 200,
  bytes: Buffer.from(PAGE, "utf8"),
  mediaType: "text/html; charset=utf-8",
  headers: { "Content-Security-Policy": PAGE_POLICY },
});

/** GET /docs/{asset} */
export const getDocsAsset: Handler = async (request) => {
  const { asset: name } = parsed(parsePath(docsAssetPathSchema, request.pathParameters));
  const asset = ASSETS.get(name);
  if (asset === undefined) throw problemError("route_not_found");
  return { status: 200, bytes: await asset.load(), mediaType: asset.mediaType, headers: ASSET_HEADERS };
};
