import { spawnSync } from "node:child_process";
import { chmodSync, copyFileSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { loadConfig as loadApi } from "@event-anchoring/api";
import { API_SETTINGS, CONTROL_PLANE_SETTINGS, settingsOf } from "@event-anchoring/control-contract";
import { loadConfig as loadControlPlane } from "@event-anchoring/control-plane";
import { MALLOC_ENVIRONMENT, NODE_FLAGS } from "@event-anchoring/dev-cluster";
import { documentsOf, kustomized } from "./manifests.ts";

// What deploy/systemd and deploy/kubernetes say of the programs, held against the programs. Neither is run here.

const CHECKOUT = fileURLToPath(new URL("../..", import.meta.url));
const read = (path: string): string => readFileSync(join(CHECKOUT, path), "utf8");
/** Exit codes after which nobody may start a process again: settings, fenced, halted. */
const FINAL = { "control-plane": [2, 78, 79], api: [2] } as const;
/** How long each takes to stop at most, seconds: what its own source says. */
const STOPS_IN_S = { "control-plane": 1 + 3 + 15, api: 2 + 15.5 } as const;
const UNITS = ["control-plane", "api"] as const;

let folder: string;

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "anchoring-units-"));
});

afterAll(() => {
  rmSync(folder, { recursive: true, force: true });
});

describe.each(UNITS)("the systemd unit of the %s process", (unit) => {
  const text = read(`deploy/systemd/anchoring-${unit}.service`);
  const valuesOf = (name: string): string[] =>
    text.split("\n").flatMap((line) => (line.startsWith(`${name}=`) ? [line.slice(name.length + 1)] : []));

  test("starts what the build makes", () => {
    const [command = ""] = valuesOf("ExecStart");
    const [, script = ""] = /current\/(\S+)/u.exec(command) ?? [];
    expect(script).toBe(`packages/${unit}/dist/main.js`);
    expect(existsSync(join(CHECKOUT, script.replace("/dist/", "/src/").replace(/js$/u, "ts")))).toBe(true);
    expect(command).toContain(`--config /etc/anchoring/${unit}/${unit}.json`);
  });

  test("is given memory as the development cluster and the container give it", () => {
    const [command = ""] = valuesOf("ExecStart");
    expect(command.split(" ").filter((word) => /^--(?!config$)/u.test(word))).toEqual(NODE_FLAGS[unit]);
    const variables = Object.entries(MALLOC_ENVIRONMENT).map(([name, value]) => `${name}=${value}`);
    expect(valuesOf("Environment")).toEqual(expect.arrayContaining(variables));
    const entrypoint = read("deploy/container/entrypoint.sh");
    expect(entrypoint).toContain(`${unit}) echo ${NODE_FLAGS[unit].join(" ")} ;;`);
    expect(entrypoint).toContain(`  export ${variables.join(" ")}\n`);
    expect(entrypoint).toContain('  node $(memory_flags "$1")');
  });

  test("is started again after whatever is no end for good, and has time to stop", () => {
    expect(valuesOf("Restart")).toEqual(["always"]);
    expect(valuesOf("RestartPreventExitStatus")).toEqual([FINAL[unit].join(" ")]);
    expect(Number(valuesOf("TimeoutStopSec")[0])).toBeGreaterThan(STOPS_IN_S[unit]);
  });
});

const isSystemdThere = spawnSync("systemd-analyze", ["--version"]).status === 0;
const ALL_UNITS = [...UNITS, "monitor", "backup", "backup-drill"] as const;
const describeSystemd = isSystemdThere ? describe.each(ALL_UNITS) : describe.skip.each(ALL_UNITS);

describeSystemd(`systemd, of the %s unit${isSystemdThere ? "" : " (skipped: no systemd here)"}`, (unit) => {
  const path = join(CHECKOUT, `deploy/systemd/anchoring-${unit}.service`);

  test("takes it", () => {
    const { stderr } = spawnSync("systemd-analyze", ["verify", path], { encoding: "utf8" });
    expect(stderr.split("\n").filter((line) => line.includes(`anchoring-${unit}.service:`))).toEqual([]);
  }, 60_000);

  test("finds it locked down", () => {
    // From 0, nothing is exposed, to 100.
    const { status } = spawnSync("systemd-analyze", ["security", "--offline=true", "--threshold=20", path]);
    expect(status).toBe(0);
  }, 60_000);
});

