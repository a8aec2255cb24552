/** The proof page, as `npm run build` has made it: one file, served as it is or as gzip. */
import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import { promisify } from "node:util";
import { gzip } from "node:zlib";
import type { Handler, HandlerAnswer } from "./handler.ts";

/** The same path from the built file and from its source. */
const PAGE_FILE = new URL("../../../explorer/dist/page.html", import.meta.url);
const POLICY = /<meta\s+http-equiv="Content-Security-Policy"\s+content="([^"]+)"/u;
const MEDIA_TYPE = "text/html; charset=utf-8";

/** The page in one encoding. */
interface Served {
  readonly bytes: Uint8Array;
  readonly headers: Readonly<Record<string, string>>;
}

interface Page {
  readonly plain: Served;
  readonly gzipped: Served;
}

let page: Promise<Page> | null = null;

/** The policy in the page, which allows its own script and style by their hashes, and what only a header can say. */
function policyOf(html: string): string {
  const [, policy] = POLICY.exec(html) ?? [];
  if (policy === undefined) throw new Error(`${PAGE_FILE.pathname} has no policy`);
  return `${policy}; frame-ancestors 'none'`;
}

async function readPage(): Promise<Page> {
  const bytes = await readFile(PAGE_FILE);
  const sha256 = createHash("sha256").update(bytes).digest("hex");
  const headers = {
    "Content-Security-Policy": policyOf(bytes.toString("utf8")),
    "Cache-Control": "public, max-age=3600",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    Vary: "Accept-Encoding",
  };
  const zipped = await promisify(gzip)(bytes, { level: 9 });
  return {
    plain: { bytes, headers: { ...headers, ETag: `"${sha256}"` } },
    // Other bytes need another tag.
    gzipped: { bytes: zipped, headers: { ...headers, "Content-Encoding": "gzip", ETag: `"${sha256}-gzip"` } },
  };
}

/** Read and compressed on first use, and kept. A failure is not kept. */
function loadedPage(): Promise<Page> {
  page ??= readPage().catch((error: unknown) => {
    page = null;
    throw error;
  });
  return page;
}

/** RFC 9110 section 12.5.3: a coding is acceptable unless its weight is 0; `*` is any that is not named. */
function acceptsGzip(acceptEncoding: string): boolean {
  const weights = new Map(
    acceptEncoding.split(",").map((item) => {
      const [coding = "", ...parameters] = item.split(";").map((part) => part.trim().toLowerCase());
      const weight = parameters.find((parameter) => parameter.startsWith("q="));
      return [coding, weight === undefined ? 1 : Number(weight.slice(2))] as const;
    }),
  );
  return (weights.get("gzip") ?? weights.get("*") ?? 0) > 0;
}

/** RFC 9110 section 13.1.2, which compares weakly. */
function isNamedBy(ifNoneMatch: string, tag: string): boolean {
  return ifNoneMatch.split(",").some((item) => ["*", tag, `W/${tag}`].includes(item.trim()));
}

/** GET / and GET /verify */
export const getProofPage: Handler = async ({ acceptEncoding, ifNoneMatch }): Promise<HandlerAnswer> => {
  const { plain, gzipped } = await loadedPage();
  const { bytes, headers } = acceptsGzip(acceptEncoding) ? gzipped : plain;
  if (!isNamedBy(ifNoneMatch, headers["ETag"] ?? "")) return { status: 200, bytes, mediaType: MEDIA_TYPE, headers };
  // The length is that of the answer that was not sent, as in one to HEAD.
  const unsent = { ...headers, "Content-Length": String(bytes.length) };
  return { status: 304, bytes: new Uint8Array(0), mediaType: MEDIA_TYPE, headers: unsent };
};
