import { spawnSync } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { until } from "@event-anchoring/testkit";
import { assertRan } from "./compose-cluster.ts";
import { commandsOf, makeDesk, shell } from "./desk.ts";
import { DockerEngine, hasBuildKit, missingForCompose } from "./docker-engine.ts";

// "On three hosts" of docs/operating/install.md, command by command. A host is a network namespace with a Docker engine
// of its own; between the hosts there is one wire, and on it nothing but their addresses.

const missing = missingForCompose() ?? (hasBuildKit() ? null : "no Compose 2 with buildx here");
const describeHosts = missing === null ? describe : describe.skip;
const MINUTES = 60_000;
const HOSTS = ["n1", "n2", "n3"].map((id, at) => ({
  id,
  address: `10.77.0.${at + 1}`,
  space: `anch-${process.pid}-${id}`,
}));
const SWITCH = `anch-${process.pid}-switch`;

interface Host {
  readonly id: string;
  readonly space: string;
  readonly engine: DockerEngine;
  readonly folder: string;
}

let folder: string;
const hosts: Host[] = [];

const must = (program: string, ...args: string[]): void => {
  const { status, stderr } = spawnSync(program, args, { encoding: "utf8" });
  if (status !== 0) throw new Error(`${program} ${args.join(" ")}: ${stderr}`);
};

/** One wire: a switch in a namespace of its own, where no engine's rules are, and a host at each end of it. */
function layWires(): void {
  must("ip", "netns", "add", SWITCH);
  must("ip", "-netns", SWITCH, "link", "add", "switch", "type", "bridge");
  must("ip", "-netns", SWITCH, "link", "set", "switch", "up");
  for (const { id, address, space } of HOSTS) {
    must("ip", "netns", "add", space);
    must("ip", "-netns", SWITCH, "link", "add", id, "type", "veth", "peer", "name", "wire", "netns", space);
    must("ip", "-netns", SWITCH, "link", "set", id, "master", "switch", "up");
    must("ip", "-netns", space, "link", "set", "lo", "up");
    must("ip", "-netns", space, "addr", "add", `${address}/24`, "dev", "wire");
    must("ip", "-netns", space, "link", "set", "wire", "up");
  }
}

const commandsOfThePage = (): readonly string[] => commandsOf("docs/operating/install.md", "## On three hosts");

beforeAll(async () => {
  if (missing !== null) return;
  folder = mkdtempSync(join(tmpdir(), "anchoring-hosts-"));
  const desk = join(folder, "desk");
  const builder = await DockerEngine.start();
  const { images } = makeDesk(builder, desk);
  const [pack = ""] = commandsOfThePage();
  shell(builder, desk, pack);
  // What a host pulls; here nothing can be pulled, least of all from within the hosts.
  assertRan(builder.docker("save", "--output", join(folder, "others.tar"), ...images), "saving images");
  layWires();
  for (const { id, space } of HOSTS) {
    const own = join(folder, id);
    mkdirSync(own);
    const engine = await DockerEngine.startOwn(space);
    hosts.push({ id, space, engine, folder: own });
    assertRan(engine.docker("load", "--input", join(folder, "others.tar")), "loading images");
    for (const name of [`host-${id}.tar`, "event-anchoring.tar"]) cpSync(join(desk, name), join(own, name));
  }
  cpSync(join(desk, "operator.tar"), join(folder, "n1", "operator.tar"));
  await builder.stop();
}, 30 * MINUTES);

afterAll(async () => {
  if (missing !== null) return;
  for (const { engine, folder: own } of hosts) {
    engine.run(
      "docker",
      ["compose", "down", "--volumes", "--timeout", "5"],
      { COMPOSE_PROJECT_NAME: "anchoring" },
      own,
    );
    await engine.stop();
  }
  for (const { space } of HOSTS) spawnSync("ip", ["netns", "delete", space]);
  spawnSync("ip", ["netns", "delete", SWITCH]);
  rmSync(folder, { recursive: true, force: true });
}, 10 * MINUTES);

/** Whether a program on this host's own network reaches the port. */
const reaches = (space: string, address: string, port: number): boolean =>
  spawnSync("ip", ["netns", "exec", space, "timeout", "3", "bash", "-c", `exec 3<>/dev/tcp/${address}/${port}`])
    .status === 0;

describeHosts(`three hosts with Compose${missing === null ? "" : ` (skipped: ${missing})`}`, () => {
  test(
    "come up by the commands of the page, and form a cluster that gives out a key",
    async () => {
      const [, start = "", operate = ""] = commandsOfThePage();
      expect(start).toContain("id=n1 ");
      for (const { id, engine, folder: own } of hosts) shell(engine, own, start.replace("id=n1 ", `id=${id} `));
      const [first] = hosts;
      if (first === undefined) throw new Error("there is no host");
      // The gateway is healthy when it finds a node ready: --wait waits for that.
      const said = shell(first.engine, first.folder, operate).stdout;
      expect(said).toMatch(/^ank_[A-Za-z0-9]+$/mu);
      await until(
        "all nodes are ready",
        () =>
          shell(first.engine, first.folder, "docker compose run --rm -T anchorctl status || true").stdout.includes(
            "All nodes are ready",
          ),
        3 * MINUTES,
      );
    },
    20 * MINUTES,
  );

  test("open on the private address what the page says, and nothing else", () => {
    const [from] = HOSTS;
    for (const { address } of HOSTS.slice(1)) {
      const open = [5432, 7400, 8080, 8443, 9090, 9100, 9101].filter((port) =>
        reaches(from?.space ?? "", address, port),
      );
      expect(open).toEqual([7400, 8080, 9100]);
    }
  });

  test("hold each node's keys on its own host alone", () => {
    for (const { id, folder: own } of hosts) {
      const { stdout } = spawnSync("find", [join(own, "deploy/.anchoring"), "-name", "cosigner.key"], {
        encoding: "utf8",
      });
      expect(stdout.trim().split("\n")).toEqual([join(own, `deploy/.anchoring/nodes/${id}/identity/cosigner.key`)]);
    }
  });
});
