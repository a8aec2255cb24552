import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { parseSignedTrustRoot, renderPolicy } from "@event-anchoring/protocol";
import { nodeCrypto } from "@event-anchoring/node-crypto";
import { runAnchorctl } from "./run-anchorctl.ts";

const { trust_roots: documents, pinned_root_thk: pin } = JSON.parse(
  readFileSync(new URL("../../../test/vectors/receipt.json", import.meta.url), "utf8"),
) as { readonly trust_roots: readonly string[]; readonly pinned_root_thk: string };

let home: string;
const versionPath = (version: number): string => join(home, `trust-root-${version}.txt`);
const upTo = (version: number): string[] =>
  Array.from({ length: version }, (_, at) => ["--trust-root", versionPath(at + 1)]).flat();
const rendered = (version: number, format: "tlog" | "sigsum"): string =>
  renderPolicy(parseSignedTrustRoot(documents[version - 1] ?? "", nodeCrypto.sha256), format);
const witnessed = (version: number): string =>
  renderPolicy(parseSignedTrustRoot(documents[version - 1] ?? "", nodeCrypto.sha256), "tlog", "witnessed");

beforeAll(() => {
  home = mkdtempSync(join(tmpdir(), "anchorctl-policy-"));
  documents.forEach((document, at) => writeFileSync(versionPath(at + 1), document));
});

afterAll(() => {
  rmSync(home, { recursive: true });
});

describe("anchorctl policy", () => {
  test.each(["tlog", "sigsum"] as const)("prints the newest trust root as %s", async (format) => {
    const run = await runAnchorctl(home, ["policy", "--format", format, "--root-thk", pin, ...upTo(3)]);
    expect(run).toEqual({ exitCode: 0, stdout: rendered(3, format), stderr: "" });
  });

  test("is tlog unless something else is asked for, and takes the nearest cluster's trust root", async () => {
    const folder = join(home, "project");
    mkdirSync(join(folder, ".anchoring"), { recursive: true });
    writeFileSync(join(folder, ".anchoring", "cluster.json"), "{}", { mode: 0o600 });
    writeFileSync(join(folder, ".anchoring", "trust-root.txt"), documents[0] ?? "");
    const run = await runAnchorctl(folder, ["policy"]);
    expect(run.stdout).toBe(rendered(1, "tlog"));
    expect(run.stderr).toContain("! pin            none");
  });

  test("writes a file, and says of which trust root", async () => {
    const out = join(home, "policy.txt");
    const { exitCode, stdout } = await runAnchorctl(home, ["policy", "--out", out, ...upTo(2)]);
    expect(exitCode).toBe(0);
    expect(stdout).toContain("trust root 2");
    expect(readFileSync(out, "utf8")).toBe(rendered(2, "tlog"));
  });

  test("asks for the witnesses as well, if that is wanted", async () => {
    const run = await runAnchorctl(home, ["policy", "--witnessed", "--root-thk", pin, ...upTo(5)]);
    expect(run).toEqual({ exitCode: 0, stdout: witnessed(5), stderr: "" });
    const plain = await runAnchorctl(home, ["policy", "--root-thk", pin, ...upTo(5)]);
    expect(plain.stdout).toBe(rendered(5, "tlog"));
    const none = await runAnchorctl(home, ["policy", "--json", "--witnessed", "--root-thk", pin, ...upTo(3)]);
    expect([none.exitCode, JSON.parse(none.stdout)]).toEqual([1, expect.objectContaining({ failure: "no_witnesses" })]);
  });

  test("prints one JSON object", async () => {
    const { stdout } = await runAnchorctl(home, ["policy", "--json", "--format", "sigsum", ...upTo(1)]);
    expect(JSON.parse(stdout)).toEqual({
      format: "sigsum",
      trust_root_version: 1,
      root_thk: pin,
      pin: { source: null, path: null, root_thk: pin },
      policy: rendered(1, "sigsum"),
      out: null,
    });
  });

  test.each([
    ["an unknown format", ["--format", "yaml"], 2, "format_invalid"],
    ["no trust root", [], 2, "trust_root_missing"],
    ["a file that cannot be written", ["--out", "/nowhere/policy", "1"], 2, "cannot_write"],
    ["another pin", ["--root-thk", "00".repeat(32), "1"], 1, "pin_mismatch"],
    ["versions that do not follow", ["1", "3"], 1, "version_gap"],
    ["versions in the wrong order", ["2", "1"], 1, "version_gap"],
  ])("refuses %s", async (_title, args, exitCode, failure) => {
    const flags = args.flatMap((arg) => (/^\d$/u.test(arg) ? ["--trust-root", versionPath(Number(arg))] : [arg]));
    const run = await runAnchorctl(home, ["policy", "--json", ...flags]);
    expect([run.exitCode, JSON.parse(run.stdout)]).toEqual([exitCode, expect.objectContaining({ failure })]);
  });

  test("says nothing for a trust root that nobody has signed", async () => {
    const path = join(home, "altered.txt");
    writeFileSync(path, (documents[0] ?? "").replace("quorum 2", "quorum 3"));
    const run = await runAnchorctl(home, ["policy", "--trust-root", path]);
    expect([run.exitCode, run.stdout]).toEqual([1, ""]);
  });
});
