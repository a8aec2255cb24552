/** The Helm chart: held against the manifests, against Kubernetes' schemas, and against its own description. */
import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, describe, expect, test } from "@jest/globals";
import { writeDeployment } from "@event-anchoring/provision";
import { CHART, KUBERNETES_OLDEST, documentsOf, helm, kustomized, templated } from "./manifests.ts";

const CHECKOUT = fileURLToPath(new URL("../..", import.meta.url));
const read = (path: string): string => readFileSync(join(CHECKOUT, path), "utf8");
const folder = mkdtempSync(join(tmpdir(), "anchoring-chart-"));
afterAll(() => rmSync(folder, { recursive: true }));

interface Schema {
  readonly description?: string;
  readonly type?: string;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly additionalProperties?: unknown;
  readonly items?: Schema;
  readonly allOf?: readonly [{ readonly $ref: string }];
  readonly definitions?: Readonly<Record<string, Schema>>;
}

const schema = JSON.parse(readFileSync(join(CHART, "values.schema.json"), "utf8")) as Schema;

/** Every value that can be set, by its path; resources and labels are one each. */
function leavesOf(at: Schema, path: string): readonly string[] {
  const [reference] = at.allOf ?? [];
  const shape = reference === undefined ? at : schema.definitions?.[reference.$ref.replace("#/definitions/", "")];
  const isWhole = path.endsWith("resources") || shape?.properties === undefined;
  if (isWhole && shape?.items?.properties === undefined) return [path];
  const [inner, prefix] = isWhole ? [shape?.items, `${path}[]`] : [shape, path];
  const entries = Object.entries(inner?.properties ?? {});
  return entries.flatMap(([name, value]) => leavesOf(value, prefix === "" ? name : `${prefix}.${name}`));
}

const LEAVES = leavesOf(schema, "").filter((path) => path !== "global");

describe("the description of the chart", () => {
  test("has the version of the service, and of its image", () => {
    const { version } = JSON.parse(read("package.json")) as { readonly version: string };
    const chart = readFileSync(join(CHART, "Chart.yaml"), "utf8");
    expect([.../^(?:version|appVersion): (.*)$/gmu[Symbol.matchAll](chart)].map(([, value]) => value)).toEqual([
      version,
      version,
    ]);
    expect(readFileSync(join(CHART, "values.yaml"), "utf8")).toContain(`image: event-anchoring:${version}\n`);
  });

  test("says of every value what it is, and takes no other", () => {
    const objects = (at: Schema): readonly Schema[] => [
      at,
      ...Object.values(at.properties ?? {}).flatMap(objects),
      ...(at.items === undefined ? [] : objects(at.items)),
    ];
    const all = [
      ...objects(schema),
      ...Object.values(schema.definitions ?? {}).flatMap((each) => objects(each).slice(1)),
    ];
    expect(all.length).toBeGreaterThan(40);
    expect(all.filter(({ description = "" }) => !/^[A-Z].*\.$/u.test(description))).toEqual([]);
    const open = all.filter(
      ({ properties, additionalProperties }) => properties !== undefined && additionalProperties !== false,
    );
    expect(open).toEqual([]);
  });

  test("has a row in README.md for each value", () => {
    const rows = readFileSync(join(CHART, "README.md"), "utf8").match(/^\| `[^|]*\|/gmu) ?? [];
    expect(rows.flatMap((row) => [...row.matchAll(/`([^`]+)`/gu)].map(([, path = ""]) => path)).toSorted()).toEqual(
      LEAVES.toSorted(),
    );
  });
});

interface Manifest {
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly annotations?: Readonly<Record<string, string>> };
}

/** By kind and name. Lists whose order has no meaning are sorted. */
function objectsOf(text: string): Readonly<Record<string, Manifest>> {
  const all = (documentsOf(text) ?? []) as readonly Manifest[];
  return Object.fromEntries(all.map((each) => [`${each.kind} ${each.metadata.name}`, sorted(each) as Manifest]));
}

const UNORDERED = new Set(["containers", "volumes", "volumeMounts", "ports"]);

function sorted(value: unknown, name = ""): unknown {
  if (Array.isArray(value)) {
    const items = value.map((item) => sorted(item));
    return UNORDERED.has(name) ? items.toSorted((a, b) => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1)) : items;
  }
  if (typeof value !== "object" || value === null) return value;
  const entries = Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1));
  return Object.fromEntries(entries.map(([key, item]) => [key, sorted(item, key)]));
}

const isHelmThere = helm("version") !== null && documentsOf("") !== null;
const NO_HELM = isHelmThere ? "" : " (skipped: no Helm, or no PyYAML here)";
const describeHelm = isHelmThere ? describe : describe.skip;
const isKubectlThere = kustomized() !== null;
const describeBoth = isHelmThere && isKubectlThere ? describe : describe.skip;