describe("the settings of the systemd units", () => {
  const copied = (unit: string): string => {
    const path = join(folder, `${unit}.json`);
    copyFileSync(join(CHECKOUT, `deploy/systemd/${unit}.json`), path);
    chmodSync(path, 0o600);
    return path;
  };

  test("are taken by the processes, which meet at one socket", () => {
    writeFileSync(join(folder, "root-thk.txt"), `${"ab".repeat(32)}\n`, { mode: 0o600 });
    // The api process's folder holds nothing of the control plane's.
    expect(JSON.parse(read("deploy/systemd/api.json"))).toMatchObject({ identity_dir: "/etc/anchoring/api" });
    const api = loadApi(copied("api"), { ANCHORING_API__IDENTITY_DIR: folder });
    const controlPlane = loadControlPlane(copied("control-plane"), {});
    expect([api.controlSocket, controlPlane.api_socket]).toEqual(Array(2).fill("/run/anchoring/control.sock"));
  });

  test("keep states in folders that the unit makes", () => {
    const { run_dir: runDir, promise_file: promiseFile } = loadControlPlane(copied("control-plane"), {});
    const [, names = ""] = /^StateDirectory=(.*)$/mu.exec(read("deploy/systemd/anchoring-control-plane.service")) ?? [];
    expect(names.split(" ").map((name) => `/var/lib/${name}`)).toEqual([runDir, dirname(promiseFile)]);
  });
});

interface Container {
  readonly name: string;
  readonly image: string;
  readonly command?: readonly string[];
  readonly args?: readonly string[];
  readonly env?: readonly { readonly name: string; readonly value: string }[];
  readonly restartPolicy?: string;
  readonly ports?: readonly { readonly name: string; readonly containerPort: number }[];
  readonly livenessProbe?: unknown;
  readonly readinessProbe?: {
    readonly httpGet?: { readonly path: string; readonly scheme?: string };
    readonly exec?: { command: string[] };
  };
  readonly securityContext: Readonly<Record<string, unknown>>;
  readonly volumeMounts: readonly { readonly name: string; readonly mountPath: string }[];
}

interface Manifest {
  readonly kind: string;
  readonly metadata: { readonly name: string };
  readonly spec: {
    readonly replicas: number;
    readonly serviceName: string;
    readonly updateStrategy: { readonly type: string };
    readonly minAvailable: number;
    readonly selector: { readonly matchLabels: Readonly<Record<string, string>> };
    readonly ports: readonly { readonly port: number }[];
    readonly template: {
      readonly spec: {
        readonly affinity: unknown;
        readonly initContainers: readonly Container[];
        readonly containers: readonly Container[];
        readonly volumes: readonly { readonly name: string; readonly secret?: { readonly secretName: string } }[];
        readonly terminationGracePeriodSeconds: number;
      };
    };
    readonly volumeClaimTemplates: readonly { readonly metadata: { readonly name: string } }[];
  };
}

/** As kubectl renders them; null: kubectl or a reader of YAML is not here. */
function manifests(): readonly Manifest[] | null {
  const text = kustomized();
  return text === null ? null : (documentsOf(text) as readonly Manifest[] | null);
}

const rendered = manifests();
const describeKubernetes = rendered === null ? describe.skip : describe;
const NOTE = rendered === null ? " (skipped: no kubectl, or no PyYAML here)" : "";
const NODES = ["n1", "n2", "n3"];

const all = rendered ?? [];
const sets = all.filter(({ kind }) => kind === "StatefulSet");
const podOf = (set: Manifest): Manifest["spec"]["template"]["spec"] => set.spec.template.spec;
const containersOf = (set: Manifest): readonly Container[] => [...podOf(set).initContainers, ...podOf(set).containers];
const own = (set: Manifest, name: string): Container => {
  const found = containersOf(set).find((container) => container.name === name);
  if (found === undefined) throw new Error(`there is no container ${name}`);
  return found;
};

