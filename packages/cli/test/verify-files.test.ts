import { createHash } from "node:crypto";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeEach, describe, expect, test } from "@jest/globals";
import { formatEnvelope } from "@event-anchoring/bundle";
import type { Envelope } from "@event-anchoring/bundle";
import { bytesToHex, formatProof } from "@event-anchoring/protocol";
import { createReceiptMaker } from "@event-anchoring/testkit/receipts";
import { runAnchorctl } from "./run-anchorctl.ts";

const home = mkdtempSync(join(tmpdir(), "anchorctl-verify-files-"));
const maker = createReceiptMaker();
const trustRoot = join(home, "trust-root.txt");
const pin = join(home, "root-thk.txt");
afterAll(() => rmSync(home, { recursive: true, force: true }));

const sha256 = (content: string): Uint8Array => Uint8Array.from(createHash("sha256").update(content).digest());

/** A file with its receipt beside it. */
function anchored(name: string, content: string): string {
  writeFileSync(join(home, name), content);
  writeFileSync(join(home, `${name}.tlog-proof`), formatProof(maker.receipt(sha256(content))));
  return name;
}

const CALL: Envelope = {
  what: "tool.call",
  when: "2026-11-23T10:00:00.000Z",
  who: "billing-agent",
  contentType: "application/json",
  content: { json: { order: "4711" } },
  attachments: [{ name: "invoice.pdf", contentType: "application/pdf", size: 9, hash: "ab".repeat(32) }],
  salt: null,
};

beforeEach(() => {
  rmSync(home, { recursive: true });
  mkdirSync(join(home, "kept", "inner"), { recursive: true });
  writeFileSync(trustRoot, maker.trustRootDocument);
  writeFileSync(pin, `${bytesToHex(maker.rootThk)}\n`);
  anchored("kept/a.txt", "a");
  anchored("kept/inner/b.json", formatEnvelope(CALL));
  writeFileSync(join(home, "kept", "note.txt"), "not anchored");
});

const verify = (...args: readonly string[]): ReturnType<typeof runAnchorctl> =>
  runAnchorctl(home, ["verify", ...args, "--trust-root", trustRoot]);

describe("anchorctl verify of many", () => {
  test("says a line for each file of a folder that has a receipt, and a summary", async () => {
    const { exitCode, stdout } = await verify("kept");
    expect(exitCode).toBe(0);
    expect(stdout).toMatch(/^✓ kept\/a\.txt {2}certified at \S+$/mu);
    const said = "says tool.call at 2026-11-23T10:00:00.000Z by billing-agent";
    expect(stdout).toMatch(new RegExp(`^✓ kept/inner/b\\.json {2}certified at \\S+, ${said}$`, "mu"));
    expect(stdout).toContain("2 of 2 valid\n");
    expect(stdout).not.toContain("note.txt");
  });

  test("takes files, folders and patterns, each file once", async () => {
    const { exitCode, stdout } = await verify("kept/*.txt", join("kept", "a.txt"), "kept/inner", "kept/note.txt");
    expect([exitCode, stdout]).toEqual([1, expect.stringContaining("2 of 3 valid, 1 invalid\n")]);
    expect(stdout).toContain("✗ kept/note.txt  cannot read");
  });

  test("one that is not good is named, and the exit code says it", async () => {
    writeFileSync(join(home, "kept", "a.txt"), "b");
    rmSync(join(home, "kept", "inner", "b.json"));
    const { exitCode, stdout } = await verify("kept");
    expect([exitCode, stdout]).toEqual([1, expect.stringContaining("0 of 2 valid, 2 invalid\n")]);
    expect(stdout).toContain("✗ kept/a.txt  NOT VALID (content_differs)");
    expect(stdout).toContain("✗ kept/inner/b.json  cannot read");
  });

  test("without a pin nothing is shown as good", async () => {
    rmSync(pin);
    const { exitCode, stdout } = await verify("kept");
    expect([exitCode, stdout]).toEqual([6, expect.stringContaining("0 of 2 valid, 2 not pinned\n")]);
    expect(stdout).not.toContain("✓");
  });

  test("says the same to programs", async () => {
    const { exitCode, stdout } = await verify("kept", "--json");
    expect(exitCode).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject({
      valid: true,
      summary: { total: 2, valid: 2, invalid: 0 },
      files: [
        { file: "kept/a.txt", outcome: "valid", failure: null, envelope: null },
        { file: "kept/inner/b.json", envelope: { what: "tool.call", who: "billing-agent", content_matches: null } },
      ],
    });
  });

  test.each([
    ["a folder without receipts", ["empty"], "no_files"],
    ["options of a single file", ["kept", "--proof", "x"], "single_file_only"],
  ])("%s is refused", async (_, args, code) => {
    mkdirSync(join(home, "empty"));
    const { exitCode, stdout } = await verify(...args, "--json");
    expect([exitCode, JSON.parse(stdout)]).toMatchObject([2, { failure: code }]);
  });
});

describe("a file that is an envelope", () => {
  test("is shown with what it says", async () => {
    const { exitCode, stdout } = await verify(join(home, "kept/inner/b.json"));
    expect(exitCode).toBe(0);
    expect(stdout).toContain(
      "- says           tool.call at 2026-11-23T10:00:00.000Z by billing-agent; that is the word",
    );
    expect(stdout).toContain('- content        {"order":"4711"}');
    expect(stdout).toContain("- attachment     invoice.pdf, application/pdf, 9 bytes, SHA-256 abab");
  });

  test("is held against the content beside it", async () => {
    const content = { hash: bytesToHex(sha256("PDF")), size: 3 };
    anchored("kept/c.json", formatEnvelope({ ...CALL, contentType: "application/pdf", content }));
    expect((await verify(join(home, "kept/c.json"))).stdout).toContain(`SHA-256 ${content.hash}: it is not here`);
    writeFileSync(join(home, "kept", "c.content"), "PDF");
    expect((await verify(join(home, "kept/c.json"))).stdout).toContain("✓ content");
    writeFileSync(join(home, "kept", "c.content"), "PDf");
    const { exitCode, stdout } = await verify(join(home, "kept/c.json"));
    expect([exitCode, stdout]).toEqual([1, expect.stringContaining("NOT VALID (content_differs)")]);
    expect((await verify("kept")).stdout).toContain("✗ kept/c.json  NOT VALID (content_differs)");
  });

  test("that cannot be read as one is still the event", async () => {
    anchored("kept/d.json", `${formatEnvelope(CALL)}\n`);
    const { exitCode, stdout } = await verify(join(home, "kept/d.json"));
    expect([exitCode, stdout]).toEqual([0, expect.stringContaining("! envelope")]);
    expect(stdout).toContain("(envelope_not_canonical)");
  });

  test("writes nothing to a terminal but its characters", async () => {
    anchored("kept/e.json", formatEnvelope({ ...CALL, who: "x\u202ey", content: { json: "\u009b2J\u001b[2J" } }));
    const { stdout } = await verify(join(home, "kept/e.json"));
    for (const character of ["\u001b", "\u009b", "\u202e"]) expect(stdout).not.toContain(character);
  });
});
