/** What docs/operating/kept-backups.md tells to type, typed: on a real cluster, and with the units' own account. */
import { spawnSync } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { startTestCluster } from "@event-anchoring/testkit";
import type { TestCluster } from "@event-anchoring/testkit";

const CHECKOUT = fileURLToPath(new URL("../..", import.meta.url));
const TIMEOUT_MS = 180_000;
const PAGE = readFileSync(join(CHECKOUT, "docs/operating/kept-backups.md"), "utf8");

/** The only block of commands below a heading. */
function commandsBelow(heading: string): string {
  const section = PAGE.split(/^## /mu).find((text) => text.startsWith(`${heading}\n`)) ?? "";
  const [block, ...others] = [...section.matchAll(/^```sh\n([^`]*)```/gmu)].map(([, text = ""]) => text);
  if (block === undefined || others.length > 0) throw new Error(`there is one block below ${heading}`);
  return block;
}

const hasVirtualenv = spawnSync("pg_virtualenv", ["-h"]).status === 0;
const describeByHand = hasVirtualenv ? describe : describe.skip;
const NO_VIRTUALENV = hasVirtualenv ? "" : " (skipped: no pg_virtualenv; apt-get install postgresql-common postgresql)";

describeByHand(`keys, and one by hand${NO_VIRTUALENV}`, () => {
  let setup: TestCluster;
  let folder: string;

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), "anchoring-kept-page-"));
    setup = await startTestCluster();
    symlinkSync(setup.cluster.root, join(folder, ".anchoring"));
    symlinkSync(join(CHECKOUT, "node_modules"), join(folder, "node_modules"));
  }, TIMEOUT_MS);

  afterAll(async () => {
    await setup?.cluster.erase();
    rmSync(folder, { recursive: true });
  }, TIMEOUT_MS);

  test(
    "are made, kept, drilled, unpacked and verified as the page says",
    () => {
      const script = ["set -e", commandsBelow("Keys first"), commandsBelow("One by hand")].join("\n");
      const { status, stdout, stderr } = spawnSync("bash", ["-c", script], { cwd: folder, encoding: "utf8" });
      expect([status, status === 0 ? "" : stdout + stderr]).toEqual([0, ""]);
      expect(readFileSync(join(folder, "recipients"), "utf8")).toMatch(/^(age1[a-z0-9]{58}\n){2}$/u);
      expect(stdout).toMatch(/✓ kept +\S+\.backup\.zst\.age, \d+ bytes/u);
      expect(stdout).toMatch(/^Sound: \S+\.backup\.zst\.age can be restored\.$/mu);
      expect(stdout).toMatch(/^Sound\.$/mu);
    },
    TIMEOUT_MS,
  );
});

const canUnshare =
  process.getuid?.() === 0 &&
  spawnSync("unshare", ["--mount", "sh", "-c", "command -v adduser && command -v setpriv"]).status === 0;
const describeAccount = canUnshare ? describe : describe.skip;

describeAccount(`the account of the units${canUnshare ? "" : " (skipped: takes root, a mount namespace)"}`, () => {
  test("reads what they read, and nothing of the node's", () => {
    const folder = mkdtempSync(join(tmpdir(), "anchoring-backup-account-"));
    cpSync(join(CHECKOUT, "deploy/systemd"), join(folder, "node/deploy/systemd"), { recursive: true });
    const files = ["api.json", "drill.key", "recipients", "trust-root.txt", "root-thk.txt"];
    for (const name of files) writeFileSync(join(folder, "node", name), name);
    mkdirSync(join(folder, "backups"));
    const units = ["anchoring-backup", "anchoring-backup-drill"].map((name) =>
      readFileSync(join(CHECKOUT, `deploy/systemd/${name}.service`), "utf8"),
    );
    const wanted = units.flatMap((text) => text.match(/\/etc\/anchoring\/backup\/[^\s]+/gu) ?? []);
    const asUnit = "setpriv --reuid anchoring-backup --regid anchoring-backup --clear-groups";
    const script = [
      "set -e",
      `cp -a /etc ${folder}/etc`,
      `mount --bind ${folder}/etc /etc`,
      `mount --bind ${folder}/backups /var/backups`,
      "mkdir -p /etc/systemd/system /etc/anchoring/api && chmod 700 /etc/anchoring/api",
      `cd ${folder}/node`,
      "umask 022",
      commandsBelow("With systemd"),
      `${asUnit} touch /var/backups/anchoring/new`,
      ...wanted.map((path) => `${asUnit} cat ${path} > /dev/null`),
      `! ${asUnit} ls /etc/anchoring/api 2> /dev/null`,
      "ls /etc/systemd/system/anchoring-backup*",
    ].join("\n");
    const { status, stdout, stderr } = spawnSync("unshare", ["--mount", "bash", "-c", script], { encoding: "utf8" });
    rmSync(folder, { recursive: true });
    expect([status, stderr]).toEqual([0, ""]);
    expect(wanted.length).toBeGreaterThan(3);
    expect(
      stdout
        .trim()
        .split("\n")
        .map((path) => path.replace(/.*\//u, "")),
    ).toEqual([
      "anchoring-backup-drill.service",
      "anchoring-backup-drill.timer",
      "anchoring-backup.service",
      "anchoring-backup.timer",
    ]);
  }, 60_000);
});