describeKubernetes(`the nodes of the Kubernetes manifests${NOTE}`, () => {
  test("are three nodes of one pod each, never restarted together, never two on one machine", () => {
    expect(sets.map(({ metadata }) => metadata.name)).toEqual(NODES.map((id) => `node-${id}`));
    for (const { spec, metadata } of sets) {
      expect([spec.replicas, spec.updateStrategy.type, spec.serviceName]).toEqual([1, "OnDelete", metadata.name]);
      expect(Object.keys(spec.selector.matchLabels)).toContain("event-anchoring/node");
      // Another node of any id keeps it away.
      expect(JSON.stringify(spec.template.spec.affinity)).not.toContain('event-anchoring/node"');
    }
    expect(all.find(({ kind }) => kind === "PodDisruptionBudget")?.spec.minAvailable).toBe(2);
  });

  test("begin with the database and end with it; each has the time it takes", () => {
    for (const set of sets) {
      const { initContainers, containers, terminationGracePeriodSeconds } = podOf(set);
      expect(initContainers.map(({ name }) => name)).toEqual(["own-files", "postgres", "control-plane"]);
      expect(initContainers.map(({ restartPolicy }) => restartPolicy)).toEqual([undefined, "Always", "Always"]);
      expect(containers.map(({ name }) => name)).toEqual(["api"]);
      expect(terminationGracePeriodSeconds).toBeGreaterThan(5 + STOPS_IN_S.api + STOPS_IN_S["control-plane"]);
    }
  });

  test("name settings that the processes have, and peers where they are", () => {
    const known = [CONTROL_PLANE_SETTINGS, API_SETTINGS]
      .flatMap((shape) => settingsOf(shape))
      .map(({ variable }) => variable);
    for (const [at, set] of sets.entries()) {
      const variables = ["control-plane", "api"].flatMap((name) => own(set, name).env ?? []);
      expect(variables.map(({ name }) => name).filter((name) => !known.includes(name))).toEqual([]);
      const peers = variables.find(({ name }) => name.endsWith("__PEERS"))?.value ?? "";
      const others = NODES.filter((_id, other) => other !== at);
      const expected = others.map((id) => ({ node_id: id, host: `node-${id}-0.node-${id}`, port: 7400 }));
      expect(JSON.parse(peers)).toEqual(expected);
      const services = all.filter(({ kind }) => kind === "Service").map(({ metadata }) => metadata.name);
      expect(services).toEqual(expect.arrayContaining(others.map((id) => `node-${id}`)));
    }
  });
});

describeKubernetes(`what runs in them, and who reaches it${NOTE}`, () => {
  test("run the image's programs without privileges, and restart no node that waits for an operator", () => {
    const commands = read("deploy/container/entrypoint.sh");
    const compose = read("docker-compose.yml");
    for (const set of sets) {
      for (const name of ["control-plane", "api"]) {
        const { args = [], readinessProbe, livenessProbe } = own(set, name);
        expect(args).toEqual([name]);
        expect(commands).toContain("control-plane | api) run_node_process");
        expect(livenessProbe).toBeUndefined();
        expect(readinessProbe?.httpGet?.path ?? readinessProbe?.exec?.command[1]).toBe(
          name === "api" ? "/readyz" : "/app/deploy/container/entrypoint.sh",
        );
      }
      for (const { image, securityContext } of containersOf(set)) {
        expect(compose).toContain(`image: ${image}`);
        expect(securityContext).toMatchObject({
          allowPrivilegeEscalation: false,
          readOnlyRootFilesystem: true,
          capabilities: { drop: ["ALL"] },
        });
      }
    }
  });

  test("mount what is there, and give each node its own secrets and disks", () => {
    const secrets = sets.map((set) => podOf(set).volumes.flatMap(({ secret }) => secret?.secretName ?? []));
    expect(secrets).toEqual(NODES.map((id) => [`${id}-identity`, `${id}-settings`, `${id}-roles`]));
    for (const set of sets) {
      const claims = set.spec.volumeClaimTemplates.map(({ metadata }) => metadata.name);
      expect(claims).toEqual(["database", "promise"]);
      const there = [...claims, ...podOf(set).volumes.map(({ name }) => name)];
      for (const { volumeMounts } of containersOf(set)) {
        expect(volumeMounts.map(({ name }) => name).filter((name) => !there.includes(name))).toEqual([]);
      }
    }
  });

  test("serve the api over TLS, with the certificate of the node's own settings", () => {
    for (const set of sets) {
      expect(own(set, "api").readinessProbe?.httpGet).toMatchObject({ path: "/readyz", scheme: "HTTPS" });
      const copied = own(set, "own-files").args?.join("\n") ?? "";
      for (const name of ["tls.crt", "tls.key"]) expect(copied).toContain(`/secret/settings/${name}`);
      const page = read("docs/operating/kubernetes.md");
      for (const name of ["tls.crt", "tls.key"]) expect(page).toContain(`--from-file=$node/api/${name}`);
    }
  });

  test("let the world reach the api process alone", () => {
    const service = all.find(({ kind, metadata }) => kind === "Service" && metadata.name === "api");
    expect(service?.spec.ports.map(({ port }) => port)).toEqual([8080]);
    expect(JSON.stringify(all)).not.toMatch(/hostPort|hostNetwork|NodePort|LoadBalancer/u);
    const policies = all.filter(({ kind }) => kind === "NetworkPolicy").map(({ metadata }) => metadata.name);
    expect(policies).toEqual(["nobody", "nodes"]);
  });
});
