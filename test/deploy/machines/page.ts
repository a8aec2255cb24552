/** docs/operating/three-machines.md, as tests type it. */
import { spawnSync } from "node:child_process";
import { readFileSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { until } from "@event-anchoring/testkit";
import { type Machine, Machines } from "./machine.ts";

const CHECKOUT = join(import.meta.dirname, "../../..");
const PAGE = readFileSync(join(CHECKOUT, "docs/operating/three-machines.md"), "utf8");
const ADDRESSES = { n1: "10.77.0.1", n2: "10.77.0.2", n3: "10.77.0.3" } as const;
const MINUTE_MS = 60_000;

/** What an operator types before the commands of a new shell. */
export const CLUSTER = "export ANCHORCTL_CLUSTER=. NODE_EXTRA_CA_CERTS=ca/ca.crt";
export const STATUS = `${CLUSTER}\nanchorctl status`;

/** The blocks of commands below a heading, in their order. */
export function blocksBelow(heading: string): readonly string[] {
  const section = PAGE.split(/^## /mu).find((text) => text.startsWith(`${heading}\n`)) ?? "";
  const blocks = [...section.matchAll(/^```sh\n([^`]*)```/gmu)].map(([, text = ""]) => text);
  if (blocks.length === 0) throw new Error(`there are commands below ${heading}`);
  return blocks;
}

/** Types commands in this folder, with the checkout's programs. @returns what they printed */
export function typeAtDesk(desk: string, commands: string): string {
  const { status, stdout, stderr } = spawnSync("bash", ["-ec", commands], { cwd: desk, encoding: "utf8" });
  if (status !== 0) throw new Error(`${commands}\nended with ${status}: ${stdout}${stderr}`);
  return stdout;
}

/** Three machines, and a desk where their keys were made. */
export const startMachines = (): Promise<Machines> =>
  Machines.start(ADDRESSES, (desk) => {
    for (const name of ["certs", "node_modules"]) symlinkSync(join(CHECKOUT, name), join(desk, name));
    typeAtDesk(desk, blocksBelow("At the desk")[0] ?? "");
  });

/** From the desk to the machine's folder. */
export function carry(machine: Machine, desk: string, name: string): void {
  machine.typed(`cp ${join(desk, name)} .`);
}

/** Gives each machine what is its own, and types what makes a node of it. */
export function installAll(machines: Machines): void {
  carry(machines.at("n1"), machines.desk, "operator.tar");
  for (const each of machines.all) carry(each, machines.desk, `host-${each.id}.tar`);
  for (const each of machines.all) each.typed(blocksBelow("On each machine")[0] ?? "");
  machines.at("n1").typed("tar -xf operator.tar");
}

export const untilReady = (operator: Machine): Promise<unknown> =>
  until("all nodes are ready", () => operator.type(STATUS).stdout.includes("All nodes are ready"), MINUTE_MS);

/** Three machines with a node each, on their first day; the second one has a backup, which a drill has restored. */
export async function bringUp(): Promise<Machines> {
  const machines = await startMachines();
  try {
    installAll(machines);
    await untilReady(machines.at("n1"));
    machines.at("n1").typed(blocksBelow("First day")[0] ?? "");
    machines.at("n2").typed(blocksBelow("Backup")[0] ?? "");
  } catch (error) {
    await machines.stop();
    throw error;
  }
  return machines;
}
