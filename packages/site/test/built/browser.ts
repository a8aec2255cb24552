/** The built site in a real browser, from a web server that knows nothing but files. */
import { existsSync, readFileSync, statSync } from "node:fs";
import { createServer } from "node:http";
import type { Server } from "node:http";
import type { AddressInfo } from "node:net";
import { extname, join } from "node:path";
import { afterAll, beforeAll, describe } from "@jest/globals";
import { chromium } from "playwright-core";
import { findChromium } from "@event-anchoring/testkit/sdks";
import type { Browser, Page } from "playwright-core";

const TYPES: Readonly<Record<string, string>> = {
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript",
  ".css": "text/css",
  ".svg": "image/svg+xml",
  ".json": "application/json",
};

const EXECUTABLE = findChromium();

/** Tests that take a browser, skipped where none is installed: `.ci/run` installs one, and fails on skips. */
export const describeInBrowser: typeof describe.skip = EXECUTABLE === null ? describe.skip : describe;

function serve(folder: string): Server {
  return createServer((request, response) => {
    const { pathname } = new URL(request.url ?? "/", "http://site");
    const file = join(folder, decodeURI(pathname), pathname.endsWith("/") ? "index.html" : "");
    if (!file.startsWith(folder) || !existsSync(file) || !statSync(file).isFile()) {
      response.writeHead(404).end();
      return;
    }
    response.writeHead(200, { "content-type": TYPES[extname(file)] ?? "text/plain" }).end(readFileSync(file));
  });
}

interface ShownSite {
  /** A new page at a path of the site. */
  open(path: string): Promise<Page>;
  /** Addresses of other hosts that any page has asked for. */
  elsewhere(): readonly string[];
  /** What the browser has complained of: errors, refusals, and what was not found. */
  complaints(): readonly string[];
}

/** For the tests of a file. */
export function siteInBrowser(folder: string): ShownSite {
  const server = serve(folder);
  const [elsewhere, complaints]: [string[], string[]] = [[], []];
  let browser: Browser | null = null;
  const origin = (): string => `http://127.0.0.1:${(server.address() as AddressInfo).port}`;

  beforeAll(async () => {
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    // The sandbox takes rights that a container may not have; what is opened is our own page.
    if (EXECUTABLE !== null) {
      browser = await chromium.launch({ executablePath: EXECUTABLE, args: ["--no-sandbox", "--disable-gpu"] });
    }
  });
  afterAll(async () => {
    await browser?.close();
    server.close();
  });

  return {
    open: async (path) => {
      if (browser === null) throw new Error("no browser runs");
      const page = await browser.newPage();
      page.on("request", (request) => {
        if (!/^(?:data|blob):/u.test(request.url()) && new URL(request.url()).origin !== origin()) {
          elsewhere.push(request.url());
        }
      });
      page.on("console", (message) => {
        if (["error", "warning"].includes(message.type())) complaints.push(message.text());
      });
      page.on("pageerror", (error) => complaints.push(error.message));
      await page.goto(`${origin()}${path}`, { waitUntil: "networkidle" });
      return page;
    },
    elsewhere: () => elsewhere,
    complaints: () => complaints,
  };
}
