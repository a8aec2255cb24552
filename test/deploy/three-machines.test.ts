import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { type Machines, whatMachinesLack } from "./machines/machine.ts";
import {
  CLUSTER,
  STATUS,
  blocksBelow,
  carry,
  installAll,
  startMachines,
  typeAtDesk,
  untilReady,
} from "./machines/page.ts";

// docs/operating/three-machines.md, typed: a machine is a namespace with a Postgres of its own, the units' programs run
// under their accounts, and nothing joins the machines but one wire.

const COMMANDS_MAX = 15;
const MINUTE_MS = 60_000;

const missing = whatMachinesLack();
const describeMachines = missing === null ? describe : describe.skip;

/** A command is a line; what is indented, or ends it, is of the command before. */
const commandsIn = (...blocks: readonly string[]): number =>
  blocks
    .join("\n")
    .split("\n")
    .filter((line) => /^(?!done)\S/u.test(line)).length;

const [DESK = ""] = blocksBelow("At the desk");
const [START = "", LOOK = ""] = blocksBelow("On each machine");
const [FIRST_DAY = ""] = blocksBelow("First day");
const [BACKUP = ""] = blocksBelow("Backup");
const [REPLACE = "", MEET = "", RESTORE = "", ADMIT = ""] = blocksBelow("Restore");
const [UPGRADE = ""] = blocksBelow("Upgrade");
const AS_API = "runuser -u anchoring-api -- psql -h /run/postgresql -d anchoring";
const SPARE = "10.77.0.4";
/** As the api process says it. */
const RELEASE = "curl -sk https://$(hostname -I | cut -d ' ' -f 1):8080/healthz";
const AS_OWNER = "runuser -u anchoring -- psql -h /run/postgresql -d anchoring -U anchoring_owner";
const COUNT_ANCHORS = `${AS_OWNER} -tAc "SELECT count(*) FROM state.anchors"`;

test("the page takes at most fifteen commands a machine, and at the desk", () => {
  const counts = {
    n1: commandsIn(START, LOOK, FIRST_DAY, MEET, ADMIT, UPGRADE, "anchorctl status"),
    n2: commandsIn(START, LOOK, BACKUP, MEET, UPGRADE),
    n4: commandsIn(RESTORE, LOOK, UPGRADE),
    desk: commandsIn(DESK, REPLACE),
  };
  expect(Object.entries(counts).filter(([, count]) => count < 5 || count > COMMANDS_MAX)).toEqual([]);
});

/** Whoever signs compares the RootTHK and types the version; here the proposal is asked for it. */
function replaceAtDesk(desk: string): void {
  const [before = "", after = ""] = REPLACE.split(/^npx.*root sign.*\n(?:npx.*root sign.*\n)*/mu);
  const proposed = typeAtDesk(desk, before.replace(/root propose.*/u, "$& --json"));
  const rootThk = /"root_thk": *"([0-9a-f]{64})"/u.exec(proposed)?.[1] ?? "none";
  for (const [line] of REPLACE.matchAll(/^npx.*root sign.*$/gmu)) typeAtDesk(desk, `${line} --expect ${rootThk}`);
  typeAtDesk(desk, after);
}

/** n3 is lost; n4 takes its place with n2's backup. */
async function replaceTheThird(machines: Machines): Promise<void> {
  const [n1, n2] = [machines.at("n1"), machines.at("n2")];
  await machines.lose("n3");
  replaceAtDesk(machines.desk);
  for (const each of [n1, n2]) {
    for (const file of ["hosts", "control-plane.json"]) carry(each, machines.desk, `plan/${each.id}/${file}`);
    each.typed(MEET);
  }
  const n4 = await machines.add("n4", SPARE);
  carry(n4, machines.desk, "host-n4.tar");
  n2.typed(`cp /var/backups/anchoring/*-n2.backup.zst.age* drill.key ${machines.desk}`);
  for (const name of ["*-n2.backup.zst.age*", "drill.key"]) carry(n4, machines.desk, name);
  expect(n4.typed(RESTORE)).toMatch(/the log of n4 begins after index \d+/u);
  expect(Number(n4.typed(COUNT_ANCHORS))).toBeGreaterThan(0);
  for (const file of ["next", "plan/cluster.json"]) carry(n1, machines.desk, file);
  n1.typed(`${CLUSTER}\n${ADMIT}`);
  await untilReady(n1);
}

describeMachines(`three machines${missing === null ? "" : ` (skipped: ${missing})`}`, () => {
  let machines: Machines;

  beforeAll(async () => {
    machines = await startMachines();
  }, 3 * MINUTE_MS);

  afterAll(() => machines.stop(), MINUTE_MS);

  test(
    "come up by the commands of the page, each with its own account and no password",
    () => {
      installAll(machines);
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
    "go on without one of them, whose place a new one takes with the backup",
    async () => {
      await replaceTheThird(machines);
      expect(machines.at("n1").typed(STATUS)).toMatch(/\bn4\b/u);
      for (const each of machines.all) expect(each.typed(LOOK)).toMatch(/^Nothing is wrong/mu);
    },
    10 * MINUTE_MS,
  );

  test(
    "are upgraded one after another, and still have what was anchored",
    async () => {
      for (const each of machines.all) {
        const before = each.typed("cat /run/anchoring-control-plane.pid");
        each.typed(UPGRADE);
        expect(each.typed("cat /run/anchoring-control-plane.pid")).not.toBe(before);
        await untilReady(machines.at("n1"));
        expect(each.typed(RELEASE)).toContain('"service":"4.2.1"');
      }
      machines.at("n1").typed("anchorctl verify trust-root.txt --trust-root trust-root.txt");
      const again = "echo other > other\nANCHORING_API_KEY=$(cat api.key) anchorctl anchor other";
      machines.at("n1").typed(`${CLUSTER}\n${again}`);
    },
    10 * MINUTE_MS,
  );
});