describeBoth(`the chart against the manifests${NO_HELM}${isKubectlThere ? "" : " (skipped: no kubectl here)"}`, () => {
  test.each([
    ["by itself", [], []],
    ["with kept backups", ["backup"], ["--set", "backup.enabled=true"]],
  ])("comes to the same objects %s", (_what, components, args) => {
    const { status, stdout, stderr } = templated(...args);
    expect([status, status === 0 ? "" : stderr]).toEqual([0, ""]);
    const { "Namespace anchoring": namespace, ...manifests } = objectsOf(kustomized(components) ?? "");
    // The operator makes the namespace of a chart, and names it.
    expect(namespace).toBeDefined();
    // `helm uninstall` leaves the backups; kustomize removes nothing.
    const kept = stdout.replace("  annotations: { helm.sh/resource-policy: keep }\n", "");
    expect(kept === stdout).toBe(components.length === 0);
    const charts = objectsOf(kept);
    expect(Object.keys(charts)).toContain("StatefulSet node-n3");
    expect(charts).toEqual(manifests);
  });
});

const OTHER_RESOURCES = { limits: { cpu: "7", memory: "7Gi" } };
/** Values that differ from those of ALL_ON: each must show in what is rendered. */
const OTHERS: Readonly<Record<string, unknown>> = {
  image: "registry.test/event-anchoring@sha256:0",
  "imagePullSecrets[].name": "registry",
  "nodes[].id": "n9",
  "nodes[].nodeSelector": { disk: "fast" },
  topologyKey: "topology.kubernetes.io/zone",
  tolerations: [{ key: "anchoring", operator: "Exists" }],
  priorityClassName: "high",
  "postgres.image": "registry.test/postgres:18",
  "postgres.resources": OTHER_RESOURCES,
  "postgres.storage.size": "1Ti",
  "postgres.storage.className": "fast",
  "controlPlane.resources": OTHER_RESOURCES,
  "promise.storage.size": "2Gi",
  "promise.storage.className": "other",
  "api.resources": OTHER_RESOURCES,
  "network.ingress": { "kubernetes.io/metadata.name": "ingress-nginx" },
  "network.monitoring": { "kubernetes.io/metadata.name": "prometheus" },
  "network.dns": { "kubernetes.io/metadata.name": "dns" },
  "network.egress": [{ ports: [{ port: 443 }] }],
  "backup.enabled": false,
  "backup.node": "n2",
  "backup.interval": "12h",
  "backup.retention.last": 9,
  "backup.retention.daily": 9,
  "backup.retention.weekly": 9,
  "backup.retention.monthly": 9,
  "backup.storage.size": "1Ti",
  "backup.storage.className": "cold",
  "backup.resources": OTHER_RESOURCES,
  "backup.drill.enabled": false,
  "backup.drill.schedule": "30 4 * * 0",
  "backup.drill.timeZone": "Europe/Berlin",
  "backup.drill.resources": OTHER_RESOURCES,
  "monitoring.serviceMonitor.enabled": false,
  "monitoring.serviceMonitor.interval": "15s",
  "monitoring.serviceMonitor.labels": { release: "prometheus" },
  "monitoring.rules.enabled": false,
  "monitoring.rules.labels": { release: "prometheus" },
};
const set = (path: string, value: unknown): readonly string[] => ["--set-json", `${path}=${JSON.stringify(value)}`];
const other = (path: string): readonly string[] => set(path.replace("[]", "[0]"), OTHERS[path]);
const ALL_ON = ["backup", "monitoring.serviceMonitor", "monitoring.rules"].flatMap((part) =>
  set(`${part}.enabled`, true),
);

function rendered(...args: readonly string[]): string {
  const { status, stdout, stderr } = templated(...args);
  if (status !== 0) throw new Error(stderr);
  return stdout;
}

