import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { ROUTES, openApiSchema } from "@event-anchoring/api-contract";
import { startHarness } from "./api-harness.ts";
import type { Answer, Harness } from "./api-harness.ts";

let harness: Harness;
beforeAll(async () => {
  harness = await startHarness();
});
afterAll(() => harness.close());

/** As a browser does it: no key. */
const get = (path: string): Promise<Answer> => harness.send("GET", path, undefined, {});

function attributes(html: string, name: string): string[] {
  return [...html.matchAll(new RegExp(` ${name}="([^"]*)"`, "g"))].map(([, value]) => value ?? "");
}

describe("the OpenAPI document", () => {
  test("is served without a key, and describes every route and nothing else", async () => {
    const { status, json, headers } = await get("/openapi.json");
    expect([status, headers["content-type"]]).toEqual([200, "application/json; charset=utf-8"]);
    const document = openApiSchema.parse(json);
    expect([document.openapi, document.info.version]).toEqual([expect.stringMatching(/^3\.1\.\d$/), "4.2.0"]);
    const described = Object.entries(document["paths"] as Record<string, object>).flatMap(([path, methods]) =>
      Object.keys(methods).map((method) => `${method.toUpperCase()} ${path}`),
    );
    expect(described.toSorted()).toEqual(ROUTES.map(({ method, path }) => `${method} ${path}`).toSorted());
  });

  test("is docs/openapi.json, in the same bytes each time", async () => {
    const { text } = await get("/openapi.json");
    const file = readFileSync(new URL("../../../docs/openapi.json", import.meta.url), "utf8");
    expect(text).toBe(JSON.stringify(JSON.parse(file)));
    expect((await get("/openapi.json")).text).toBe(text);
  });
});

describe("the page for people", () => {
  test("runs no inline script or style, and loads only its own files, by relative paths", async () => {
    const { status, text, headers } = await get("/docs");
    expect([status, headers["content-type"]]).toEqual([200, "text/html; charset=utf-8"]);
    expect(text).not.toMatch(/<style|<script>| on[a-z]+=|style=/i);
    const loaded = [...attributes(text, "src"), ...attributes(text, "href")].filter((path) => path !== "data:,");
    expect(loaded.toSorted()).toEqual([
      "docs/start.js",
      "docs/swagger-ui-bundle.js",
      "docs/swagger-ui.css",
      "openapi.json",
    ]);
    for (const path of loaded) expect([path, (await get(`/${path}`)).status]).toEqual([path, 200]);
  });

  test("its policy allows what it needs from where it is, and nothing else", async () => {
    const policy = (await get("/docs")).headers["content-security-policy"];
    expect(String(policy).split("; ").toSorted()).toEqual([
      "base-uri 'none'",
      "connect-src 'self'",
      "default-src 'none'",
      "form-action 'none'",
      "frame-ancestors 'none'",
      "img-src 'self' data:",
      "script-src 'self'",
      "style-src 'self'",
    ]);
  });

  test("its files are those that are installed, with their types", async () => {
    const [script, style, start] = await Promise.all(
      ["swagger-ui-bundle.js", "swagger-ui.css", "start.js"].map((name) => get(`/docs/${name}`)),
    );
    const installed = createRequire(import.meta.url).resolve("swagger-ui-dist/swagger-ui-bundle.js");
    expect(script?.text).toBe(readFileSync(installed, "utf8"));
    expect(script?.headers["content-type"]).toBe("text/javascript; charset=utf-8");
    expect(style?.headers["content-type"]).toBe("text/css; charset=utf-8");
    expect(start?.text).toContain('url: "openapi.json"');
    for (const asset of [script, style, start]) {
      expect(asset?.headers["cache-control"]).toBe("public, max-age=3600");
      expect(asset?.headers["x-content-type-options"]).toBe("nosniff");
    }
  });

  test.each([
    ["/docs/index.html", 404],
    ["/docs/package.json", 404],
    ["/docs/swagger-ui-bundle.js.map", 404],
    ["/docs/oauth2-redirect.html", 404],
    ["/docs/swagger-initializer.js", 404],
    ["/docs/constructor", 404],
    ["/docs/..", 400],
    ["/docs/%2e%2e", 400],
    ["/docs/..%2fpackage.json", 400],
    ["/docs/..%5cpackage.json", 400],
    ["/docs/%00", 400],
    ["/docs/Swagger-UI.css", 400],
    ["/docs/sub/swagger-ui.css", 404],
    ["/docs/", 404],
  ])("%s is %i, and a problem document", async (path, status) => {
    const answer = await get(path);
    expect([answer.status, answer.headers["content-type"]]).toEqual([status, "application/problem+json"]);
  });

  test("every asset is one label of the metrics, whatever is asked for", async () => {
    for (const name of ["a.js", "b.js", "c.js"]) await get(`/docs/${name}`);
    const { text } = await harness.metrics();
    const routes = [...text.matchAll(/anchoring_api_request_seconds_count\{route="([^"]+)"/g)].map(([, name]) => name);
    const known = new Set<string | undefined>([...ROUTES.map(({ id }) => id), "none"]);
    expect(routes.filter((name) => !known.has(name))).toEqual([]);
    expect(routes).toContain("getDocsAsset");
  });
});
