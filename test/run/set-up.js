import { chmodSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** Database folders that all suites of this run copy theirs from lie here, and go with the run. */
export default function setUp() {
  const folder = mkdtempSync(join(tmpdir(), "anchoring-templates-"));
  // The account that runs Postgres passes through.
  chmodSync(folder, 0o711);
  process.env.ANCHORING_TEST_TEMPLATES = folder;
  process.once("exit", () => rmSync(folder, { recursive: true, force: true }));
}
