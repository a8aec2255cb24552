/** A network of its own on this machine, joined to this one by a pair of interfaces: `ip netns`. */
import { spawn, spawnSync } from "node:child_process";
import type { ChildProcessByStdio } from "node:child_process";
import { connect, createServer } from "node:net";
import type { AddressInfo, Server, Socket } from "node:net";
import type { Readable } from "node:stream";

/** Addresses of these networks are for tests of equipment (RFC 2544). */
const NETWORK = "198.18";

/** Why there can be none on this machine; null: there can. */
export function whatNetworksLack(): string | null {
  if (process.getuid?.() !== 0) return "it takes root";
  const { status } = spawnSync("unshare", [
    "--net",
    "ip",
    "link",
    "add",
    "probe",
    "type",
    "veth",
    "peer",
    "name",
    "other",
  ]);
  return status === 0 ? null : "it takes ip, and the right to make a network namespace";
}

export class OtherNetwork {
  readonly #name = `anchoring-${process.pid}`;
  /** The end on this side. */
  readonly #near = `anc${process.pid}`;
  /** The address of this side, as the other one sees it. */
  readonly #host = `${NETWORK}.${process.pid % 250}.1`;
  readonly #doors: Server[] = [];
  readonly #sockets = new Set<Socket>();

  /** @throws Error where `whatNetworksLack` has a reason, or leftovers of a process with this id are there */
  constructor() {
    const [name, near, far] = [this.#name, this.#near, `${this.#near}b`];
    ip("netns", "add", name);
    try {
      ip("link", "add", near, "type", "veth", "peer", "name", far, "netns", name);
      ip("address", "add", `${this.#host}/30`, "dev", near);
      ip("link", "set", near, "up");
      ip("-n", name, "address", "add", `${NETWORK}.${process.pid % 250}.2/30`, "dev", far);
      ip("-n", name, "link", "set", far, "up");
    } catch (error) {
      ip("netns", "delete", name);
      throw error;
    }
  }

  /** @returns where the other side reaches a port of this side's loopback */
  async open(port: number): Promise<string> {
    const server = createServer((near) => {
      const far = connect(port, "127.0.0.1");
      for (const [socket, other] of [
        [near, far],
        [far, near],
      ] as const) {
        this.#sockets.add(socket);
        socket.on("error", () => undefined);
        socket.on("close", () => {
          this.#sockets.delete(socket);
          other.destroy();
        });
      }
      near.pipe(far).pipe(near);
    });
    await new Promise<void>((resolve) => server.listen(0, this.#host, resolve));
    this.#doors.push(server);
    return `http://${this.#host}:${(server.address() as AddressInfo).port}`;
  }

  /** A process that has nothing but the other network. */
  run(program: string, args: readonly string[]): ChildProcessByStdio<null, Readable, null> {
    return spawn("ip", ["netns", "exec", this.#name, program, ...args], { stdio: ["ignore", "pipe", "inherit"] });
  }

  /** With it go its interfaces. */
  close(): void {
    for (const door of this.#doors) door.close();
    for (const socket of this.#sockets) socket.destroy();
    ip("netns", "delete", this.#name);
  }
}

function ip(...args: readonly string[]): void {
  const { status, stderr } = spawnSync("ip", args, { encoding: "utf8" });
  if (status !== 0) throw new Error(`ip ${args.join(" ")}: ${stderr}`);
}
