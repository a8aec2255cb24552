import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { startHarness } from "./api-harness.ts";
import type { Answer, Harness } from "./api-harness.ts";

let harness: Harness;
beforeAll(async () => {
  harness = await startHarness();
});
afterAll(() => harness.close());

/** As a browser does it: no key. */
const get = (path: string): Promise<Answer> => harness.send("GET", path, undefined, {});

const FILE = new URL("../../explorer/dist/page.html", import.meta.url);

function hashOf(text: string): string {
  return `'sha256-${createHash("sha256").update(text, "utf8").digest("base64")}'`;
}

describe("the proof page", () => {
  test.each(["/", "/verify"])("%s is the built file, without a key", async (path) => {
    const { status, text, headers } = await get(path);
    expect([status, headers["content-type"]]).toEqual([200, "text/html; charset=utf-8"]);
    expect(text === readFileSync(FILE, "utf8")).toBe(true);
    expect(headers).toMatchObject({
      "cache-control": "public, max-age=3600",
      "x-content-type-options": "nosniff",
      "referrer-policy": "no-referrer",
      "cross-origin-opener-policy": "same-origin",
    });
  });

  test("its policy allows its own script and style, and nothing else", async () => {
    const { text, headers } = await get("/");
    const [, script = ""] = /<script>([^]*?)<\/script>/u.exec(text) ?? [];
    const [, style = ""] = /<style>([^]*?)<\/style>/u.exec(text) ?? [];
    expect(String(headers["content-security-policy"]).split("; ").toSorted()).toEqual([
      "base-uri 'none'",
      "default-src 'none'",
      "form-action 'none'",
      "frame-ancestors 'none'",
      "img-src data:",
      `script-src ${hashOf(script)}`,
      `style-src ${hashOf(style)}`,
    ]);
  });

  test("HEAD is answered without a body, and a query is refused", async () => {
    const { status, text, headers } = await harness.send("HEAD", "/", undefined, {});
    expect([status, text, Number(headers["content-length"]) > 100_000]).toEqual([200, "", true]);
    expect((await get("/?receipt=x")).status).toBe(400);
  });
});
