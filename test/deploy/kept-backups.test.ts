/**
 * What docs/operating/kept-backups.md tells to type, typed: on a real cluster, with the units' own account, and by
 * kubectl without a cluster.
 */
import { spawnSync } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { startTestCluster } from "@event-anchoring/testkit/cluster";
import type { TestCluster } from "@event-anchoring/testkit/cluster";
import { commandsOf } from "./desk.ts";
import { copyManifests, documentsOf, kustomized } from "./manifests.ts";

const CHECKOUT = fileURLToPath(new URL("../..", import.meta.url));
const TIMEOUT_MS = 180_000;
const PATH = "docs/operating/kept-backups.md";
const PAGE = readFileSync(join(CHECKOUT, PATH), "utf8");

/** The only block of commands below a heading. */
function commandsBelow(heading: string): string {
  const [block, ...others] = commandsOf(PATH, `## ${heading}`);
  if (block === undefined || others.length > 0) throw new Error(`there is one block below ${heading}`);
  return block;
}

const hasVirtualenv = spawnSync("pg_virtualenv", ["-h"]).status === 0;
const describeByHand = hasVirtualenv ? describe : describe.skip;
const NO_VIRTUALENV = hasVirtualenv ? "" : " (skipped: no pg_virtualenv; apt-get install postgresql-common postgresql)";

describeByHand(`keys, and one by hand${NO_VIRTUALENV}`, () => {
  let setup: TestCluster;
  let folder: string;

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), "anchoring-kept-page-"));
    setup = await startTestCluster();
    symlinkSync(setup.cluster.root, join(folder, ".anchoring"));
    symlinkSync(join(CHECKOUT, "node_modules"), join(folder, "node_modules"));
  }, TIMEOUT_MS);

  afterAll(async () => {
    await setup?.cluster.erase();
    rmSync(folder, { recursive: true });
  }, TIMEOUT_MS);

  test(
    "are made, kept, drilled, unpacked and verified as the page says",
    () => {
      const script = ["set -e", commandsBelow("Keys first"), commandsBelow("One by hand")].join("\n");
      const { status, stdout, stderr } = spawnSync("bash", ["-c", script], { cwd: folder, encoding: "utf8" });
      expect([status, status === 0 ? "" : stdout + stderr]).toEqual([0, ""]);
      expect(readFileSync(join(folder, "recipients"), "utf8")).toMatch(/^(age1[a-z0-9]{58}\n){2}$/u);
      expect(stdout).toMatch(/✓ kept +\S+\.backup\.zst\.age, \d+ bytes/u);
      expect(stdout).toMatch(/^Sound: \S+\.backup\.zst\.age can be restored\.$/mu);
      expect(stdout).toMatch(/^Sound\.$/mu);
    },
    TIMEOUT_MS,
  );
});

const canUnshare =
  process.getuid?.() === 0 &&
  spawnSync("unshare", ["--mount", "sh", "-c", "command -v adduser && command -v setpriv"]).status === 0;
const describeAccount = canUnshare ? describe : describe.skip;

