import { spawnSync } from "node:child_process";
import { symlinkSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { until } from "@event-anchoring/testkit";
import { type Machine, Machines, whatMachinesLack } from "./machines/machine.ts";
import { blocksBelow } from "./machines/page.ts";

// docs/operating/three-machines.md, typed: a machine is a namespace with a Postgres of its own, the units' programs run
// under their accounts, and nothing joins the machines but one wire.

const CHECKOUT = join(import.meta.dirname, "../..");
const COMMANDS_MAX = 15;
const MINUTE_MS = 60_000;

const missing = whatMachinesLack();
const describeMachines = missing === null ? describe : describe.skip;

/** A command is a line; what follows a backslash is of the line before. */
const commandsIn = (block: string): number =>
  block
    .replaceAll("\\\n", " ")
    .split("\n")
    .filter((line) => line.trim() !== "").length;

const [DESK = ""] = blocksBelow("At the desk");
const [START = "", LOOK = ""] = blocksBelow("On each machine");
const [FIRST_DAY = ""] = blocksBelow("First day");
const [BACKUP = ""] = blocksBelow("Backup");
const [UPGRADE = ""] = blocksBelow("Upgrade");
const CLUSTER = "export ANCHORCTL_CLUSTER=. NODE_EXTRA_CA_CERTS=ca/ca.crt";
const STATUS = `${CLUSTER}\nanchorctl status`;
const AS_API = "runuser -u anchoring-api -- psql -h /run/postgresql -d anchoring";
const ADDRESSES = { n1: "10.77.0.1", n2: "10.77.0.2", n3: "10.77.0.3" } as const;

test("the page takes at most fifteen commands a machine", () => {
  const each = [START, LOOK, UPGRADE].map(commandsIn).reduce((sum, count) => sum + count, 0);
  const status = 1;
  const counts = [each + commandsIn(FIRST_DAY) + status, each + commandsIn(BACKUP), each, commandsIn(DESK)];
  for (const count of counts) expect(count).toBeLessThanOrEqual(COMMANDS_MAX);
});

/** Types the desk's commands there. */
function fillDesk(desk: string): void {
  for (const name of ["certs", "node_modules"]) symlinkSync(join(CHECKOUT, name), join(desk, name));
  const { status, stderr } = spawnSync("bash", ["-ec", DESK], { cwd: desk, encoding: "utf8" });
  if (status !== 0) throw new Error(stderr);
}

/** From the desk to the machine's folder. */
function carry(machine: Machine, desk: string, name: string): void {
  machine.typed(`cp ${join(desk, name)} .`);
}

const untilReady = (machine: Machine): Promise<unknown> =>
  until("all nodes are ready", () => machine.type(STATUS).stdout.includes("All nodes are ready"), MINUTE_MS);

describeMachines(`three machines${missing === null ? "" : ` (skipped: ${missing})`}`, () => {
  let machines: Machines;

  beforeAll(async () => {
    machines = await Machines.start(ADDRESSES, fillDesk);
  }, 3 * MINUTE_MS);

  afterAll(() => machines.stop(), MINUTE_MS);

  test(
    "come up by the commands of the page, each with its own account and no password",
    async () => {
      expect(START).toContain("id=n1 ");
      carry(machines.at("n1"), machines.desk, "operator.tar");
      for (const each of machines.all) carry(each, machines.desk, `host-${each.id}.tar`);
      for (const each of machines.all) each.typed(START.replace("id=n1 ", `id=${each.id} `));
      const roles = machines.at("n2").typed(`${AS_API} -U anchoring_reader -tAc "SELECT current_user"`);
      expect(roles.trim()).toBe("anchoring_reader");
      const other = machines.at("n2").type(`${AS_API} -U anchoring_owner -c "SELECT 1"`);
      expect([other.status, other.stderr]).toEqual([2, expect.stringContaining("Peer authentication failed")]);
    },
    5 * MINUTE_MS,
  );

  test(
    "are well on their first day, and anchor a file with the first key",
    async () => {
      machines.at("n1").typed("tar -xf operator.tar");
      await untilReady(machines.at("n1"));
      const said = machines.at("n1").typed(FIRST_DAY);
      expect(said).toContain("All nodes are ready");
      expect(machines.at("n1").typed("cat api.key")).toMatch(/^ank_[A-Za-z0-9]+\n$/u);
      for (const each of machines.all) expect(each.typed(LOOK)).toMatch(/^Nothing is wrong/mu);
    },
    5 * MINUTE_MS,
  );

  test(
    "keep a backup, and restore it in a drill",
    () => {
      machines.at("n2").typed(BACKUP);
      expect(machines.at("n2").typed("ls /var/backups/anchoring")).toMatch(/^\S+-n2\.backup\.zst\.age$/mu);
      expect(machines.at("n2").typed("cat /var/log/anchoring-backup-drill.log")).toMatch(/^Sound: /mu);
    },
    5 * MINUTE_MS,
  );

  test(
    "are upgraded one after another, and still have what was anchored",
    async () => {
      for (const each of machines.all) {
        const before = each.typed("cat /run/anchoring-control-plane.pid");
        each.typed(UPGRADE);
        expect(each.typed("cat /run/anchoring-control-plane.pid")).not.toBe(before);
        expect(each.typed("readlink /opt/event-anchoring/current").trim()).toBe("4.2.1");
        await untilReady(machines.at("n1"));
      }
      machines.at("n1").typed("anchorctl verify trust-root.txt --trust-root trust-root.txt");
      const again = "echo other > other\nANCHORING_API_KEY=$(cat api.key) anchorctl anchor other";
      machines.at("n1").typed(`${CLUSTER}\n${again}`);
    },
    10 * MINUTE_MS,
  );
});
