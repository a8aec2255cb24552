import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { formatVkey } from "@event-anchoring/protocol";
import { BUNDLE_CHECKS } from "@event-anchoring/bundle";
import { Cluster } from "../../packages/bundle/test/vector-builders/bundle-cluster.ts";
import { FileServer } from "../../packages/cli/test/file-server.ts";
import { OwnWitness } from "../interop/own-witness.ts";
import { ACT_CONTENT, AuditedLog, FORKED } from "./audited-log.ts";
import type { Files } from "./audited-log.ts";
import { commandVerdict } from "../../packages/explorer/test/browser/command-verdict.ts";
import { MonitorProcess } from "./monitor-process.ts";
import {
  ARTEFACTS,
  PageUnderTest,
  ProofPage,
  describeInBrowser,
} from "../../packages/explorer/test/browser/proof-page.ts";
import type { GivenFile } from "../../packages/explorer/test/browser/proof-page.ts";
import { AskedWitness } from "./asked-witness.ts";

// An auditor without an account: from what he was mailed to the log that it is in. Then the log lies, and each of those
// who watch it (the page, the monitor, a witness) notices within ten seconds. Pictures: artefacts/explorer/walk-*.png.

const CAUGHT_WITHIN_MS = 10_000;
const built = PageUnderTest.forThisFile();
const cluster = new Cluster("anchor.example/walk", 0xd1);
let home: string;
let witness: OwnWitness;
let asked: AskedWitness;
let truth: AuditedLog;
let other: AuditedLog;
let node: FileServer;
/** What the node shows to everybody. */
let shown: Files = new Map();

beforeAll(async () => {
  home = mkdtempSync(join(tmpdir(), "walk-"));
  const members = [0, 1, 2].map((at) => cluster.node(at));
  witness = await OwnWitness.create(
    "witness.example/north",
    ...members.map((each) => formatVkey(cluster.logVkey(each))),
  );
  await witness.start();
  const north = { name: "north", vkey: witness.vkey, url: witness.prefix };
  cluster.watch([{ entry: north }], 1);
  [truth, other] = [AuditedLog.truth(cluster), AuditedLog.other(cluster)];
  asked = new AskedWitness(north);
  for (const at of members.keys()) await asked.submit(truth, at);
  node = await FileServer.start((path) => shown.get(path) ?? null);
  writeFileSync(join(home, "trust-root.txt"), truth.trustRoot);
});

afterAll(async () => {
  node.stop();
  await witness.end();
  rmSync(home, { recursive: true, force: true });
});

const pageText = (): string => readFileSync(built.file, "utf8");

/** What the auditor is mailed of a history. */
function mailed(log: AuditedLog): GivenFile[] {
  return [
    { name: "act.txt", text: ACT_CONTENT },
    { name: "act.txt.tlog-proof", text: log.receipt(asked.witnessed) },
    { name: "the-act.bundle.json", text: log.bundle(asked.witnessed) },
    { name: "trust-root.txt", text: log.trustRoot },
  ];
}

describeInBrowser("offline, with what was mailed", () => {
  test("without a pin nothing turns green; with it every step is shown, and is that of the command", async () => {
    const page = await ProofPage.open(built.browser, { file: built.file });
    await page.give(mailed(truth));
    const unpinned = await page.cards(3);
    expect(unpinned.map(({ mark }) => mark)).toEqual(["warn", "warn", "warn"]);
    expect(await page.page.locator(".is-pass, [data-mark=pass]").count()).toBe(0);
    expect(await page.page.getByText("✓").count()).toBe(0);
    await page.picture("walk-1-no-pin");
    await page.pin(truth.rootThk);
    await page.demandWitnesses(true);
    await page.page.locator('.card[data-kind="bundle"][data-mark="pass"]').waitFor();
    const cards = await page.cards(3);
    expect(cards.map(({ kind, mark }) => [kind, mark])).toEqual([
      ["bundle", "pass"],
      ["receipt", "pass"],
      ["trust root", "pass"],
    ]);
    const bundle = cards.find(({ kind }) => kind === "bundle");
    const passed = BUNDLE_CHECKS.map((code) => expect.stringContaining(`✓|${code.replace("_", " ")}|`));
    expect(bundle?.steps).toEqual(expect.arrayContaining(passed));
    // The evidence is good, and proves that the act was not authorised.
    expect(await page.page.locator(".act-line").innerText()).toContain("authorised: no");
    expect(await page.page.locator("g.box.revocation").textContent()).toContain("by the grantor");
    await page.picture("walk-2-pinned");
    expect(page.requests.filter((address) => !address.startsWith("file:"))).toEqual([]);
    await page.close();
    for (const { name, text } of mailed(truth)) writeFileSync(join(home, name), text);
    const trust = ["--trust-root", join(home, "trust-root.txt"), "--root-thk", truth.rootThk];
    const said = await commandVerdict(home, ["--bundle", join(home, "the-act.bundle.json"), "--witnessed", ...trust]);
    expect(said.exitCode).toBe(0);
    expect(bundle?.sentence).toBe(said.sentence);
  });

  test("the other history is certified as well: who demands witnesses is not taken in", async () => {
    const page = await ProofPage.open(built.browser, { file: built.file });
    await page.pin(other.rootThk);
    await page.give(mailed(other));
    await page.cards(3);
    expect(await page.page.locator('.card[data-kind="bundle"][data-mark="pass"]').count()).toBe(1);
    expect(await page.page.locator(".act-line").innerText()).toContain("authorised: yes");
    await page.demandWitnesses(true);
    await page.page.locator('.card[data-kind="bundle"][data-mark="fail"]').waitFor();
    const bundle = (await page.cards(3)).find(({ kind }) => kind === "bundle");
    expect(bundle?.sentence).toMatch(
      /^NOT VALID \(witnesses\): not_witnessed: checkpoint \d: 0 of 1 witnesses, 1 needed$/u,
    );
    await page.picture("walk-3-other-history");
    await page.close();
  });
});

