import { readFileSync } from "node:fs";
import { afterEach, beforeEach, expect, test } from "@jest/globals";
import { bytesToHex } from "@event-anchoring/protocol";
import { PageUnderTest, ProofPage, describeInBrowser } from "./proof-page.ts";
import type { ServedPageOptions } from "./proof-page.ts";
import { ENTITY, ORIGIN, ROOT_THK, checkpointOf, consistencyOf, history, idAt } from "./stub-log.ts";
import { KEY, StubNode } from "./stub-node.ts";

// The page as a monitor: served by a node that tells the truth, and by one that does not.

const built = PageUnderTest.forThisFile();
const { file: pageFile } = built;
let node: StubNode;
let page: ProofPage;
beforeEach(async () => {
  node = await StubNode.start(pageFile);
});
afterEach(async () => {
  await page.close();
  await node.stop();
});

/** Opens the page at the node and watches it. */
async function watch(pin: string | null, options: Omit<ServedPageOptions, "address"> = {}): Promise<void> {
  page = await ProofPage.visit(built.browser, { address: node.address, ...options });
  await page.page.getByRole("button", { name: "Browse" }).click();
  if (pin !== null) await page.pin(pin);
  await connect(KEY);
}

async function connect(key: string): Promise<void> {
  await page.page.locator("#key").fill(key);
  await page.page.getByRole("button", { name: "Watch this node" }).click();
}

const head = (mark: string) => page.page.locator(`.head[data-origin="${ORIGIN}"][data-mark="${mark}"]`);
const textIn = async (selector: string): Promise<string> => page.page.locator(selector).innerText();

/** Waits until the page has looked again, and what it saw is on the screen. */
async function nextLook(): Promise<void> {
  const before = await textIn(".times");
  await page.soon(page.page.locator(".times").filter({ hasNotText: before }));
}

async function alarm(code: string): Promise<string> {
  const found = page.page.locator(`.alarm[data-code="${code}"]`);
  await page.soon(found);
  return found.innerText();
}

/** What `Keep the evidence` writes. */
async function evidence(): Promise<{ readonly name: string; readonly text: string }> {
  const download = page.page.waitForEvent("download");
  await page.page.getByRole("button", { name: "Keep the evidence" }).first().click();
  const file = await download;
  return { name: file.suggestedFilename(), text: readFileSync(await file.path(), "utf8") };
}

