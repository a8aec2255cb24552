import { chmodSync, existsSync, lstatSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

/** The process that the folder belongs to is part of its name. */
const NAME = /^anchoring-templates-(\d+)-/;

/** The public Ed25519 collections, which are not part of the repository and may lie beside the checkout. */
const PUBLIC_VECTORS = fileURLToPath(new URL("../../../shared/vectors", import.meta.url));

/** Database folders that all suites of this run copy theirs from lie here, and go with the run. */
export default function setUp() {
  for (const name of readdirSync(tmpdir()).filter(isLeftBehind)) removeFolder(join(tmpdir(), name));
  const folder = mkdtempSync(join(tmpdir(), `anchoring-templates-${process.pid}-`));
  // The account that runs Postgres passes through.
  chmodSync(folder, 0o711);
  process.env.ANCHORING_TEST_TEMPLATES = folder;
  if (existsSync(PUBLIC_VECTORS)) process.env.EVENT_ANCHORING_PUBLIC_VECTORS ??= PUBLIC_VECTORS;
  process.once("exit", () => removeFolder(folder));
}

function removeFolder(folder) {
  rmSync(folder, { recursive: true, force: true });
}

/** By a run of this account that was killed. */
function isLeftBehind(name) {
  const [, pid] = NAME.exec(name) ?? [];
  if (pid === undefined) return false;
  const owner = lstatSync(join(tmpdir(), name), { throwIfNoEntry: false })?.uid;
  return owner !== undefined && owner === process.getuid?.() && !lives(Number(pid));
}

function lives(pid) {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    // EPERM: somebody else's process has the number now, and the folder waits for it to end.
    return error.code !== "ESRCH";
  }
}