/** When each of the watchers has noticed, in ms after the lie. */
type Noticed = Readonly<Record<"page" | "monitor" | "witness", number>>;

interface Lie {
  readonly name: string;
  readonly shown: Files;
  /** The alarm of the page and of the monitor. */
  readonly code: string;
  /** What the page says. */
  readonly words: string;
  /** What the witness answers who asks it for its line. */
  readonly refusal: () => Promise<unknown>;
  readonly refused: object;
}

/** The page and the monitor watch the truth; then the node lies. */
async function caught(lie: Lie): Promise<Noticed> {
  shown = truth.files(pageText(), asked.witnessed);
  const page = await ProofPage.visit(built.browser, { address: `${node.url}/` });
  const folder = join(home, lie.code);
  mkdirSync(folder);
  const monitor = new MonitorProcess(folder, {
    address: node.url,
    trustRoot: join(home, "trust-root.txt"),
    rootThk: truth.rootThk,
  });
  try {
    await page.page.getByRole("button", { name: "Browse" }).click();
    await page.pin(truth.rootThk);
    await page.page.getByRole("button", { name: "Watch this node" }).click();
    const head = (mark: string) =>
      page.page.locator(`.head[data-origin="${truth.origin(FORKED)}"][data-mark="${mark}"]`);
    await head("pass").waitFor();
    expect(await head("pass").innerText()).toContain("signed by 2 nodes, a quorum, witnessed by north");
    await monitor.watches();
    await page.picture(`walk-4-watched-${lie.name}`);
    shown = lie.shown;
    const plantedMs = performance.now();
    const since = async (noticed: Promise<unknown>): Promise<number> => {
      await noticed;
      return performance.now() - plantedMs;
    };
    const alarm = page.page.locator(`.alarm[data-code="${lie.code}"]`);
    const [onPage, byMonitor, byWitness] = await Promise.all([
      since(alarm.waitFor()),
      since(
        monitor.alarm().then((found) => {
          const alarms = [expect.objectContaining({ code: lie.code, origin_fingerprint: truth.origin(FORKED) })];
          expect(found).toEqual({ exitCode: 1, alarms });
        }),
      ),
      since(lie.refusal().then((outcome) => expect(outcome).toMatchObject(lie.refused))),
    ]);
    expect(await alarm.innerText()).toContain(lie.words);
    await head("fail").waitFor();
    await page.page.getByText("Both heads").click();
    await page.picture(`walk-5-${lie.name}`);
    expect(page.errors.filter((error) => !error.includes("404"))).toEqual([]);
    return { page: onPage, monitor: byMonitor, witness: byWitness };
  } finally {
    await monitor.stop();
    await page.close();
  }
}

/** How long the last of them took; the figures are kept beside the pictures. */
function slowest(name: string, noticed: Noticed): number {
  const figures = Object.entries(noticed).map(([who, ms]) => `${who} ${Math.round(ms)} ms`);
  writeFileSync(join(ARTEFACTS, `walk-${name}.txt`), `${name}: noticed by ${figures.join(", ")}\n`);
  return Math.max(...Object.values(noticed));
}

describeInBrowser("online, at a node that lies", () => {
  test("a planted split view: a quorum has signed two trees of one size", async () => {
    const noticed = await caught({
      name: "split-view",
      shown: other.files(pageText(), asked.witnessed),
      code: "split_view",
      words: "two trees of 4 leaves have different roots",
      refusal: () => asked.submit(other, FORKED),
      refused: { kind: "failed", failure: "other_history" },
    });
    expect(slowest("split-view", noticed)).toBeLessThan(CAUGHT_WITHIN_MS);
    // The witness keeps what both sides of the fork have signed.
    const forked = witness.said.find(({ event }) => event === "witnessed_log_forked");
    expect(String(forked?.fields["refused"])).toContain(other.checkpoint(FORKED).split("\n\n")[0]);
  });

  test("a planted rollback: the log is set back to before the revocation", async () => {
    const noticed = await caught({
      name: "rollback",
      shown: truth.files(pageText(), asked.witnessed, new Map([[FORKED, 3]])),
      code: "rollback",
      words: "a tree of 4 leaves was seen, now one of 3",
      refusal: () => asked.submit(truth, FORKED, 3),
      refused: { kind: "ahead", treeSize: 4 },
    });
    expect(slowest("rollback", noticed)).toBeLessThan(CAUGHT_WITHIN_MS);
  });
});
