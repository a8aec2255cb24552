import { readFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { parseArgs } from "node:util";
import { bytesToHex } from "@event-anchoring/protocol";
import { apiDirOf, writeApiTls } from "../api-certificates.ts";
import { loadCluster, nodePaths } from "../cluster-files.ts";
import type { ProvisionedCluster, ProvisionedNode } from "../cluster-files.ts";
import { giveContainerFiles, writeClusterFile, writeNodeContainerFiles } from "../container-files.ts";
import { PrivateFileError, fileExists } from "../files.ts";
import { parseNodeCard } from "../node-card.ts";
import { CertsUsageError, LIFETIME_DEFAULT, OUT_DIR_DEFAULT, parseLifetime, shortPath } from "./certs-arguments.ts";
import type { CertsTerminal } from "./certs-arguments.ts";
import { accountOf, writeEnvironment } from "./compose-environment.ts";

const HELP = `Usage: node certs/configure.js <node> [options]

On the host of one node whose keys were made there (anchorctl member prepare, member install): writes what its
containers of docker-compose.yml need besides, with database passwords of its own. The folder holds trust-root.txt,
root-thk.txt and nodes/<node>/identity/.

Options:
  --card <file>        of a node that the trust root does not name yet, because it is to join; may be repeated
  --gone <node>        that is no peer, though the trust root names it; may be repeated
  --out <folder>       the cluster's folder (default: ${OUT_DIR_DEFAULT})
  --env <file>         file for docker compose (default: .env)
  --uid <number>       account of the containers; only root may choose (default: you; for root: 10001)
  --help, --version    print this, or the version
`;

/** @throws PrivateFileError `exists`: a database keeps the passwords that it was made with */
export async function configureCommand(args: readonly string[], terminal: CertsTerminal): Promise<number> {
  const { values, positionals } = parseArgs({
    args: [...args],
    allowPositionals: true,
    options: {
      card: { type: "string", multiple: true, default: [] },
      gone: { type: "string", multiple: true, default: [] },
      out: { type: "string", default: OUT_DIR_DEFAULT },
      env: { type: "string", default: ".env" },
      uid: { type: "string" },
      help: { type: "boolean", default: false },
    },
  });
  if (values.help) {
    terminal.write(HELP);
    return 0;
  }
  const [nodeId, ...others] = positionals;
  if (nodeId === undefined || others.length > 0) throw new CertsUsageError(HELP);
  const { workingDir } = terminal;
  const account = accountOf(values.uid);
  const outDir = resolve(workingDir, values.out);
  const cards = values.card.map((file) => resolve(workingDir, file));
  const cluster = await clusterWith(await loadCluster(outDir), cards, values.gone);
  const node = cluster.nodes.find((known) => known.nodeId === nodeId);
  if (node === undefined) throw new CertsUsageError(`the cluster has no node ${nodeId}`);
  const own = ["auth.key", "cosigner.key", "log.seed", "tls.key", "tls.crt", "ca.crt", "trust-root.txt"];
  for (const path of [join(outDir, "root-thk.txt"), ...own.map((name) => join(node.identityDir, name))]) {
    if (!(await fileExists(path))) throw new PrivateFileError("missing", path, "prepare and install the node first");
  }
  await writeNodeContainerFiles(cluster, node);
  const lifetimeMs = parseLifetime(LIFETIME_DEFAULT);
  const expiresMs = await writeApiTls(cluster, node, { lifetimeMs, nowMs: terminal.nowMs });
  await writeClusterFile(cluster);
  if (process.getuid?.() === 0) await giveContainerFiles(outDir, account.uid, account.gid);
  await writeEnvironment({ ...account, outDir, envFile: resolve(workingDir, values.env) }, workingDir);
  const request = shortPath(join(apiDirOf(node), "tls.csr"), workingDir);
  const certificate =
    expiresMs === null
      ? `    have the CA issue ${request}, then: node certs/install.js ${nodeId} <certificate> --api\n`
      : "";
  terminal.write(`  ${shortPath(node.dir, workingDir)} is complete. Next:
${certificate}    docker compose up --detach ${nodeId}-postgres ${nodeId}-control ${nodeId}-api
  or, at the place of another node, n1, with ANCHORING_N1=${nodeId} in .env, n1-postgres and so on.
`);
  return 0;
}

/** The cluster's nodes as they are to be: who joins is known by its card, and who has gone is left out. */
async function clusterWith(
  cluster: ProvisionedCluster,
  cardFiles: readonly string[],
  gone: readonly string[],
): Promise<ProvisionedCluster> {
  const joining: ProvisionedNode[] = [];
  for (const file of cardFiles) {
    const card = parseNodeCard(await readFile(file, "utf8"));
    if (bytesToHex(card.clusterId) !== cluster.clusterId) throw new CertsUsageError(`${file} is of another cluster`);
    joining.push({
      nodeId: card.nodeId,
      ...nodePaths(cluster.outDir, card.nodeId),
      originFingerprint: bytesToHex(card.originFingerprint),
      authPublicKey: card.authPublicKey,
    });
  }
  const isLeftOut = (nodeId: string): boolean =>
    gone.includes(nodeId) || joining.some((node) => node.nodeId === nodeId);
  const staying = cluster.nodes.filter(({ nodeId }) => !isLeftOut(nodeId));
  return { ...cluster, nodes: [...staying, ...joining] };
}
