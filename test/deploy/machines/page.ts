/** docs/operating/three-machines.md, as tests type it. */
import { spawnSync } from "node:child_process";
import { readFileSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { until } from "@event-anchoring/testkit";
import { Machines } from "./machine.ts";

const CHECKOUT = join(import.meta.dirname, "../../..");
const PAGE = readFileSync(join(CHECKOUT, "docs/operating/three-machines.md"), "utf8");
const ADDRESSES = { n1: "10.77.0.1", n2: "10.77.0.2", n3: "10.77.0.3" } as const;
const STATUS = "ANCHORCTL_CLUSTER=. NODE_EXTRA_CA_CERTS=ca/ca.crt anchorctl status";

/** The blocks of commands below a heading, in their order. */
export function blocksBelow(heading: string): readonly string[] {
  const section = PAGE.split(/^## /mu).find((text) => text.startsWith(`${heading}\n`)) ?? "";
  const blocks = [...section.matchAll(/^```sh\n([^`]*)```/gmu)].map(([, text = ""]) => text);
  if (blocks.length === 0) throw new Error(`there are commands below ${heading}`);
  return blocks;
}

/** Types commands in this folder, with the checkout's programs. */
export function typeAtDesk(desk: string, commands: string): void {
  const { status, stdout, stderr } = spawnSync("bash", ["-ec", commands], { cwd: desk, encoding: "utf8" });
  if (status !== 0) throw new Error(`${commands}\nended with ${status}: ${stdout}${stderr}`);
}

/** Three machines with a node each, on their first day; the second one has a backup, which a drill has restored. */
export async function bringUp(): Promise<Machines> {
  const machines = await Machines.start(ADDRESSES, (desk) => {
    for (const name of ["certs", "node_modules"]) symlinkSync(join(CHECKOUT, name), join(desk, name));
    typeAtDesk(desk, blocksBelow("At the desk")[0] ?? "");
  });
  try {
    const [start = ""] = blocksBelow("On each machine");
    for (const each of machines.all) {
      each.typed(`cp ${machines.desk}/host-${each.id}.tar .`);
      each.typed(start.replace("id=n1 ", `id=${each.id} `));
    }
    const operator = machines.at("n1");
    operator.typed(`cp ${machines.desk}/operator.tar . && tar -xf operator.tar`);
    await until("all nodes are ready", () => operator.type(STATUS).stdout.includes("All nodes are ready"));
    operator.typed(blocksBelow("First day")[0] ?? "");
    machines.at("n2").typed(blocksBelow("Backup")[0] ?? "");
  } catch (error) {
    await machines.stop();
    throw error;
  }
  return machines;
}
