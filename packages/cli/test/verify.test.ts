import { createHash } from "node:crypto";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeEach, describe, expect, test } from "@jest/globals";
import { bytesToHex, formatProof } from "@event-anchoring/protocol";
import { createReceiptMaker } from "@event-anchoring/testkit/receipts";
import { runAnchorctl } from "./run-anchorctl.ts";

const home = mkdtempSync(join(tmpdir(), "anchorctl-verify-"));
const file = join(home, "letter.txt");
const proof = `${file}.tlog-proof`;
const trustRoot = join(home, "trust-root.txt");
const pin = join(home, "root-thk.txt");
const content = Buffer.from("to whom it may concern\n");
const maker = createReceiptMaker();
const eventHash = Uint8Array.from(createHash("sha256").update(content).digest());
const proofText = formatProof(maker.receipt(eventHash));

beforeEach(() => {
  writeFileSync(file, content);
  writeFileSync(proof, proofText);
  writeFileSync(trustRoot, maker.trustRootDocument);
  writeFileSync(pin, `${bytesToHex(maker.rootThk)}\n`);
});

afterAll(() => {
  rmSync(home, { recursive: true, force: true });
});

const verify = (...args: readonly string[]): ReturnType<typeof runAnchorctl> =>
  runAnchorctl(home, ["verify", file, "--trust-root", trustRoot, ...args]);

/** Every byte is the protocol's own affair; here it is shown that nothing of a verdict is lost on the way. */
const STRIDE = 7;

/** The text with one byte changed to another printable one. */
function changed(text: string, position: number): string {
  const byte = text.charAt(position) === "A" ? "B" : "A";
  return text.slice(0, position) + byte + text.slice(position + 1);
}