describeInBrowser("a node that tells the truth", () => {
  test("its heads are verified, and each is held against the one before", async () => {
    await watch(ROOT_THK);
    await head("pass").waitFor();
    expect(await head("pass").innerText()).toMatch(/5 leaves[^]*signed by 2 nodes, a quorum; the first/u);
    node.leaves = history(9);
    await page.soon(page.page.getByText("the 5 leaves seen before are its beginning"));
    expect(await head("pass").innerText()).toMatch(/9 leaves 4 more than when this page saw it first/u);
    // An origin without an anchor is not shown as good, and the trust root is.
    expect(await page.page.locator('.head[data-mark="skip"]').count()).toBe(2);
    expect(await textIn('.card[data-kind="trust root"]')).toContain(`RootTHK ${ROOT_THK}`);
    expect(await textIn("[aria-labelledby=node]")).toMatch(/storage\s+the disk is full/u);
    expect(await page.page.locator("[aria-labelledby=node] .is-pass").count()).toBe(0);
    expect(await page.page.locator(".alarm").count()).toBe(0);
  });

  test("without a pin nothing turns green, and a pin that is typed in later is used", async () => {
    await watch(null);
    await head("skip").waitFor();
    await page.page.locator("#anchor").fill(idAt(node.leaves, 1));
    await page.page.getByRole("button", { name: "Show and check it" }).click();
    await page.page.locator('.card[data-kind="receipt"][data-mark="warn"]').waitFor();
    expect(await page.page.locator(".is-pass, [data-mark=pass]").count()).toBe(0);
    await page.pin(ROOT_THK);
    await head("pass").waitFor();
    await page.page.locator('.card[data-kind="receipt"][data-mark="pass"]').waitFor();
    await page.pin("ab".repeat(32));
    await page.page.getByText("NOT VALID (pin_mismatch)").first().waitFor();
    expect(await page.page.locator(".watched .is-pass, .watched [data-mark=pass]").count()).toBe(0);
    // A pin that was wrong from the beginning speaks against the reader, or the node: it is no alarm of the log.
    expect(await page.page.locator(".alarm").count()).toBe(0);
  });

  test("an anchor is shown with its receipt checked, and only the one that was asked for", async () => {
    await watch(ROOT_THK);
    await head("pass").waitFor();
    await page.page.locator("#anchor").fill(idAt(node.leaves, 3));
    await page.page.keyboard.press("Enter");
    await page.page.locator('.card[data-kind="receipt"][data-mark="warn"]').waitFor();
    expect(await textIn('.card[data-kind="receipt"]')).toContain("NOT COMPARED");
    await page.page.locator("#anchor").fill("ab".repeat(32));
    await page.page.keyboard.press("Enter");
    await page.page.getByText("The node has nothing under this name (404 anchor_not_found)").waitFor();
    await page.page.locator("#anchor").fill("abc");
    await page.page.keyboard.press("Enter");
    await page.page.getByText("That is not 64 hex digits.").waitFor();
  });

  test("an entity's records are listed with their history, and opened to be proved", async () => {
    await watch(ROOT_THK);
    await head("pass").waitFor();
    await page.page.locator("#entity").fill(bytesToHex(ENTITY));
    await page.page.getByRole("button", { name: "List them" }).click();
    await page.page.getByText("the actor's claim is revoked: cdcdcdcdcdcd…, sequence 8 (claim_revoked)").waitFor();
    await page.page.getByRole("button", { name: "More" }).click();
    await page.page.getByRole("button", { name: "claim abababababab…" }).waitFor();
    expect(await page.page.locator(".listed").count()).toBe(2);
    expect(await page.page.locator(".listed .is-pass").count()).toBe(0);
    await page.page.locator(".listed button").first().click();
    await page.page.locator('.card[data-kind="receipt"][data-mark="pass"]').waitFor();
    // The second is the node's invention.
    await page.page.locator(".listed button").last().click();
    await page.page.getByText("404 anchor_not_found").first().waitFor();
  });
});

describeInBrowser("a node that does not", () => {
  test("a log that becomes shorter is an alarm, with both heads as evidence", async () => {
    await watch(ROOT_THK);
    await head("pass").waitFor();
    const [before, after] = [checkpointOf(node.leaves), checkpointOf(history(3))];
    node.leaves = history(3);
    expect(await alarm("rollback")).toMatch(/^✗?\s*ROLLBACK[^]*a tree of 5 leaves was seen, now one of 3/u);
    const { name, text } = await evidence();
    expect(name).toMatch(/^rollback-[0-9a-f]{12}-\d{8}T\d{6}Z\.notes$/u);
    expect(text).toBe(`${before}\n${after}`);
    expect(await page.page.title()).toMatch(/^ALARM: /u);
    await head("fail").waitFor();
    // It stays, whatever the node shows later.
    node.leaves = history(6);
    await nextLook();
    await nextLook();
    await head("fail").waitFor();
    expect(await page.page.locator(".alarm").count()).toBe(1);
    // It is seen in the other part of the page, too.
    await page.page.getByRole("button", { name: "Check", exact: true }).click();
    expect(await page.page.locator(".alarm").isVisible()).toBe(true);
  });

  test("another tree of the same size, signed by a quorum, is a split view", async () => {
    await watch(ROOT_THK);
    await head("pass").waitFor();
    const before = checkpointOf(node.leaves);
    node.leaves = history(5, "other", 4);
    expect(await alarm("split_view")).toContain("two trees of 5 leaves have different roots");
    expect((await evidence()).text).toBe(`${before}\n${checkpointOf(node.leaves)}`);
    await head("fail").waitFor();
    expect(await page.page.locator(".head[data-mark=pass]").count()).toBe(0);
  });

  test("a larger tree that is not shown to continue what was seen is an alarm", async () => {
    await watch(ROOT_THK);
    await head("pass").waitFor();
    // The proof is of the log that was seen; the head is of another.
    node.proof = consistencyOf(history(8), 5);
    node.leaves = history(8, "other", 2);
    expect(await alarm("inconsistent")).toContain("the tree of 5 leaves is not shown to be the beginning of that of 8");
    expect((await evidence()).text).toContain(checkpointOf(node.leaves));
  });

  test("a good head with a bad proof is an alarm as well", async () => {
    await watch(ROOT_THK);
    await head("pass").waitFor();
    node.proof = consistencyOf(history(8), 5).toReversed();
    node.leaves = history(8);
    expect(await alarm("inconsistent")).toContain("NOT A CONTINUATION");
  });
});

