import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeEach, describe, expect, test } from "@jest/globals";
import { ReleaseError } from "../src/artefact.ts";
import type { Maker } from "../src/artefact.ts";
import { CHECKOUT } from "../src/checkout.ts";
import { makeRelease } from "../src/make-release.ts";
import { MAKERS } from "../src/makers/makers.ts";
import { releaseCommand } from "../src/command/release-command.ts";

const place = mkdtempSync(join(tmpdir(), "anchoring-release-"));
afterAll(() => rmSync(place, { recursive: true }));

/** Writes what it is given, by file; a function is asked each time. */
function makerOf(name: string, files: Readonly<Record<string, string | (() => string)>>): Maker {
  return {
    name,
    make: ({ folder }) => {
      for (const [file, text] of Object.entries(files)) {
        mkdirSync(join(folder, file, ".."), { recursive: true });
        writeFileSync(join(folder, file), typeof text === "string" ? text : text());
      }
      return Promise.resolve(Object.keys(files));
    },
  };
}

const folder = join(place, "release");
const order = (...makers: readonly Maker[]): Parameters<typeof makeRelease>[0] => ({
  makers,
  version: "1.2.3",
  sourceDateEpoch: 1_700_000_000,
  folder,
  isTwice: true,
  signingKey: null,
  onMade: () => undefined,
});

describe("a release", () => {
  beforeEach(() => rmSync(folder, { recursive: true, force: true }));

  test("has the sums of its files, as sha256sum checks them", async () => {
    await makeRelease(order(makerOf("b", { "b.txt": "b", "site/a b.txt": "a" }), makerOf("a", { "a.txt": "a" })));
    const sums = readFileSync(join(folder, "SHA256SUMS"), "utf8");
    expect(sums.split("\n").map((line) => line.slice(66))).toEqual([
      "SBOM.spdx.json",
      "a.txt",
      "b.txt",
      "site/a b.txt",
      "",
    ]);
    const said = execFileSync("sha256sum", ["--check", "--strict", "SHA256SUMS"], { cwd: folder, encoding: "utf8" });
    expect(said).toBe("SBOM.spdx.json: OK\na.txt: OK\nb.txt: OK\nsite/a b.txt: OK\n");
  });

  test("is signed if there is a key, as ssh-keygen checks it by the line of README", async () => {
    const key = join(place, "key");
    execFileSync("ssh-keygen", ["-q", "-t", "ed25519", "-N", "", "-C", "release", "-f", key]);
    await makeRelease({ ...order(makerOf("a", { "a.txt": "a" })), signingKey: key });
    writeFileSync(join(folder, "release-signers"), `release@event-anchoring ${readFileSync(`${key}.pub`, "utf8")}`);
    const readme = readFileSync(join(CHECKOUT, "README.md"), "utf8");
    const line = /^ssh-keygen -Y verify [^]*?sha256sum .*$/m.exec(readme)?.[0] ?? "";
    const check = (): string => execFileSync("bash", ["-euc", line], { cwd: folder, encoding: "utf8", stdio: "pipe" });
    expect(check()).toMatch(
      /^Good "event-anchoring-release" signature for release@event-anchoring.*\nSBOM\.spdx\.json: OK\na\.txt: OK\n$/s,
    );
    writeFileSync(join(folder, "SHA256SUMS"), `${"0".repeat(64)}  a.txt\n`);
    expect(check).toThrow("incorrect signature");
    for (const file of [key, `${key}.pub`, folder]) rmSync(file, { recursive: true });
    await expect(makeRelease({ ...order(makerOf("a", { "a.txt": "a" })), signingKey: key })).rejects.toThrow(key);
  });

  test("is refused if a maker makes other bytes the second time, and leaves what was there", async () => {
    await makeRelease(order(makerOf("a", { "a.txt": "before" })));
    let count = 0;
    const counting = makerOf("counting", { "same.txt": "same", "count.txt": () => String(count++) });
    await expect(makeRelease(order(counting))).rejects.toThrow("counting made other bytes the second time: count.txt");
    expect(readdirSync(folder).sort()).toEqual(["SBOM.spdx.json", "SHA256SUMS", "a.txt"]);
    expect(readdirSync(place)).toEqual(["release"]);
  });

  test("is refused if a maker says something else than it made", async () => {
    const silent: Maker = { ...makerOf("silent", { "a.txt": "a" }), make: () => Promise.resolve(["a.txt"]) };
    await expect(makeRelease(order(silent))).rejects.toThrow("silent says that it made a.txt, and made ");
    const twice = makerOf("twice", { "a.txt": "a" });
    await expect(makeRelease(order(twice, twice))).rejects.toThrow("a.txt is made by two makers");
    expect(existsSync(folder)).toBe(false);
  });

  test("does not replace a folder that is no release", async () => {
    mkdirSync(folder);
    writeFileSync(join(folder, "thesis.txt"), "the only copy");
    await expect(makeRelease(order(makerOf("a", { "a.txt": "a" })))).rejects.toThrow(ReleaseError);
    expect(readdirSync(folder)).toEqual(["thesis.txt"]);
    writeFileSync(join(folder, "SHA256SUMS"), `${"0".repeat(64)}  other.txt\n`);
    await expect(makeRelease(order(makerOf("a", { "a.txt": "a" })))).rejects.toThrow(
      "no release, and is left as it is: ",
    );
    expect(readdirSync(folder).sort()).toEqual(["SHA256SUMS", "thesis.txt"]);
  });
});

describe("the command", () => {
  const told = async (...args: readonly string[]): Promise<{ code: number; stdout: string; stderr: string }> => {
    const texts = { stdout: "", stderr: "" };
    const [stdout, stderr] = (["stdout", "stderr"] as const).map((name) => ({
      write: (text: string) => (texts[name] += text),
    }));
    if (stdout === undefined || stderr === undefined) throw new Error("two outputs");
    return { code: await releaseCommand(args, stdout, stderr), ...texts };
  };

  test("wants to be told that nothing is published", async () => {
    expect(await told()).toMatchObject({ code: 2, stderr: expect.stringContaining("--dry is needed") });
    expect(await told("--dry", "--only", "nothing")).toMatchObject({
      code: 2,
      stderr: expect.stringContaining("nothing"),
    });
    expect(await told("--wet")).toMatchObject({ code: 2, stderr: expect.stringContaining("--wet") });
  });

  test("says its version, and in its help every artefact", async () => {
    expect(await told("--version")).toMatchObject({ code: 0, stdout: expect.stringMatching(/^\d+\.\d+\.\d+\n$/) });
    const { stdout } = await told("--help");
    expect(MAKERS.filter(({ name }) => !stdout.includes(name))).toEqual([]);
  });

  test("makes the proof page twice the same, as the nodes serve it", async () => {
    const out = join(place, "page");
    const { code, stderr } = await told("--dry", "--twice", "--only", "verify-page", "--out", out);
    expect({ code, stderr: stderr.replace(/^not of a commit.*\n/, "") }).toEqual({ code: 0, stderr: "" });
    expect(readdirSync(out).sort()).toEqual(["SBOM.spdx.json", "SHA256SUMS", "verify.html", "verify.html.sha256"]);
    const page = readFileSync(join(out, "verify.html"), "utf8");
    expect(page === readFileSync(join(CHECKOUT, "packages/explorer/dist/page.html"), "utf8")).toBe(true);
    expect(`${createHash("sha256").update(page).digest("hex")}  verify.html\n`).toBe(
      readFileSync(join(out, "verify.html.sha256"), "utf8"),
    );
  }, 120_000);
});
