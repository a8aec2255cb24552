/** Kubernetes manifests as tests read them: by kustomize, or by the chart. Neither is applied to anything. */
import { spawnSync } from "node:child_process";
import { appendFileSync, cpSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const CHECKOUT = fileURLToPath(new URL("../..", import.meta.url));
export const CHART = join(CHECKOUT, "deploy/helm/event-anchoring");
const NAMESPACE = "anchoring";
/** The oldest that the manifests are for: https://kubernetes.io/docs/concepts/workloads/pods/sidecar-containers/ */
export const KUBERNETES_OLDEST = "1.29.0";

/** The documents of a text of YAML; null: there is no PyYAML here. */
export function documentsOf(text: string): readonly unknown[] | null {
  const script = join(CHECKOUT, "test/deploy/manifests.py");
  const parsed = spawnSync("python3", [script], { input: text, encoding: "utf8" });
  return parsed.status === 0 ? (JSON.parse(parsed.stdout) as unknown[]) : null;
}

/** Copies deploy/kubernetes, and what it takes from beside it, into a folder, with these of its components. */
export function copyManifests(folder: string, components: readonly string[]): void {
  for (const name of ["kubernetes", "postgres"])
    cpSync(join(CHECKOUT, "deploy", name), join(folder, name), { recursive: true });
  // As the page says to add them.
  if (components.length > 0)
    appendFileSync(join(folder, "kubernetes/kustomization.yaml"), `components: [${components.join(", ")}]\n`);
}

/** deploy/kubernetes with these of its components, as YAML; null: there is no kubectl here. */
export function kustomized(components: readonly string[] = []): string | null {
  const folder = mkdtempSync(join(tmpdir(), "anchoring-kustomize-"));
  try {
    copyManifests(folder, components);
    const root = join(folder, "kubernetes");
    const { error, status, stdout, stderr } = spawnSync("kubectl", ["kustomize", root], { encoding: "utf8" });
    if (error !== undefined) return null;
    if (status !== 0) throw new Error(stderr);
    return stdout;
  } finally {
    rmSync(folder, { recursive: true });
  }
}

export interface Said {
  readonly status: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

const HELM = process.env["HELM"] ?? "helm";

/** Runs Helm; null: it is not here. */
export function helm(...args: readonly string[]): Said | null {
  const { error, status, stdout, stderr } = spawnSync(HELM, args, { encoding: "utf8" });
  return error === undefined ? { status, stdout, stderr } : null;
}

/** What the chart comes to with these arguments (`--set`, `--values`), as YAML. */
export function templated(...args: readonly string[]): Said {
  // Built from its module, Helm does not know which Kubernetes it is for.
  const options = ["--namespace", NAMESPACE, "--kube-version", KUBERNETES_OLDEST];
  const said = helm("template", "anchoring", CHART, ...options, ...args);
  if (said === null) throw new Error(`${HELM} is not here`);
  return said;
}
