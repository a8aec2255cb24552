import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "@jest/globals";
import { ReleaseFolder, hasStaticRust } from "../sdk/release-folder.ts";

// Who does not trust the static verifier builds it, and compares. The other artefacts are made twice where they are
// tested; this one is compiled with all that is in it, most of a minute each time.

const isStaticRustHere = hasStaticRust();
if (!isStaticRustHere) {
  process.stderr.write(
    "anchor-verify is not compared with another build: rustup target add x86_64-unknown-linux-musl\n",
  );
}

(isStaticRustHere ? describe : describe.skip)("anchor-verify", () => {
  const release = new ReleaseFolder();

  afterAll(() => release.erase());

  test("is the same file, built twice in different places", async () => {
    await release.make(["anchor-verify"], {});
    const program = readFileSync(release.file(/^anchor-verify-/u));
    const sum = createHash("sha256").update(program).digest("hex");
    expect(readFileSync(join(release.path, "SHA256SUMS"), "utf8")).toContain(`${sum}  anchor-verify-linux-x86_64\n`);
  });
});
