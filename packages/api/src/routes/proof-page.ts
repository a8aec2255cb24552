/** The proof page, as `npm run build` has made it: one file, served as it is. */
import { readFile } from "node:fs/promises";
import type { Handler, HandlerAnswer } from "./handler.ts";

/** The same path from the built file and from its source. */
const PAGE_FILE = new URL("../../../explorer/dist/page.html", import.meta.url);
const POLICY = /<meta\s+http-equiv="Content-Security-Policy"\s+content="([^"]+)"/u;

let served: HandlerAnswer | null = null;

/** The policy in the page, which allows its own script and style by their hashes, and what only a header can say. */
function policyOf(html: string): string {
  const [, policy] = POLICY.exec(html) ?? [];
  if (policy === undefined) throw new Error(`${PAGE_FILE.pathname} has no policy`);
  return `${policy}; frame-ancestors 'none'`;
}

/** GET / and GET /verify: read on first use, and kept. */
export const getProofPage: Handler = async (): Promise<HandlerAnswer> => {
  if (served !== null) return served;
  const bytes = await readFile(PAGE_FILE);
  const headers = {
    "Content-Security-Policy": policyOf(bytes.toString("utf8")),
    "Cache-Control": "public, max-age=3600",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
  };
  served = { status: 200, bytes, mediaType: "text/html; charset=utf-8", headers };
  return served;
};