describeInBrowser("a node whose words do not hold", () => {
  test("a rollback that the node itself admits is one, with both heads", async () => {
    node.admitsRollback = true;
    await watch(ROOT_THK);
    await head("pass").waitFor();
    const before = checkpointOf(node.leaves);
    node.leaves = history(3);
    expect(await alarm("rollback")).toContain("a tree of 5 leaves was seen, now one of 3");
    expect((await evidence()).text).toBe(`${before}\n${checkpointOf(node.leaves)}`);
  });

  test("a head that no quorum has signed is an alarm", async () => {
    node.cosigners = 1;
    await watch(ROOT_THK);
    expect(await alarm("checkpoint_invalid")).toContain("NOT SIGNED");
    expect(await page.page.locator(".head[data-mark=pass]").count()).toBe(0);
  });

  test("a trust root that goes with the pin no more is an alarm, and nothing stays green", async () => {
    await watch(ROOT_THK);
    await head("pass").waitFor();
    const [before = ""] = node.documents;
    const now = before.replace(/^validity (\d+)/mu, "validity 1");
    node.documents = [now];
    expect(await alarm("pin_mismatch")).toContain("ANOTHER TRUST ROOT");
    expect((await evidence()).text).toBe(`${before}\n${now}`);
    expect(await page.page.locator(".watched .is-pass, .watched [data-mark=pass]").count()).toBe(0);
  });

  test("a contradiction counts without a pin, too: it needs none", async () => {
    await watch(null);
    await head("skip").waitFor();
    node.leaves = history(5, "other", 4);
    expect(await alarm("split_view")).toContain("different roots");
  });
});

describeInBrowser("a public log", () => {
  /** Watches it without a key. */
  async function visit(): Promise<void> {
    node.isPublic = true;
    page = await ProofPage.visit(built.browser, { address: node.address });
    await page.page.getByRole("button", { name: "Browse" }).click();
    await page.pin(ROOT_THK);
    await page.page.getByRole("button", { name: "Watch this node" }).click();
    await head("pass").waitFor();
  }

  test("is watched without a key: growth is proved from its tiles, and a receipt is checked", async () => {
    await visit();
    node.leaves = history(9);
    await page.soon(page.page.getByText("the 5 leaves seen before are its beginning"));
    expect(node.asked.some(({ path }) => path.endsWith("/tile/0/000.p/9"))).toBe(true);
    await page.page.locator("#anchor").fill(idAt(node.leaves, 1));
    await page.page.keyboard.press("Enter");
    await page.page.locator('.card[data-kind="receipt"][data-mark="pass"]').waitFor();
    // Lists are for keys.
    expect(await page.page.locator("#entity").count()).toBe(0);
    expect(node.asked.every(({ authorization }) => authorization === undefined)).toBe(true);
  });

  test("growth is proved from the full tile where the partial one is gone, as it is among files", async () => {
    await visit();
    node.fullTile = history(256);
    node.leaves = node.fullTile.slice(0, 9);
    await page.soon(page.page.getByText("the 5 leaves seen before are its beginning"));
    const tiles = node.asked.filter(({ path }) => path.includes("/tile/")).map(({ path }) => path.split("/tile/")[1]);
    expect(tiles).toEqual(["0/000.p/9", "0/000"]);
    expect(await page.page.locator(".alarm").count()).toBe(0);
  });

  test.each([
    ["inconsistent", () => history(8, "other", 2)],
    ["split_view", () => history(5, "other", 4)],
    ["rollback", () => history(4)],
  ])("%s is an alarm without a key as well", async (code, leaves) => {
    await visit();
    node.leaves = leaves();
    expect(await alarm(code)).toContain(`origin ${ORIGIN}`);
  });
});