describeHelm(`the chart, by Helm${NO_HELM}`, () => {
  test("is found well by lint", () => {
    const said = helm("lint", "--strict", CHART);
    expect(said?.stdout).toMatch(/1 chart\(s\) linted, 0 chart\(s\) failed/u);
    expect(said?.stdout).not.toMatch(/\[(?:WARNING|ERROR)\]/u);
    expect(said?.status).toBe(0);
  });

  test("heeds every value", () => {
    expect(Object.keys(OTHERS).toSorted()).toEqual(LEAVES.toSorted());
    // A list is replaced as a whole: its other items are named again.
    const nodes = ["n1", "n2", "n3"].map((id) => ({ id }));
    const base = [...ALL_ON, ...set("nodes", nodes), ...set("backup.node", "n3")];
    const before = rendered(...base);
    expect(LEAVES.filter((path) => rendered(...base, ...other(path)) === before)).toEqual([]);
  }, 120_000);

  test("keeps a majority of five nodes, each of which knows the others", () => {
    const nodes = ["n1", "n2", "n3", "n4", "n5"].map((id) => ({ id }));
    const objects = objectsOf(rendered(...set("nodes", nodes)));
    expect(objects["PodDisruptionBudget nodes"]).toMatchObject({ spec: { minAvailable: 3 } });
    const peers = JSON.stringify(objects["StatefulSet node-n4"]).match(/node-n\d-0\.node-n\d/gu);
    expect(peers).toEqual(["n1", "n2", "n3", "n5"].map((id) => `node-${id}-0.node-${id}`));
  });

  test.each([
    ["an unknown value", "images=other", "additional properties 'images' not allowed"],
    ["an id that no node can have", "nodes[0].id=N1", "'N1' does not match pattern"],
    ["an id twice", "nodes[0].id=n1,nodes[1].id=n1", "nodes: there are two of the id n1"],
    ["no node", "nodes=", "at '/nodes'"],
    ["a backup of no node", "backup.enabled=true,backup.node=n9", "backup.node: there is no node n9"],
    ["a size that is none", "postgres.storage.size=much", "at '/postgres/storage/size': 'much' does not match"],
    ["an interval without its unit", "backup.interval=24", "at '/backup/interval'"],
    ["a number that is none", "backup.retention.last=many", "at '/backup/retention/last': got string, want integer"],
    ["an empty image", "image=", "at '/image': minLength"],
    ["a resource that is none", "api.resources.limit.cpu=1", "additional properties 'limit' not allowed"],
  ])("refuses %s", (_what, wrong, why) => {
    const { status, stdout, stderr } = templated("--set", wrong);
    expect([status, stdout]).toEqual([1, ""]);
    expect(stderr).toContain(why);
  });
});

describeHelm(`what the chart takes from elsewhere${NO_HELM}`, () => {
  test("takes the values that a deployment plan renders", async () => {
    const nodes = ["n1", "null", "n-3"].map((nodeId, at) => {
      return { nodeId, address: `10.77.0.${at + 1}`, originFingerprint: "00".repeat(32) };
    });
    await writeDeployment({ clusterName: "chart.test", clusterId: "00".repeat(32), nodes }, folder);
    const objects = objectsOf(rendered("--values", join(folder, "helm-values.yaml")));
    const placed = nodes.map(({ nodeId }) => objects[`StatefulSet node-${nodeId}`]);
    expect(placed).toMatchObject(
      nodes.map(({ address }) => ({
        spec: { template: { spec: { nodeSelector: { "event-anchoring/host": address } } } },
      })),
    );
    expect(Object.keys(objects).filter((name) => name.startsWith("StatefulSet"))).toHaveLength(nodes.length);
  });

  test("brings the alerts as they are", () => {
    const objects = objectsOf(rendered(...ALL_ON));
    for (const name of ["alerts", "deployment"]) {
      const [file] = documentsOf(read(`deploy/prometheus/${name}.yml`)) ?? [];
      expect(objects[`PrometheusRule anchoring-${name}`]).toMatchObject({ spec: sorted(file) as object });
    }
  });
});

const JUDGE = process.env["KUBERNETES_VALIDATE"] ?? "kubernetes-validate";
const canJudge = isHelmThere && spawnSync(JUDGE, ["--version"]).status === 0;
const judged = (text: string, version: string): { status: number | null; said: string } => {
  const path = join(folder, "judged.yaml");
  writeFileSync(path, text);
  const args = ["--strict", "--quiet", "--kubernetes-version", version, path];
  const { status, stdout, stderr } = spawnSync(JUDGE, args, { encoding: "utf8" });
  return { status, said: stdout + stderr };
};
const describeJudge = canJudge ? describe : describe.skip;

describeJudge(`Kubernetes' own schemas${canJudge ? "" : " (skipped: no Helm, or no kubernetes-validate here)"}`, () => {
  /** What the operator of Prometheus has brought has its schemas there. */
  const text = (): string => {
    const { stdout } = templated(
      "--set",
      "backup.enabled=true",
      ...LEAVES.filter((path) => !/enabled|nodes|monitoring/u.test(path)).flatMap(other),
    );
    return stdout;
  };

  test.each([KUBERNETES_OLDEST.replace(/\.0$/u, ""), "1.37"])("take all objects of the chart: %s", (version) => {
    const { status, said } = judged(text(), version);
    expect([status, said]).toEqual([0, ""]);
  });

  test("would refuse an unknown field", () => {
    const { status, said } = judged(text().replace("minAvailable:", "minAvailabel:"), "1.37");
    expect(status).not.toBe(0);
    expect(said).toContain("minAvailabel");
  });
});