describeAccount(`the account of the units${canUnshare ? "" : " (skipped: takes root, a mount namespace)"}`, () => {
  test("reads what they read, and nothing of the node's", () => {
    const folder = mkdtempSync(join(tmpdir(), "anchoring-backup-account-"));
    cpSync(join(CHECKOUT, "deploy/systemd"), join(folder, "node/deploy/systemd"), { recursive: true });
    const files = ["api.json", "drill.key", "recipients", "trust-root.txt", "root-thk.txt"];
    for (const name of files) writeFileSync(join(folder, "node", name), name);
    mkdirSync(join(folder, "backups"));
    const units = ["anchoring-backup", "anchoring-backup-drill"].map((name) =>
      readFileSync(join(CHECKOUT, `deploy/systemd/${name}.service`), "utf8"),
    );
    const wanted = units.flatMap((text) => text.match(/\/etc\/anchoring\/backup\/[^\s]+/gu) ?? []);
    const asUnit = "setpriv --reuid anchoring-backup --regid anchoring-backup --clear-groups";
    const script = [
      "set -e",
      `cp -a /etc ${folder}/etc`,
      `mount --bind ${folder}/etc /etc`,
      `mount --bind ${folder}/backups /var/backups`,
      "mkdir -p /etc/systemd/system /etc/anchoring/api && chmod 700 /etc/anchoring/api",
      `cd ${folder}/node`,
      "umask 022",
      commandsBelow("With systemd"),
      `${asUnit} touch /var/backups/anchoring/new`,
      ...wanted.map((path) => `${asUnit} cat ${path} > /dev/null`),
      `! ${asUnit} ls /etc/anchoring/api 2> /dev/null`,
      "ls /etc/systemd/system/anchoring-backup*",
    ].join("\n");
    const { status, stdout, stderr } = spawnSync("unshare", ["--mount", "bash", "-c", script], { encoding: "utf8" });
    rmSync(folder, { recursive: true });
    expect([status, stderr]).toEqual([0, ""]);
    expect(wanted.length).toBeGreaterThan(3);
    expect(
      stdout
        .trim()
        .split("\n")
        .map((path) => path.replace(/.*\//u, "")),
    ).toEqual([
      "anchoring-backup-drill.service",
      "anchoring-backup-drill.timer",
      "anchoring-backup.service",
      "anchoring-backup.timer",
    ]);
  }, 60_000);
});

interface Mount {
  readonly name: string;
  readonly mountPath: string;
}

interface Pod {
  readonly containers: readonly {
    readonly name: string;
    readonly args: readonly string[];
    readonly volumeMounts: readonly Mount[];
  }[];
  readonly initContainers: readonly { readonly args?: readonly string[]; readonly volumeMounts: readonly Mount[] }[];
  readonly volumes: readonly {
    readonly name: string;
    readonly configMap?: { readonly name: string };
    readonly secret?: { readonly secretName: string };
  }[];
}

/** Kubernetes calls them so. */
type Files = Readonly<Record<"data", Readonly<Record<string, string>>>>;

interface Manifest extends Files {
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly namespace: string };
  readonly spec: {
    readonly template: { readonly spec: Pod };
    readonly jobTemplate: { readonly spec: { readonly template: { readonly spec: Pod } } };
  };
}

const isKubectlThere = kustomized() !== null && documentsOf("") !== null;
const describeKubernetes = isKubectlThere ? describe : describe.skip;
const NO_KUBECTL = isKubectlThere ? "" : " (skipped: no kubectl, or no PyYAML here)";
const FILES = ["recipients", "drill.key", "trust-root.txt", "root-thk.txt"];

/** What a cluster would be told: no server is asked, and objects are printed in the place of being made. */
const KUBECTL_ALONE = `kubectl() {
  case "$*" in
    *" create "*) command kubectl "$@" --dry-run=client --output yaml; echo --- ;;
    "apply --kustomize "*) command kubectl kustomize "$3" ;;
    *) echo "this asks a server: kubectl $*" >&2; return 1 ;;
  esac
}`;

describeKubernetes(`with Kubernetes${NO_KUBECTL}`, () => {
  const typed = (): readonly Manifest[] => {
    const folder = mkdtempSync(join(tmpdir(), "anchoring-kept-kubernetes-"));
    try {
      copyManifests(join(folder, "deploy"), ["backup"]);
      for (const name of FILES) writeFileSync(join(folder, name), `the ${name}\n`);
      const script = ["set -e", KUBECTL_ALONE, commandsBelow("With Kubernetes")].join("\n");
      const { status, stdout, stderr } = spawnSync("bash", ["-c", script], { cwd: folder, encoding: "utf8" });
      expect([status, stderr]).toEqual([0, ""]);
      return documentsOf(stdout) as readonly Manifest[];
    } finally {
      rmSync(folder, { recursive: true });
    }
  };
  const named = (all: readonly Manifest[], kind: string, name: string): Manifest => {
    const found = all.filter((each) => each.kind === kind && each.metadata.name === name);
    if (found[0] === undefined || found.length > 1) throw new Error(`there are ${found.length} of ${kind} ${name}`);
    return found[0];
  };
  /** The path below which a pod's container sees a volume. */
  const pathOf = (mounts: readonly Mount[], volume: string): string =>
    mounts.find(({ name }) => name === volume)?.mountPath ?? "";

  test("makes what sidecar and drill mount: names, namespace, and files where the command lines look for them", () => {
    const all = typed();
    const [node, drill] = [named(all, "StatefulSet", "node-n1"), named(all, "CronJob", "backup-drill")];
    const recipients = named(all, "ConfigMap", "backup-recipients");
    const secret = named(all, "Secret", "backup-drill");
    for (const { metadata } of [recipients, secret]) expect(metadata.namespace).toBe(node.metadata.namespace);

    const sidecarPod = node.spec.template.spec;
    const volume = sidecarPod.volumes.find(({ configMap }) => configMap?.name === recipients.metadata.name)?.name ?? "";
    const sidecar = sidecarPod.containers.find(({ name }) => name === "backup");
    expect(recipients.data).toEqual({ recipients: "the recipients\n" });
    expect(sidecar?.args).toContain(`--recipients=${pathOf(sidecar?.volumeMounts ?? [], volume)}/recipients`);

    const drillPod = drill.spec.jobTemplate.spec.template.spec;
    const held = drillPod.volumes.find((each) => each.secret?.secretName === secret.metadata.name)?.name ?? "";
    const [copy] = drillPod.initContainers;
    const [container] = drillPod.containers;
    expect(Object.entries(secret.data).map(([name, text]) => [name, Buffer.from(text, "base64").toString()])).toEqual(
      ["drill.key", "root-thk.txt", "trust-root.txt"].map((name) => [name, `the ${name}\n`]),
    );
    // All of it is copied, root-thk.txt beside the trust root, where anchorctl looks for it.
    const own = pathOf(container?.volumeMounts ?? [], "own");
    expect(copy?.args).toEqual([`umask 077 && cp -L ${pathOf(copy?.volumeMounts ?? [], held)}/* ${own}/`]);
    expect(pathOf(copy?.volumeMounts ?? [], "own")).toBe(own);
    expect(container?.args).toEqual(
      expect.arrayContaining([`--identity=${own}/drill.key`, `--trust-root=${own}/trust-root.txt`]),
    );
  });

  test("runs a drill at once from the job that is there", () => {
    const [, job = ""] = /`kubectl -n anchoring create job --from=cronjob\/(\S+) [a-z-]+`/u.exec(PAGE) ?? [];
    expect(named(typed(), "CronJob", job).metadata.namespace).toBe("anchoring");
  });
});
