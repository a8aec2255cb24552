/** A machine of three: a network namespace with one wire, and accounts, files and processes of its own. */
import { spawn, spawnSync } from "node:child_process";
import type { ChildProcess } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { until } from "@event-anchoring/testkit";

const HERE = import.meta.dirname;
const CHECKOUT = join(HERE, "../../..");

/** Where a page is typed on a machine. */
export const NODE_FOLDER = "/srv/node";

export interface Typed {
  readonly status: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

function must(program: string, ...args: readonly string[]): void {
  const { status, stderr } = spawnSync(program, args, { encoding: "utf8" });
  if (status !== 0) throw new Error(`${program} ${args.join(" ")}: ${stderr}`);
}

/** Why there can be none here; null: there can. */
export function whatMachinesLack(): string | null {
  if (process.getuid?.() !== 0) return "it takes root";
  const tools = "command -v adduser && command -v setpriv && command -v nsenter && command -v pg_createcluster";
  const probe = `${tools} && ip link add probe type veth peer name other && ip link add wire type bridge`;
  const { status } = spawnSync("unshare", ["--net", "--mount", "--pid", "--fork", "sh", "-c", probe]);
  return status === 0 ? null : "it takes ip, adduser, setpriv, pg_createcluster, and the right to make namespaces";
}

/** One wire between machines, in a namespace of its own; nothing leads out. */
class Switch {
  readonly space = `anchoring-${process.pid}-switch`;

  constructor() {
    must("ip", "netns", "add", this.space);
    must("ip", "-n", this.space, "link", "add", "switch", "type", "bridge");
    must("ip", "-n", this.space, "link", "set", "switch", "up");
  }

  close(): void {
    spawnSync("ip", ["netns", "delete", this.space]);
  }
}

export class Machine {
  readonly id: string;
  readonly #space: string;
  readonly #holder: ChildProcess;
  /** The first process of the machine's own; with it go all others. */
  readonly #pid: number;

  private constructor(id: string, space: string, holder: ChildProcess, pid: number) {
    this.id = id;
    this.#space = space;
    this.#holder = holder;
    this.#pid = pid;
  }

  static async start(id: string, address: string, wire: Switch, folder: string): Promise<Machine> {
    const space = `anchoring-${process.pid}-${id}`;
    const own = join(folder, id);
    mkdirSync(own);
    must("ip", "netns", "add", space);
    must("ip", "-n", wire.space, "link", "add", id, "type", "veth", "peer", "name", "wire", "netns", space);
    must("ip", "-n", wire.space, "link", "set", id, "master", "switch", "up");
    must("ip", "-n", space, "address", "add", `${address}/24`, "dev", "wire");
    must("ip", "-n", space, "link", "set", "wire", "up");
    const unshare = ["unshare", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc"];
    const setUp = ["bash", join(HERE, "set-up.sh"), own, CHECKOUT, HERE];
    const holder = spawn("ip", ["netns", "exec", space, ...unshare, ...setUp], { stdio: ["ignore", "pipe", "pipe"] });
    let said = "";
    for (const stream of [holder.stdout, holder.stderr])
      stream?.on("data", (chunk: Buffer) => void (said += chunk.toString()));
    await until(`${id} is set up`, () => {
      if (holder.exitCode !== null) throw new Error(`${id} has ended: ${said}`);
      return said.includes("ready\n");
    });
    const children = readFileSync(`/proc/${holder.pid}/task/${holder.pid}/children`, "utf8");
    return new Machine(id, space, holder, Number(children.trim().split(" ")[0]));
  }

  /** Types commands in the machine's folder, as root; they end at the first that fails. */
  type(commands: string): Typed {
    const into = ["--target", String(this.#pid), "--mount", "--net", "--pid", "--wdns=/srv/node"];
    const environment = { PATH: process.env["PATH"] ?? "", HOME: "/root" };
    const { status, stdout, stderr } = spawnSync(
      "nsenter",
      [...into, "bash", "-c", `set -e\ncd ${NODE_FOLDER}\n${commands}`],
      {
        encoding: "utf8",
        env: environment,
        timeout: 300_000,
      },
    );
    return { status, stdout, stderr };
  }

  /** The same; throws with what they said if one fails. */
  typed(commands: string): string {
    const { status, stdout, stderr } = this.type(commands);
    if (status === 0) return stdout;
    const logs = this.type("tail -n 5 /var/log/*.log /var/log/postgresql/*.log").stdout;
    throw new Error(`on ${this.id}, ${commands}\nended with ${status}: ${stdout}${stderr}\n${logs}`);
  }

  async stop(): Promise<void> {
    const ended = new Promise((resolve) => this.#holder.once("exit", resolve));
    this.#holder.kill("SIGKILL");
    await ended;
    spawnSync("ip", ["netns", "delete", this.#space]);
  }
}

/** Machines on one wire, and the desk where their keys are made. */
export class Machines {
  readonly #folder = mkdtempSync(join(tmpdir(), "anchoring-machines-"));
  readonly #wire = new Switch();
  readonly #machines: Machine[] = [];
  readonly desk = join(this.#folder, "desk");

  /** @param fillDesk works at the desk, in this folder, before there are machines */
  static async start(addresses: Readonly<Record<string, string>>, fillDesk: (desk: string) => void): Promise<Machines> {
    const machines = new Machines();
    try {
      mkdirSync(machines.desk);
      fillDesk(machines.desk);
      for (const [id, address] of Object.entries(addresses)) await machines.add(id, address);
    } catch (error) {
      await machines.stop();
      throw error;
    }
    return machines;
  }

  async add(id: string, address: string): Promise<Machine> {
    const machine = await Machine.start(id, address, this.#wire, this.#folder);
    this.#machines.push(machine);
    return machine;
  }

  /** Its processes are killed, and what was on its disks is gone. */
  async lose(id: string): Promise<void> {
    const machine = this.at(id);
    this.#machines.splice(this.#machines.indexOf(machine), 1);
    await machine.stop();
  }

  get all(): readonly Machine[] {
    return this.#machines;
  }

  at(id: string): Machine {
    const found = this.#machines.find((machine) => machine.id === id);
    if (found === undefined) throw new Error(`there is no machine ${id}`);
    return found;
  }

  async stop(): Promise<void> {
    for (const machine of this.#machines) await machine.stop();
    this.#wire.close();
    rmSync(this.#folder, { recursive: true, force: true });
  }
}