describeInBrowser("a node that does not answer", () => {
  test.each([
    [401, "The node does not take this key (401"],
    [403, "The key is known, and may not read (403"],
  ])("%s ends the watch, in plain words", async (status, words) => {
    node.refuses = { status, code: "refused" };
    await watch(ROOT_THK);
    await page.page.locator("#key-state").getByText(words).waitFor();
    // The field is there for another key, and nothing is asked with this one.
    const asked = node.asked.length;
    node.refuses = null;
    await connect(KEY);
    await head("pass").waitFor();
    expect(node.asked.length).toBeGreaterThan(asked);
  });

  test("who gives no key is told that one is needed", async () => {
    page = await ProofPage.visit(built.browser, { address: node.address });
    await page.page.getByRole("button", { name: "Browse" }).click();
    await page.page.getByRole("button", { name: "Watch this node" }).click();
    await page.page
      .locator("#key-state")
      .getByText("The node wants a key with the scope read (401 api_key_invalid)")
      .waitFor();
    expect(node.asked.every(({ authorization }) => authorization === undefined)).toBe(true);
    await connect("two words");
    await page.page.getByText("This cannot be a key").waitFor();
    expect(await page.page.locator("#key").inputValue()).toBe("");
  });

  test("429 is waited out as the node asks, and what was seen stays", async () => {
    await watch(ROOT_THK);
    await head("pass").waitFor();
    node.refuses = { status: 429, code: "rate_limited", retryAfter: 17 };
    await page.soon(page.page.getByText("The node asks to be asked less often (429 rate_limited)").first());
    expect(await textIn(".times")).toContain("the next try is in 17 s");
    await head("pass").waitFor();
  });

  test("who cannot be reached is asked less and less often, and is no alarm", async () => {
    await watch(ROOT_THK);
    await head("pass").waitFor();
    node.isDown = true;
    await page.soon(page.page.getByText("The node is not reachable").first());
    expect(await textIn(".times")).toContain("the next try is in 10 s");
    node.isDown = false;
    node.leaves = history(7);
    await page.soon(page.page.getByText("the 5 leaves seen before are its beginning"));
    expect(await page.page.locator(".alarm").count()).toBe(0);
  });
});

/** All that the page has put anywhere a script, a server or a person could find it. */
const EVERYWHERE = `(async () => JSON.stringify([
  document.documentElement.outerHTML,
  [...document.querySelectorAll("input, textarea")].map((field) => field.value),
  location.href, document.cookie, document.title, history.state,
  Object.entries(localStorage), Object.entries(sessionStorage),
  (await indexedDB.databases()).length, (await caches.keys()).length,
]))()`;

