/** The proof page in a real browser: opened as a file with the network off, or at a node. */
import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { afterAll, beforeAll, describe } from "@jest/globals";
import { chromium } from "playwright-core";
import { findChromium } from "@event-anchoring/testkit/sdks";
import type { Browser, Locator, Page } from "playwright-core";

export const CHECKOUT = fileURLToPath(new URL("../../../../", import.meta.url));
/** A page judges a hundred bundles in seconds, and on a busy machine in many. */
const MANY_CARDS_MS = 100_000;
/** How long a page may take for what it does after its timers have fired. */
const SOON_MS = 20_000;
export const ARTEFACTS = join(CHECKOUT, "artefacts", "explorer");

const EXECUTABLE = findChromium();

/** Tests that take a browser, skipped where none is installed: `.ci/run` installs one, and fails on skips. */
export const describeInBrowser: typeof describe.skip = EXECUTABLE === null ? describe.skip : describe;

/** The page built once for a test file, and a browser to open it with. */
export class PageUnderTest {
  readonly folder = mkdtempSync(join(tmpdir(), "proof-page-"));
  readonly file = join(this.folder, "page.html");
  #browser: Browser | null = null;

  private constructor() {
    beforeAll(async () => {
      buildPage(this.file);
      if (EXECUTABLE !== null) this.#browser = await startBrowser(EXECUTABLE);
    });
    afterAll(async () => {
      await this.#browser?.close();
      rmSync(this.folder, { recursive: true, force: true });
    });
  }

  /** Built before the first test of the file, and removed after the last. */
  static forThisFile(): PageUnderTest {
    return new PageUnderTest();
  }

  get browser(): Browser {
    if (this.#browser === null) throw new Error("no browser runs");
    return this.#browser;
  }
}

/** Builds the page into a file. */
export function buildPage(file: string): void {
  const script = join(CHECKOUT, "packages/explorer/scripts/build-page.js");
  const { status, stderr } = spawnSync(process.execPath, [script, file], { encoding: "utf8" });
  if (status !== 0) throw new Error(`the page was not built: ${stderr}`);
}

async function startBrowser(executablePath: string): Promise<Browser> {
  // The sandbox takes rights that a container may not have; what is opened is our own page.
  return chromium.launch({ executablePath, args: ["--no-sandbox", "--disable-gpu"] });
}

export interface GivenFile {
  readonly name: string;
  readonly text: string | Buffer;
}

/** A verdict as it is on the screen. */
export interface ShownCard {
  readonly name: string;
  readonly kind: string;
  readonly mark: string;
  readonly sentence: string;
  /** `✓ label: detail` */
  readonly steps: readonly string[];
}

const READ_CARDS = `[...document.querySelectorAll(".card")].map((card) => ({
  name: card.querySelector("h3").firstChild.textContent.trim(),
  kind: card.dataset.kind,
  mark: card.dataset.mark,
  sentence: card.querySelector(".sentence").textContent,
  steps: [...card.querySelectorAll(".step")].map((step) =>
    [...step.children].map((part) => part.textContent).join("|")),
}))`;

interface WindowOptions {
  readonly colorScheme?: "light" | "dark";
  readonly width?: number;
}

export interface ProofPageOptions extends WindowOptions {
  readonly file: string;
}

export interface ServedPageOptions extends WindowOptions {
  readonly address: string;
}

export class ProofPage {
  readonly page: Page;
  /** Addresses that the page has asked for, itself included, and errors that it has reported. */
  readonly requests: string[] = [];
  readonly errors: string[] = [];

  private constructor(page: Page) {
    this.page = page;
    page.on("request", (request) => this.requests.push(request.url()));
    page.on("pageerror", (error) => this.errors.push(String(error)));
    page.on("console", (message) => {
      if (message.type() === "error") this.errors.push(message.text());
    });
  }

  /** Opens the file in a window of its own, without a network. */
  static async open(browser: Browser, { file, ...options }: ProofPageOptions): Promise<ProofPage> {
    return ProofPage.#openAt(browser, pathToFileURL(file).href, { offline: true, ...options });
  }

  /** Opens the page that a node serves, in a window of its own. */
  static async visit(browser: Browser, { address, ...options }: ServedPageOptions): Promise<ProofPage> {
    return ProofPage.#openAt(browser, address, { offline: false, ...options });
  }

  static async #openAt(
    browser: Browser,
    address: string,
    { offline, colorScheme = "light", width = 1200 }: WindowOptions & { readonly offline: boolean },
  ): Promise<ProofPage> {
    const context = await browser.newContext({ offline, colorScheme, viewport: { width, height: 900 } });
    const opened = new ProofPage(await context.newPage());
    await opened.page.clock.install();
    await opened.page.goto(address);
    await opened.page.getByRole("heading", { name: "Check what you were sent" }).waitFor();
    return opened;
  }

  async give(files: readonly GivenFile[]): Promise<void> {
    const payloads = files.map(({ name, text }) => ({
      name,
      mimeType: "application/octet-stream",
      buffer: typeof text === "string" ? Buffer.from(text, "utf8") : text,
    }));
    await this.page.locator("#chosen").setInputFiles(payloads);
  }

  /** Waits until something is on the screen, with the page's clock put forward: its timers fire at once. */
  async soon(found: Locator): Promise<void> {
    const deadline = Date.now() + SOON_MS;
    while (!(await found.isVisible()) && Date.now() < deadline) await this.page.clock.runFor(1_000);
    await found.waitFor({ timeout: 1_000 });
  }

  async pin(rootThk: string): Promise<void> {
    await this.page.locator("#pin").fill(rootThk);
  }

  /** Sets the switch that asks for witnesses. */
  async demandWitnesses(isOn: boolean): Promise<void> {
    await this.page.locator("#witnessed").setChecked(isOn);
  }

  /** The verdicts, once there is one for each of so many things. */
  async cards(count: number): Promise<ShownCard[]> {
    await this.page
      .locator(".card")
      .nth(count - 1)
      .waitFor({ timeout: MANY_CARDS_MS });
    return (await this.page.evaluate(READ_CARDS)) as ShownCard[];
  }

  /** A picture of the whole page, for people: artefacts/explorer. */
  async picture(name: string): Promise<void> {
    mkdirSync(ARTEFACTS, { recursive: true });
    await this.page.screenshot({ path: join(ARTEFACTS, `${name}.png`), fullPage: true });
  }

  async close(): Promise<void> {
    await this.page.context().close();
  }
}
