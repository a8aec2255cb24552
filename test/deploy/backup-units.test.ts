/** What makes and drills kept backups by itself: units, Compose services, Kubernetes manifests. None is run here. */
import { spawnSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "@jest/globals";
import { anchorctl } from "@event-anchoring/cli";
import { documentsOf, kustomized } from "./manifests.ts";

const CHECKOUT = fileURLToPath(new URL("../..", import.meta.url));
const read = (path: string): string => readFileSync(join(CHECKOUT, path), "utf8");

/** What anchorctl says of a command line whose files are not there: that one cannot be read, if it is a good one. */
async function faultOf(args: readonly string[]): Promise<unknown> {
  let stdout = "";
  await anchorctl([...args, "--json"], {
    stdout: { isTTY: false, write: (text) => (stdout += text) },
    stderr: { isTTY: false, write: () => {} },
    workingDir: "/",
    environment: {},
  });
  return (JSON.parse(stdout) as { failure?: unknown }).failure;
}

describe.each(["backup", "backup-drill"])("the systemd units anchoring-%s", (name) => {
  const unit = read(`deploy/systemd/anchoring-${name}.service`);
  const timer = read(`deploy/systemd/anchoring-${name}.timer`);
  const valueOf = (text: string, key: string): string => new RegExp(`^${key}=(.*)$`, "mu").exec(text)?.[1] ?? "";

  test("run a command line that anchorctl takes", async () => {
    const [before, script = "", args = ""] = valueOf(unit, "ExecStart").split(/\/current\/(\S+) /u);
    expect(before).toMatch(/\/usr\/bin\/node /u);
    expect(existsSync(join(CHECKOUT, script))).toBe(true);
    expect(await faultOf(args.split(" "))).toBe("cannot_read");
  });

  test("write where the unit may write", () => {
    expect(valueOf(unit, "ExecStart")).toContain(`--folder ${valueOf(unit, "ReadWritePaths")}`);
    expect(valueOf(unit, "ExecStart")).toContain(`--metrics /var/lib/${valueOf(unit, "StateDirectory")}/`);
  });

  test("are started by their timer, also when the host was off", () => {
    expect(timer).not.toContain("Unit=");
    expect(valueOf(timer, "Persistent")).toBe("true");
    expect(valueOf(timer, "WantedBy")).toBe("timers.target");
  });
});

const hasSystemd = spawnSync("systemd-analyze", ["--version"]).status === 0;

(hasSystemd ? describe : describe.skip)(`systemd${hasSystemd ? "" : " (skipped: no systemd here)"}`, () => {
  test.each([
    ["backup", /03:00:00 UTC/u],
    ["backup-drill", /-01 05:00:00 UTC/u],
  ])(
    "takes the timer of anchoring-%s",
    (name, when) => {
      const path = join(CHECKOUT, `deploy/systemd/anchoring-${name}.timer`);
      const { stderr } = spawnSync("systemd-analyze", ["verify", path], { encoding: "utf8" });
      expect(stderr.split("\n").filter((line) => line.includes(`anchoring-${name}.timer:`))).toEqual([]);
      const [, calendar = ""] = /^OnCalendar=(.*)$/mu.exec(readFileSync(path, "utf8")) ?? [];
      const { stdout } = spawnSync("systemd-analyze", ["calendar", calendar], { encoding: "utf8" });
      expect(stdout).toMatch(when);
    },
    60_000,
  );
});

interface Service {
  readonly image: string;
  readonly profiles: readonly string[];
  readonly command?: readonly string[];
  readonly networks: Readonly<Record<string, unknown>> | readonly string[];
  readonly ports?: unknown;
  readonly user: string;
  readonly read_only: boolean;
  readonly cap_drop: readonly string[];
  readonly security_opt: readonly string[];
  readonly mem_limit: string;
}

const compose = documentsOf(read("docker-compose.yml"));
const NO_YAML = compose === null ? " (skipped: no PyYAML here)" : "";

(compose === null ? describe.skip : describe)(`the Compose services of kept backups${NO_YAML}`, () => {
  const [{ services, networks }] = (compose ?? [{ services: {}, networks: {} }]) as [
    { services: Record<string, Service>; networks: Record<string, unknown> },
  ];
  const NAMES = ["n1-backup", "backup-drill", "drill-postgres"];

  test("run only where they are asked for, without rights, and nobody reaches them from outside", () => {
    for (const name of NAMES) {
      const service = services[name];
      expect(service?.profiles).toEqual([name === "n1-backup" ? "backup" : "drill"]);
      expect(service).toMatchObject({ read_only: true, cap_drop: ["ALL"], mem_limit: expect.any(String) });
      expect(service?.security_opt).toEqual(["no-new-privileges:true"]);
      expect([name, service?.ports, service?.user === ""]).toEqual([name, undefined, false]);
    }
    // The drill's database takes everybody's word, on a network of these two.
    const members = Object.entries(services).filter(([, each]) =>
      JSON.stringify(each.networks ?? []).includes("drill"),
    );
    expect(members.map(([name]) => name).toSorted()).toEqual(["backup-drill", "drill-postgres"]);
    expect(networks["drill"]).toEqual({ internal: true });
  });

  test("run command lines that anchorctl takes", async () => {
    for (const name of NAMES.slice(0, 2)) expect(await faultOf(services[name]?.command ?? [])).toBe("cannot_read");
    const [, listen = ""] = /--listen=(\S+)/u.exec((services["n1-backup"]?.command ?? []).join(" ")) ?? [];
    expect(read("deploy/prometheus/prometheus.yml")).toContain(`["${listen}"]`);
  });
});

interface Container {
  readonly name: string;
  readonly image: string;
  readonly args?: readonly string[];
  readonly securityContext: unknown;
  readonly volumeMounts: readonly { readonly name: string }[];
}

interface Pod {
  readonly containers: readonly Container[];
  readonly initContainers: readonly Container[];
  readonly volumes: readonly { readonly name: string }[];
}

interface Manifest {
  readonly kind: string;
  readonly metadata: { readonly name: string };
  readonly spec: {
    readonly template: { readonly spec: Pod };
    readonly jobTemplate: { readonly spec: { readonly template: { readonly spec: Pod } } };
    readonly ports: readonly { readonly port: number }[];
    readonly volumeClaimTemplates: readonly { readonly metadata: { readonly name: string } }[];
  };
}

/** With the component; null: kubectl or a reader of YAML is not here. */
function rendered(): readonly Manifest[] | null {
  const text = kustomized(["backup"]);
  return text === null ? null : (documentsOf(text) as readonly Manifest[] | null);
}

const manifests = rendered();
const NO_KUBECTL = manifests === null ? " (skipped: no kubectl, or no PyYAML here)" : "";

(manifests === null ? describe.skip : describe)(`the Kubernetes component of kept backups${NO_KUBECTL}`, () => {
  const all = manifests ?? [];
  const named = (kind: string, name: string): Manifest => {
    const found = all.find(({ kind: each, metadata }) => each === kind && metadata.name === name);
    if (found === undefined) throw new Error(`there is no ${kind} ${name}`);
    return found;
  };

  test("adds a sidecar to one node, and nothing to the others", () => {
    const sets = all.filter(({ kind }) => kind === "StatefulSet");
    const containers = sets.map(({ spec }) => spec.template.spec.containers.map(({ name }) => name).toSorted());
    expect(containers).toEqual([["api", "backup"], ["api"], ["api"]]);
    expect(named("Service", "node-n1").spec.ports.map(({ port }) => port)).toContain(9111);
    const policies = all.filter(({ kind }) => kind === "NetworkPolicy").map(({ metadata }) => metadata.name);
    expect(policies.toSorted()).toEqual(["backup-metrics", "nobody", "nodes"]);
  });

  test("runs what anchorctl takes, in known images, without rights, on volumes that are there", async () => {
    const node = named("StatefulSet", "node-n1").spec;
    const drill = named("CronJob", "backup-drill").spec.jobTemplate.spec.template.spec;
    const claims = node.volumeClaimTemplates.map(({ metadata }) => metadata.name);
    const composeText = read("docker-compose.yml");
    for (const pod of [node.template.spec, drill]) {
      const there = [...claims, ...pod.volumes.map(({ name }) => name)];
      for (const { image, securityContext, volumeMounts } of [...pod.initContainers, ...pod.containers]) {
        expect(composeText).toContain(`image: ${image}`);
        expect(securityContext).toMatchObject({ allowPrivilegeEscalation: false, readOnlyRootFilesystem: true });
        expect(volumeMounts.map(({ name }) => name).filter((name) => !there.includes(name))).toEqual([]);
      }
    }
    const sidecar = node.template.spec.containers.find(({ name }) => name === "backup");
    for (const container of [sidecar, drill.containers[0]]) {
      const [program, ...args] = container?.args ?? [];
      expect([program, await faultOf(args)]).toEqual(["anchorctl", "cannot_read"]);
    }
  });
});
