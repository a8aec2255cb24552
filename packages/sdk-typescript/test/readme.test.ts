import { execFile, spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "@jest/globals";
import { EventService } from "@event-anchoring/testkit/receipts";
import { sha256, verifyReceipt, verifyTrustRoot } from "../src/index.ts";
import { vectors } from "./vectors.ts";

// What the README shows under "Verifying" and of the recorder, run as it is written there: on good files, and on bad
// ones, where it must fail. The programs use the build, as a user's do.

const SDK = join(dirname(fileURLToPath(import.meta.url)), "..");
const readme = readFileSync(join(SDK, "README.md"), "utf8");
const section = (title: string): string => readme.split(`\n## ${title}\n`)[1]?.split("\n## ")[0] ?? "";
const verifying = section("Verifying");
const [, recorderLines = ""] = /```js\n([^]*?)```/u.exec(section("Recording many events")) ?? [];
const [receiptLines = "", bundleLines = ""] = [...verifying.matchAll(/```js\n(import [^]*?)```/gu)].map(
  ([, lines]) => lines ?? "",
);

interface ReceiptCase {
  readonly receipt: { readonly leaf: string };
  readonly expect: { readonly event_hash?: string };
  readonly failure: { readonly code: string } | null;
}

interface BundleCase {
  readonly name: string;
  readonly bundle?: unknown;
  readonly pinned_root_thk: string;
}

const receipts = vectors("receipt") as {
  readonly pinned_root_thk: string;
  readonly trust_roots: readonly string[];
  readonly good: readonly ReceiptCase[];
  readonly bad: readonly ReceiptCase[];
};
const bundles = vectors("bundle") as {
  readonly bundles: Readonly<Record<"whole" | "singles", { readonly trust_roots: readonly string[] }>>;
  readonly good: readonly BundleCase[];
  readonly bad: readonly BundleCase[];
};

/** What the vectors have anchored: their events are the hashes of these texts. */
const [LOG, ACT] = ["event 5", "act"];
const ownHash = createHash("sha256").update(LOG).digest("hex");
const own = receipts.good.find(({ expect: known }) => known.event_hash === ownHash);

/** A receipt of the very event, whose proof fails. */
function forged(code: string): string {
  const found = receipts.bad.find(({ receipt, failure }) => {
    return failure?.code === code && receipt.leaf === own?.receipt.leaf;
  });
  if (found === undefined) throw new Error(`no vector fails with ${code}`);
  return JSON.stringify(found.receipt);
}

const pin = receipts.pinned_root_thk;
const bundlePin = bundles.good[0]?.pinned_root_thk ?? "";
const forgedBundle = JSON.stringify(bundles.bad.find(({ bundle }) => bundle !== undefined)?.bundle);

describe("the lines of the README", () => {
  const folder = mkdtempSync(join(tmpdir(), "anchoring-sdk-readme-"));

  beforeAll(() => {
    mkdirSync(join(folder, "node_modules", "@event-anchoring"), { recursive: true });
    symlinkSync(SDK, join(folder, "node_modules", "@event-anchoring", "sdk"));
    writeFileSync(join(folder, "package.json"), JSON.stringify({ type: "module" }));
    writeFileSync(join(folder, "receipt.js"), receiptLines);
    writeFileSync(join(folder, "bundle.js"), bundleLines);
  });

  beforeEach(() => {
    const [root = ""] = receipts.trust_roots;
    writeFileSync(join(folder, "log.txt"), LOG);
    writeFileSync(join(folder, "log.txt.tlog-proof"), JSON.stringify(own?.receipt));
    writeFileSync(join(folder, "trust-root.txt"), root);
    writeFileSync(join(folder, "act.txt"), ACT);
    writeFileSync(join(folder, "act.bundle.json"), JSON.stringify(bundles.bundles.whole));
  });

  afterAll(() => rmSync(folder, { recursive: true }));

  function run(program: string, pinned: string | undefined): { status: number | null; stdout: string; stderr: string } {
    const env = pinned === undefined ? {} : { ANCHORING_ROOT_THK: pinned };
    return spawnSync(process.execPath, [join(folder, program)], { cwd: folder, encoding: "utf8", env });
  }

  test("say yes to good files", () => {
    expect(run("receipt.js", pin)).toMatchObject({ status: 0, stdout: "log.txt is event 15\n" });
    const said = "authorised when it happened: true\n";
    expect(run("bundle.js", bundlePin)).toMatchObject({ status: 0, stdout: said });
  });

  test.each([
    ["another file", "log.txt", "event 6", "content_differs"],
    ["another path", "log.txt.tlog-proof", forged("inclusion_wrong"), "inclusion_wrong"],
    ["a spoiled signature", "log.txt.tlog-proof", forged("signature_invalid"), "signature_invalid"],
    ["too few cosigners", "log.txt.tlog-proof", forged("quorum_not_met"), "quorum_not_met"],
    ["the trust root of others", "trust-root.txt", bundles.bundles.whole.trust_roots[0] ?? "", "pin_mismatch"],
  ])("fail on a receipt with %s", (_, file, content, code) => {
    writeFileSync(join(folder, file), content);
    const { status, stdout, stderr } = run("receipt.js", pin);
    expect({ status, stdout }).toEqual({ status: 1, stdout: "" });
    expect(stderr).toContain(`code: '${code}'`);
  });

  test.each([
    ["another file", "act.txt", "another act", "bundle_invalid"],
    ["a part as stated", "act.bundle.json", JSON.stringify(bundles.bundles.singles), "bundle_not_proved"],
    ["a forged leaf", "act.bundle.json", forgedBundle, "bundle_invalid"],
  ])("fail on a bundle with %s", (_, file, content, code) => {
    writeFileSync(join(folder, file), content);
    const { status, stdout, stderr } = run("bundle.js", bundlePin);
    expect({ status, stdout }).toEqual({ status: 1, stdout: "" });
    expect(stderr).toContain(`code: '${code}'`);
  });

  test.each([undefined, "", "00".repeat(32)])("fail with the pin %s", (pinned) => {
    for (const program of ["receipt.js", "bundle.js"])
      expect(run(program, pinned)).toMatchObject({ status: 1, stdout: "" });
  });
});

describe("the lines of the README about the recorder", () => {
  const folder = mkdtempSync(join(tmpdir(), "anchoring-sdk-recorder-"));
  afterAll(() => rmSync(folder, { recursive: true }));

  test("leave an envelope and its receipt, which verifies", async () => {
    const service = await EventService.start();
    mkdirSync(join(folder, "node_modules", "@event-anchoring"), { recursive: true });
    symlinkSync(SDK, join(folder, "node_modules", "@event-anchoring", "sdk"));
    writeFileSync(join(folder, "package.json"), JSON.stringify({ type: "module" }));
    writeFileSync(join(folder, "program.js"), recorderLines);
    const env = { ...process.env, ANCHORING_ENDPOINT: service.endpoint, ANCHORING_API_KEY: "key" };
    await promisify(execFile)(process.execPath, ["program.js"], { cwd: folder, env });
    const { document, rootThk } = service.trustRoot;
    await service.stop();
    const kept = join(folder, "audit", "kept");
    const names = readdirSync(kept, { recursive: true, encoding: "utf8" }).filter((name) => name.endsWith(".json"));
    expect(names).toHaveLength(1);
    const payload = readFileSync(join(kept, names[0] ?? ""));
    expect(JSON.parse(payload.toString())).toMatchObject({ what: "refund", content: { order: "4711", amount: 19.5 } });
    const trustRoot = verifyTrustRoot({ documents: [document], pinnedRootThk: rootThk });
    const receipt = readFileSync(join(kept, `${names[0]}.tlog-proof`), "utf8");
    expect(verifyReceipt(receipt, { trustRoot, eventHash: sha256(payload) }).cosigners).toHaveLength(2);
  });
});
