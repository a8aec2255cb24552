import { spawn } from "node:child_process";
import { mkdtempSync, readFileSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { startTestCluster } from "@event-anchoring/testkit/cluster";
import type { TestCluster } from "@event-anchoring/testkit/cluster";
import { installAnchorctl } from "./installed-anchorctl.ts";

// What the cookbook tells people to type, typed as it is there: the blocks of a page one after the other, in one shell.

const COOKBOOK = fileURLToPath(new URL("../../docs/cookbook", import.meta.url));

/** In a checkout `npx --no anchorctl` runs the program of the checkout; here the one that is installed. */
const NPX = `npx() { if [ "$1 $2" != "--no anchorctl" ]; then return 99; fi; shift 2; "$NODE" "$ANCHORCTL" "$@"; }
set -euo pipefail
`;

/** What a page promises of its commands, by words that come out of them in this order. */
const SAID: Readonly<Record<string, readonly RegExp[]>> = {
  "agent-log.md": [
    /2 events anchored/u,
    /2 of 2 valid/u,
    /NOT VALID \(content_differs\)/u,
    /1 of 2 valid, 1 invalid\nexit code 1/u,
    /1 event anchored/u,
    /✗ at action {6}authorised: no, the grant is revoked/u,
    /max_amount: 5000\nVALID/u,
  ],
  "build-artefacts.md": [
    /3 of 3 files are anchored/u,
    /3 of 3 valid/u,
    /VALID: app\.tar\.gz is the event/u,
    /NOT VALID \(content_differs\)[^]*exit code 1/u,
    /NOT PINNED[^]*exit code 6/u,
    /build farm/u,
  ],
  "two-organisations.md": [
    /grant\.json is complete/u,
    /✓ at action {6}authorised: yes/u,
    /3 statements disclosed, 1 withheld/u,
    /VALID: every check is proved/u,
    /✓ at action {6}authorised: yes\n {2}✗ now {12}authorised: no/u,
  ],
  "auditors-day.md": [
    /2 of 2 valid/u,
    /✗ at action {6}authorised: no/u,
    /NOT VALID: the trust root [^\n]*\(pin_mismatch\)\nexit code 1/u,
    /consistent/u,
    /consistent/u,
    /grant_revoked/u,
    /VALID: every check is proved/u,
    /first\.bundle\.json {2}valid {2}\w{64} {2}authorised at action: true/u,
    /second\.bundle\.json {2}valid {2}\w{64} {2}authorised at action: false/u,
    /today\.bundle\.json {2}valid {2}\w{64} {2}authorised at action: false/u,
  ],
};

let setup: TestCluster;
let home: string;
let anchorctl: string;

beforeAll(async () => {
  home = mkdtempSync(join(tmpdir(), "anchoring-cookbook-"));
  anchorctl = installAnchorctl(join(home, "installed"));
  setup = await startTestCluster();
}, 240_000);

afterAll(async () => {
  rmSync(home, { recursive: true, force: true });
  await setup.erase();
}, 240_000);

/** Types the blocks of a page; what they say, on both outputs as a terminal shows them. */
async function typed(page: string): Promise<{ readonly status: number | null; readonly said: string }> {
  const text = readFileSync(join(COOKBOOK, page), "utf8");
  const commands = [...text.matchAll(/^```sh\n([^]*?)^```/gmu)].map(([, block]) => block ?? "").join("\n");
  const env = { ...process.env, NODE: process.execPath, ANCHORCTL: anchorctl, ANCHORCTL_CLUSTER: setup.cluster.root };
  const child = spawn("bash", ["-c", `exec 2>&1\n${NPX}${commands}`], {
    cwd: home,
    env,
    stdio: ["ignore", "pipe", "inherit"],
  });
  let said = "";
  child.stdout.on("data", (chunk: Buffer) => (said += chunk.toString("utf8")));
  return new Promise((resolve, reject) => {
    child.once("error", reject);
    child.once("close", (status) => resolve({ status, said }));
  });
}

/** The first of these that does not come, behind the ones before it. Null: all come, in their order. */
function missing(said: string, expected: readonly RegExp[]): RegExp | null {
  let rest = said;
  for (const words of expected) {
    const found = words.exec(rest);
    if (found === null) return words;
    rest = rest.slice(found.index + found[0].length);
  }
  return null;
}

describe("the cookbook", () => {
  test("every page is typed here", () => {
    const pages = readdirSync(COOKBOOK).filter((name) => name !== "README.md");
    expect(pages.sort()).toEqual(Object.keys(SAID).sort());
  });

  test.each(Object.entries(SAID))(
    "%s: its commands do what the page says",
    async (page, expected) => {
      const { status, said } = await typed(page);
      expect({ status, missing: missing(said, expected), said: status === 0 ? "" : said }).toEqual({
        status: 0,
        missing: null,
        said: "",
      });
    },
    240_000,
  );
});
