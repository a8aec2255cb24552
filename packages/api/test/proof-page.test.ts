import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { gunzipSync } from "node:zlib";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { startHarness } from "./api-harness.ts";
import type { Answer, Harness } from "./api-harness.ts";

let harness: Harness;
beforeAll(async () => {
  harness = await startHarness();
});
afterAll(() => harness.close());

/** As a browser does it: no key. */
const get = (path: string, headers: Record<string, string> = {}): Promise<Answer> =>
  harness.send("GET", path, undefined, headers);

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
    expect(headers).not.toHaveProperty("content-encoding");
  });

  test.each(["gzip", "br, gzip;q=0.5", "deflate, GZIP", "*"])("comes as gzip to who accepts %s", async (accepted) => {
    const { status, bytes, headers } = await get("/", { "accept-encoding": accepted });
    const file = readFileSync(FILE);
    expect([status, headers["content-encoding"], headers["vary"]]).toEqual([200, "gzip", "Accept-Encoding"]);
    expect(gunzipSync(bytes).equals(file)).toBe(true);
    expect(Number(headers["content-length"])).toBeLessThan(file.length / 2);
  });

  test.each(["identity", "gzip;q=0, *", "gzip;q=x", "br"])("comes as it is to who accepts %s", async (accepted) => {
    const { bytes, headers } = await get("/verify", { "accept-encoding": accepted });
    expect([headers["content-encoding"], headers["vary"]]).toEqual([undefined, "Accept-Encoding"]);
    expect(Buffer.from(bytes).equals(readFileSync(FILE))).toBe(true);
  });

  test("its tag is the SHA-256 of the file, and who has that is sent nothing", async () => {
    const sha256 = createHash("sha256").update(readFileSync(FILE)).digest("hex");
    const { headers } = await get("/");
    expect(headers["etag"]).toBe(`"${sha256}"`);
    const again = await get("/", { "if-none-match": `"other", W/"${sha256}"` });
    expect([again.status, again.text, again.headers["etag"]]).toEqual([304, "", `"${sha256}"`]);
    // The same page in another encoding is other bytes.
    const other = await get("/", { "if-none-match": `"${sha256}"`, "accept-encoding": "gzip" });
    expect([other.status, other.headers["etag"]]).toEqual([200, `"${sha256}-gzip"`]);
    const kept = await get("/", { "if-none-match": `"${sha256}-gzip"`, "accept-encoding": "gzip" });
    expect(kept.status).toBe(304);
  });

  test("its policy allows its own script and style, and requests to this node alone", async () => {
    const { text, headers } = await get("/");
    const [, script = ""] = /<script>([^]*?)<\/script>/u.exec(text) ?? [];
    const [, style = ""] = /<style>([^]*?)<\/style>/u.exec(text) ?? [];
    expect(String(headers["content-security-policy"]).split("; ").toSorted()).toEqual([
      "base-uri 'none'",
      "connect-src 'self'",
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