describe("anchorctl verify", () => {
  test("says every step in words and ends with a verdict", async () => {
    const { exitCode, stdout, stderr } = await verify();
    expect([exitCode, stderr]).toEqual([0, ""]);
    for (const step of ["leaf", "content", "inclusion", "cosignatures", "trust root"])
      expect(stdout).toContain(`✓ ${step}`);
    expect(stdout).toContain("receipts.test/node/n1 signed at");
    expect(stdout).toContain("receipts.test/node/n2 signed at");
    expect(stdout).toMatch(/^VALID: .* certified at \d{4}-/mu);
    expect(stdout).not.toContain("\u001b");
  });

  test("says the same to programs", async () => {
    const { exitCode, stdout } = await verify("--json");
    expect(exitCode).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject({
      valid: true,
      failure: null,
      pin: { source: "file", path: pin, root_thk: bytesToHex(maker.rootThk) },
      event_hash: bytesToHex(eventHash),
      depth: 1,
      cosigners: [{ name: "receipts.test/node/n1" }, { name: "receipts.test/node/n2" }],
      trust_root: { version: 1, root_thk: bytesToHex(maker.rootThk) },
    });
  });

  test.each([
    ["accepted", { acceptedMs: Number.MAX_SAFE_INTEGER }, "accepted at 9007199254740991 ms (Unix)"],
    ["signed", { signedS: Number.MAX_SAFE_INTEGER }, "certified at 9007199254740991 s (Unix)"],
  ])("a time that no calendar has is shown as its number: %s", async (_, times, shown) => {
    writeFileSync(proof, formatProof(maker.receipt(eventHash, times)));
    const { exitCode, stdout, stderr } = await verify();
    expect([exitCode, stderr]).toEqual([0, ""]);
    expect(stdout).toContain(shown);
  });

  test("finds the nearest .anchoring, and never takes the trust root from the receipt", async () => {
    const inner = join(home, "a", "b");
    mkdirSync(inner, { recursive: true });
    const without = await runAnchorctl(inner, ["verify", file]);
    expect([without.exitCode, without.stderr]).toEqual([2, expect.stringContaining("no trust root")]);
    mkdirSync(join(home, ".anchoring"));
    writeFileSync(join(home, ".anchoring", "cluster.json"), "{}");
    writeFileSync(join(home, ".anchoring", "trust-root.txt"), maker.trustRootDocument);
    expect((await runAnchorctl(inner, ["verify", file])).exitCode).toBe(6);
    writeFileSync(join(home, ".anchoring", "root-thk.txt"), bytesToHex(maker.rootThk));
    expect((await runAnchorctl(inner, ["verify", file])).exitCode).toBe(0);
    rmSync(join(home, ".anchoring"), { recursive: true });
  });

  test("without a pin says what to compare, and nothing is shown as good", async () => {
    rmSync(pin);
    const { exitCode, stdout } = await verify();
    expect(exitCode).toBe(6);
    expect(stdout).toContain("! pin            none: whose trust root this is was not checked");
    expect(stdout).toMatch(/^NOT PINNED: /mu);
    expect(stdout).toContain(`compare the RootTHK of trust root 1, ${bytesToHex(maker.rootThk)}, with the one that`);
    expect(stdout).not.toMatch(/✓|\bVALID\b/u);
    const programs = await verify("--json");
    expect([programs.exitCode, JSON.parse(programs.stdout)]).toEqual([
      6,
      expect.objectContaining({
        valid: false,
        failure: "not_pinned",
        pin: { source: null, path: null, root_thk: bytesToHex(maker.rootThk) },
      }),
    ]);
  });

  test("a stranger's file, receipt and trust root, all of them together, are not shown as good", async () => {
    const stranger = createReceiptMaker();
    rmSync(pin);
    writeFileSync(proof, formatProof(stranger.receipt(eventHash)));
    writeFileSync(trustRoot, stranger.trustRootDocument);
    expect((await verify()).exitCode).toBe(6);
    const own = bytesToHex(maker.rootThk);
    expect((await verify("--root-thk", own)).stderr).toContain("pin_mismatch");
  });

  test("a receipt that is not good is not valid, pinned or not", async () => {
    rmSync(pin);
    writeFileSync(file, "something else");
    const { exitCode, stdout } = await verify();
    expect([exitCode, stdout]).toEqual([1, expect.stringContaining("NOT VALID (content_differs)")]);
    expect(stdout).not.toContain("✓");
  });

  test("says where the pin came from", async () => {
    const rootThk = bytesToHex(maker.rootThk);
    const ANCHORCTL_TRUST_ROOTS = trustRoot;
    const said = async (args: readonly string[], more = {}): Promise<[string, unknown]> => {
      const environment = { ANCHORCTL_TRUST_ROOTS, ...more };
      const { stdout } = await runAnchorctl(home, ["verify", file, ...args], environment);
      const programs = await runAnchorctl(home, ["verify", file, ...args, "--json"], environment);
      const [, line = ""] = /^ {2}✓ pin +(.*)$/mu.exec(stdout) ?? [];
      return [line, (JSON.parse(programs.stdout) as { readonly pin: { readonly source: string } }).pin.source];
    };
    expect(await said([])).toEqual([`RootTHK ${rootThk}, from ${pin}`, "file"]);
    expect(await said(["--root-thk", rootThk])).toEqual([`RootTHK ${rootThk}, from --root-thk`, "flag"]);
    const environment = { ANCHORCTL_ROOT_THK: rootThk };
    expect(await said([], environment)).toEqual([`RootTHK ${rootThk}, from ANCHORCTL_ROOT_THK`, "environment"]);
    const config = join(home, "config.json");
    writeFileSync(config, JSON.stringify({ root_thk: rootThk, trust_roots: [trustRoot] }));
    const run = await runAnchorctl(home, ["verify", file, "--json"], { ANCHORCTL_CONFIG: config });
    expect(JSON.parse(run.stdout)).toMatchObject({ valid: true, pin: { source: "config", path: null } });
  });

  test("fails after any one byte of the file is changed", async () => {
    for (let position = 0; position < content.length; position++) {
      const other = Buffer.from(content);
      other[position] = (other[position] ?? 0) ^ 1;
      writeFileSync(file, other);
      const { exitCode, stdout } = await verify();
      expect([exitCode, stdout]).toEqual([1, expect.stringContaining("NOT VALID (content_differs)")]);
    }
  });

  test("fails after a byte of the receipt is changed, wherever it is", async () => {
    const survivors: number[] = [];
    for (let position = 0; position < proofText.length; position += STRIDE) {
      writeFileSync(proof, changed(proofText, position));
      const { exitCode, stdout, stderr } = await verify();
      if (exitCode !== 1 || !/NOT VALID/u.test(stdout + stderr)) survivors.push(position);
    }
    expect(survivors).toEqual([]);
  }, 120_000);

  test("fails after a byte of the trust root is changed, wherever it is, its signature included", async () => {
    const text = maker.trustRootDocument;
    const survivors: number[] = [];
    for (let position = 0; position < text.length; position += STRIDE) {
      writeFileSync(trustRoot, changed(text, position));
      const { exitCode, stderr } = await verify();
      if (exitCode !== 1 || !/NOT VALID: the trust root/u.test(stderr)) survivors.push(position);
    }
    expect(survivors).toEqual([]);
  }, 120_000);

  test.each([
    [
      "a receipt with too few cosignatures",
      () => writeFileSync(proof, formatProof(maker.receipt(eventHash, { cosigners: 1 }))),
      1,
      "quorum_not_met",
    ],
    [
      "a receipt of another cluster",
      () => writeFileSync(proof, formatProof(createReceiptMaker().receipt(eventHash))),
      1,
      "origin_unknown",
    ],
    ["an empty receipt", () => writeFileSync(proof, ""), 1, "proof_header_unknown"],
    ["no receipt", () => rmSync(proof), 2, "cannot_read"],
    ["no file", () => rmSync(file), 2, "cannot_read"],
    ["another pin", () => writeFileSync(pin, `${"00".repeat(32)}\n`), 1, "pin_mismatch"],
    ["a pin that is none", () => writeFileSync(pin, "secret\n"), 1, "pin_malformed"],
    ["an empty trust root", () => writeFileSync(trustRoot, ""), 1, "malformed"],
  ])("refuses %s", async (_title, damage, exitCode, failure) => {
    damage();
    const run = await verify("--json");
    expect(run.exitCode).toBe(exitCode);
    expect(JSON.parse(run.stdout)).toMatchObject({ failure });
    const words = await verify();
    expect([words.exitCode, words.stdout + words.stderr]).toEqual([exitCode, expect.not.stringMatching(/\n\s+at /u)]);
  });

  test.each([
    [["verify"], 2],
    [["verify", file, "--unheard-of"], 2],
    [["unheard-of"], 2],
    [[], 2],
    [["--help"], 0],
    [["verify", "--help"], 0],
    [["verify", home], 2],
  ])("%j ends with %i", async (args, exitCode) => {
    const run = await runAnchorctl(home, args);
    expect(run.exitCode).toBe(exitCode);
    expect(run.stdout + run.stderr).not.toMatch(/\n\s+at /u);
  });

  test("documents its exit codes", async () => {
    const { stdout } = await runAnchorctl(home, ["verify", "--help"]);
    for (const code of ["0 ", "1 ", "2 ", "3 ", "4 ", "5 ", "6 ", "70 "])
      expect(stdout).toMatch(new RegExp(`^ +${code} `, "mu"));
  });
});