describeInBrowser("the page itself", () => {
  test("the key is nowhere but in requests to the node, and every request goes there", async () => {
    await watch(ROOT_THK);
    await head("pass").waitFor();
    // A refusal that repeats the key does not bring it onto the page.
    await page.page.locator("#anchor").fill("ab".repeat(32));
    await page.page.keyboard.press("Enter");
    await page.page.getByText("says the stub to <API_KEY>").waitFor();
    expect(await page.page.evaluate(EVERYWHERE)).not.toContain(KEY);
    expect(page.requests.filter((address) => !address.startsWith(node.address) && address !== "data:,")).toEqual([]);
    expect(page.requests.some((address) => address.includes(KEY))).toBe(false);
    expect(node.asked.some(({ authorization }) => authorization === `Bearer ${KEY}`)).toBe(true);
    await page.page.getByRole("button", { name: "Stop, and forget the key" }).click();
    await page.page.locator("#key").waitFor();
    expect(await page.page.evaluate(EVERYWHERE)).not.toContain(KEY);
  });

  test("its policy lets it ask nobody else", async () => {
    page = await ProofPage.visit(built.browser, { address: node.address });
    const refused = await page.page.evaluate(`(async () => {
      const violation = new Promise((resolve) => document.addEventListener("securitypolicyviolation", resolve));
      await fetch("http://127.0.0.1:9/").catch(() => undefined);
      return (await violation).effectiveDirective;
    })()`);
    expect(refused).toBe("connect-src");
  });

  test("stops while nobody sees it, and looks at once when it is seen again", async () => {
    await watch(ROOT_THK);
    await head("pass").waitFor();
    const seen = (state: string): string => `(() => {
      Object.defineProperty(document, "visibilityState", { value: "${state}", configurable: true });
      document.dispatchEvent(new Event("visibilitychange"));
    })()`;
    await page.page.evaluate(seen("hidden"));
    await page.page.getByText("Nothing is asked while nobody sees this page").waitFor();
    const looks = node.looks;
    node.leaves = history(6);
    await page.page.evaluate(seen("visible"));
    await page.page.getByText("the 5 leaves seen before are its beginning").waitFor();
    expect(node.looks).toBe(looks + 3);
  });
});

describeInBrowser("the page for everybody", () => {
  test("opened as a file it says why there is nothing to browse", async () => {
    page = await ProofPage.open(built.browser, { file: pageFile });
    await page.page.getByRole("button", { name: "Browse" }).click();
    await page.page.getByText("This page was opened as a file, so there is no node that it may ask").waitFor();
    expect(await page.page.locator("#key").count()).toBe(0);
  });

  test("is used by the keyboard alone, and every field has a name", async () => {
    page = await ProofPage.visit(built.browser, { address: node.address });
    const { keyboard } = page.page;
    await page.page.getByRole("button", { name: "Browse" }).focus();
    await keyboard.press("Enter");
    await page.page.locator("#key").focus();
    await keyboard.type(KEY);
    await keyboard.press("Enter");
    await head("skip").waitFor();
    const unnamed = await page.page.evaluate(
      `[...document.querySelectorAll("input, textarea")].filter((field) => field.labels.length === 0).length`,
    );
    const twice = await page.page.evaluate(
      `(() => {
        const ids = [...document.querySelectorAll("[id]")].map(({ id }) => id);
        return ids.length - new Set(ids).size;
      })()`,
    );
    expect([unnamed, twice]).toEqual([0, 0]);
    expect(await page.page.locator("nav [aria-current=page]").innerText()).toBe("Browse");
  });

  test.each([
    ["light", { colorScheme: "light" }],
    ["dark", { colorScheme: "dark" }],
    ["phone", { colorScheme: "light", width: 390 }],
  ] as const)("%s: pictures, and nothing is wider than the window", async (name, options) => {
    await watch(null, options);
    await head("skip").waitFor();
    await page.picture(`browse-not-pinned-${name}`);
    await page.pin(ROOT_THK);
    await head("pass").waitFor();
    await page.page.locator("#entity").fill(bytesToHex(ENTITY));
    await page.page.getByRole("button", { name: "List them" }).click();
    await page.page.locator(".listed").waitFor();
    await page.picture(`browse-${name}`);
    node.leaves = history(5, "other", 4);
    await alarm("split_view");
    await page.page.getByText("Both heads").click();
    await page.picture(`browse-alarm-${name}`);
    const overflow = await page.page.evaluate("document.documentElement.scrollWidth - innerWidth");
    expect(overflow).toBeLessThanOrEqual(0);
  });
});
